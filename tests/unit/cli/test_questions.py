"""The questions of setup, answered by keys as a terminal sends them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from metaclaw.cli.answers import Answers
from metaclaw.cli.questions import ask_all
from metaclaw.config import Settings

DOWN, ENTER, SPACE = "\x1b[B", "\r", " "
Ask = Callable[..., Answers]
NOTHING = Answers()
AGENTS = {"openclaw": "OpenClaw 2026.9.6 in /home/me/.openclaw"}


@pytest.fixture
def ask() -> Ask:
    def call(
        keys: str,
        given: Answers = NOTHING,
        now: dict[str, Any] | None = None,
        models: Sequence[str] = (),
        **more: Any,
    ) -> Answers:
        with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
            keyboard.send_text(keys)
            options = {"found": AGENTS, "has_key": False, **more}
            return ask_all(given, Settings.model_validate(now or {}), list_models=lambda _: models, **options)

    return call


def test_a_first_run_by_the_defaults_connects_the_agent_that_is_there(ask: Ask) -> None:
    # agents, how to pay, key, model, memory, training
    found = ask(
        f"{ENTER}{ENTER}sk-typed{ENTER}{ENTER}nn", Answers(provider="openai"), models=["gpt-5.2", "gpt-5.2-mini"]
    )
    assert found.claws == ("openclaw",)
    assert (found.auth, found.key, found.model) == ("api_key", "sk-typed", "gpt-5.2")
    assert (found.memory, found.rl) == (False, False)


def test_what_an_option_has_answered_is_not_asked(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", key="sk-x", model="gpt-5.2", memory=False, rl=False)
    assert ask("", given) == given


def test_an_empty_key_keeps_the_one_that_is_set(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", model="m", memory=False, rl=False)
    assert ask(ENTER, given, {"llm": {"provider": "openai"}}, has_key=True).key == ""


def test_passthrough_asks_for_neither_key_nor_model(ask: Ask) -> None:
    given = Answers(claws=(), auth="passthrough", provider="anthropic", memory=False, rl=False)
    assert ask("", given) == given


def test_a_subscription_asks_for_a_token_that_may_be_empty(ask: Ask) -> None:
    given = Answers(claws=(), auth="oauth_token", provider="anthropic", model="", memory=False, rl=False)
    assert ask(ENTER, given).token == ""
    assert ask(f"tok{ENTER}", given).token == "tok"


def test_a_short_live_list_is_chosen_from_and_another_name_may_be_typed(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", key="k", memory=False, rl=False)
    assert ask(f"{DOWN}{ENTER}", given, models=["one", "two"]).model == "two"
    assert ask(f"{DOWN}{DOWN}{ENTER}mine{ENTER}", given, models=["one", "two"]).model == "mine"


def test_the_present_model_stays_the_first_choice_when_the_list_lacks_it(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", key="k", memory=False, rl=False)
    now = {"llm": {"provider": "openai", "model_id": "kept"}}
    assert ask(ENTER, given, now, models=["one", "two"]).model == "kept"
    assert ask(f"{DOWN}{ENTER}", given, now, models=["one", "two"]).model == "one"


def test_a_long_list_is_searched_by_typing(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", key="k", memory=False, rl=False)
    assert ask(f"model-77{ENTER}", given, models=[f"model-{n}" for n in range(100)]).model == "model-77"


def test_without_a_list_the_name_is_typed_and_the_present_one_offered(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="openai", key="k", memory=False, rl=False)
    assert ask(ENTER, given, {"llm": {"provider": "openai", "model_id": "kept"}}).model == "kept"


def test_an_address_that_is_none_is_asked_for_again(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="custom", key="k", model="m", memory=False, rl=False)
    backspaces = "\x7f" * 30
    answered = ask(f"ftp://x{ENTER}{backspaces}http://127.0.0.1:9{ENTER}", given)
    assert answered.api_base == "http://127.0.0.1:9"


def test_the_providers_other_address_can_be_chosen(ask: Ask) -> None:
    given = Answers(claws=(), auth="api_key", provider="kimi", key="k", model="m", memory=False, rl=False)
    assert ask(ENTER, given).api_base is None
    assert ask(f"{DOWN}{ENTER}", given).api_base == "https://api.moonshot.ai/v1"


def test_an_agent_can_be_left_out(ask: Ask) -> None:
    given = Answers(auth="passthrough", provider="anthropic", memory=False, rl=False)
    assert ask(f"{SPACE}{ENTER}", given).claws == ()


def test_ctrl_c_leaves_and_changes_nothing(ask: Ask) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask("\x03")
