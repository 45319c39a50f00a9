"""The reader of server-sent events."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from metaclaw.gateway.upstream.translated.sse import SseReader, data_event, named_event


def test_every_form_of_an_event_is_read() -> None:
    stream = (
        b"\xef\xbb\xbf: a comment\n\n"
        b"data: one\n\n"
        b"event: named\r\ndata:two\r\n\r\n"
        b"id: 7\rdata: three\rdata: lines\r\r"
        b"retry: 10\n\n"
        b"event: empty\n\n"
        b"data: last"
    )
    reader = SseReader()
    assert reader.feed(stream) == [("", "one"), ("named", "two"), ("", "three\nlines")]
    assert reader.end() == [("", "last")]
    assert reader.end() == []


@given(
    data=st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), min_size=1), min_size=1, max_size=4),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    size=st.integers(1, 7),
)
def test_borders_inside_characters_and_line_ends_change_nothing(data: list[str], newline: str, size: int) -> None:
    stream = "".join(f"data: {item}{newline}{newline}" for item in data).encode()
    reader = SseReader()
    found = [event for i in range(0, len(stream), size) for event in reader.feed(stream[i : i + size])]
    assert [event for _, event in found + reader.end()] == data


def test_what_is_written_is_read_again() -> None:
    reader = SseReader()
    assert reader.feed(data_event({"a": "ü\n"})) == [("", '{"a":"ü\\n"}')]
    assert reader.feed(named_event("x", {"half": "\ud83d"})) == [("x", '{"half":"\\ud83d"}')]
