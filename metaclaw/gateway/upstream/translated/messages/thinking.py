"""The thinking settings of an Anthropic request, and the sampling settings that go or do not go with them."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.models import budget_of, claude_version, effort_of, thinks_adaptively
from metaclaw.gateway.upstream.translated.parts import Prompt, Thinking
from metaclaw.gateway.upstream.translated.payload import Json

_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}


def thinking_settings(prompt: Prompt, body: Json) -> None:
    """Set thinking, effort, temperature, top_p and top_k in a combination that the API accepts."""
    thinking = prompt.thinking
    wanted = thinking is not None and not thinking.off
    if wanted and thinking is not None and _allowed(prompt, body):
        _switch_on(prompt.model, thinking, body)
    if body.get("thinking"):
        return  # thinking fixes the sampling
    if prompt.temperature is not None:
        body["temperature"] = min(prompt.temperature, 1)
    # Claude from 4.5 on refuses both at once.
    if prompt.top_p is not None and not (prompt.temperature is not None and claude_version(prompt.model) >= (4, 5)):
        body["top_p"] = prompt.top_p
    if prompt.top_k is not None:
        body["top_k"] = prompt.top_k


def _switch_on(model: str, thinking: Thinking, body: Json) -> None:
    if thinks_adaptively(model):
        body["thinking"] = {"type": "adaptive"}
        effort = _EFFORTS.get(effort_of(thinking))
        if effort == "xhigh" and claude_version(model) < (4, 7):
            effort = "high"
        if effort:
            body["output_config"] = {**body.get("output_config", {}), "effort": effort}
        return
    if (0, 0) < claude_version(model) < (3, 7):
        return  # these models cannot think
    if budget := budget_of(thinking, body["max_tokens"]):
        body["thinking"] = {"type": "enabled", "budget_tokens": budget}


def _allowed(prompt: Prompt, body: Json) -> bool:
    """Thinking goes neither with a forced tool nor with a tool loop whose last answer has lost its thinking."""
    if prompt.choice and prompt.choice.mode in ("required", "tool"):
        return False
    if thinks_adaptively(prompt.model):
        return True
    messages = body["messages"]
    in_loop = bool(messages) and any(block["type"] == "tool_result" for block in messages[-1]["content"])
    spoken = [message for message in messages if message["role"] == "assistant"]
    if not in_loop or not spoken:
        return True
    return str(spoken[-1]["content"][0]["type"]) in ("thinking", "redacted_thinking")
