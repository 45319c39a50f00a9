"""What callers send, field by field; what isn't known is refused."""

from __future__ import annotations

import base64
import binascii
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ..records import MemoryType, seconds
from ..retrieval import Kind, Mode
from ..transfer import ExportFormat, ImportFormat

MOST_RESULTS = 200
MOST_TURNS = 1000
LONGEST_WAIT = 300.0


def _time(value: Any) -> float | None:
    if value is None:
        return None
    when = seconds(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if when is None or not -6e10 < when < 2.5e11:  # what a date can hold
        raise ValueError("a time is seconds since the epoch, or ISO 8601 such as 2026-12-01T10:15:00Z")
    return when


def _mode(value: Any) -> Any:
    return "semantic" if value == "embedding" else value


When = Annotated[float | None, BeforeValidator(_time, json_schema_input_type=float | str | None)]
Wanted = Annotated[Mode | None, BeforeValidator(_mode)]
Share = Annotated[float, Field(ge=0, le=1)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Labels = Annotated[tuple[str, ...], Field(max_length=100)]
Wait = Annotated[float, Field(ge=0, le=LONGEST_WAIT)]


class Asked(BaseModel):
    """Every request may name the scope it means."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    scope_id: str | None = None


class TurnGiven(BaseModel):
    """One exchange."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt_text: str = ""
    response_text: str = ""
    turn_id: Annotated[str, Field(max_length=300)] = ""
    at: When = None


class BufferTurn(Asked):
    """`POST /buffer_turn`."""

    session_id: Name
    turn: TurnGiven


class FlushSession(Asked):
    """`POST /flush_session`."""

    session_id: Name
    final: bool = True
    wait: Wait = 30.0


class FlushScope(Asked):
    """`POST /flush`."""

    wait: Wait = 30.0


class Ingest(Asked):
    """`POST /ingest`."""

    session_id: Name
    turns: Annotated[tuple[TurnGiven, ...], Field(max_length=MOST_TURNS)]
    wait: Wait = 30.0


class Retrieve(Asked):
    """`POST /retrieve`."""

    task_description: str
    limit: Annotated[int | None, Field(ge=0, le=100)] = None
    max_tokens: Annotated[int | None, Field(ge=0, le=100_000)] = None
    mode: Wanted = None
    min_score: Share | None = None
    exclude: Annotated[tuple[str, ...], Field(max_length=2000)] = ()
    now: When = None


class Search(Asked):
    """`POST /search`."""

    query: str
    limit: Annotated[int, Field(ge=1, le=MOST_RESULTS)] = 10
    mode: Wanted = None
    min_score: Share | None = None
    kind: Kind | None = None
    now: When = None


class Store(Asked):
    """`POST /store`."""

    content: Annotated[str, Field(min_length=1)]
    memory_type: MemoryType = "semantic"
    tags: Labels = ()
    importance: Share = 0.5
    confidence: Share = 1.0
    entities: Labels = ()
    subject: str = ""
    valid_from: When = None
    expires_at: When = None
    pinned: bool = False
    session_id: Annotated[str, Field(max_length=300)] = ""
    replaces: str = ""


class Change(Asked):
    """`PATCH /memories/{id}`: what is given changes."""

    content: Annotated[str, Field(min_length=1)] = ""
    summary: str = ""
    memory_type: MemoryType = "semantic"
    subject: str = ""
    entities: Labels = ()
    topics: Labels = ()
    tags: Labels = ()
    importance: Share = 0.5
    confidence: Share = 0.7
    valid_from: When = None
    expires_at: When = None
    pinned: bool = False
    status: Literal["active", "archived"] = "active"
    version: int | None = None

    def given(self) -> dict[str, Any]:
        """The fields that were named, as the store takes them; a null takes away what may be absent."""
        told = self.model_dump(exclude_unset=True, exclude={"scope_id", "version"})
        return {name: value for name, value in told.items() if value is not None or name == "expires_at"}


class Revert(Asked):
    """`POST /memories/{id}/revert`."""

    version: int


class Pin(Asked):
    """`POST /pin`."""

    memory_id: str
    pinned: bool = True


class Feedback(Asked):
    """`POST /feedback`."""

    memory_id: str
    useful: bool


class Forget(Asked):
    """`POST /forget`."""

    memory_id: str
    with_history: bool = False


class Undo(Asked):
    """`POST /consolidate/undo`."""

    run_id: str


class Reindex(Asked):
    """`POST /reindex`."""

    all_scopes: bool = False


class Export(Asked):
    """`POST /export`."""

    format: ExportFormat = "json"
    all_scopes: bool = False
    turns: bool = True


class Import(Asked):
    """`POST /import`: one of text, bytes in base64, or a path on the service's machine."""

    format: ImportFormat = "auto"
    data: str | None = None
    data_base64: str | None = None
    path: str | None = None
    dry_run: bool = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(given is not None for given in (self.data, self.data_base64, self.path)) != 1:
            raise ValueError("give one of data, data_base64 and path")
        try:
            base64.b64decode(self.data_base64 or "", validate=True)
        except binascii.Error:
            raise ValueError("data_base64 is not base64") from None
        return self

    def content(self) -> bytes | Path:
        """The file's bytes, or where it is."""
        if self.path is not None:
            return Path(self.path).expanduser()
        return (self.data or "").encode() if self.data_base64 is None else base64.b64decode(self.data_base64)
