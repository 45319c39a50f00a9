"""What tuning has decided so far, in a file of its own beside the store."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..files import write_atomic
from .policy import Policy

_KEPT = 50


@dataclass(slots=True)
class Record:
    """The decisions. `base` is what was configured when they were made: another configuration ends them."""

    base: Policy
    current: Policy | None = None
    previous: list[Policy] = field(default_factory=list)
    proposed: Policy | None = None
    last: dict[str, Any] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path, base: Policy) -> Record:
        """The file's record, or a new one where there is none for this configuration."""
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
            history = list(value["history"])
            if Policy.read(value["base"]) != base:
                return cls(base, history=history)
            previous = [policy for one in value["previous"] if (policy := Policy.read(one)) is not None]
            return cls(
                base, Policy.read(value["current"]), previous, Policy.read(value["proposed"]), value["last"], history
            )
        except (OSError, ValueError, KeyError, TypeError):
            return cls(base)

    def save(self, path: Path) -> None:
        """Replace the file."""
        del self.history[:-_KEPT]
        write_atomic(path, json.dumps(asdict(self), indent=1).encode())

    @property
    def in_force(self) -> Policy:
        """What holds now."""
        return self.current or self.base
