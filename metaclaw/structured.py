"""JSON out of a model's answer: thinking and wrapping taken off, the value checked against its schema.

NotFitting
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_THINKING = re.compile(r"^\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
# Some servers swallow the opening tag with the prompt's end, and send the rest.
_THINKING_END = re.compile(r"^(?:(?!<think>).)*?</think>\s*", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"^\s*<(think|thinking|reasoning)>", re.IGNORECASE)
_OPENING = re.compile(r"[{\[]")
_MOST_TRIES = 200  # brackets that open nothing; more of them are no answer
_FENCE = re.compile(r"```(?:json|JSON)?\s*\n(.*?)```", re.DOTALL)


class NotFitting(Exception):
    """No JSON value of the wanted shape is in the text; the message says what is wrong with the nearest one."""


def without_thinking(text: str) -> str:
    """The answer behind a leading block of thinking; empty when the thinking never ended."""
    while match := _THINKING.match(text):
        text = text[match.end() :]
    if match := _THINKING_END.match(text):
        text = text[match.end() :]
    return "" if _UNFINISHED.match(text) else text.strip()


def parse(text: str, schema: Mapping[str, Any]) -> Any:
    """The first JSON value in the text that fits the schema. Raises NotFitting."""
    import jsonschema  # type: ignore[import-untyped]  # only here: it takes time to import

    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)(schema)
    problem = "there is no JSON value in it"
    for value in _values(text):
        error = next(validator.iter_errors(value), None)
        if error is None:
            return value
        where = "/".join(str(part) for part in error.absolute_path)
        problem = f"{error.message[:300]}" + (f" (at {where})" if where else "")
    raise NotFitting(problem)


def _values(text: str) -> Iterator[Any]:
    """JSON values in a text, the likeliest first: all of it, what is fenced, what stands among words."""
    decoder = json.JSONDecoder()
    for candidate in (text, *(match[1] for match in _FENCE.finditer(text))):
        try:
            yield json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    position = 0
    for _ in range(_MOST_TRIES):
        if (match := _OPENING.search(text, position)) is None:
            return
        try:
            value, position = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            position = match.start() + 1
        else:
            yield value
