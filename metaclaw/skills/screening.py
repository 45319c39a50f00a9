"""Mechanical screens of a skill's text: secrets, instructions against the person, fetch-and-run, size, hidden text.

A screen finds kinds of text, it does not judge intent: what it finds is shown to a person, and keeps what no person
has read out of the library. Nothing here raises on hostile input; all patterns are bounded.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from metaclaw.skills.errors import SkillError
from metaclaw.skills.format import Document, check
from metaclaw.skills.screens import HARM, HIDDEN, INJECTION, PERMISSION, PLACEHOLDER, SECRET_ASSIGNMENT, SECRETS

MAX_LINES = 150
MAX_CHARS = 16_000
MAX_LINE = 2_000
Kind = Literal["specification", "size", "secret", "injection", "permission", "fetch-and-run", "harm", "hidden text"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a screen found; `excerpt` never shows a secret."""

    kind: Kind
    what: str
    excerpt: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}" + (f" ({self.excerpt})" if self.excerpt else "")


def screen(document: Document) -> list[Finding]:
    """Everything the screens find in a skill; an empty list lets it pass."""
    findings = [*_specification(document), *_size(document)]
    if document.allowed_tools:
        findings.append(Finding("permission", "it grants itself tools", _short(document.allowed_tools)))
    fields = (document.description, document.body, document.license, document.compatibility)
    text = "\n".join((*fields, *document.metadata.values()))
    return [*findings, *screen_text(text)]


def screen_text(text: str) -> list[Finding]:
    """What the screens find in any text: secrets, injection, permission grants, fetch-and-run, harm, hidden text."""
    findings = list(_hidden(text))
    plain = _plain(text)
    findings += [Finding("secret", what, "") for what in find_secrets(plain)]
    joined = " ".join(plain.split())
    for kind, patterns in (("injection", INJECTION), ("permission", PERMISSION)):
        findings += _search(kind, patterns, joined)  # type: ignore[arg-type]
    for what, pattern in HARM:
        match = pattern.search(joined)
        if match:
            kind_of: Kind = "fetch-and-run" if what.startswith("fetches") else "harm"
            findings.append(Finding(kind_of, what, _short(match.group())))
    return list(dict.fromkeys(findings))


def find_secrets(text: str) -> list[str]:
    """The formats of secrets in a text, without the secrets."""
    found = [what for what, pattern in SECRETS if any(not _placeholder(m.group()) for m in pattern.finditer(text))]
    for match in SECRET_ASSIGNMENT.finditer(text):
        value = match.group("value")
        if not _placeholder(value) and _random_looking(value):
            found.append(f"a value for {match.group('key').strip().lower()}")
            break
    return found


def redact(text: str) -> str:
    """The text with secrets of known formats taken out."""
    for what, pattern in SECRETS:
        found = {match.group() for match in pattern.finditer(text)}
        for secret in sorted(found, key=len, reverse=True):
            text = text if _placeholder(secret) else text.replace(secret, f"[{what}]")
    return SECRET_ASSIGNMENT.sub(_redact_value, text)


def _redact_value(match: re.Match[str]) -> str:
    value = match.group("value")
    if _placeholder(value) or not _random_looking(value):
        return match.group()
    return f"{match.group()[: match.start('value') - match.start()]}[a secret]"


def _specification(document: Document) -> Iterator[Finding]:
    try:
        check(document)
    except SkillError as error:
        yield Finding("specification", str(error))
    else:
        if len(document.description) < 20:
            yield Finding("specification", "the description does not say when to use the skill", document.description)


def _size(document: Document) -> Iterator[Finding]:
    lines = document.body.split("\n")
    if len(lines) > MAX_LINES:
        yield Finding("size", f"{len(lines)} lines; at most {MAX_LINES}")
    if len(document.body) > MAX_CHARS:
        yield Finding("size", f"{len(document.body)} characters; at most {MAX_CHARS}")
    if any(len(line) > MAX_LINE for line in lines):
        yield Finding("size", f"a line of more than {MAX_LINE} characters")


def _hidden(text: str) -> Iterator[Finding]:
    for what, pattern in HIDDEN:
        match = pattern.search(text)
        if match:
            first = match.group()[0]
            yield Finding("hidden text", what, unicodedata.name(first, f"U+{ord(first):04X}"))


def _search(kind: Kind, patterns: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> list[Finding]:
    found = ((what, pattern.search(text)) for what, pattern in patterns)
    return [Finding(kind, what, _short(match.group())) for what, match in found if match]


def _plain(text: str) -> str:
    """The text as a model reads it: compatibility letters unified, invisible characters gone."""
    text = unicodedata.normalize("NFKC", text)
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cf", "Cc"))


def _placeholder(value: str) -> bool:
    return bool(PLACEHOLDER.search(value)) or len(set(value[-12:].lower())) <= 3


def _random_looking(value: str) -> bool:
    """Letters with digits, or mixed with signs: what a key or a password looks like, and a plain word does not."""
    kinds = sum(bool(re.search(kind, value)) for kind in (r"[a-z]", r"[A-Z]", r"\d", r"[^\w]"))
    return len(value) >= 8 and kinds >= 2 and not re.fullmatch(r"[A-Za-z]+(?:[-_. /][A-Za-z]+)*[.,;:]?", value)


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
