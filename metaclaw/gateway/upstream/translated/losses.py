"""Counts what a translation had to leave out, because the other protocol has no place for it."""

from __future__ import annotations

from collections import Counter


class Losses:
    """Counters by place. The names are ours, never the client's, so their number is bounded."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, what: str) -> None:
        """Count one thing left out."""
        self.counts[what] += 1


LOSSES = Losses()
