"""Incoming memories into the store: each once, cleaned like everything, in steps that let others write between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from ..errors import BadScope, NotFound, Refused
from ..records import Memory
from ..scopes import parse
from ..store import Database, Transaction, memories, turns
from ..store.words import fingerprint, written
from .incoming import Imported, IncomingMemory, IncomingTurn, Item, Unreadable, our_id
from .reading import ImportFormat, read

_BATCH = 100
_MOST_PROBLEMS = 50


class _Undone(Exception):
    """Nothing of this batch is to stay."""


@dataclass(slots=True)
class _Taking:
    """One import under way."""

    into: str
    default: str
    done: Imported
    seen: set[tuple[str, str]] = field(default_factory=set)
    ids: dict[str, str] = field(default_factory=dict)


def take_in(
    database: Database, path: Path, form: ImportFormat, *, into: str, default: str, dry_run: bool = False
) -> Imported:
    """Import a file or mem0's folder. All goes `into` that scope if one is named, else where it was, else into the
    default. With `dry_run` nothing stays. Blocks. Raises Refused.
    """
    found, items = read(path, form)
    taking = _Taking(into, default, Imported(found, dry_run))
    try:
        for batch in _batches(items):
            _write(database, taking, batch)
    except UnicodeDecodeError:
        raise Refused("the file is not UTF-8 text") from None
    taking.done.scopes.sort()
    return taking.done


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def _write(database: Database, taking: _Taking, batch: list[Item]) -> None:
    def work(tx: Transaction) -> None:
        for item in batch:
            _take(tx, taking, item)
        if taking.done.dry_run:
            raise _Undone

    try:
        database.write(work).result()
    except _Undone:
        return


def _take(tx: Transaction, taking: _Taking, item: Item) -> None:
    if isinstance(item, Unreadable):
        _skip(taking, item.problem)
        return
    try:
        named = item.memory.scope_id if isinstance(item, IncomingMemory) else item.turn.scope_id
        scope_id = parse(taking.into or named or None, taking.default)
    except BadScope as error:
        _skip(taking, str(error))
        return
    taken = _take_turn(tx, taking, item, scope_id) if isinstance(item, IncomingTurn) else _take_memory(
        tx, taking, item, scope_id
    )  # fmt: skip
    if taken and scope_id not in taking.done.scopes:
        taking.done.scopes.append(scope_id)


def _take_turn(tx: Transaction, taking: _Taking, item: IncomingTurn, scope_id: str) -> bool:
    turn = item.turn
    name = _free_id(tx, scope_id, our_id(turn.turn_id, "turn"))
    kept = turns.restore(
        tx, replace(turn, turn_id=name, scope_id=scope_id, prompt=written(turn.prompt), response=written(turn.response))
    )
    taking.ids[turn.turn_id] = kept.turn_id
    taking.done.turns += not kept.duplicate
    return not kept.duplicate


def _take_memory(tx: Transaction, taking: _Taking, item: IncomingMemory, scope_id: str) -> bool:
    given = item.memory
    name = taking.ids.get(given.memory_id) or _free_id(tx, scope_id, our_id(given.memory_id))
    heir = our_id(given.superseded_by)
    memory = replace(
        given, memory_id=name, scope_id=scope_id, superseded_by=_free_id(tx, scope_id, heir) if heir else ""
    )
    words = (scope_id, fingerprint(written(memory.content)))
    if not written(memory.content):
        _skip(taking, f"{given.memory_id}: nothing is left of its text")
        return False
    if _known(tx, memory, taking, words):
        taking.done.reinforced += 1
        return False
    taking.seen.add(words)
    before = [
        one | {"memory": replace(one["memory"], memory_id=name, scope_id=scope_id)}
        for one in item.versions
        if one["version"] < memory.version
    ]
    sources = [taking.ids.get(source, our_id(source, "turn")) for source in item.sources]
    memories.insert(tx, memory, turns=sources, reason="imported")
    memories.insert_versions(tx, before)
    taking.done.added += 1
    return True


def _known(tx: Transaction, memory: Memory, taking: _Taking, words: tuple[str, str]) -> bool:
    """Whether it is there by its id, or, while it is current, by its words."""
    try:
        memories.get(tx.db, memory.scope_id, memory.memory_id)
        return True
    except NotFound:
        pass
    if memory.status != "active":
        return False
    held = memories.same_words(tx.db, memory.scope_id, memory.content)
    return words in taking.seen or any(one.status == "active" for one in held)


def _free_id(tx: Transaction, scope_id: str, name: str) -> str:
    """The id itself, or one made of it where another scope has it."""
    query = "SELECT scope_id FROM memories WHERE memory_id = ?1 UNION SELECT scope_id FROM turns WHERE turn_id = ?1"
    elsewhere = [row[0] for row in tx.db.execute(query, (name,)) if row[0] != scope_id]
    return our_id(f"{scope_id}\0{name}", name.partition("_")[0]) if elsewhere else name


def _skip(taking: _Taking, problem: str) -> None:
    taking.done.skipped += 1
    if len(taking.done.problems) < _MOST_PROBLEMS:
        taking.done.problems.append(problem)
