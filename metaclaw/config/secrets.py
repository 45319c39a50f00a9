"""Keys and tokens: in the operating system's keyring where one works, else in a file only the owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from metaclaw.config.paths import home
from metaclaw.config.problems import ConfigError, Problem
from metaclaw.config.schema import variable
from metaclaw.config.vault import Vault, VaultError
from metaclaw_adapters.files import PRIVATE_FILE, private_dir, write_atomic

Where = Literal["keyring", "secrets file"]
_LOCK_SECONDS = 10


@dataclass
class _Index:
    """`secrets.json`: the values kept in the file, and the names (only) of those kept in the keyring."""

    values: dict[str, str] = field(default_factory=dict)
    keyring: list[str] = field(default_factory=list)


class Secrets:
    """Secrets by name. A name is a dotted configuration key, or `provider:key`, `provider:token`.

    `METACLAW_…` variables win. The keyring is touched only for a name that is kept there.
    """

    def __init__(self, folder: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self.folder = folder if folder is not None else home(self._environ)
        self.path = self.folder / "secrets.json"
        self._vault = Vault(self.folder)

    def names(self) -> dict[str, Where]:
        """Every stored name, and where it is kept."""
        index = self._read()
        found: dict[str, Where] = dict.fromkeys(index.values, "secrets file")
        return found | dict.fromkeys(index.keyring, "keyring")

    def get(self, name: str) -> str | None:
        """The secret, or None when there is none. Raises ConfigError when the keyring does not hand it out."""
        if ":" not in name and (given := self._environ.get(variable(name), "").strip()):
            return given
        index = self._read()
        if name not in index.keyring:
            return index.values.get(name)
        try:
            return self._vault.get(name)
        except VaultError as error:
            advice = f"unlock it, or set {variable(name)}" if ":" not in name else "unlock it"
            raise ConfigError(Problem(f"kept in the keyring, but {error}: {advice}", key=name)) from error

    def set(self, name: str, value: str) -> Where:
        """Keep a secret; says where. A keyring that refuses it leaves it to the file."""
        if not value.strip():
            raise ConfigError(Problem("an empty secret; to remove it, use `unset`", key=name))
        where: Where = "secrets file"
        if self._vault.works():
            try:
                self._vault.set(name, value)
                where = "keyring"
            except VaultError:
                where = "secrets file"  # some keyrings take no long values
        with self._changing() as index:
            index.values.pop(name, None)
            if where == "secrets file":
                index.values[name] = value
                index.keyring = [known for known in index.keyring if known != name]
            elif name not in index.keyring:
                index.keyring.append(name)
        return where

    def delete(self, name: str) -> bool:
        """Forget a secret; whether there was one. Raises ConfigError when the keyring keeps it."""
        known = self.names()
        if name not in known:
            return False
        if known[name] == "keyring":
            try:
                if self._vault.get(name) is not None:
                    self._vault.delete(name)
            except VaultError as error:
                raise ConfigError(Problem(f"not removed: {error}", key=name)) from error
        with self._changing() as index:
            index.values.pop(name, None)
            index.keyring = [other for other in index.keyring if other != name]
        return True

    def _read(self) -> _Index:
        try:
            data = json.loads(self.path.read_text("utf-8"))
            index = _Index(dict(data.get("values", {})), list(data.get("keyring", [])))
        except FileNotFoundError:
            return _Index()
        except (OSError, ValueError, TypeError, AttributeError) as error:
            advice = "can't be read; move it away and store your keys again"
            raise ConfigError(Problem(advice, source=str(self.path))) from error
        if os.name == "posix" and self.path.stat().st_mode & 0o077:
            self.path.chmod(PRIVATE_FILE)
        return index

    @contextmanager
    def _changing(self) -> Iterator[_Index]:
        with locked(private_dir(self.folder) / ".secrets.lock"):
            index = self._read()
            yield index
            data = {"version": 1, "values": index.values, "keyring": sorted(index.keyring)}
            write_atomic(self.path, json.dumps(data, indent=2, ensure_ascii=False).encode(), mode=PRIVATE_FILE)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file while the file beside it is changed, so that two commands at once lose nothing."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=_LOCK_SECONDS, mode=PRIVATE_FILE):
            yield
    except Timeout as error:
        raise ConfigError(Problem("another command is changing this file; try again", source=str(path))) from error
