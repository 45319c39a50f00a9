"""From the answers of setup to what is written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw.cli.answers import Answers, Changes, changes, diff, new_text
from metaclaw.config import ConfigError, Settings, load
from metaclaw.providers import PROVIDERS


def decide(
    answers: Answers, now: dict[str, Any] | None = None, *, stored: tuple[str, ...] = (), key: str = ""
) -> Changes:
    settings = Settings.model_validate(now or {})
    return changes(answers, settings, stored=dict.fromkeys(stored, "secrets file"), new_key=key)


def test_nothing_answered_changes_nothing() -> None:
    assert decide(Answers(), {"llm": {"provider": "kimi", "model_id": "kimi-k2.5"}}) == Changes({}, (), {})


def test_only_what_is_answered_anew_is_changed() -> None:
    found = decide(Answers(memory=True), {"llm": {"provider": "kimi"}, "rl": {"enabled": True}})
    assert found == Changes({"memory.enabled": True}, (), {})


def test_a_key_is_kept_under_its_providers_name_and_the_old_one_is_forgotten() -> None:
    found = decide(Answers(provider="kimi", key="sk-new"), {"llm": {"provider": "openai"}}, stored=("llm.api_key",))
    assert found.secrets == {"kimi:key": "sk-new"}
    assert found.forgotten == ("llm.api_key",)
    assert "llm.api_key" in found.removed


def test_another_provider_never_gets_the_address_or_key_of_the_old_one() -> None:
    now = {"llm": {"provider": "custom", "api_base": "https://old.example.com", "protocol": "chat", "model_id": "old"}}
    found = decide(Answers(provider="openai"), now, stored=("llm.api_key", "custom:key"))
    assert {"llm.api_base", "llm.protocol", "llm.api_key", "llm.oauth_token"} <= set(found.removed)
    assert found.values["llm.model_id"] == PROVIDERS["openai"].model_hint
    assert found.forgotten == ("llm.api_key",), "a key under its provider's own name may stay"


def test_the_same_provider_again_keeps_its_address_and_model() -> None:
    found = decide(Answers(provider="custom"), {"llm": {"provider": "custom", "api_base": "https://old.example.com"}})
    assert found == Changes({"llm.provider": "custom"}, (), {})


@pytest.mark.parametrize(
    ("claws", "values", "removed"),
    [
        ((), {"claw_type": "none"}, ("claws",)),
        (("openclaw",), {"claw_type": "openclaw"}, ("claws",)),
        (("openclaw", "hermes"), {"claws": ["openclaw", "hermes"], "claw_type": "openclaw"}, ()),
    ],
)
def test_one_agent_several_or_none(claws: tuple[str, ...], values: dict[str, Any], removed: tuple[str, ...]) -> None:
    assert decide(Answers(claws=claws)) == Changes(values, removed, {})


@pytest.mark.parametrize(
    ("rl", "mode", "now", "then"),
    [
        (True, None, "skills_only", "auto"),
        (True, None, "rl", None),
        (False, None, "auto", "skills_only"),
        (False, "auto", "auto", "auto"),
        (None, None, "auto", None),
    ],
)
def test_training_and_mode_go_together(rl: bool | None, mode: str | None, now: str, then: str | None) -> None:
    assert decide(Answers(rl=rl, mode=mode), {"mode": now}).values.get("mode") == then


def test_a_gateway_that_is_new_gets_a_key_and_one_that_has_a_key_keeps_it() -> None:
    assert decide(Answers(), key="mc-new").secrets == {"proxy.api_key": "mc-new"}
    assert decide(Answers(), {"proxy": {"api_key": "mine"}}, key="mc-new").secrets == {}


@settings(deadline=None, max_examples=40)
@given(
    st.builds(
        Answers,
        claws=st.none() | st.sampled_from([(), ("openclaw",), ("openclaw", "hermes")]),
        auth=st.none() | st.sampled_from(["api_key", "oauth_token", "passthrough"]),
        provider=st.none() | st.sampled_from(sorted(PROVIDERS)),
        model=st.none() | st.text("abc-/.", max_size=8),
        port=st.none() | st.integers(1, 65535),
        memory=st.none() | st.booleans(),
        rl=st.none() | st.booleans(),
    )
)
def test_setting_up_twice_with_the_same_answers_changes_nothing_the_second_time(answers: Answers) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text("# mine\nllm:\n  provider: openai  # chosen\n", encoding="utf-8")
        now = Settings.model_validate({"llm": {"provider": "openai"}})
        _, after = new_text(path, changes(answers, now, stored={}, new_key=""))
        assert after.startswith("# mine\n")
        path.write_text(after, encoding="utf-8")
        again = changes(answers, load(path, {"METACLAW_HOME": folder}).settings, stored={}, new_key="")
        assert new_text(path, again) == (after, after)


def test_comments_and_order_survive(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("# top\nproxy: {port: 30000}\nllm:\n  provider: kimi # why\n", encoding="utf-8")
    _, after = new_text(path, Changes({"proxy.port": 31000, "llm.model_id": "m"}, (), {}))
    assert after == "# top\nproxy: {port: 31000}\nllm:\n  provider: kimi # why\n  model_id: m\n"


def test_a_value_of_the_wrong_kind_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rl\.backend: must be one of"):
        new_text(tmp_path / "config.yaml", Changes({"rl.backend": "abacus"}, (), {}))


@pytest.mark.parametrize(
    "line", ["  api_key: sk-hidden1", "llm: {api_key: 'sk-hidden1', model_id: m}", "oauth_token: sk-hidden1"]
)
def test_no_secret_is_shown_in_a_diff(line: str, tmp_path: Path) -> None:
    shown = "\n".join(diff(tmp_path / "config.yaml", f"{line}\nmode: auto\n", "mode: rl\n"))
    assert "hidden" not in shown
    assert "+mode: rl" in shown
