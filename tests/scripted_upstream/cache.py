"""A provider's prompt cache: what of a prompt was seen before, to the provider's own rules."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

BYTES_PER_TOKEN = 4
STEP = 128  # tokens: automatic caches match in steps of this size …
LEAST = 1024  # … from this length on; a marked prefix needs it too
LOOKBACK = 20  # blocks before a mark in which an earlier entry is looked for
MARKS = 4


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens of one call. `cached` and `written` are parts of `prompt`."""

    prompt: int
    cached: int = 0
    written: int = 0
    completion: int = 0


def tokens(size: int) -> int:
    """Tokens of `size` bytes, by the fixed rate of this upstream."""
    return -(-size // BYTES_PER_TOKEN)


class PromptCache:
    """Remembers prefixes. `automatic` is how OpenAI-like providers do it, `marked` how Anthropic does."""

    def __init__(self) -> None:
        self._automatic: set[bytes] = set()
        self._marked: set[bytes] = set()

    def automatic(self, blocks: Sequence[tuple[bytes, bool]]) -> Counted:
        """Longest prefix seen before, in steps of 128 tokens from 1,024 on."""
        data = b"".join(block for block, _ in blocks)
        digest, cached, hit = hashlib.sha256(), 0, True
        step = STEP * BYTES_PER_TOKEN
        for end in range(step, len(data) + 1, step):
            digest.update(data[end - step : end])
            key = digest.digest()
            hit = hit and key in self._automatic
            cached = end // BYTES_PER_TOKEN if hit else cached
            self._automatic.add(key)
        return Counted(tokens(len(data)), cached if cached >= LEAST else 0)

    def marked(self, blocks: Sequence[tuple[bytes, bool]]) -> Counted:
        """The longest stored prefix at, or up to 20 blocks before, a mark is read; up to the last mark is written."""
        digest = hashlib.sha256()
        prefixes: list[tuple[bytes, int]] = []
        size = 0
        for block, _ in blocks:
            digest.update(len(block).to_bytes(8, "big") + block)
            size += len(block)
            prefixes.append((digest.digest(), tokens(size)))
        marks = [index for index, (_, mark) in enumerate(blocks) if mark][:MARKS]
        read = max((self._read(prefixes, mark) for mark in marks), default=0)
        usable = [mark for mark in marks if prefixes[mark][1] >= LEAST]
        self._marked.update(prefixes[mark][0] for mark in usable)
        written = max(0, prefixes[usable[-1]][1] - read) if usable else 0
        return Counted(tokens(size), read, written)

    def _read(self, prefixes: list[tuple[bytes, int]], mark: int) -> int:
        for index in range(mark, max(-1, mark - LOOKBACK - 1), -1):
            if prefixes[index][0] in self._marked:
                return prefixes[index][1]
        return 0
