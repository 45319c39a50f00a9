"""Server-sent events: an incremental reader that accepts any chunk borders, and a writer."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.payload import Json, encode

DONE = b"data: [DONE]\n\n"


class SseReader:
    """Turns bytes into (event name, data) pairs. Each byte is looked at once."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []  # the pieces of a line that has not ended yet
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[tuple[str, str]]:
        """The events that these bytes complete."""
        if self._after_cr and chunk[:1] == b"\n":
            chunk = chunk[1:]
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk[-1:] == b"\r"
        lines = chunk.splitlines(keepends=True)
        rest = b"" if lines[-1][-1:] in (b"\n", b"\r") else lines.pop()
        found: list[tuple[str, str]] = []
        for line in lines:
            if self._partial:
                self._partial.append(line)
                line = b"".join(self._partial)
                self._partial.clear()
            self._line(line.rstrip(b"\r\n"), found)
        if rest:
            self._partial.append(rest)
        return found

    def end(self) -> list[tuple[str, str]]:
        """The stream has ended: the last event, if only its blank line is missing."""
        found: list[tuple[str, str]] = []
        if self._partial:
            self._line(b"".join(self._partial), found)
            self._partial.clear()
        self._line(b"", found)
        return found

    def _line(self, raw: bytes, found: list[tuple[str, str]]) -> None:
        if self._first:
            self._first = False
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if not raw:
            if self._data:
                found.append((self._name, "\n".join(self._data)))
            self._name, self._data = "", []
            return
        field, _, value = raw.partition(b":")
        if field == b"data":
            self._data.append(value.removeprefix(b" ").decode("utf-8", "replace"))
        elif field == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")


def data_event(data: Json) -> bytes:
    """An event without a name, as chat completions use it."""
    return b"data: " + encode(data) + b"\n\n"


def named_event(name: str, data: Json) -> bytes:
    """An event with a name, as messages and responses use it."""
    return b"event: " + name.encode("ascii") + b"\ndata: " + encode(data) + b"\n\n"
