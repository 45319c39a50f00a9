"""A YAML file as text, values and positions. Scalars stay as they were written; the schema gives them their type."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from metaclaw.config.problems import ConfigError, Problem

_DEEPEST = 12
_MOST_VALUES = 20_000  # aliases of aliases make millions out of a few lines


@dataclass(frozen=True)
class Document:
    """What a file says. `values` is nested; `nodes` has each dotted key's (key node, value node)."""

    source: str
    text: str
    root: Node | None = None
    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, tuple[Node, Node]] = field(default_factory=dict)

    def problem(self, key: str, text: str, *, at_key: bool = False) -> Problem:
        """A fault of a key, at its value (or the key itself), or at the nearest section around it."""
        name = key
        while name and name not in self.nodes:
            name = name.rpartition(".")[0]
        if not name:
            return Problem(text, key=key, source=self.source)
        key_node, value = self.nodes[name]
        mark = (key_node if at_key or name != key or _is_empty(value) else value).start_mark
        return Problem(text, key=key, source=self.source, line=mark.line + 1, column=mark.column + 1)


def read_document(path: Path) -> Document:
    """Read and parse a file; a missing one is empty. Raises ConfigError with line and column."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Document(str(path), "")
    except OSError as error:
        raise ConfigError(Problem(f"can't be read ({error.strerror or error})", source=str(path))) from error
    return parse_document(decode(data, str(path)), str(path))


def decode(data: bytes, source: str) -> str:
    """The text of a file. Raises ConfigError at the first byte that isn't UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        raise ConfigError(Problem("not UTF-8; save the file as UTF-8", "", source, line, column)) from error


def parse_document(text: str, source: str) -> Document:
    """Parse YAML 1.2. Raises ConfigError with line and column."""
    parser = YAML(typ="rt", pure=True)
    parser.composer.warn_double_anchors = False
    try:
        root = parser.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise ConfigError(Problem(_syntax(error), "", source, line, column)) from None
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        raise ConfigError(Problem("not YAML: a control character", "", source, line, column)) from None
    except RecursionError:
        raise ConfigError(Problem("nested too deep", source=source)) from None
    except (YAMLError, ValueError) as error:
        raise ConfigError(Problem(f"not YAML ({type(error).__name__})", source=source)) from None
    document = Document(source, text, root)
    if root is None or _is_empty(root):
        return document
    if not isinstance(root, MappingNode):
        raise ConfigError(Problem("must be `key: value` lines", "", source, root.start_mark.line + 1, 1))
    document.values.update(_mapping(root, "", document))
    return document


def _syntax(error: MarkedYAMLError) -> str:
    # The parser's own words may quote the file, and so a key: take its fault, without what it quotes.
    fault = re.sub(r'"[^"]*"', "…", str(error.problem or "fault")).splitlines()[0]
    where = f" ({str(error.context).splitlines()[0]})" if error.context else ""
    return f"not YAML: {fault}{where}"


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.style is None and node.value in ("", "~", "null", "Null", "NULL")


def _mapping(node: MappingNode, prefix: str, document: Document) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, ScalarNode) else "?"
        dotted = f"{prefix}{name}"
        if dotted in document.nodes:
            mark = key.start_mark
            raise ConfigError(Problem("given twice; keep one", dotted, document.source, mark.line + 1, mark.column + 1))
        document.nodes[dotted] = (key, value)
        if not _is_empty(value):
            found[name] = _plain(value, f"{dotted}.", document)
    return found


def _plain(node: Node, prefix: str, document: Document) -> Any:
    if prefix.count(".") > _DEEPEST:
        raise ConfigError(document.problem(prefix[:-1], "nested too deep"))
    if len(document.nodes) > _MOST_VALUES:
        raise ConfigError(document.problem(prefix[:-1], "makes too many values; write them without aliases"))
    if isinstance(node, MappingNode):
        return _mapping(node, prefix, document)
    if isinstance(node, SequenceNode):
        items = []
        for number, item in enumerate(node.value):
            document.nodes[f"{prefix}{number}"] = (item, item)
            items.append(_plain(item, f"{prefix}{number}.", document))
        return items
    return node.value
