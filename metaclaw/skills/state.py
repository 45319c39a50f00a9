"""What the library knows beyond the files: which skills are off, which the evolver wrote and where those stand, which
nobody wants."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from metaclaw.skills.lifecycle import Actor, Stage, Standing

STATE_FOLDER = ".metaclaw"
STATE_FILE = "state.json"


@dataclass(frozen=True, slots=True)
class State:
    """`disabled` names skills that are not recalled; `learned` maps names to the digest the evolver wrote;
    `withdrawn` maps learned skills that a person deleted, or a trial turned down, to their descriptions, so that they
    aren't learned again; `standings` says in which stage a learned skill is."""

    disabled: frozenset[str] = frozenset()
    learned: Mapping[str, str] = field(default_factory=dict)
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)

    def with_standing(self, name: str, standing: Standing | None) -> State:
        """This state with one skill's standing noted, or forgotten."""
        rest = {key: item for key, item in self.standings.items() if key != name}
        return replace(self, standings=rest if standing is None else {**rest, name: standing})

    def with_enabled(self, name: str, enabled: bool) -> State:
        """This state with one skill on or off."""
        return replace(self, disabled=self.disabled - {name} if enabled else self.disabled | {name})

    def with_learned(self, name: str, digest: str | None) -> State:
        """This state with one skill's digest noted as the evolver's, or forgotten."""
        return replace(self, learned=_with(self.learned, name, digest))

    def with_withdrawn(self, name: str, description: str | None) -> State:
        """This state with one skill noted as unwanted, or wanted again."""
        return replace(self, withdrawn=_with(self.withdrawn, name, description))

    def without(self, name: str) -> State:
        """This state with nothing known of the skill."""
        return self.with_enabled(name, True).with_learned(name, None).with_standing(name, None)


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
    disabled, maps = value.get("disabled", []), [value.get(key, {}) for key in ("learned", "withdrawn")]
    if not isinstance(disabled, list) or not all(isinstance(item, dict) for item in maps):
        raise ValueError("`disabled` must be a list, `learned` and `withdrawn` objects")
    learned, withdrawn = ({str(k): v for k, v in item.items() if isinstance(v, str)} for item in maps)
    off = frozenset(item for item in disabled if isinstance(item, str))
    return State(off, learned, withdrawn, _standings(value.get("standings", {})))


def state_bytes(state: State) -> bytes:
    """The file of a state: the same bytes for the same state."""
    value = {
        "disabled": sorted(state.disabled),
        "learned": dict(sorted(state.learned.items())),
        "withdrawn": dict(sorted(state.withdrawn.items())),
        "standings": {name: asdict(item) for name, item in sorted(state.standings.items())},
    }
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


def _standings(value: Any) -> dict[str, Standing]:
    """The standings that can be read; a skill without one is active."""
    found: dict[str, Standing] = {}
    for name, item in value.items() if isinstance(value, dict) else ():
        try:
            standing = Standing(**item)
        except TypeError:
            continue
        if standing.stage in get_args(Stage) and standing.by in get_args(Actor):
            found[str(name)] = standing
    return found


def _with(known: Mapping[str, str], name: str, value: str | None) -> dict[str, str]:
    rest = {key: item for key, item in known.items() if key != name}
    return rest if value is None else {**rest, name: value}
