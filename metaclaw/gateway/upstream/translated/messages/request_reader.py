"""Reads an Anthropic messages request."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.messages.arguments import to_arguments
from metaclaw.gateway.upstream.translated.parts import (
    Choice,
    Format,
    Media,
    Part,
    Prompt,
    Reasoning,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    conversation,
)
from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict, as_dicts, as_list, as_text
from metaclaw.gateway.upstream.translated.seals import unseal
from metaclaw.gateway.upstream.translated.settings import as_number, as_strict, read_thinking_object

# Claude Code's first system block: it differs by conversation and means nothing to anybody else, so it would only
# break the other provider's prefix cache.
_BILLING = "x-anthropic-billing-header"


def read_request(body: Json) -> Prompt:
    """The request in our words."""
    choice = as_dict(body.get("tool_choice"))
    config = as_dict(body.get("output_config"))
    prompt = Prompt(
        model=as_text(body.get("model")),
        tools=read_tools(body),
        choice=_choice(choice),
        parallel=False if choice.get("disable_parallel_tool_use") is True else None,
        max_tokens=as_count(body.get("max_tokens")),
        temperature=as_number(body.get("temperature")),
        top_p=as_number(body.get("top_p")),
        top_k=as_count(body.get("top_k")) or None,
        stop=[item for item in as_list(body.get("stop_sequences")) if isinstance(item, str)],
        stream=body.get("stream") is True,
        thinking=_thinking(body, as_text(config.get("effort"))),
        format=_format(as_dict(config.get("format") or body.get("output_format"))),
        user=as_text(as_dict(body.get("metadata")).get("user_id")),
        cache=as_dict(body.get("cache_control")) or None,
    )
    if system := [part for part in _parts(body.get("system")) if not _is_billing(part)]:
        prompt.turns.append(Turn("system", system))
    for message in as_dicts(conversation(body, "messages")):
        role = message.get("role")
        if role in ("user", "assistant", "system"):
            prompt.turns.append(Turn(role, _parts(message.get("content"))))
        else:
            LOSSES.note("messages turn of another role")
    return prompt


def _is_billing(part: Part) -> bool:
    return isinstance(part, Text) and part.text.lstrip().lower().startswith(_BILLING)


def read_tools(body: Json) -> list[Tool]:
    """The client's tools; those that Anthropic runs itself are left out."""
    tools: list[Tool] = []
    for item in as_dicts(body.get("tools")):
        if item.get("type") not in (None, "custom"):
            LOSSES.note("messages tool of the provider")
            continue
        tools.append(
            Tool(
                as_text(item.get("name")),
                as_text(item.get("description")),
                as_dict(item.get("input_schema")) or None,
                as_strict(item.get("strict")),
                cache=as_dict(item.get("cache_control")) or None,
            )
        )
    return tools


def _choice(choice: Json) -> Choice | None:
    kind = choice.get("type")
    if kind == "tool":
        return Choice("tool", as_text(choice.get("name")))
    if kind == "any":
        return Choice("required")
    if kind == "none":
        return Choice("none")
    return Choice("auto") if kind == "auto" else None


def _thinking(body: Json, effort: str) -> Thinking | None:
    found = read_thinking_object(body.get("thinking"))
    if found is None or found.off:
        return Thinking(effort) if effort and found is None else found
    # The form "enabled" with no budget reads as a medium effort; only the client's own word is an effort here.
    return Thinking(effort, found.budget, adaptive=found.adaptive)


def _format(value: Json) -> Format | None:
    schema = as_dict(value.get("schema"))
    return Format(schema, strict=True) if value.get("type") == "json_schema" and schema else None


def _parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [part for item in as_dicts(content) for part in _part(item)]


def _part(block: Json) -> list[Part]:
    kind = block.get("type")
    cache = as_dict(block.get("cache_control")) or None
    if kind == "text":
        return [Text(as_text(block.get("text")), cache)]
    if kind == "thinking":
        proof = unseal(as_text(block.get("signature")), native="messages")
        return [Reasoning(as_text(block.get("thinking")), proof)]
    if kind == "redacted_thinking":
        return [Reasoning("", unseal(as_text(block.get("data")), native="messages", hidden=True))]
    if kind == "tool_use":
        arguments = to_arguments(block.get("input"))
        return [ToolCall(as_text(block.get("id")), as_text(block.get("name")), arguments, cache=cache)]
    if kind == "tool_result":
        inner = tuple(part for part in _parts(block.get("content")) if isinstance(part, Text | Media))
        return [ToolResult(as_text(block.get("tool_use_id")), inner, block.get("is_error") is True, cache=cache)]
    if kind in ("image", "document"):
        return _media(kind, block, cache)
    if kind == "search_result":
        head = f"{as_text(block.get('title'))}\n{as_text(block.get('source'))}".strip()
        body = "\n".join(as_text(item.get("text")) for item in as_dicts(block.get("content")))
        return [Text(f"{head}\n{body}", cache)]
    LOSSES.note("messages block of another type")
    return []


def _media(kind: str, block: Json, cache: Json | None) -> list[Part]:
    source = as_dict(block.get("source"))
    form = source.get("type")
    name = as_text(block.get("title"))
    if form == "text":
        text = as_text(source.get("data"))
        return [Text(f"{name}\n\n{text}" if name else text, cache)]
    if form == "content":
        return _parts(source.get("content"))
    mime = as_text(source.get("media_type")) or ("image/png" if kind == "image" else "application/pdf")
    media = Media(
        "image" if kind == "image" else "document",
        mime,
        as_text(source.get("data")),
        as_text(source.get("url")),
        as_text(source.get("file_id")),
        name,
        cache=cache,
    )
    return [media]
