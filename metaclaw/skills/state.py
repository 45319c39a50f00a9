"""What the library knows of its skills beyond their files: which are off, and which the evolver wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATE_FOLDER = ".metaclaw"
STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class State:
    """`disabled` names skills that are not recalled; `learned` maps names to the digest the evolver wrote."""

    disabled: frozenset[str] = frozenset()
    learned: Mapping[str, str] = field(default_factory=dict)

    def with_enabled(self, name: str, enabled: bool) -> State:
        """This state with one skill on or off."""
        return State(self.disabled - {name} if enabled else self.disabled | {name}, self.learned)

    def with_learned(self, name: str, digest: str | None) -> State:
        """This state with one skill's digest noted as the evolver's, or forgotten."""
        learned = {key: value for key, value in self.learned.items() if key != name}
        if digest is not None:
            learned[name] = digest
        return State(self.disabled, learned)

    def without(self, name: str) -> State:
        """This state with nothing known of the skill."""
        return self.with_enabled(name, True).with_learned(name, None)


def state_path(user_dir: Path) -> Path:
    """Where the state of the library in this folder is kept."""
    return user_dir / STATE_FOLDER / STATE_FILE


def read_state(user_dir: Path) -> State:
    """The stored state; an empty one when there is none. Raises ValueError on a broken file."""
    try:
        data = state_path(user_dir).read_bytes()
    except FileNotFoundError:
        return State()
    value: Any = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("it is not an object")
    disabled, learned = value.get("disabled", []), value.get("learned", {})
    if not isinstance(disabled, list) or not isinstance(learned, dict):
        raise ValueError("`disabled` must be a list and `learned` an object")
    return State(
        frozenset(item for item in disabled if isinstance(item, str)),
        {str(key): item for key, item in learned.items() if isinstance(item, str)},
    )


def state_bytes(state: State) -> bytes:
    """The file of a state: the same bytes for the same state."""
    value = {"disabled": sorted(state.disabled), "learned": dict(sorted(state.learned.items()))}
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
