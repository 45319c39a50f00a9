"""SKILL.md as the Agent Skills specification has it: a tolerant reader and a strict writer."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metaclaw.skills.errors import BadName, FormatError

FILE_NAME = "SKILL.md"
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
MAX_FILE_BYTES = 256 * 1024
CATEGORIES = (
    "general", "common_mistakes", "coding", "research", "data_analysis", "security", "communication", "automation",
    "agentic", "productivity",
)  # fmt: skip

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Device names that Windows reserves in every folder.
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))})
_KEY_LINE = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?$")
_PLAIN = re.compile(r"[\w/(（「《“.+~$](?:.*\S)?", re.DOTALL)
_UNSAFE_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one SKILL.md. `problems` says what the reader had to forgive; the writer ignores it."""

    name: str
    description: str
    body: str
    category: str = "general"
    license: str = ""
    compatibility: str = ""
    allowed_tools: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = field(default=(), compare=False)


def check_name(name: str) -> str:
    """Return the name, or raise BadName: only a name that passes ever becomes part of a path."""
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME or name in _RESERVED:
        shown = json.dumps(name[:80])
        raise BadName(f"{shown} can't name a skill: use 1 to {MAX_NAME} of a-z, 0-9 and single hyphens between them")
    return name


def decode(data: bytes) -> str:
    """Bytes of a SKILL.md as text with `\\n` line ends; UTF-8 or UTF-16, with or without a byte order mark."""
    if len(data) > MAX_FILE_BYTES:
        raise FormatError(f"the file has {len(data)} bytes; the limit is {MAX_FILE_BYTES}")
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise FormatError(f"the file is not UTF-8 (byte {error.start}): save it as UTF-8") from None
    if "\x00" in text:
        raise FormatError("the file holds NUL characters: it is not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(data: bytes, folder: str) -> Document:
    """Read a SKILL.md, forgiving what can be forgiven. Raises FormatError when nothing usable is left."""
    text = decode(data)
    header, body = _split(text)
    problems: list[str] = []
    fields = _fields(header, problems) if header is not None else {}
    if header is None:
        problems.append("no front matter")
    body = body.strip("\n")
    description = " ".join(_text(fields.get("description")).split())
    if not description:
        description = _first_sentence(body)
        problems.append("no description; its first sentence is used")
    if not body.strip() or not description:
        raise FormatError("the file has no instructions below its front matter")
    metadata = _metadata(fields.get("metadata"), problems)
    category = _text(fields.get("category")) or metadata.pop("category", "")
    metadata.pop("category", None)
    name = _text(fields.get("name"))
    if name != folder:
        problems.append(f"its name {json.dumps(name[:80])} is not its folder's; the folder's counts")
    return Document(
        name=folder,
        description=description,
        body=body,
        category=_category(category),
        license=_text(fields.get("license")),
        compatibility=_text(fields.get("compatibility")),
        allowed_tools=_tools(fields.get("allowed-tools")),
        metadata=metadata,
        problems=tuple(problems),
    )


def write(document: Document) -> bytes:
    """The bytes of a SKILL.md that keeps to the specification. Raises BadName or FormatError."""
    check(document)
    metadata = {"category": document.category, **document.metadata}
    lines = ["---", f"name: {_scalar(document.name)}", f"description: {_scalar(document.description)}"]
    for key, value in (("license", document.license), ("compatibility", document.compatibility)):
        if value:
            lines.append(f"{key}: {_scalar(value)}")
    if document.allowed_tools:
        lines.append(f"allowed-tools: {_scalar(document.allowed_tools)}")
    lines.append("metadata:")
    lines += [f"  {key}: {_scalar(value)}" for key, value in metadata.items()]
    lines += ["---", "", document.body, ""]
    return "\n".join(lines).encode("utf-8")


def check(document: Document) -> None:
    """Raise when the document breaks the specification or would not read back as it is."""
    check_name(document.name)
    _check_size("description", document.description, 1, MAX_DESCRIPTION)
    _check_size("compatibility", document.compatibility, 0, MAX_COMPATIBILITY)
    if document.description != " ".join(document.description.split()):
        raise FormatError("description: it must be one line without surplus spaces")
    if _UNSAFE_CHARS.search(document.description):
        raise FormatError("description: it holds control characters")
    if document.category != _category(document.category) or "category" in document.metadata:
        raise FormatError(f"category: {document.category!r} is not lower-case words joined by _")
    for key, value in document.metadata.items():
        if not _KEY_LINE.fullmatch(f"{key}:") or not value or value != value.strip():
            raise FormatError(f"metadata: {key!r} needs a plain key and a text without spaces around it")
    for value in (document.license, document.compatibility, document.allowed_tools):
        if value != value.strip():
            raise FormatError("front matter: a value has spaces around it")
    body = document.body
    if not body.strip() or body != body.strip("\n") or "\r" in body or "\x00" in body:
        raise FormatError("body: it must be text with \\n line ends and no empty line at either end")
    try:
        size = len(f"{document.description}{document.metadata}{body}".encode())
    except UnicodeEncodeError:
        raise FormatError("the text holds half of a surrogate pair and can't be stored as UTF-8") from None
    if size > MAX_FILE_BYTES - 8192:
        raise FormatError(f"the skill has {size} bytes; the limit is {MAX_FILE_BYTES - 8192}")


def _check_size(what: str, value: str, least: int, most: int) -> None:
    if not least <= len(value) <= most:
        raise FormatError(f"{what}: it has {len(value)} characters; {least} to {most} are allowed")


def _split(text: str) -> tuple[str | None, str]:
    """Front matter (None when there is none) and body."""
    stripped = text.lstrip("\n \t")
    first, _, rest = stripped.partition("\n")
    if first.rstrip() != "---":
        return None, text
    lines = rest.split("\n")
    for number, line in enumerate(lines):
        if line.rstrip() in ("---", "..."):
            return "\n".join(lines[:number]), "\n".join(lines[number + 1 :])
    # Never closed: the header ends at the first line that is no `key: value`.
    for number, line in enumerate(lines):
        if not line.startswith((" ", "\t")) and not _KEY_LINE.fullmatch(line):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
    return rest, ""


def _fields(header: str, problems: list[str]) -> dict[str, Any]:
    simple = _simple_fields(header)
    if simple is not None:
        return simple
    try:
        value = _yaml(header)
    except Exception as error:  # whatever the YAML library makes of hostile input, the file is read by lines then
        problems.append(f"front matter is not YAML ({type(error).__name__}); read line by line")
        return _fields_by_line(header)
    if not isinstance(value, dict):
        problems.append("front matter is not a mapping")
        return {}
    return {str(key): item for key, item in value.items()}


def _simple_fields(header: str) -> dict[str, Any] | None:
    """The subset nearly all files use, without the cost of a YAML parser; None when the header is beyond it."""
    fields: dict[str, Any] = {}
    inner: dict[str, str] | None = None
    for line in header.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indented = line[0] == " "
        match = _KEY_LINE.fullmatch(line.strip() if indented else line.rstrip())
        if match is None or (indented and inner is None):
            return None
        key, raw = match.group(1), (match.group(2) or "").strip()
        target = inner if indented and inner is not None else fields
        if key in target:
            return None
        if not raw and not indented:
            inner = {}
            fields[key] = inner
            continue
        value = _simple_value(raw)
        if value is None:
            return None
        target[key] = value
        if not indented:
            inner = None
    return fields


def _simple_value(raw: str) -> str | None:
    if raw.startswith('"'):
        try:
            value = json.loads(raw)
        except ValueError:
            return None
        return value if isinstance(value, str) else None
    if not _PLAIN.fullmatch(raw) or ": " in raw or " #" in raw or raw.endswith(":"):
        return None
    return raw


def _yaml(header: str) -> Any:
    if "&" in header and "*" in header:
        raise ValueError("anchors are not read")  # aliases can make a small file huge
    from ruamel.yaml import YAML

    return YAML(typ="base", pure=True).load(header)


def _fields_by_line(header: str) -> dict[str, Any]:
    """Top-level keys with the rest of their line and any deeper-indented lines as text."""
    fields: dict[str, Any] = {}
    key = ""
    for line in header.split("\n"):
        match = _KEY_LINE.fullmatch(line.rstrip())
        if match:
            key = match.group(1)
            fields.setdefault(key, _unquoted((match.group(2) or "").strip()))
        elif key and line[:1] in (" ", "\t") and line.strip():
            fields[key] = f"{fields[key]} {line.strip()}".strip()
    return fields


def _unquoted(value: str) -> str:
    if value in ("|", ">", "|-", ">-", "|+", ">+"):
        return ""
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _tools(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(str(item).strip() for item in value if isinstance(item, str))
    return _text(value)


def _metadata(value: Any, problems: list[str]) -> dict[str, str]:
    if not isinstance(value, dict):
        if value not in (None, ""):
            problems.append("metadata is not a mapping; ignored")
        return {}
    flat: dict[str, str] = {}
    for key, item in value.items():
        text = item.strip() if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)
        if text:
            flat[str(key)] = text
    return flat


def _category(value: str) -> str:
    return re.sub(r"[^\w]+", "_", value.casefold()).strip("_")[:64] or "general"


def _first_sentence(body: str) -> str:
    for line in body.split("\n"):
        text = line.strip().strip("#>*-` ").strip()
        if text and not line.lstrip().startswith("#"):
            return " ".join(re.split(r"(?<=[.!?。！？])\s*", text, maxsplit=1)[0].split())[:MAX_DESCRIPTION]
    return ""


def _scalar(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and _simple_value(value) == value
    if plain and not _looks_typed(value) and not _UNSAFE_CHARS.search(value):
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNSAFE_CHARS.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def _looks_typed(value: str) -> bool:
    """Whether a YAML reader could take the plain text for a number, a date, a truth value or nothing."""
    return value.casefold() in ("true", "false", "yes", "no", "on", "off", "y", "n", "null", "~") or bool(
        re.fullmatch(r"[-+.\d][\d_.:eExXoOa-fA-F+\-tTzZ ]*", value)
    )
