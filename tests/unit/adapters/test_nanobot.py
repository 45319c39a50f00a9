"""nanobot gets a provider and a preset beside the user's own, keeps the model it had, and says what passes us by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaclaw_adapters import Endpoint
from metaclaw_adapters.nanobot import Nanobot
from tests.unit.adapters.homes import ENDPOINT, Home

CONFIG = ".nanobot/config.json"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home", Nanobot)
    made.has("nanobot")
    return made


def preset(home: Home) -> dict[str, Any]:
    made: dict[str, Any] = home.read(CONFIG)["modelPresets"]["metaclaw"]
    return made


def test_our_preset_is_active_and_the_users_settings_stand(home: Home) -> None:
    before = home.read(CONFIG)
    assert home.wire().done == "wired"
    after = home.read(CONFIG)
    assert after["agents"]["defaults"] == {**before["agents"]["defaults"], "modelPreset": "metaclaw"}
    assert after["providers"] == {**before["providers"], "metaclaw": after["providers"]["metaclaw"]}
    block = after["providers"]["metaclaw"]
    assert (block["apiBase"], block["apiKey"]) == ("http://127.0.0.1:30000/v1", "metaclaw-local")
    assert block["extraHeaders"] == {"X-Metaclaw-Client": "nanobot"}
    assert preset(home) == {
        "provider": "metaclaw",
        "model": "big-model",
        "maxTokens": 8192,
        "temperature": 0.1,
        "contextWindowTokens": 200_000,
    }


def test_undoing_gives_the_file_back_to_the_byte_and_keeps_later_edits(home: Home) -> None:
    before = home.files()
    home.wire()
    assert home.wire().done == "unchanged"
    home.wiring.unwire("nanobot")
    assert home.files() == before
    home.wire()
    home.replace(CONFIG, '"temperature": 0.1, "fallback', '"temperature": 0.9, "fallback')
    home.wiring.unwire("nanobot")
    assert home.files()[CONFIG] == before[CONFIG].replace(b'"temperature": 0.1', b'"temperature": 0.9')


def test_another_preset_chosen_since_is_left_chosen(home: Home) -> None:
    home.wire()
    home.replace(CONFIG, '"modelPreset": "metaclaw"', '"modelPreset": "default"')
    assert home.wiring.status("nanobot") == "drifted"
    assert home.wire().done == "drifted"
    home.wiring.unwire("nanobot")
    assert home.read(CONFIG)["agents"]["defaults"]["modelPreset"] == "default"
    assert "metaclaw" not in (home.path / CONFIG).read_text(encoding="utf-8")


def test_the_model_in_use_is_that_of_the_active_preset(home: Home) -> None:
    presets = {"fast": {"model": "org/fast", "max_tokens": 1000, "temperature": 0.7, "contextWindowTokens": 64_000}}
    home.write(CONFIG, {"agents": {"defaults": {"model_preset": "fast"}}, "model_presets": presets})
    home.wire(replace(ENDPOINT, model_id=""))
    after = home.read(CONFIG)
    assert after["agents"]["defaults"] == {"model_preset": "metaclaw"}, "the key as the file spells it"
    made = after["model_presets"]["metaclaw"]
    assert (made["model"], made["maxTokens"], made["temperature"]) == ("org/fast", 1000, 0.7)
    assert made["contextWindowTokens"] == 64_000, "a smaller window is the user's choice"


def test_nobody_knows_the_window_and_nanobots_own_is_kept(home: Home) -> None:
    home.write(CONFIG, {})
    home.wire(Endpoint("http://127.0.0.1:30000"))
    assert preset(home) == {"provider": "metaclaw", "model": "anthropic/claude-opus-4-5"}


def test_fallbacks_and_the_memory_jobs_model_pass_us_by(home: Home) -> None:
    assert home.bypasses() == []
    defaults = {"fallbackModels": ["own", "fast", {"model": "m", "provider": "openai"}], "dream": {"model": "fast"}}
    presets = {"own": {"model": "m", "provider": "metaclaw"}, "fast": {"model": "m"}}
    home.write(CONFIG, {"agents": {"defaults": defaults}, "modelPresets": presets})
    where = "agents.defaults.fallbackModels"
    assert home.bypasses() == [where, where, "agents.defaults.dream.model"]


def test_without_a_configuration_nothing_is_written(tmp_path: Path) -> None:
    home = Home(tmp_path / "home", Nanobot)
    assert home.adapter.detect() is None
    home.write("bin/nanobot", "#!/bin/sh\n")
    (home.path / "bin" / "nanobot").chmod(0o755)
    outcome = home.wire()
    assert outcome.done == "manual"
    assert "nanobot onboard" in outcome.notes[0]
    assert not (home.path / CONFIG).exists()


def test_a_key_is_named_in_the_snippet_and_closes_the_file(home: Home) -> None:
    secret = replace(ENDPOINT, api_key="sk-proxy-key")
    shown = home.adapter.snippet(home.found(), secret)
    assert "sk-proxy-key" not in shown
    assert "metaclaw config get proxy.api_key --reveal" in shown
    (home.path / CONFIG).chmod(0o644)
    home.wire(secret)
    assert (home.path / CONFIG).stat().st_mode & 0o077 == 0
    home.wiring.unwire("nanobot")
    assert (home.path / CONFIG).stat().st_mode & 0o777 == 0o644
