"""What is recalled into a request, and where it goes: appended, never in between, and the same again every time."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from metaclaw.gateway.canonical import fence
from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.protocols import ClientRequest, Item
from metaclaw.gateway.sessions import Extent, Live
from metaclaw.journal.records import Injection

_QUERY_LENGTH = 4000
_SAID_LENGTH = 16  # shorter statements stand in a text by chance
_LOADED_LENGTH = 400  # shorter texts are talk, not a file that was read
_MEMORY_HEADING = "Notes from earlier conversations, with their dates; what the person says now counts more:"
MEMORY_HEADING_TOKENS = 20  # rather more than it has, in any tokenizer
_log = logging.getLogger(__name__)


class Unavailable(Exception):
    """A source can't answer now, which is no fault of the gateway: the turn goes on without it."""


class Found(NamedTuple):
    """One thing worth recalling, with the exact text that would be put in."""

    kind: Literal["skill", "memory"]
    name: str
    version: str
    score: float
    tokens: int
    text: str
    content: str = ""  # the bare statement, where the text puts more around it
    arm: Literal["", "treated", "control"] = ""  # of a skill under test: with it, or without (then with its older text)


@dataclass(frozen=True, slots=True)
class Query:
    """What a source is asked: the person's words, and what the conversation has already."""

    text: str
    scope: str
    session_id: str
    present: frozenset[tuple[str, str]]  # (kind, name) of what is in the request now


class Source(Protocol):
    """Something that recalls: skills, memory."""

    name: str

    async def recall(self, query: Query) -> list[Found]:
        """What fits, best first, within the source's own budget."""
        ...

    def loaded(self, texts: Sequence[str]) -> set[tuple[str, str]]:
        """(kind, name) of what these texts hold already because the client has loaded it itself."""
        ...


@dataclass(slots=True)
class Edits:
    """What is to be put into a request."""

    items: dict[int, bytes] = field(default_factory=dict)
    fields: dict[str, bytes | None] = field(default_factory=dict)
    injection: Injection | None = None  # new with this request
    recalled: list[dict[str, object]] = field(default_factory=list)
    tokens: int = 0
    left_out: frozenset[int] = frozenset()  # items beyond `max_context_tokens`


class Recall:
    """Edits requests: replays the session's earlier blocks, and recalls once for each new turn."""

    def __init__(self, sources: Sequence[Source], metrics: Metrics, *, position: str, deadline: float) -> None:
        self.sources = list(sources)
        self._metrics = metrics
        self._position = position
        self._deadline = deadline
        self._placed = _Placed()

    async def edit(self, request: ClientRequest, live: Live, extent: Extent) -> Edits:
        """The edits for a main turn. Whatever fails here, the turn goes on without it."""
        edits = Edits()
        anchors = _anchors(request)
        blocks = {i: live.ledger[a] for i, a in anchors.items() if a in live.ledger}
        known = extent.person in blocks or extent.person not in anchors
        if not known and self.sources and _first_call(request, extent):
            found = await self._ask(request, live, extent, blocks)
            put_in = [item for item in found if item.text]
            block = fence(_body(put_in)) if put_in else ""
            # An empty block is remembered as well: later calls of this turn must not recall in mid-loop. What a test
            # holds back is noted beside what is put in, so that it stays away for the rest of the session.
            items = [_noted(item) for item in found]
            edits.injection = Injection(anchors[extent.person], block, items)
            live.ledger[edits.injection.anchor] = blocks[extent.person] = edits.injection
            edits.recalled = list(items)
            edits.tokens = sum(item.tokens for item in put_in)
        self._place(request, live, extent, blocks, edits)
        return edits

    def replayed(self, request: ClientRequest, live: Live) -> dict[int, bytes]:
        """The item edits that put the session's earlier blocks back in their places."""
        blocks = {i: live.ledger[a] for i, a in _anchors(request).items() if a in live.ledger}
        return {
            i: self._placed.place(request, live, i, injection) for i, injection in blocks.items() if injection.block
        }

    async def _ask(
        self, request: ClientRequest, live: Live, extent: Extent, blocks: dict[int, Injection]
    ) -> list[Found]:
        units = request.items[extent.person].units
        text = "\n".join(u.text for u in units if u.role == "user" and u.kind == "said")[:_QUERY_LENGTH]
        if not text:
            return []
        present = {(str(i["kind"]), str(i["name"])) for b in blocks.values() for i in b.items}
        query = Query(text, live.record.scope, live.id, frozenset(present | self._loaded(request, live)))
        found: list[Found] = []
        for source in self.sources:
            try:
                async with asyncio.timeout(self._deadline):
                    found += await source.recall(query)
            except TimeoutError:
                self._metrics.count("recall_timeout", source.name)
            except Unavailable as error:
                self._metrics.count("recall_unavailable", source.name)
                _log.debug("nothing from %s: %s", source.name, error)
            except Exception:
                self._metrics.count("recall_failed", source.name)
                _log.exception("recall from %s failed; the turn goes on without it", source.name)
        return _once(found)

    def _loaded(self, request: ClientRequest, live: Live) -> set[tuple[str, str]]:
        """What the client has loaded itself; only what came since the last look is read."""
        if len(request.items) < live.looked_at:  # a compaction may have dropped it again
            live.looked_at = 0
            live.loaded.clear()
        new = request.items[live.looked_at :]
        live.looked_at = len(request.items)
        texts = [
            u.text
            for item in new
            for u in item.units
            if u.role == "user" and (u.kind == "result" or len(u.text) >= _LOADED_LENGTH)
        ]
        if texts:
            for source in self.sources:
                live.loaded |= source.loaded(texts)
        return live.loaded

    def _place(
        self, request: ClientRequest, live: Live, extent: Extent, blocks: dict[int, Injection], edits: Edits
    ) -> None:
        if self._position == "system":
            newest = blocks.get(extent.person)
            if newest is not None and newest.block:
                edits.items, edits.fields = request.dialect.append_system(request, newest.block)
            return
        for index, injection in blocks.items():
            if injection.block:
                edits.items[index] = self._placed.place(request, live, index, injection)


class _Placed:
    """Messages with their blocks as they were put together for the last request; bounded."""

    MAX_BYTES = 4 * 1024 * 1024

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, bytes], tuple[bytes, bytes]] = OrderedDict()
        self._bytes = 0

    def place(self, request: ClientRequest, live: Live, index: int, injection: Injection) -> bytes:
        """A message with its block."""
        raw, key = request.items[index].raw, (live.id, injection.anchor)
        known = self._known.get(key)
        if known is not None and known[0] == raw:
            self._known.move_to_end(key)
            return known[1]
        placed = request.dialect.append(raw, injection.block)
        if known is not None:
            self._bytes -= len(known[0]) + len(known[1])
        self._known[key] = raw, placed
        self._bytes += len(raw) + len(placed)
        while self._bytes > self.MAX_BYTES and len(self._known) > 1:
            _, (one, two) = self._known.popitem(last=False)
            self._bytes -= len(one) + len(two)
        return placed


def _noted(item: Found) -> dict[str, object]:
    """What the ledger and the journal keep of an item."""
    kept = {k: v for k, v in item._asdict().items() if k not in ("text", "content", "arm")}
    return kept | ({"arm": item.arm} if item.arm else {}) | ({} if item.text else {"withheld": True})


def _body(found: list[Found]) -> str:
    """Skills one after the other, then the memories as a list."""
    texts = [item.text for item in found if item.kind == "skill"]
    notes = [item.text for item in found if item.kind == "memory"]
    return "\n\n".join([*texts, "\n".join([_MEMORY_HEADING, *notes])] if notes else texts)


def _once(found: list[Found]) -> list[Found]:
    """Without memories that a recalled skill says already."""
    skills = [" ".join(item.text.casefold().split()) for item in found if item.kind == "skill"]
    if not skills:
        return found
    return [item for item in found if item.kind == "skill" or not any(_said_in(item, text) for text in skills)]


def _said_in(memory: Found, skill: str) -> bool:
    said = " ".join((memory.content or memory.text).casefold().split())
    return len(said) >= _SAID_LENGTH and said in skill


def _anchors(request: ClientRequest) -> dict[int, bytes]:
    """For each message of a person, the mark by which it is found again: what it says, and what was said before it."""
    anchors: dict[int, bytes] = {}
    before = b""
    for index, item in enumerate(request.items):
        spoken = [u for u in item.units if u.role == "user" and u.kind in ("said", "media")]
        if spoken and item.role == "user":
            mark = before + b"".join(u.digest for u in spoken)
            anchors[index] = hashlib.blake2b(mark, digest_size=16).digest()
        before = _last_answer(item) or before
    return anchors


def _last_answer(item: Item) -> bytes:
    return next((u.digest for u in reversed(item.units) if u.role == "assistant"), b"")


def _first_call(request: ClientRequest, extent: Extent) -> bool:
    """Whether nothing has been answered yet since the person spoke."""
    return not any(_last_answer(item) for item in request.items[extent.person + 1 :])
