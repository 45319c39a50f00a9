"""Change one value in the text of a YAML file and leave every other byte as it is.

A value is put in place by its position in the text; the result is parsed again and compared, so an edit either
does exactly what was asked or is refused.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from metaclaw.config.document import Document, parse_document
from metaclaw.config.problems import ConfigError, Problem
from metaclaw.config.scalar import render


def with_value(document: Document, key: str, value: Any) -> str:
    """The text with `key` set to a value: text, number, true/false, a list or a list of objects."""
    change = _replaced if key in document.nodes else _inserted
    text = change(document, key, value)
    return _verified(document, text, key, value)


def without(document: Document, key: str) -> str:
    """The text without `key`."""
    if key not in document.nodes:
        return document.text
    parent = document.nodes[key.rpartition(".")[0]][1] if "." in key else document.root
    if not isinstance(parent, MappingNode):
        raise _refused(document, key)
    text = _removed_from_flow(document, parent, key) if parent.flow_style else _removed_lines(document, key)
    return _verified(document, text, key, None)


def _refused(document: Document, key: str) -> ConfigError:
    return ConfigError(
        Problem("can't be changed in place in this file; use `metaclaw config edit`", key, document.source)
    )


def _verified(document: Document, text: str, key: str, value: Any) -> str:
    """The new text, if it says what the old one said but for `key`."""
    try:
        after = parse_document(text, document.source)
    except ConfigError:
        raise _refused(document, key) from None
    wanted = copy.deepcopy(document.values)
    place = wanted
    *path, last = key.split(".")
    for part in path:
        place = place.setdefault(part, {})
        if not isinstance(place, dict):
            raise _refused(document, key)
    if value is None:
        place.pop(last, None)
    else:
        place[last] = _as_parsed(value)
    if _pruned(after.values) != _pruned(wanted):
        raise _refused(document, key)
    return text


def _as_parsed(value: Any) -> Any:
    """A value as the parser gives it back: every scalar as text."""
    if isinstance(value, dict):
        return {name: _as_parsed(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_parsed(item) for item in value]
    return value if isinstance(value, str) else json.dumps(value)


def _pruned(values: Any) -> Any:
    """Without empty sections: a section without keys says nothing."""
    if not isinstance(values, dict):
        return values
    return {name: inner for name, item in values.items() if (inner := _pruned(item)) != {}}


def _replaced(document: Document, key: str, value: Any) -> str:
    text = document.text
    key_node, old = document.nodes[key]
    new = render(value, old.style if isinstance(old, ScalarNode) else None)
    start, end = old.start_mark.index, _end(document, key_node, old)
    colon = _after_colon(document, key_node)
    if isinstance(old, SequenceNode) and not old.flow_style:
        # A list on lines of its own becomes one in brackets behind the colon; a comment there stays.
        first = text.rfind("\n", 0, start) + 1
        return f"{text[:colon]} {new}{text[colon:first]}{text[_line_end(text, end) :]}"
    if not text[start : old.end_mark.index]:
        start = end = colon
    if isinstance(old, ScalarNode) and old.style in ("|", ">"):
        new += _newline(document.text)
    return text[:start] + (" " if text[:start].endswith(":") else "") + new + text[end:]


def _after_colon(document: Document, key_node: Node) -> int:
    at = document.text.find(":", key_node.end_mark.index)
    return at + 1 if at >= 0 else int(key_node.end_mark.index)


def _end(document: Document, key_node: Node | None, node: Node) -> int:
    """Where a value's own text ends; the parser's end mark of a block is where the next thing begins."""
    if isinstance(node, MappingNode) and not node.flow_style:
        return _end(document, *node.value[-1])
    if isinstance(node, SequenceNode) and not node.flow_style:
        return _end(document, None, node.value[-1])
    if isinstance(node, ScalarNode) and node.style in ("|", ">"):
        body = document.text[node.start_mark.index : node.end_mark.index]
        return int(node.start_mark.index) + len(body.rstrip("\r\n ")) + _one_newline(body)
    if node.start_mark.index == node.end_mark.index and key_node is not None:
        return _after_colon(document, key_node)
    return int(node.end_mark.index)


def _one_newline(body: str) -> int:
    rest = body[len(body.rstrip("\r\n ")) :]
    at = rest.find("\n")
    return at + 1 if at >= 0 else len(rest)


def _line_end(text: str, index: int) -> int:
    """Where the next line begins, counted from the end of a value."""
    if index and text[index - 1] == "\n":
        return index
    at = text.find("\n", index)
    return at + 1 if at >= 0 else len(text)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


@dataclass(frozen=True)
class _Place:
    """The innermost section that exists, and the names still to be made under it, the key's own last."""

    key: str
    key_node: Node | None
    node: Node | None
    missing: list[str]


def _place(document: Document, key: str) -> _Place:
    parts = key.split(".")
    for depth in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:depth])
        if prefix in document.nodes:
            key_node, node = document.nodes[prefix]
            return _Place(key, key_node, node, parts[depth:])
    return _Place(key, None, document.root, parts)


def _inserted(document: Document, key: str, value: Any) -> str:
    place = _place(document, key)
    if isinstance(place.node, MappingNode):
        if place.node.flow_style:
            return _into_flow(document, place.node, place.missing, value)
        indent = place.node.value[0][0].start_mark.column
        at = _line_end(document.text, _end(document, None, place.node))
        return _lines_at(document.text, at, indent, place.missing, value)
    if place.node is None or place.key_node is None:
        return _lines_at(document.text, len(document.text), 0, place.missing, value)
    # A section that is there but says nothing, or `null`.
    if not isinstance(place.node, ScalarNode):
        raise _refused(document, key)
    colon, text = _after_colon(document, place.key_node), document.text
    if text[place.node.start_mark.index : place.node.end_mark.index]:
        text = text[:colon] + text[place.node.end_mark.index :]
    return _lines_at(text, _line_end(text, colon), place.key_node.start_mark.column + 2, place.missing, value)


def _lines_at(text: str, at: int, indent: int, names: list[str], value: Any) -> str:
    newline = _newline(text)
    lines = [f"{' ' * (indent + 2 * depth)}{name}:" for depth, name in enumerate(names)]
    lines[-1] += f" {render(value)}"
    before = text[:at]
    if before.strip("\ufeff") and not before.endswith("\n"):
        before += newline
    return before + newline.join(lines) + newline + text[at:]


def _into_flow(document: Document, node: MappingNode, names: list[str], value: Any) -> str:
    inner = render(value, flow=True)
    for name in reversed(names[1:]):
        inner = f"{{{name}: {inner}}}"
    entry = f"{names[0]}: {inner}"
    if not node.value:
        at = node.start_mark.index + 1
        return document.text[:at] + entry + document.text[at:]
    at = _end(document, *node.value[-1])
    return f"{document.text[:at]}, {entry}{document.text[at:]}"


def _removed_lines(document: Document, key: str) -> str:
    key_node, node = document.nodes[key]
    start = key_node.start_mark.index - key_node.start_mark.column
    if document.text[start : key_node.start_mark.index].strip("\ufeff "):
        raise _refused(document, key)
    start += 1 if document.text.startswith("\ufeff") and start == 0 else 0
    end = _line_end(document.text, _end(document, key_node, node))
    return document.text[:start] + document.text[end:]


def _removed_from_flow(document: Document, parent: MappingNode, key: str) -> str:
    position = next(number for number, (_, node) in enumerate(parent.value) if node is document.nodes[key][1])
    start = parent.value[position][0].start_mark.index
    if position + 1 < len(parent.value):
        end = parent.value[position + 1][0].start_mark.index
    else:
        end = _end(document, *parent.value[position])
        if position:
            start = _end(document, *parent.value[position - 1])
    return document.text[:start] + document.text[end:]
