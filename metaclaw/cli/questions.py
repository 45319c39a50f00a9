"""The questions of `metaclaw setup`, asked in a terminal. What an option has answered is not asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import questionary
import typer
from questionary import Choice

from metaclaw.cli.answers import Answers
from metaclaw.config import Settings
from metaclaw.providers import PROVIDERS, ProviderInfo
from metaclaw.supervisor.features import NOT_IN_THIS_VERSION

Found = Mapping[str, str]  # agents on this machine: name -> what to show of it
ListModels = Callable[[Answers], Sequence[str]]
_OTHER = "(another: type its name)"
_MANY = 40


def ask_all(given: Answers, now: Settings, found: Found, *, has_key: bool, list_models: ListModels) -> Answers:
    """Ask for everything that is not given; leaving with Ctrl-C raises Abort and changes nothing."""
    answers = given
    if answers.claws is None:
        answers = replace(answers, claws=_claws(now, found))
    if answers.auth is None:
        answers = replace(answers, auth=_auth(now))
    if answers.provider is None:
        answers = replace(answers, provider=_provider(answers, now))
    info = PROVIDERS[answers.provider or now.llm.provider]
    answers = _address(answers, now, info)
    answers = _secret(answers, now, info, has_key)
    if answers.model is None and answers.auth != "passthrough":
        answers = replace(answers, model=_model(answers, now, info, list_models))
    if answers.memory is None:
        answers = replace(answers, memory=_yes("Long-term memory?", now.memory.enabled))
    if answers.rl is None:
        answers = replace(
            answers, rl=_yes(f"Train a model on your conversations ({NOT_IN_THIS_VERSION})?", now.rl.enabled)
        )
    return answers


def confirm(text: str, *, default: bool = True) -> bool:
    """A yes or no."""
    return _yes(text, default)


def _ask(question: questionary.Question) -> Any:
    answer = question.unsafe_ask()
    if answer is None:
        raise typer.Abort
    return answer


def _yes(text: str, default: bool) -> bool:
    return bool(_ask(questionary.confirm(text, default=default)))


def _claws(now: Settings, found: Found) -> tuple[str, ...]:
    if not found:
        typer.echo(
            "No agent that MetaClaw knows was found on this machine; any client can still use its address.", err=True
        )
        return (now.claws and tuple(now.claws)) or ((now.claw_type,) if now.claw_type != "none" else ())
    chosen = set(now.claw_names()) & set(found) or set(found)
    choices = [Choice(shown, value=name, checked=name in chosen) for name, shown in found.items()]
    return tuple(_ask(questionary.checkbox("Which agents shall talk through MetaClaw?", choices=choices)))


def _auth(now: Settings) -> str:
    choices = [
        Choice("With an API key of a provider", value="api_key"),
        Choice("With a subscription, through the vendor's own program (claude, codex, gemini)", value="oauth_token"),
        Choice("With whatever credentials and model the agent itself sends", value="passthrough"),
    ]
    return str(_ask(questionary.select("How are model calls paid for?", choices=choices, default=now.llm.auth_method)))


def _provider(answers: Answers, now: Settings) -> str:
    infos = [info for info in PROVIDERS.values() if answers.auth != "oauth_token" or info.vendor_cli]
    names = [info.name for info in infos]
    choices = [Choice(info.title, value=info.name) for info in infos]
    default = now.llm.provider if now.llm.provider in names else names[0]
    return str(_ask(questionary.select("Which provider?", choices=choices, default=default)))


def _address(answers: Answers, now: Settings, info: ProviderInfo) -> Answers:
    if answers.api_base is not None or answers.auth == "oauth_token":
        return answers
    same = info.name == now.llm.provider
    if info.name == "custom" or info.one_base:
        default = (now.llm.api_base if same else "") or next(iter(info.base_urls.values()), "")
        text = "Address of the server (with or without /v1)?"
        base = str(_ask(questionary.text(text, default=default, validate=_is_address))).strip()
        return answers if same and base == now.llm.api_base else replace(answers, api_base=base)
    if info.other_sites:
        sites = [next(iter(site.values())) for site in info.sites]
        default = now.llm.api_base if same and now.llm.api_base in sites else sites[0]
        base = str(_ask(questionary.select("Which address?", choices=sites, default=default)))
        if base != sites[0] or (same and now.llm.api_base):
            return replace(answers, api_base=base)
    return answers


def _is_address(text: str) -> bool | str:
    from metaclaw import base_url

    try:
        base_url.parse(text.strip())
    except base_url.BaseUrlError as error:
        return str(error)
    return True


def _secret(answers: Answers, now: Settings, info: ProviderInfo, has_key: bool) -> Answers:
    if answers.auth == "passthrough" or answers.key or answers.token:
        return answers
    same = info.name == now.llm.provider and has_key
    keep = " (empty keeps the one that is set)" if same else "" if info.needs_key else " (empty: it needs none)"
    if answers.auth == "oauth_token":
        text = f"Token of {info.title} (empty: {info.vendor_cli} is logged in already)"
        return replace(answers, token=str(_ask(questionary.password(text))).strip())
    return replace(answers, key=str(_ask(questionary.password(f"API key for {info.title}{keep}"))).strip())


def _model(answers: Answers, now: Settings, info: ProviderInfo, list_models: ListModels) -> str:
    present = now.llm.model_id if info.name == now.llm.provider else ""
    models = list(list_models(answers))
    default = present or (info.model_hint if info.model_hint in models or not models else "")
    if not models:
        return str(
            _ask(questionary.text("Which model? (empty keeps what the agent asks for)", default=default))
        ).strip()
    if len(models) > _MANY:
        text = f"Which model? ({len(models)} to choose from; type a part of the name)"
        return str(_ask(questionary.autocomplete(text, choices=models, default=default, match_middle=True))).strip()
    choices = [*([present] if present and present not in models else []), *models, _OTHER]
    chosen = str(
        _ask(questionary.select("Which model?", choices=choices, default=default if default in choices else None))
    )
    if chosen == _OTHER:
        return str(_ask(questionary.text("Its name?", default=default))).strip()
    return chosen
