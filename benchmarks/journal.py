"""What a turn costs the journal's writer: CPU a main call, by how many are written together.

python -m benchmarks.journal [--calls 4000] [--url sqlite:///FILE]
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from metaclaw.journal import Call, Injection, Journal, Message, Session, Usage, sqlite_url

GROUPS = (256, 64, 16, 4, 1)


def digest(text: str) -> bytes:
    """A digest as the canonicaliser makes them."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def calls(count: int, group: int) -> Iterator[Call]:
    """Turns of 64 conversations, each with a question, an answer and a recalled skill."""
    words = "some words of a conversation " * 20
    recalled = [{"kind": "skill", "name": "git", "version": "1", "score": 0.5, "tokens": 100}]
    for number in range(count):
        name = f"bench-{group}-{number % 64:026d}"
        messages = [
            Message(role, f'{{"role":"{role}","content":"{words}"}}'.encode(), words, key, key)
            for role in ("user", "assistant")
            for key in [digest(f"{name} {number} {role}")]
        ]
        yield Call(
            session=Session(id=name, claw="openclaw", protocol="chat", model="m", opening=b"o" * 16, started_at=1.0),
            kind="main",
            turn_key=digest(f"{name} {number}"),
            user_text=words,
            answer_text=words,
            messages=messages,
            injection=Injection(messages[0].chain, words, recalled),
            recalled=recalled,
            started_at=time.time(),
            usage=Usage(1000, 900, 0, 100),
        )


def measure(journal: Journal, count: int, group: int) -> tuple[float, float]:
    """Microseconds a call: CPU of the writer's thread, and by the clock."""
    items = list(calls(count, group))
    cpu, began = writer_cpu(journal), time.perf_counter()
    for start in range(0, count, group):
        for future in [journal.append(item) for item in items[start : start + group]]:
            future.result()
    return (writer_cpu(journal) - cpu) / count * 1e6, (time.perf_counter() - began) / count * 1e6


def writer_cpu(journal: Journal) -> float:
    """CPU seconds that the writer's thread has used."""
    return journal._writer.run(lambda _: time.thread_time()).result()


def main() -> None:
    """Print one line for each size of group."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--url", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        journal = Journal.open(options.url or sqlite_url(Path(folder) / "journal.sqlite3"))
        for group in GROUPS:
            cpu, clock = measure(journal, min(options.calls, 400 * group), group)
            print(f"{group:4d} together: {cpu:5.0f} µs CPU a call, {clock:5.0f} µs by the clock")
        journal.close()


if __name__ == "__main__":
    main()
