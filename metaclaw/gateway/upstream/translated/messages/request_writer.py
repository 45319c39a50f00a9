"""Writes an Anthropic messages request."""

from __future__ import annotations

import base64
import binascii

from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.messages.arguments import to_input
from metaclaw.gateway.upstream.translated.messages.thinking import thinking_settings
from metaclaw.gateway.upstream.translated.models import default_max_tokens
from metaclaw.gateway.upstream.translated.parts import (
    Media,
    Part,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    joined,
)
from metaclaw.gateway.upstream.translated.payload import Json
from metaclaw.gateway.upstream.translated.toolnames import (
    flat_name,
    function_arguments,
    function_description,
    function_schema,
)

_EPHEMERAL: Json = {"type": "ephemeral"}
_SIGHTS = ("image/jpeg", "image/png", "image/gif", "image/webp")


def write_request(prompt: Prompt) -> Json:
    """The request as Anthropic's API wants it."""
    opening, rest = prompt.opening()
    system = [block for turn in opening for part in turn.parts if (block := _block(part))]
    messages = _messages(rest)
    tools = [_tool(tool) for tool in prompt.tools]
    body: Json = {
        "model": prompt.model,
        "max_tokens": prompt.max_tokens or default_max_tokens(prompt.model),
        "messages": messages,
    }
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
        if choice := _choice(prompt):
            body["tool_choice"] = choice
    if prompt.stream:
        body["stream"] = True
    if stop := [item for item in prompt.stop if item.strip()]:
        body["stop_sequences"] = stop
    if prompt.user and len(prompt.user) <= 256:
        body["metadata"] = {"user_id": prompt.user}
    _form(prompt, body)
    thinking_settings(prompt, body)
    if not _marked(prompt):
        _mark_for_cache(system, tools, messages)
    elif prompt.cache:
        body["cache_control"] = prompt.cache
    return body


def _form(prompt: Prompt, body: Json) -> None:
    if prompt.format is None:
        return
    if prompt.format.schema is None:
        LOSSES.note("messages any-JSON answers")
        return
    body["output_config"] = {"format": {"type": "json_schema", "schema": prompt.format.schema}}


def _tool(tool: Tool) -> Json:
    schema = function_schema(tool)
    body: Json = {
        "name": flat_name(tool.name, tool.namespace),
        "input_schema": schema if "type" in schema else {"type": "object", **schema},
    }
    if description := function_description(tool):
        body["description"] = description
    if tool.strict:
        body["strict"] = True
    if tool.cache:
        body["cache_control"] = tool.cache
    return body


def _choice(prompt: Prompt) -> Json | None:
    mode = prompt.choice.mode if prompt.choice else None
    if mode is None and prompt.parallel is not False:
        return None
    kind = {"required": "any", "tool": "tool", "none": "none"}.get(mode or "auto", "auto")
    choice: Json = {"type": kind}
    if kind == "tool" and prompt.choice:
        choice["name"] = prompt.choice.name
    if prompt.parallel is False and kind != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _messages(turns: list[Turn]) -> list[Json]:
    # A system turn in the middle keeps its place as the user's words: moving it to the front would change the
    # prefix of every later request, and the role in the middle is known to few models.
    spoken = [Turn("user", turn.parts) if turn.role == "system" else turn for turn in turns]
    messages: list[Json] = []
    for turn in joined(spoken):
        parts = turn.parts
        if turn.role == "user":
            results = [part for part in parts if isinstance(part, ToolResult)]
            parts = [*results, *(part for part in parts if not isinstance(part, ToolResult))]
        content = [block for part in parts if (block := _block(part))]
        if content:
            messages.append({"role": turn.role, "content": content})
    return messages


def _block(part: Part) -> Json | None:
    if isinstance(part, Text):
        # The API refuses text without a visible character.
        return _cached({"type": "text", "text": part.text}, part.cache) if part.text.strip() else None
    if isinstance(part, Media):
        return _media(part)
    if isinstance(part, Reasoning):
        return _thinking_block(part)
    if isinstance(part, ToolCall):
        arguments = to_input(function_arguments(part))
        name = flat_name(part.name, part.namespace)
        return _cached({"type": "tool_use", "id": part.id, "name": name, "input": arguments}, part.cache)
    content = [block for item in part.parts if (block := _block(item))]
    result: Json = {"type": "tool_result", "tool_use_id": part.id}
    if len(content) == 1 and content[0].keys() == {"type", "text"}:
        result["content"] = content[0]["text"]
    elif content:
        result["content"] = content
    if part.failed:
        result["is_error"] = True
    return _cached(result, part.cache)


def _cached(block: Json, cache: Json | None) -> Json:
    if cache:
        block["cache_control"] = cache
    return block


def _thinking_block(part: Reasoning) -> Json | None:
    # Thinking without Anthropic's own signature is refused, so only what came from there goes back there.
    proof = part.proof
    if proof is None or proof.origin != "messages":
        LOSSES.note("messages unsigned reasoning")
        return None
    if proof.hidden:
        return {"type": "redacted_thinking", "data": proof.value}
    return {"type": "thinking", "thinking": part.text, "signature": proof.value}


def _media(part: Media) -> Json | None:
    source = _source(part)
    if source is None:
        LOSSES.note("messages attachment")
        return None
    block: Json = {"type": part.kind, "source": source}
    if part.kind == "document" and part.name:
        block["title"] = part.name
    return _cached(block, part.cache)


def _source(part: Media) -> Json | None:
    if part.kind == "audio":
        return None
    if not part.data:
        return {"type": "url", "url": part.url} if part.url else None
    if part.kind == "document" and part.mime.startswith("text/"):
        try:
            text = base64.b64decode(part.data).decode("utf-8", "replace")
        except binascii.Error:
            return None
        return {"type": "text", "media_type": "text/plain", "data": text}
    if part.mime not in (_SIGHTS if part.kind == "image" else ("application/pdf",)):
        return None
    return {"type": "base64", "media_type": part.mime, "data": part.data}


def _marked(prompt: Prompt) -> bool:
    marked = prompt.cache is not None or any(tool.cache for tool in prompt.tools)
    return marked or any(getattr(part, "cache", None) for turn in prompt.turns for part in turn.parts)


def _mark_for_cache(system: list[Json], tools: list[Json], messages: list[Json]) -> None:
    """Anthropic caches only up to a mark, and clients of other protocols know none: tools and system, and the last
    two of the user's messages, so that each request reads what the one before it has written."""
    if system:
        system[-1]["cache_control"] = _EPHEMERAL
    elif tools:
        tools[-1]["cache_control"] = _EPHEMERAL
    said = [message for message in messages if message["role"] == "user"]
    for message in said[-2:]:
        message["content"][-1]["cache_control"] = _EPHEMERAL
