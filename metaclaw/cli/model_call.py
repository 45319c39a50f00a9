"""The configured model, asked live: which models there are, and whether it answers."""

from __future__ import annotations

import asyncio

from metaclaw.cli.output import note
from metaclaw.config import Settings
from metaclaw.supervisor.checks import Check


def live_models(settings: Settings) -> list[str]:
    """The provider's models by name; none, and a note that says why, when it gives no list."""
    from metaclaw.model_info import ModelInfoError, list_models

    try:
        return [model.id for model in asyncio.run(list_models(settings.llm))]
    except ModelInfoError as error:
        note(f"no model list: {error}")
        return []


def try_model(settings: Settings) -> Check:
    """One small call: how long it took and what the model can hold, or why it failed."""
    from metaclaw.model_info import live_test_call

    result = asyncio.run(live_test_call(settings.llm, settings.openrouter))
    if not result.ok:
        return Check("model call", "failed", result.error, _remedy(result.status))
    window = f", context window {result.context_window}" if result.context_window else ", context window not known"
    return Check("model call", "ok", f"{result.model} answered in {result.latency_ms:.0f} ms{window}")


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "metaclaw config set llm.api_key -"
    if status == 404:
        return "check llm.model_id and llm.api_base"
    return "metaclaw setup"
