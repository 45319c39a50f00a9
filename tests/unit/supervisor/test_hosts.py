"""The hosts MetaClaw may talk to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.config.models import Settings
from metaclaw.supervisor.hosts import Host, host_of, hosts


def test_nothing_configured_talks_to_nobody() -> None:
    assert hosts(Settings(), {}) == []


def test_each_host_stands_once_with_all_its_purposes() -> None:
    settings = Settings.model_validate(
        {
            "llm": {
                "provider": "custom",
                "api_base": "https://llm.example.com/v1",
                "fallbacks": [{"provider": "openai", "model_id": "gpt-5.2"}],
            },
            "rl": {"evolver_api_base": "https://llm.example.com/v1", "prm_url": "https://judge.example.com:8443/v1"},
        }
    )
    assert hosts(settings, {}) == [
        Host("llm.example.com", "model calls, writing skills"),
        Host("api.openai.com", "model calls, as fallback"),
        Host("judge.example.com:8443", "judging answers"),
    ]


def test_a_proxy_of_the_machine_is_listed_without_its_password() -> None:
    found = hosts(Settings(), {"HTTPS_PROXY": "http://me:hidden@proxy.example.com:3128"})
    assert found == [Host("proxy.example.com:3128", "proxy of this machine (HTTPS_PROXY)")]


@pytest.mark.parametrize(("provider", "part"), [("anthropic", "claude"), ("openai-codex", "codex")])
def test_a_subscription_names_the_program_that_talks(provider: str, part: str) -> None:
    settings = Settings.model_validate({"llm": {"provider": provider, "auth_method": "oauth_token"}})
    assert part in hosts(settings, {})[0].name


@given(st.text())
def test_any_text_is_a_host_or_none(text: str) -> None:
    assert isinstance(host_of(text), str)
