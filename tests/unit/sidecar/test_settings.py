"""Settings from the environment and the command line, and what is said of those that can't be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from metaclaw_sidecar.errors import BadSettings
from metaclaw_sidecar.settings import load


def test_the_public_services_names_are_understood(tmp_path: Path) -> None:
    names = {
        "PORT": "19823", "MEMORY_DIR": str(tmp_path), "MEMORY_SCOPE": "workspace:w|user:u",
        "RETRIEVAL_MODE": "Embedding",
        "MAX_INJECTED_UNITS": "7", "MAX_INJECTED_TOKENS": "500", "FLUSH_EVERY": "3", "LOG_LEVEL": "WARN",
    }  # fmt: skip
    settings = load({f"METACLAW_SIDECAR_{name}": value for name, value in names.items()}, {})
    assert (settings.port, settings.memory_dir, settings.scope) == (19823, tmp_path, "user:u|workspace:w")
    assert (settings.mode, settings.top_k, settings.max_tokens) == ("semantic", 7, 500)
    assert (settings.flush_every, settings.log_level) == (3, "warning")


def test_the_command_line_wins_over_the_environment() -> None:
    settings = load({"METACLAW_SIDECAR_PORT": "1", "METACLAW_SIDECAR_SCOPE": "a"}, {"port": 2, "scope": None})
    assert (settings.port, settings.scope) == (2, "a")


def test_a_folder_of_ones_own_keeps_its_lock_there_and_the_state_folders_is_shared(tmp_path: Path) -> None:
    home, own = str(tmp_path / "home"), str(tmp_path / "own")
    assert load({"METACLAW_HOME": home}, {}).run_dir == tmp_path / "home" / "run"
    assert load({"METACLAW_HOME": home}, {}).memory_dir == tmp_path / "home" / "memory"
    assert load({"METACLAW_SIDECAR_MEMORY_DIR": own}, {}).run_dir == tmp_path / "own" / "run"
    both = load({"METACLAW_HOME": home, "METACLAW_SIDECAR_MEMORY_DIR": own}, {})
    assert (both.memory_dir, both.run_dir) == (tmp_path / "own", tmp_path / "home" / "run")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "many"), ("MODE", "psychic"), ("FLUSH_EVERY", "0"), ("SCOPE", "user:*"), ("STORE", "sheets"),
        ("STORE_OPTIONS", "{"), ("LLM_TIMEOUT", "-1"), ("LLM_FILE", "/nowhere/llm.json"), ("HOST", "0.0.0.0"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named_and_secrets_are_not_shown(name: str, value: str) -> None:
    environ = {f"METACLAW_SIDECAR_{name}": value, "METACLAW_SIDECAR_LLM_API_KEY": "sk-secret"}
    with pytest.raises(BadSettings) as caught:
        load(environ, {})
    assert "METACLAW_SIDECAR_" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.skipif(os.name != "posix", reason="rights of files are POSIX's")
def test_a_file_with_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "llm.json"
    file.write_text(
        json.dumps({"model": "openai/x", "api_key": "sk-secret", "headers": {"x-a": "b"}}), encoding="utf-8"
    )
    file.chmod(0o644)
    with pytest.raises(BadSettings, match="chmod 600"):
        load({"METACLAW_SIDECAR_LLM_FILE": str(file)}, {})
    file.chmod(0o600)
    llm = load({"METACLAW_SIDECAR_LLM_FILE": str(file), "METACLAW_SIDECAR_LLM_MODEL": "openai/y"}, {}).llm
    assert (llm.model, llm.api_key.get_secret_value()) == ("openai/y", "sk-secret")
    assert "sk-secret" not in repr(llm)
