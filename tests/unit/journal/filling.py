"""A program that writes until its disk is full, makes room, and writes on. Run with the journal's path.

The disk is a limit on the size of files, which the kernel enforces; it prints what it saw as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
from concurrent.futures import Future
from pathlib import Path

from metaclaw.journal import Journal, sqlite_url
from tests.unit.journal.sample import Talk


def main() -> None:
    """Write, hit the limit, lift it, write on."""
    path = Path(sys.argv[1])
    journal = Journal.open(sqlite_url(path))
    talk = Talk()
    journal.append(talk.exchange("before")).result()
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, resource.RLIM_INFINITY))
    full: list[Future[None]] = []
    for number in range(200):
        full.append(journal.append(talk.exchange(f"full {number} " + "x" * 20_000)))
        if number % 10 == 0:
            full[-1].exception()
    errors = [str(error) for future in full if (error := future.exception())]
    acknowledged = ["before", *(f"full {number}" for number, future in enumerate(full) if not future.exception())]
    readable = len(journal.turns("talk", limit=999))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.append(talk.exchange("after")).result()
    acknowledged.append("after")
    counts = {"failed": journal.failed, "written": journal.written, "readable": readable}
    print(json.dumps({"acknowledged": acknowledged, "errors": errors, **counts}))
    journal.close()


if __name__ == "__main__":
    main()
