"""JSON as agents and providers really send it: fast where it is clean, forgiving where it is not."""

from __future__ import annotations

import json
from typing import Any

import msgspec

Json = dict[str, Any]

_encoder = msgspec.json.Encoder()


class Malformed(ValueError):
    """These bytes are no JSON."""


def decode(data: bytes | str) -> Any:
    """Parse JSON; half a surrogate pair and NaN are accepted, as the agents' own parsers accept them."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeEncodeError):
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise Malformed(str(error)) from None
    except RecursionError as error:
        raise Malformed(str(error)) from None


def encode(value: Any) -> bytes:
    """Write compact JSON; half a surrogate pair is written as its escape."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def encode_text(value: Any) -> str:
    """The same, as text: for arguments that travel as a string."""
    return encode(value).decode("utf-8")


def as_text(value: Any) -> str:
    """The string, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


def as_dict(value: Any) -> Json:
    """The object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The array, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_dicts(value: Any) -> list[Json]:
    """The objects in an array; everything else in it is left out."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_count(value: Any) -> int:
    """A number of tokens: zero for anything that is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value < 0:
        return 0
    return int(min(value, 2**53))


def present(value: Json) -> Json:
    """The same object without the keys that are None."""
    return {key: item for key, item in value.items() if item is not None}
