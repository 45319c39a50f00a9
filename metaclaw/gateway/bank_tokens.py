"""Token counts of the built-in skills, counted beforehand so that a first start need not wait for a tokenizer.

`python -m metaclaw.gateway.bank_tokens` counts them anew.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from metaclaw.skills import Library, render
from metaclaw_adapters.files import write_atomic

_FILE = Path(__file__).with_suffix(".json")


def shipped() -> dict[str, int]:
    """Tokens by the digest of a built-in skill."""
    counts: dict[str, int] = json.loads(_FILE.read_text(encoding="utf-8"))
    return counts


def counted() -> dict[str, int]:
    """The same, counted now."""
    from metaclaw.tokens import count

    with tempfile.TemporaryDirectory() as nothing:
        return {skill.digest: count(render(skill)) for skill in Library(Path(nothing)).skills()}


if __name__ == "__main__":
    write_atomic(_FILE, json.dumps(counted(), indent=0).encode() + b"\n")
