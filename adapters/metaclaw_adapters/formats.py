"""The file formats the engine can read and edit, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from . import dotenv_text, json5_text, yaml_text
from .values import Json, Keys


@dataclass(frozen=True)
class Format:
    """How a file becomes values, and how its text takes a change of values without losing the rest."""

    read: Callable[[bytes], Json]
    edit: Callable[[bytes, list[tuple[Keys, Json]]], bytes]
    has_comments: Callable[[bytes], bool]


FORMATS: Final[dict[str, Format]] = {
    "dotenv": Format(dotenv_text.read, dotenv_text.edit, dotenv_text.has_comments),
    "json5": Format(json5_text.read, json5_text.edit, json5_text.has_comments),
    "yaml": Format(yaml_text.read, yaml_text.edit, yaml_text.has_comments),
}
