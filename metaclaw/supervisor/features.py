"""What is on, what is off, and why: one line for each part, from the effective settings alone."""

from __future__ import annotations

from dataclasses import dataclass

from metaclaw.config import expand
from metaclaw.config.models import Llm, Settings
from metaclaw.providers import missing

NOT_IN_THIS_VERSION = "not available in this version of MetaClaw"


@dataclass(frozen=True, slots=True)
class Feature:
    """One part of MetaClaw: whether it is on, and in a few words what that means or why it is off."""

    name: str
    on: bool
    detail: str


def features(settings: Settings) -> list[Feature]:
    """Every part, in the order people ask about them."""
    return [
        model(settings.llm),
        _skills(settings),
        _learning(settings),
        _memory(settings),
        training(settings),
    ]


def model(llm: Llm) -> Feature:
    """Whether model calls can be answered; the detail says what is missing and how to set it."""
    problem = missing(llm)
    if problem:
        return Feature("model", False, problem)
    if llm.auth_method == "passthrough":
        return Feature("model", True, f"{llm.provider}, with the client's own credentials")
    name = llm.model_id or "the model the client asks for"
    how = ", through the vendor's own command line program" if llm.auth_method == "oauth_token" else ""
    return Feature("model", True, f"{name} at {llm.provider}{how}")


def training(settings: Settings) -> Feature:
    """Training; without credentials everything else still runs."""
    if settings.mode == "skills_only":
        return Feature("training", False, "mode is skills_only")
    if not training_credentials(settings):
        on = " and ".join(part.name for part in (_skills(settings), _memory(settings)) if part.on)
        rest = f"; {on} run{'s' if on == 'memory' else ''} without" if on else ""
        return Feature("training", False, f"no training credentials, and training is {NOT_IN_THIS_VERSION}{rest}")
    return Feature("training", False, f"credentials are set, but training is {NOT_IN_THIS_VERSION}")


def training_credentials(settings: Settings) -> bool:
    """Whether a training backend could be used."""
    rl = settings.rl
    return rl.backend == "local" or bool(rl.api_key.get_secret_value())


def _skills(settings: Settings) -> Feature:
    if not settings.skills.enabled:
        return Feature("skills", False, "skills.enabled is false")
    folder = expand(settings.skills.dir)
    return Feature("skills", True, f"at most {settings.skills.max_tokens} tokens a turn, built-in ones and {folder}")


def _learning(settings: Settings) -> Feature:
    if not settings.skills.auto_evolve:
        return Feature("learning", False, "skills.auto_evolve is false")
    from metaclaw.helper_llm import HelperLlm

    if problem := HelperLlm.from_settings(settings, "evolver").missing():
        return Feature("learning", False, f"nobody to write skills: {problem}")
    every = settings.skills.evolution_every_n_turns
    return Feature(
        "learning", True, "skills are written when a session ends" + (f", and every {every} turns" if every else "")
    )


def _memory(settings: Settings) -> Feature:
    memory = settings.memory
    if not memory.enabled:
        return Feature("memory", False, "memory.enabled is false")
    where = memory.sidecar_url or str(expand(memory.store_path))
    return Feature("memory", True, f"at most {memory.max_tokens} tokens a turn, from {where}{_drawn(settings)}")


def _drawn(settings: Settings) -> str:
    """What becomes of turns where no facts are drawn from them; empty where they are."""
    if settings.memory.sidecar_url:
        return ""
    if not settings.memory.auto_extract:
        return "; turns are kept as they were said (memory.auto_extract is false)"
    from metaclaw.helper_llm import HelperLlm

    problem = HelperLlm.from_settings(settings, "extractor").missing()
    return f"; turns are kept as they were said, nobody to draw facts: {problem}" if problem else ""
