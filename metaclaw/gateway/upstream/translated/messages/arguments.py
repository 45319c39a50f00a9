"""Tool arguments: an object in messages, JSON text everywhere else."""

from __future__ import annotations

from typing import Any

from metaclaw.gateway.upstream.translated.payload import Json, Malformed, decode, encode_text

# Arguments that are no JSON object (a model cut off in the middle) travel under this key, and come back as they were.
_UNPARSED = "unparsed_arguments"


def to_arguments(value: Any) -> str:
    """The JSON text of a tool_use block's input."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(_UNPARSED), str):
        return str(value[_UNPARSED])
    return encode_text({} if value is None else value)


def to_input(arguments: str) -> Json:
    """The input object of a tool_use block."""
    if not arguments.strip():
        return {}
    try:
        value = decode(arguments)
    except Malformed:
        value = None
    return value if isinstance(value, dict) else {_UNPARSED: arguments}
