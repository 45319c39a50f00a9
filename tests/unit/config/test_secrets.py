"""Where secrets go, and what happens when the keyring is absent, refuses, forgets or hangs."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

from metaclaw.config import ConfigError, Secrets, load
from metaclaw.config.vault import LIMIT_SECONDS, Vault, VaultError
from tests.unit.config.conftest import use_keyring

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX's")


class Working(KeyringBackend):
    """A keyring that keeps what it is given."""

    priority = 5.0

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[tuple[str, str], str] = {}
        self.reads = 0

    def get_password(self, service: str, username: str) -> str | None:
        self.reads += 1
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError("no such entry")


class Locked(Working):
    """A keyring that nobody unlocks."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")


class Forgetful(Working):
    """A keyring that takes everything and keeps nothing."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Forget."""


class NoLongValues(Working):
    """A keyring like that of Windows, which takes short values only."""

    def set_password(self, service: str, username: str, password: str) -> None:
        if len(password) > 100:
            raise ValueError("too long")
        super().set_password(service, username, password)


class Hanging(Working):
    """A session bus that never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.released.wait(30)
        return None


def test_without_a_keyring_secrets_are_in_a_file_of_the_owners(environ: dict[str, str]) -> None:
    secrets = Secrets(environ=environ)
    assert secrets.set("llm.api_key", "0012345") == "secrets file"
    assert secrets.get("llm.api_key") == "0012345"
    assert secrets.names() == {"llm.api_key": "secrets file"}
    assert secrets.delete("llm.api_key")
    assert not secrets.delete("llm.api_key")
    assert secrets.get("llm.api_key") is None


@posix_only
def test_the_file_is_closed_to_others_even_if_it_was_open(environ: dict[str, str]) -> None:
    secrets = Secrets(environ=environ)
    secrets.set("llm.api_key", "k")
    assert stat.S_IMODE(secrets.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(secrets.folder.stat().st_mode) == 0o700
    secrets.path.chmod(0o644)
    secrets.get("llm.api_key")
    assert stat.S_IMODE(secrets.path.stat().st_mode) == 0o600


def test_with_a_keyring_the_file_has_names_only(environ: dict[str, str]) -> None:
    backend = Working()
    use_keyring(backend)
    secrets = Secrets(environ=environ)
    assert secrets.set("llm.api_key", "sk-hidden") == "keyring"
    assert "sk-hidden" not in secrets.path.read_text(encoding="utf-8")
    assert secrets.names() == {"llm.api_key": "keyring"}
    assert load(environ=environ).settings.llm.api_key.get_secret_value() == "sk-hidden"
    assert load(environ=environ).origins["llm.api_key"] == "keyring"
    assert secrets.delete("llm.api_key")
    assert backend.entries == {}
    assert secrets.names() == {}


def test_the_keyring_is_asked_only_for_what_it_keeps(environ: dict[str, str]) -> None:
    backend = Working()
    use_keyring(backend)
    load(environ=environ)
    Secrets(environ=environ).get("llm.api_key")
    assert backend.reads == 0
    Secrets(environ=environ).set("llm.api_key", "k")
    backend.reads = 0
    assert load(environ=environ, read_secrets=False).origins["llm.api_key"] == "keyring"
    load(environ=environ | {"METACLAW_LLM_API_KEY": "given"})
    assert backend.reads == 0


def test_two_state_folders_do_not_share_entries(environ: dict[str, str], tmp_path: Path) -> None:
    use_keyring(Working())
    one, other = Secrets(environ=environ), Secrets(tmp_path / "other", environ)
    one.set("llm.api_key", "one")
    other.set("llm.api_key", "other")
    assert (one.get("llm.api_key"), other.get("llm.api_key")) == ("one", "other")


@pytest.mark.parametrize("backend", [Locked, Forgetful])
def test_a_keyring_that_does_not_work_is_left_alone(backend: type[Working], environ: dict[str, str]) -> None:
    use_keyring(backend())
    secrets = Secrets(environ=environ)
    assert secrets.set("llm.api_key", "k") == "secrets file"
    assert secrets.get("llm.api_key") == "k"


def test_what_a_keyring_refuses_goes_to_the_file(environ: dict[str, str]) -> None:
    use_keyring(NoLongValues())
    secrets = Secrets(environ=environ)
    assert secrets.set("openai-codex:token", "short") == "keyring"
    assert secrets.set("openai-codex:token", "t" * 4000) == "secrets file"
    assert secrets.get("openai-codex:token") == "t" * 4000
    assert secrets.names() == {"openai-codex:token": "secrets file"}


def test_a_hanging_keyring_is_given_up_on(tmp_path: Path) -> None:
    backend = Hanging()
    use_keyring(backend)
    try:
        vault = Vault(tmp_path, limit=0.05)
        assert not vault.works()
        with pytest.raises(VaultError, match=r"did not answer within 0\.05 s"):
            vault.get("llm.api_key")
    finally:
        backend.released.set()
    assert LIMIT_SECONDS < 10


def test_a_locked_keyring_costs_the_key_and_not_the_start(environ: dict[str, str]) -> None:
    use_keyring(Working())
    Secrets(environ=environ).set("llm.api_key", "k")
    use_keyring(Locked())
    loaded = load(environ=environ)
    assert loaded.settings.llm.api_key.get_secret_value() == ""
    assert loaded.origins["llm.api_key"] == "default"
    assert loaded.warnings[0].startswith("llm.api_key: kept in the keyring, but the keyring refused (KeyringLocked)")


def test_a_gate_key_that_can_not_be_read_stops_the_start(environ: dict[str, str]) -> None:
    use_keyring(Working())
    Secrets(environ=environ).set("proxy.api_key", "k")
    use_keyring(Locked())
    with pytest.raises(ConfigError, match=r"proxy\.api_key: kept in the keyring"):
        load(environ=environ)


def test_the_environment_wins(environ: dict[str, str]) -> None:
    Secrets(environ=environ).set("llm.api_key", "stored")
    assert Secrets(environ=environ | {"METACLAW_LLM_API_KEY": "given"}).get("llm.api_key") == "given"
    assert Secrets(environ=environ | {"METACLAW_LLM_API_KEY": " "}).get("llm.api_key") == "stored"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"values": 3}'])
def test_a_damaged_file_is_told_and_never_overwritten(text: str, environ: dict[str, str]) -> None:
    secrets = Secrets(environ=environ)
    secrets.folder.mkdir()
    secrets.path.write_text(text, encoding="utf-8")
    for act in (secrets.names, lambda: secrets.get("llm.api_key"), lambda: secrets.set("llm.api_key", "k")):
        with pytest.raises(ConfigError, match="can't be read; move it away"):
            act()
    assert secrets.path.read_text(encoding="utf-8") == text


def test_an_empty_secret_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="an empty secret"):
        Secrets(environ=environ).set("llm.api_key", "  ")


def test_writers_at_once_lose_nothing(environ: dict[str, str]) -> None:
    names = [f"provider{number}:key" for number in range(12)]
    threads = [threading.Thread(target=Secrets(environ=environ).set, args=(name, name)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(Secrets(environ=environ).names()) == sorted(names)
    assert json.loads(Secrets(environ=environ).path.read_text(encoding="utf-8"))["version"] == 1
