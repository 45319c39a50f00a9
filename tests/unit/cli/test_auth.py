"""`metaclaw auth`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metaclaw.config import load
from tests.unit.cli.conftest import Metaclaw


def test_a_pasted_key_is_used_by_its_provider(metaclaw: Metaclaw) -> None:
    ran = metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-kimi\n")
    assert ran.out == "kimi:key is set (kept in the secrets file)\n"
    assert "metaclaw config llm.provider kimi" in ran.err
    metaclaw("config", "llm.provider", "kimi")
    assert load().settings.llm.api_key.get_secret_value() == "sk-kimi"
    assert metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-newer").err == ""


def test_a_pasted_key_takes_the_place_of_an_older_general_one(metaclaw: Metaclaw) -> None:
    metaclaw("config", "llm.provider", "kimi")
    metaclaw("config", "llm.api_key", "-", stdin="sk-old")
    assert "takes the place" in metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-new").err
    assert load().settings.llm.api_key.get_secret_value() == "sk-new"


@pytest.mark.parametrize("provider", ["anthropic", "openai-codex", "gemini"])
def test_a_pasted_token_is_used_by_its_subscription(provider: str, metaclaw: Metaclaw) -> None:
    metaclaw("config", "llm.provider", provider)
    metaclaw("config", "llm.auth_method", "oauth_token")
    ran = metaclaw("auth", "paste-token", "--provider", provider, stdin="tok-1")
    assert (ran.code, ran.err) == (0, "")
    assert load().settings.llm.oauth_token.get_secret_value() == "tok-1"


def test_a_key_that_wins_over_the_pasted_one_is_named(metaclaw: Metaclaw, monkeypatch: pytest.MonkeyPatch) -> None:
    metaclaw("config", "llm.provider", "kimi")
    monkeypatch.setenv("METACLAW_LLM_API_KEY", "sk-env")
    ran = metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-1")
    assert ran.err == "note: llm.api_key from METACLAW_LLM_API_KEY wins over it\n"


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["paste-key", "--provider", "kimmi"], "did you mean kimi?"),
        (["paste-token", "--provider", "kimi"], "anthropic"),
        (["paste-token", "--provider", "antropic"], "did you mean anthropic?"),
    ],
)
def test_an_unknown_provider_is_wrong_usage(arguments: list[str], hint: str, metaclaw: Metaclaw) -> None:
    ran = metaclaw("auth", *arguments, stdin="x")
    assert ran.code == 2
    assert hint in ran.err


def test_status_lists_and_remove_forgets(metaclaw: Metaclaw, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No key or token is stored." in metaclaw("auth", "status").err
    metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-kimi-secret")
    metaclaw("config", "llm.provider", "kimi")
    monkeypatch.setenv("METACLAW_RL_API_KEY", "sk-rl-secret")
    rows = json.loads(metaclaw("auth", "status", "--json").out)
    assert rows == [
        {"id": "kimi:key", "kept": "secrets file", "used": "llm.api_key"},
        {"id": "rl.api_key", "kept": "METACLAW_RL_API_KEY", "used": "rl.api_key"},
    ]
    assert "secret" not in metaclaw("auth", "status").out.replace("secrets file", "")
    assert metaclaw("auth", "remove", "kimi:key").out == "kimi:key is removed\n"
    assert "unset METACLAW_RL_API_KEY" in metaclaw("auth", "remove", "rl.api_key").err
    ran = metaclaw("auth", "remove", "kimi:key")
    assert (ran.code, ran.err) == (1, "metaclaw: nothing is stored as kimi:key; stored: nothing\n")


def test_a_running_gateway_is_said_to_need_a_restart(metaclaw: Metaclaw, state: Path) -> None:
    assert "restart" not in metaclaw("auth", "paste-key", "--provider", "kimi", stdin="sk-one").err
    (state / "run").mkdir(mode=0o700)
    (state / "run" / "gateway.json").write_text("{}", encoding="utf-8")
    for command in (("paste-key", "--provider", "kimi"), ("paste-token", "--provider", "anthropic")):
        assert "metaclaw restart" in metaclaw("auth", *command, stdin="sk-two").err
    assert "metaclaw restart" in metaclaw("auth", "remove", "kimi:key").err
