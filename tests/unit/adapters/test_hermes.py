"""Hermes gets a provider of ours in the form its file has, and every setting that chooses a model goes back."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metaclaw_adapters import Endpoint, Refused
from metaclaw_adapters.hermes import Hermes
from tests.unit.adapters.homes import ENDPOINT, Home

CONFIG = ".hermes/config.yaml"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", Hermes)


def config(home: Home) -> Any:
    return home.read(CONFIG, "yaml")


def test_providers_by_name(home: Home) -> None:
    home.has("hermes")
    before = config(home)
    assert home.wire().done == "wired"
    after = config(home)
    assert after["model"] == {
        "default": "big-model",
        "provider": "metaclaw",
        "base_url": "http://127.0.0.1:30000/v1",
        "api_mode": "chat_completions",
        "context_length": 200_000,
        "max_tokens": 8192,
    }
    block = after["providers"]["metaclaw"]
    assert (block["api_key"], block["models"]) == ("metaclaw-local", {"big-model": {"context_length": 200_000}})
    assert block["extra_headers"] == {"X-Metaclaw-Client": "hermes"}
    assert {key: after[key] for key in before if key != "model"} == {k: v for k, v in before.items() if k != "model"}


def test_providers_in_a_list(home: Home) -> None:
    home.has("hermes-legacy-list")
    before = config(home)
    home.wire()
    after = config(home)
    assert "providers" not in after
    assert after["custom_providers"][0] == before["custom_providers"][0]
    assert (after["custom_providers"][1]["name"], after["model"]["provider"]) == ("metaclaw", "custom:metaclaw")
    assert home.wire(replace(ENDPOINT, base_url="http://127.0.0.1:31000")).done == "wired"
    bases = [entry["base_url"] for entry in config(home)["custom_providers"]]
    assert bases == ["http://127.0.0.1:8000/v1", "http://127.0.0.1:31000/v1"], "the moved one replaces the old one"


@pytest.mark.parametrize("fixture", ["hermes", "hermes-legacy-list"])
def test_undoing_gives_the_file_back_to_the_byte_and_keeps_later_edits(home: Home, fixture: str) -> None:
    home.has(fixture)
    before = home.files()
    home.wire()
    assert home.wire().done == "unchanged"
    home.wiring.unwire("hermes")
    assert home.files() == before
    home.wire()
    home.write(CONFIG, (home.path / CONFIG).read_bytes() + b"# mine\nagent_name: Ada\n")
    home.wiring.unwire("hermes")
    assert home.files()[CONFIG] == before[CONFIG] + b"# mine\nagent_name: Ada\n"


def test_a_model_that_is_a_name_alone_comes_back_as_one(home: Home) -> None:
    home.write(CONFIG, "model: org/large  # mine\nagent: {max_turns: 9}\n")
    home.wire(replace(ENDPOINT, model_id=""))
    assert config(home)["model"]["default"] == "org/large"
    home.replace(CONFIG, "max_turns: 9", "max_turns: 8")
    home.wiring.unwire("hermes")
    assert config(home) == {"model": "org/large", "agent": {"max_turns": 8}}


def test_another_provider_chosen_since_stays_chosen(home: Home) -> None:
    home.has("hermes")
    home.wire()
    home.replace(CONFIG, "provider: metaclaw", "provider: nous")
    assert home.wiring.status("hermes") == "drifted"
    outcome = home.wiring.unwire("hermes")
    assert config(home)["model"]["provider"] == "nous"
    assert "providers" not in config(home)
    assert any("model.provider was changed since" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("protocol", "model", "mode", "base"),
    [
        ("messages", {}, "anthropic_messages", "http://127.0.0.1:30000"),
        ("responses", {}, "codex_responses", "http://127.0.0.1:30000/v1"),
        ("", {"api_mode": "codex_responses"}, "codex_responses", "http://127.0.0.1:30000/v1"),
        ("", {"provider": "anthropic"}, "anthropic_messages", "http://127.0.0.1:30000"),
        ("", {}, "chat_completions", "http://127.0.0.1:30000/v1"),
    ],
)
def test_each_wire_protocol_has_its_mode_and_base(
    home: Home, protocol: Any, model: dict[str, str], mode: str, base: str
) -> None:
    home.write(CONFIG, json.dumps({"model": {"default": "m", **model}}))
    home.wire(replace(ENDPOINT, protocol=protocol))
    made = config(home)["model"]
    assert (made["api_mode"], made["base_url"]) == (mode, base)


@pytest.mark.parametrize(
    ("declared", "window", "expected"),
    [
        (None, 0, None),
        (70_000, 0, 70_000),
        (70_000, 200_000, 70_000),
        (300_000, 200_000, 200_000),
        (8, 100_000, 100_000),
    ],
)
def test_a_smaller_window_is_the_users_choice(
    home: Home, declared: int | None, window: int, expected: int | None
) -> None:
    home.write(CONFIG, json.dumps({"model": {"default": "m", "context_length": declared} if declared else {}}))
    home.wire(Endpoint("http://127.0.0.1:30000", context_window=window))
    assert config(home)["model"].get("context_length") == expected


def test_a_window_with_which_hermes_would_not_start_is_refused(home: Home) -> None:
    home.has("hermes")
    before = home.files()
    with pytest.raises(Refused, match="64,000"):
        home.wire(replace(ENDPOINT, context_window=32_768))
    assert home.files() == before


def test_fallbacks_side_tasks_and_subagents_pass_us_by(home: Home) -> None:
    home.has("hermes")
    assert home.bypasses() == ["fallback_providers"]
    side = {"vision": {"provider": "nous"}, "title": {"provider": "auto", "model": ""}, "retries": 2}
    tasks = {"auxiliary": side, "delegation": {"base_url": "http://x/v1"}, "fallback_model": {"provider": "metaclaw"}}
    home.write(CONFIG, json.dumps(tasks))
    assert home.bypasses() == ["auxiliary.vision", "delegation"]


def test_the_home_is_the_one_named_or_that_of_the_profile_in_use(home: Home) -> None:
    home.has("hermes")
    home.write(".hermes/profiles/work/config.yaml", "model: m\n")
    assert home.found().home == home.path / ".hermes"
    assert "work" in home.found().notes[0]
    home.write(".hermes/active_profile", "work\n")
    assert home.found().home == home.path / ".hermes" / "profiles" / "work"
    home.environ["HERMES_HOME"] = str(home.path / "other")
    assert home.adapter.detect() is None


def test_a_configuration_managed_from_outside_is_left_alone(home: Home) -> None:
    home.has("hermes")
    before = home.files()
    home.environ["HERMES_MANAGED"] = "NixOS"
    outcome = home.wire(replace(ENDPOINT, api_key="sk-proxy-key"))
    assert outcome.done == "manual"
    assert home.files() == before
    assert "metaclaw config get proxy.api_key" in outcome.snippet
    assert "sk-proxy-key" not in outcome.snippet


def test_a_running_gateway_is_seen_by_its_process(home: Home) -> None:
    home.has("hermes")
    assert not home.found().running
    home.write(".hermes/gateway.pid", {"pid": os.getpid()})
    assert home.found().running
