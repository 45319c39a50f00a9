"""Counters of what happened, bounded and cheap; failures inside MetaClaw show up here."""

from __future__ import annotations

from collections import Counter


class Metrics:
    """Counts by name and label; labels come from the code, never from requests."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def count(self, name: str, label: str = "", by: int = 1) -> None:
        """Add to a counter."""
        self._counts[name, label] += by

    def snapshot(self) -> dict[str, int]:
        """All counters, `name` or `name.label`."""
        return {f"{name}.{label}" if label else name: n for (name, label), n in sorted(self._counts.items())}
