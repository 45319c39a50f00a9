"""What an adapter knows and says: a claw as found, the changes that wire it, and what would pass the gateway by.

An adapter is pure knowledge. It looks (`detect`) and it plans; it writes nothing. `Wiring` carries plans out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from .commands import Command
from .values import ABSENT, Json, Keys, get, same, with_value

Wire = Literal["chat", "messages", "responses"]
NO_KEY = "metaclaw-local"  # what a claw that insists on a key is given when the gateway asks for none


@dataclass(frozen=True)
class Endpoint:
    """The gateway, as a claw is to be told of it. An empty or zero value means: as the user has it now."""

    base_url: str  # without /v1
    api_key: str = field(default="", repr=False)
    model_id: str = ""
    model_name: str = ""
    context_window: int = 0
    max_tokens: int = 0
    protocol: Wire | Literal[""] = "chat"
    input: tuple[str, ...] = ()  # kinds of input the model takes: "text", "image"


@dataclass(frozen=True)
class Document:
    """A configuration file as it was read; `data` is None when there is no such file yet."""

    path: Path
    format: str
    data: bytes | None
    value: Json


@dataclass(frozen=True)
class Installation:
    """A claw that was found on this machine.

    `blocked` says why its configuration must not be written by us, and what to do instead; empty means it may.
    """

    claw: str
    version: str
    home: Path
    program: str | None
    running: bool
    documents: tuple[Document, ...]
    blocked: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Put:
    """Set one value.

    `owned`: the key's name is ours alone, so undo removes it whatever it holds by then. `prefix`: any string that
    begins so is ours too. `fields`: the parts (relative keys) on which it depends whether traffic reaches us; empty
    means all of it.
    """

    keys: Keys
    value: Json
    owned: bool = False
    prefix: str = ""
    fields: tuple[Keys, ...] = ()

    def apply(self, tree: Json) -> Json:
        """The tree with this edit made."""
        return with_value(tree, self.keys, self.value)

    def holds(self, tree: Json) -> bool:
        """Is this edit in force?"""
        found = get(tree, self.keys)
        if not self.fields:
            return same(found, self.value)
        return all(same(get(found, part), get(self.value, part)) for part in self.fields)

    def named(self, tree: Json) -> bool:
        """Is there something at this place that is ours by its name, whichever wiring wrote it?"""
        found = get(tree, self.keys)
        ours = self.prefix and isinstance(found, str) and found.startswith(self.prefix)
        return found is not ABSENT and bool(self.owned or ours)

    def present(self, tree: Json) -> bool:
        """Is there something at this place that is ours, by its name or as just the value we wrote?"""
        found = get(tree, self.keys)
        return found is not ABSENT and (self.named(tree) or same(found, self.value))


@dataclass(frozen=True)
class Add:
    """Put one item into a list, and take only that out again. Where there is no list yet it begins as `seed`.

    `prefix`: any string that begins so is ours. `mark`: any object that has the same as ours under this key is ours.
    """

    keys: Keys
    item: Json
    seed: tuple[Json, ...] = ()
    prefix: str = ""
    mark: str = ""

    def apply(self, tree: Json) -> Json:
        """The tree with this edit made."""
        found = get(tree, self.keys)
        others = [item for item in found if not self.mine(item)] if isinstance(found, list) else list(self.seed)
        return tree if self.holds(tree) else with_value(tree, self.keys, [*others, self.item])

    def holds(self, tree: Json) -> bool:
        """Is the item in the list?"""
        found = get(tree, self.keys)
        return isinstance(found, list) and any(same(item, self.item) for item in found)

    def named(self, tree: Json) -> bool:
        """Is an item in the list that is ours by its name?"""
        found = get(tree, self.keys)
        return isinstance(found, list) and bool(self.prefix or self.mark) and any(self.mine(item) for item in found)

    def present(self, tree: Json) -> bool:
        """Is the item, or one of an earlier wiring, in the list?"""
        found = get(tree, self.keys)
        return isinstance(found, list) and any(self.mine(item) for item in found)

    def mine(self, item: Json) -> bool:
        """Is this item of the list one that we put there?"""
        ours = self.prefix and isinstance(item, str) and item.startswith(self.prefix)
        marked = self.mark and isinstance(item, dict) and same(get(item, (self.mark,)), get(self.item, (self.mark,)))
        return bool(ours or marked or same(item, self.item))


Edit = Put | Add


@dataclass(frozen=True)
class Automatic:
    """A place the claw rewrites by itself, to one of `values` (or to anything): such a difference is nobody's edit."""

    keys: Keys
    values: tuple[Json, ...] = ()


@dataclass(frozen=True)
class Check:
    """A program of the claw that must agree afterwards: it ends with 0 and its JSON answer holds `expect`."""

    command: Command
    expect: Json = ABSENT
    at: Keys = ()
    why: str = ""


@dataclass(frozen=True)
class FileChange:
    """All edits of one file: the claw's own `writer` makes them if there is one, else an edit of the file's text.

    `before` runs ahead of the first write and `after` behind the last. `secret`: the file holds a key of ours now,
    so nobody but its owner may read it. `within`: links are followed inside this folder only.
    """

    document: Document
    edits: tuple[Edit, ...]
    within: Path
    writer: Command | None = None
    before: tuple[Check, ...] = ()
    after: tuple[Check, ...] = ()
    automatic: tuple[Automatic, ...] = ()
    secret: bool = False


@dataclass(frozen=True)
class ChangeSet:
    """Everything that wiring one claw takes. Nothing in it says what was there before: the engine keeps that."""

    claw: str
    files: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """Something in the claw's configuration that its user should know: traffic that passes the gateway by, a limit."""

    kind: Literal["bypass", "limit", "note"]
    where: str
    text: str


State = Literal["wired", "not_wired", "drifted", "absent"]


@dataclass(frozen=True)
class Outcome:
    """What came of a request to wire or unwire. `done` is in the words of the command line."""

    claw: str
    done: Literal["wired", "unchanged", "planned", "unwired", "not_wired", "drifted", "manual", "absent"]
    diff: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    snippet: str = ""


class Adapter(Protocol):
    """One claw. A class with this shape, named in the entry point group `metaclaw.adapters`, adds a claw."""

    name: str
    title: str

    def detect(self) -> Installation | None:
        """Is it on this machine? Reads files and asks for a version; changes nothing."""

    def plan(self, installation: Installation, endpoint: Endpoint) -> ChangeSet:
        """The changes that send its model traffic through the endpoint."""

    def findings(self, installation: Installation, endpoint: Endpoint) -> list[Finding]:
        """What would pass the gateway by, or should be known."""

    def snippet(self, installation: Installation | None, endpoint: Endpoint) -> str:
        """What to do by hand instead, ready to paste."""

    def headless_turn(self, installation: Installation, text: str) -> Command | None:
        """The command that has the claw answer one message, if it can be driven so."""

    def reload(self, installation: Installation) -> Command | None:
        """The command that makes a running claw read its configuration; None when it does so by itself."""
