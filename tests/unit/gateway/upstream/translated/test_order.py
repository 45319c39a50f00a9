"""Parts one at a time."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.upstream.translated.events import Closed, Event, Failed, Grew, Opened, Stopped
from metaclaw.gateway.upstream.translated.failures import broken
from metaclaw.gateway.upstream.translated.order import JsonEnd, OneAtATime
from metaclaw.gateway.upstream.translated.usage import Usage


def _push(*events: Event) -> list[Event]:
    order = OneAtATime()
    return [out for event in events for out in order.push(event)]


def test_a_second_call_streams_as_soon_as_the_first_is_complete() -> None:
    order = OneAtATime()
    order.push(Opened(0, "tool", "a", "x"))
    order.push(Grew(0, '{"q": "}"'))
    assert order.push(Opened(1, "tool", "b", "y")) == []
    assert order.push(Grew(1, '{"p"')) == []
    assert order.push(Grew(0, "}")) == [
        Grew(0, "}"),
        Closed(0),
        Opened(1, "tool", "b", "y"),
        Grew(1, '{"p"'),
    ]
    assert order.push(Grew(1, ": 1}")) == [Grew(1, ": 1}")]


def test_what_is_open_at_the_end_is_closed_in_order() -> None:
    stop = Stopped("tool", Usage())
    first, second = Opened(0, "tool", "a", "x"), Opened(1, "tool", "b", "y")
    assert _push(first, second, stop) == [first, Closed(0), second, Closed(1), stop]


def test_an_error_comes_at_once() -> None:
    failed = Failed(broken())
    first, second = Opened(0, "tool", "a", "x"), Opened(1, "tool", "b", "y")
    assert _push(first, second, Grew(1, "{}"), failed) == [first, failed]


_JSON = st.recursive(
    st.none() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


@given(value=st.dictionaries(st.text(max_size=4), _JSON, max_size=4), size=st.integers(1, 6))
def test_the_end_of_an_object_is_seen_exactly_at_its_last_character(value: dict[str, Any], size: int) -> None:
    text = json.dumps(value)
    end = JsonEnd()
    for i in range(0, len(text) - 1, size):
        end.feed(text[i : min(i + size, len(text) - 1)])
        assert not end.complete
    end.feed(text[-1])
    assert end.complete
