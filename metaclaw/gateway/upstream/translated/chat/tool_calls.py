"""Tool calls in a chat stream: deltas of several calls interleaved, told apart by index."""

from __future__ import annotations

from dataclasses import dataclass, field

from metaclaw.gateway.upstream.translated.events import Event, Grew, Opened
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.payload import Json, as_dict, as_text, encode_text


@dataclass(slots=True)
class _Call:
    part: int
    id: str = ""
    name: str = ""
    custom: bool = False
    opened: bool = False
    early: list[str] = field(default_factory=list)  # arguments that came before the name


class ToolCalls:
    """The calls of one answer. `extras` keeps what a provider wants back with a call (thought signatures)."""

    def __init__(self) -> None:
        self.extras: Json = {}
        self._by_index: dict[int, _Call] = {}
        self._calls: list[_Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def delta(self, item: Json, next_part: int) -> list[Event]:
        """The events of one delta; `next_part` numbers the call if it is new."""
        call = self._call(item, next_part)
        body = item.get("custom") if isinstance(item.get("custom"), dict) else item.get("function")
        function = as_dict(body)
        call.custom = call.custom or isinstance(item.get("custom"), dict)
        call.id = call.id or as_text(item.get("id"))
        name = as_text(function.get("name"))
        if isinstance(item.get("extra_content"), dict) and call.id:
            self.extras[call.id] = item["extra_content"]
        arguments = function.get("input" if call.custom else "arguments")
        text = encode_text(arguments) if isinstance(arguments, dict) else as_text(arguments)
        events: list[Event] = []
        if name and not call.opened:
            call.name = name
            events.append(self._open(call))
            events += [Grew(call.part, early) for early in call.early]
        if text:
            if call.opened:
                events.append(Grew(call.part, text))
            else:
                call.early.append(text)
        return events

    def end(self) -> list[Event]:
        """At the end of the answer: calls whose name never came are shown all the same; the agent will refuse them."""
        events: list[Event] = []
        for call in self._calls:
            if not call.opened:
                LOSSES.note("chat tool call without a name")
                events.append(self._open(call))
                events += [Grew(call.part, early) for early in call.early]
        return events

    def parts(self) -> list[int]:
        """The parts of all calls, in order."""
        return [call.part for call in self._calls]

    def _open(self, call: _Call) -> Opened:
        call.opened = True
        call.id = call.id or f"call_{call.part}"
        return Opened(call.part, "tool", call.id, call.name, custom=call.custom)

    def _call(self, item: Json, next_part: int) -> _Call:
        call_id = as_text(item.get("id"))
        index = item.get("index")
        if isinstance(index, int) and not isinstance(index, bool):
            known = self._by_index.get(index)
        else:
            # Without an index: by id, else the newest call.
            known = next((call for call in self._calls if call_id and call.id == call_id), None)
            known = known or (self._calls[-1] if self._calls and not call_id else None)
            index = len(self._calls) if known is None else None
        # Some servers give every parallel call the index 0, each with an id and a name of its own.
        renewed = known is not None and call_id and known.id and known.id != call_id
        if known is None or (renewed and as_text(as_dict(item.get("function")).get("name"))):
            known = _Call(next_part, call_id)
            self._calls.append(known)
        if index is not None:
            self._by_index[index] = known
        return known
