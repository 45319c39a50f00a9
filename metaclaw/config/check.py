"""Is a configuration sound: known keys, right types, and values that go together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from pydantic import ValidationError

from metaclaw.config.document import Document, parse_document
from metaclaw.config.models import Fallback, Section, Settings
from metaclaw.config.problems import ConfigError, Problem, unknown_key
from metaclaw.config.schema import OLD_NAMES, RETIRED, Key, is_section, keys

_SHOWN = 60


def rename_old(document: Document) -> list[str]:
    """Move values under old names to the new ones (a value under the new name stays); warns of retired keys."""
    for old, new in OLD_NAMES.items():
        place, last = _holder(document.values, old)
        if last in place:
            value, name = place.pop(last), new.rpartition(".")[2]
            if name not in place:
                place[name] = value
                document.nodes[new] = document.nodes[old]
    warnings = []
    for retired in RETIRED:
        place, last = _holder(document.values, retired)
        if last in place:
            del place[last]
            warnings.append(str(document.problem(retired, "has no effect any more; remove it", at_key=True)))
    return warnings


def _holder(values: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """The mapping that would hold a key, and the key's last name."""
    place: Any = values
    *path, last = key.split(".")
    for part in path:
        place = place.get(part) if isinstance(place, dict) else None
    return (place if isinstance(place, dict) else {}), last


def typed(key: Key, value: Any) -> Any:
    """A value, given as text or already typed, as `key` holds it. Raises ConfigError."""
    if isinstance(value, str):
        if not value.isascii() and value.encode("utf-8", "replace").decode("utf-8") != value:
            raise ConfigError(Problem("not valid text", key=key.name))
        if key.kind == "upstreams":
            value = parse_document(f"value: {value}", key.name).values.get("value", [])
    values: dict[str, Any] = {}
    place = values
    *path, last = key.name.split(".")
    for part in path:
        place = place.setdefault(part, {})
    place[last] = value
    # Whether it goes with the other keys is seen when the whole file is checked.
    settings: Any = validate(values, {"proxy.api_key"}, lambda name, text: Problem(text, key=name), [])
    if key.kind in ("upstreams", "secret"):
        return value
    for part in key.name.split("."):
        settings = getattr(settings, part)
    return int(settings) if key.kind == "float" and float(settings).is_integer() and settings < 2**53 else settings


def check_keys(document: Document) -> list[Problem]:
    """Every key of the file that isn't one, with the nearest known one."""
    return list(_unknown(document.values, Settings, "", document))


def _unknown(values: dict[str, Any], model: type[Section], prefix: str, document: Document) -> Iterator[Problem]:
    for name in [*values]:
        field = model.model_fields.get(name)
        dotted = f"{prefix}{name}"
        if field is None:
            del values[name]
            text = "write it nested, not with dots" if dotted in keys() else unknown_key(dotted, [*keys(), *OLD_NAMES])
            yield document.problem(dotted, text, at_key=True)
        elif is_section(field.annotation):
            if isinstance(values[name], dict):
                yield from _unknown(values[name], cast(type[Section], field.annotation), f"{dotted}.", document)
            else:
                del values[name]
                yield document.problem(dotted, "is a section: put `key: value` lines under it")


def validate(
    values: dict[str, Any], stored: set[str], place: Callable[[str, str], Problem], problems: list[Problem]
) -> Settings:
    """The settings these values make; `stored` names secrets kept elsewhere. Raises ConfigError with all faults."""
    try:
        settings = Settings.model_validate(values, context={"stored": stored})
    except ValidationError as error:
        found = [*problems, *_faults(error, place)]
        raise ConfigError(*found) from None
    if problems:
        raise ConfigError(*problems)
    return settings


def _faults(error: ValidationError, place: Callable[[str, str], Problem]) -> Iterator[Problem]:
    # An unknown key first: a missing one beside it is most likely the one that was meant.
    for fault in sorted(error.errors(include_url=False), key=lambda fault: fault["type"] != "extra_forbidden"):
        context = fault.get("ctx", {})
        key = ".".join(str(part) for part in fault["loc"]) or str(context.get("key", ""))
        yield place(key, _words(key, fault["type"], fault["msg"], context, fault.get("input")))


def _words(key: str, kind: str, message: str, context: dict[str, Any], value: Any) -> str:
    if kind == "extra_forbidden":
        return unknown_key(key.rpartition(".")[2], [*Fallback.model_fields])
    if kind == "missing":
        return "is missing"
    wanted = {
        "literal_error": f"must be one of {context.get('expected', '')}".replace("'", "").replace(" or ", ", "),
        "greater_than_equal": f"must be at least {context.get('ge')}",
        "less_than_equal": f"must be at most {context.get('le')}",
        "greater_than": f"must be more than {context.get('gt')}",
        "less_than": f"must be less than {context.get('lt')}",
        "list_type": "must be a list",
        "string_type": "must be text",
        "model_type": "must be `key: value` lines",
        "finite_number": "must be a finite number",
    }.get(kind)
    if wanted is None and kind.startswith(("int_", "float_", "bool_")):
        wanted = {"i": "must be a whole number", "f": "must be a number", "b": "must be true or false"}[kind[0]]
    if wanted is None:
        return message.removeprefix("Value error, ")
    known = keys().get(key)
    if isinstance(value, str) and known is not None and not known.secret:
        return f"{wanted}, not {value[:_SHOWN]!r}"
    return wanted
