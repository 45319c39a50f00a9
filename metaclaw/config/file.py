"""`config.yaml` as something to change: one key at a time, comments and order kept, the old file saved beside it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from metaclaw.config.check import typed
from metaclaw.config.document import Document, parse_document, read_document
from metaclaw.config.edit import with_value, without
from metaclaw.config.loader import resolve
from metaclaw.config.paths import home
from metaclaw.config.problems import ConfigError, Problem
from metaclaw.config.schema import OLD_NAMES, find
from metaclaw.config.secrets import locked
from metaclaw_adapters.files import PRIVATE_FILE, private_dir, remove, write_atomic


class ConfigFile:
    """The file. Nothing is written unless the result is at least as sound as what was there."""

    def __init__(self, path: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self.path = path if path is not None else home(self._environ) / "config.yaml"

    def get(self, name: str) -> Any:
        """The value as the file has it (scalars as text), or None."""
        document = read_document(self.path)
        place: Any = document.values
        for part in _present(document, find(name).name)[0].split("."):
            place = place.get(part) if isinstance(place, dict) else None
        return place

    def set(self, name: str, value: Any) -> bool:
        """Set a key; text is read by the key's type. Whether the file changed. Raises ConfigError."""
        key = find(name)
        new = typed(key, value)
        return self._change(lambda document: with_value(document, _present(document, key.name)[0], new))

    def unset(self, name: str) -> bool:
        """Remove a key, so that its default counts. Whether the file changed. A secret leaves no copy in the `.bak`."""
        key = find(name)

        def edit(document: Document) -> str:
            for present in _present(document, key.name):
                document = parse_document(without(document, present), document.source)
            return document.text

        return self._change(edit, keep_old=not key.secret)

    def replace(self, text: str) -> bool:
        """Write a whole new text, if it is sound. Whether the file changed."""
        return self._change(lambda document: text)

    def problems(self, text: str | None = None) -> list[Problem]:
        """Everything wrong with the file, or with a text in its place."""
        try:
            document = read_document(self.path) if text is None else parse_document(text, str(self.path))
            resolve(document, self.path, self._environ, read_secrets=False)
        except ConfigError as error:
            return list(error.problems)
        return []

    def _change(self, edit: Callable[[Document], str], *, keep_old: bool = True) -> bool:
        folder = self.path.parent
        if folder == home(self._environ):
            private_dir(folder)
        with locked(folder / f".{self.path.name}.lock"):
            document = read_document(self.path)
            text = edit(document)
            if text == document.text:
                return False
            self._refuse_new_problems(document.text, text)
            target = self.path.resolve()  # a link to a file elsewhere stays a link
            saved = target.with_name(f"{target.name}.bak")
            if not keep_old:
                remove(saved)
            elif target.exists():
                write_atomic(saved, document.text.encode(), mode=PRIVATE_FILE)
            write_atomic(target, text.encode(), mode=PRIVATE_FILE)
            return True

    def _refuse_new_problems(self, before: str, after: str) -> None:
        """A file with a fault elsewhere may still be changed, but no change adds a fault."""
        known = {(problem.key, problem.text) for problem in self.problems(before)}
        new = [problem for problem in self.problems(after) if (problem.key, problem.text) not in known]
        if new:
            raise ConfigError(*new)


def _present(document: Document, name: str) -> list[str]:
    """The names, new and old, under which a key stands in the file; the new name when it does under none."""
    names = [name, *(old for old, new in OLD_NAMES.items() if new == name)]
    return [known for known in names if known in document.nodes] or [name]
