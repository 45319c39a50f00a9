"""Which conversation a request is part of, and what of it is already known."""

from __future__ import annotations

import hashlib
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from metaclaw.gateway.canonical import chain
from metaclaw.gateway.identity import Identity
from metaclaw.gateway.protocols import ClientRequest, Item
from metaclaw.journal.records import Injection, Message, Session

_LOOKBACK = 64  # positions from the end that are looked up; a client never drops more than its last few messages
_SPOKEN_LENGTH = 24  # shorter answers ("Done.") say nothing about which conversation this is


@dataclass(frozen=True, slots=True)
class Extent:
    """A request's conversation as digests: `chains[i]` covers everything up to and including item i."""

    chains: list[bytes]
    person: int  # index of the newest message in which a person speaks
    opening: bytes  # digest of the first thing a person said

    @property
    def whole(self) -> bytes:
        """The chain over all items."""
        return self.chains[-1] if self.chains else b""


@dataclass(slots=True)
class Live:
    """A conversation held in RAM; all of it can be read back from the journal."""

    record: Session
    chains: dict[bytes, None] = field(default_factory=dict)
    ledger: dict[bytes, Injection] = field(default_factory=dict)
    asked: bytes = b""  # the newest request's chain, before its answer
    turn_key: bytes = b""
    turn_person: bytes = b""  # digest of what the person said in the open turn
    turn_open: bool = False
    uses_tools: bool = False
    in_flight: int = 0
    looked_at: int = 0  # how many items were searched for what the client has loaded itself
    loaded: set[tuple[str, str]] = field(default_factory=set)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.record.id

    def learn(self, messages: Iterable[Message], head: bytes) -> None:
        """These messages are in the journal's hands now."""
        for message in messages:
            self.chains[message.chain] = None
        if head:
            self.record = replace(self.record, head=head)

    def forget(self, messages: Iterable[Message]) -> None:
        """They could not be written: the next turn tries again."""
        for message in messages:
            self.chains.pop(message.chain, None)


def measure(request: ClientRequest, person: int) -> Extent:
    """Digest a request's conversation; system messages change under way and don't count."""
    chains: list[bytes] = []
    current = b""
    opening = b""
    for item in request.items:
        if item.role not in ("system", "developer"):
            current = chain(current, (unit.digest for unit in item.units))
            if not opening and item.role == "user" and item.units:
                opening = item.units[0].digest
        chains.append(current)
    return Extent(chains, person, opening)


def fresh_messages(request: ClientRequest, extent: Extent, live: Live) -> list[Message]:
    """What of the request's conversation the journal doesn't have yet."""
    start = 0
    for index in range(len(extent.chains) - 1, -1, -1):
        if extent.chains[index] in live.chains:
            start = index + 1
            break
    pairs = zip(request.items[start:], extent.chains[start:], strict=True)
    return [
        as_message(item, reached) for item, reached in pairs if item.units and item.role not in ("system", "developer")
    ]


def as_message(item: Item, reached: bytes) -> Message:
    """An item of a conversation as the journal keeps it."""
    digest = hashlib.blake2b(b"".join(unit.digest for unit in item.units), digest_size=16).digest()
    text = "\n".join(unit.text for unit in item.units if unit.kind == "said")
    return Message(item.role, item.raw, text, digest, reached)


class SessionTable:
    """The conversations of late, found by id or by lineage. Bounded; what falls out is read back on demand."""

    def __init__(self, clock: Callable[[], float], limit: int = 200) -> None:
        self._clock = clock
        self._limit = limit
        self._live: OrderedDict[str, Live] = OrderedDict()
        self._tails: OrderedDict[bytes, list[str]] = OrderedDict()
        self._spoken: OrderedDict[bytes, str] = OrderedDict()

    def get(self, session_id: str) -> Live | None:
        """A conversation in RAM."""
        live = self._live.get(session_id)
        if live is not None:
            self._live.move_to_end(session_id)
        return live

    def adopt(self, record: Session, chains: Iterable[bytes], injections: Iterable[Injection]) -> Live:
        """Take a conversation read back from the journal into RAM."""
        known = self._live.get(record.id)
        if known is not None:
            return known
        live = Live(record, dict.fromkeys(chains), {i.anchor: i for i in injections})
        self._keep(live)
        self.note(live, [record.head])
        return live

    def open(self, request: ClientRequest, identity: Identity, extent: Extent) -> Live:
        """Begin a new conversation."""
        now = self._clock()
        record = Session(
            id=identity.session_id or f"s-{uuid.uuid4().hex[:20]}",
            client_id=identity.session_id,
            claw=identity.claw,
            user_id=identity.user_id,
            workspace_id=identity.workspace_id,
            scope=identity.scope,
            protocol=request.dialect.wire,
            model=request.model,
            opening=extent.opening,
            started_at=now,
            last_at=now,
        )
        live = Live(record)
        self._keep(live)
        return live

    def find(self, request: ClientRequest, extent: Extent) -> Live | None:
        """The known conversation that this request continues; None means it is a new one."""
        answered = _assistant_positions(request)
        if not answered:
            return self._retried(extent)
        for index in self._positions(extent):
            reached = extent.chains[index]
            holders = [self._live[i] for i in reversed(self._tails.get(reached, ())) if i in self._live]
            for live in holders:
                if reached in (live.record.head, live.asked):
                    return live
            # An older point of a conversation: an edited question goes on there, but beyond it only the person may
            # have spoken, else this is another chat that began alike.
            if holders and not any(position > index for position in answered):
                return holders[0]
        return self._compacted(request, extent)

    def note(self, live: Live, reached: Iterable[bytes], spoken: Iterable[bytes] = ()) -> None:
        """Remember where a conversation stands, and what its model said, so that the next request finds it."""
        for tail in reached:
            if tail:
                holders = self._tails.setdefault(tail, [])
                if live.id in holders:
                    holders.remove(live.id)
                holders.append(live.id)
                del holders[:-8]
                self._tails.move_to_end(tail)
        for digest in spoken:
            self._spoken[digest] = live.id
            self._spoken.move_to_end(digest)
        _trim(self._tails, self._limit * 16)
        _trim(self._spoken, self._limit * 16)

    def drop(self, session_id: str) -> None:
        """Let a conversation out of RAM."""
        self._live.pop(session_id, None)

    def _keep(self, live: Live) -> None:
        self._live[live.id] = live
        self._live.move_to_end(live.id)
        _trim(self._live, self._limit)

    def _positions(self, extent: Extent) -> list[int]:
        """Item indices, newest first, at which the chain grew."""
        found: list[int] = []
        for index in range(len(extent.chains) - 1, -1, -1):
            before = extent.chains[index - 1] if index else b""
            if extent.chains[index] != before:
                found.append(index)
                if len(found) == _LOOKBACK:
                    break
        return found

    def _retried(self, extent: Extent) -> Live | None:
        """A first message again: the same conversation only if its answer failed, else another one that began alike."""
        for session_id in reversed(self._tails.get(extent.whole, ())):
            live = self._live.get(session_id)
            if live is None or live.in_flight:
                continue
            if live.asked == extent.whole and live.record.head in (b"", extent.whole):
                return live
        return None

    def _compacted(self, request: ClientRequest, extent: Extent) -> Live | None:
        """A shorter history of a known conversation: every answer in it is known, and there is more than one hint."""
        votes: dict[str, int] = {}
        spoken = spoken_digests(request.items)
        for digest in spoken:
            holder = self._spoken.get(digest)
            if holder is not None:
                votes[holder] = votes.get(holder, 0) + 1
        for session_id, count in sorted(votes.items(), key=lambda pair: -pair[1]):
            live = self._live.get(session_id)
            same_opening = live is not None and live.record.opening == extent.opening
            if live is not None and count == len(spoken) and (count > 1 or same_opening):
                return live
        return None


def spoken_digests(items: Iterable[Item]) -> list[bytes]:
    """Digests of the answers in a conversation that are long enough to be told apart."""
    return [
        unit.digest
        for item in items
        for unit in item.units
        if unit.role == "assistant" and unit.kind == "said" and len(unit.text) >= _SPOKEN_LENGTH
    ]


def _assistant_positions(request: ClientRequest) -> list[int]:
    return [i for i, item in enumerate(request.items) if any(u.role == "assistant" for u in item.units)]


def _trim(table: OrderedDict[bytes, list[str]] | OrderedDict[bytes, str] | OrderedDict[str, Live], limit: int) -> None:
    while len(table) > limit:
        table.popitem(last=False)
