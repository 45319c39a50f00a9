"""What is on and off, and why."""

from __future__ import annotations

from typing import Any

import pytest

from metaclaw.config.models import Settings
from metaclaw.supervisor.features import Feature, features

CUSTOM = {"provider": "custom", "api_base": "http://127.0.0.1:9000/v1"}


def read(**values: Any) -> dict[str, Feature]:
    return {feature.name: feature for feature in features(Settings.model_validate(values))}


def test_nothing_configured_says_what_is_missing_and_how_to_set_it() -> None:
    found = read()
    assert not found["model"].on
    assert "metaclaw setup" in found["model"].detail
    assert found["skills"].on
    assert not found["learning"].on


def test_a_missing_key_names_the_variable_that_would_set_it() -> None:
    found = read(llm={"provider": "kimi", "model_id": "kimi-k2.5"})
    assert not found["model"].on
    assert "MOONSHOT_API_KEY" in found["model"].detail


@pytest.mark.parametrize(
    "llm",
    [
        {"provider": "kimi", "model_id": "kimi-k2.5", "api_key": "sk-x"},
        {"provider": "ollama", "model_id": "qwen3-coder"},
        {"provider": "custom", "api_base": "http://127.0.0.1:9000/v1"},
        {"provider": "anthropic", "auth_method": "oauth_token"},
        {"provider": "anthropic", "auth_method": "passthrough"},
        {"provider": "bedrock", "model_id": "anthropic.claude"},
    ],
)
def test_a_complete_upstream_is_on(llm: dict[str, Any]) -> None:
    assert read(llm=llm)["model"].on


def test_a_subscription_without_a_program_is_off() -> None:
    assert not read(llm={"provider": "kimi", "auth_method": "oauth_token"})["model"].on


def test_learning_needs_a_model_that_is_named() -> None:
    assert "llm.model_id" in read(llm=CUSTOM)["learning"].detail
    assert read(llm={**CUSTOM, "model_id": "m"})["learning"].on


def test_passthrough_can_write_skills_only_with_an_endpoint_of_their_own() -> None:
    llm = {"provider": "anthropic", "auth_method": "passthrough"}
    assert not read(llm=llm)["learning"].on
    assert read(llm=llm, rl={"evolver_api_base": "http://127.0.0.1:9/v1", "evolver_model": "m"})["learning"].on


@pytest.mark.parametrize("mode", ["auto", "rl", "madmax"])
def test_without_training_credentials_one_line_says_that_skills_run_all_the_same(mode: str) -> None:
    training = read(mode=mode)["training"]
    assert not training.on
    assert "no training credentials" in training.detail
    assert training.detail.endswith("skills run without")
    assert "\n" not in training.detail


@pytest.mark.parametrize("rl", [{"api_key": "tml-x"}, {"backend": "local"}])
def test_training_is_not_claimed_where_it_does_not_exist(rl: dict[str, Any]) -> None:
    training = read(mode="rl", rl=rl)["training"]
    assert not training.on
    assert "not available in this version" in training.detail


def test_memory_says_where_it_is_and_what_becomes_of_turns() -> None:
    llm = {"provider": "kimi", "api_key": "sk-x", "model_id": "m"}
    assert read(llm=llm, memory={"enabled": True})["memory"].detail.endswith("memory")
    alone = read(memory={"enabled": True})["memory"]
    assert alone.on and "kept as they were said, nobody to draw facts" in alone.detail
    off = read(llm=llm, memory={"enabled": True, "auto_extract": False})["memory"]
    assert "memory.auto_extract is false" in off.detail
    elsewhere = read(memory={"enabled": True, "sidecar_url": "https://memory.example.com"})["memory"]
    assert elsewhere.on and elsewhere.detail.endswith("https://memory.example.com")


def test_what_is_switched_off_says_which_key_did_it() -> None:
    found = read(mode="skills_only", skills={"enabled": False, "auto_evolve": False})
    assert found["skills"].detail == "skills.enabled is false"
    assert found["learning"].detail == "skills.auto_evolve is false"
    assert found["training"].detail == "mode is skills_only"


def test_no_key_is_ever_part_of_a_line() -> None:
    found = read(llm={"provider": "kimi", "api_key": "sk-hidden"}, rl={"api_key": "tml-hidden"})
    assert not any("hidden" in feature.detail for feature in found.values())
