"""Reads a chat completions request."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.chat.reasoning import read_reasoning
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.parts import (
    SHARED,
    Choice,
    Format,
    Media,
    Part,
    Prompt,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    conversation,
    parse_data_url,
)
from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict, as_dicts, as_list, as_text
from metaclaw.gateway.upstream.translated.settings import as_number, as_strict, read_thinking_object

_AUDIO = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_request(body: Json) -> Prompt:
    """The request in our words."""
    stop = body.get("stop")
    prompt = Prompt(
        model=as_text(body.get("model")),
        tools=read_tools(body),
        choice=_choice(body.get("tool_choice", body.get("function_call"))),
        parallel=body.get("parallel_tool_calls") if isinstance(body.get("parallel_tool_calls"), bool) else None,
        max_tokens=as_count(body.get("max_completion_tokens")) or as_count(body.get("max_tokens")),
        temperature=as_number(body.get("temperature")),
        top_p=as_number(body.get("top_p")),
        top_k=as_count(body.get("top_k")) or None,
        stop=[item for item in ([stop] if isinstance(stop, str) else as_list(stop)) if isinstance(item, str)],
        stream=body.get("stream") is True,
        thinking=_thinking(body),
        format=_format(as_dict(body.get("response_format"))),
        verbosity=as_text(body.get("verbosity")),
        user=as_text(body.get("user")),
        shared={key: body[key] for key in SHARED if body.get(key) is not None},
    )
    if as_count(body.get("n")) > 1:
        LOSSES.note("chat n")
    for message in as_dicts(conversation(body, "messages")):
        if turn := _turn(message):
            prompt.turns.append(turn)
    return prompt


def read_tools(body: Json) -> list[Tool]:
    """The client's tools."""
    tools: list[Tool] = []
    for item in as_dicts(body.get("tools")):
        if item.get("type") == "custom":
            custom = as_dict(item.get("custom"))
            grammar = as_dict(as_dict(custom.get("format")).get("grammar"))
            tools.append(
                Tool(
                    as_text(custom.get("name")),
                    as_text(custom.get("description")),
                    custom=True,
                    format={"type": "grammar", **grammar} if grammar else None,
                )
            )
        elif isinstance(item.get("function"), dict) and item.get("type", "function") == "function":
            tools.append(_function(item["function"], item.get("cache_control")))
        else:
            LOSSES.note("chat tool of another type")
    tools.extend(_function(item, None) for item in as_dicts(body.get("functions")))
    return tools


def _function(function: Json, cache: object) -> Tool:
    return Tool(
        as_text(function.get("name")),
        as_text(function.get("description")),
        as_dict(function.get("parameters")) or None,
        as_strict(function.get("strict")),
        cache=as_dict(cache or function.get("cache_control")) or None,
    )


def _choice(value: object) -> Choice | None:
    if value in ("auto", "none", "required"):
        return Choice(value)
    if not isinstance(value, dict):
        return None
    named = as_dict(value.get("function") or value.get("custom") or value)
    if name := as_text(named.get("name")):
        return Choice("tool", name)
    mode = as_dict(value.get("allowed_tools")).get("mode")
    return Choice("required" if mode == "required" else "auto") if mode else None


def _thinking(body: Json) -> Thinking | None:
    effort = as_text(body.get("reasoning_effort"))
    nested = as_dict(body.get("reasoning"))
    effort = effort or as_text(nested.get("effort"))
    if effort == "none" or nested.get("enabled") is False or body.get("enable_thinking") is False:
        return Thinking(off=True)
    budget = as_count(nested.get("max_tokens")) or as_count(body.get("thinking_budget"))
    if effort or budget or nested.get("enabled") is True or body.get("enable_thinking") is True:
        return Thinking(effort or ("" if budget else "medium"), budget)
    return read_thinking_object(body.get("thinking"))


def _format(value: Json) -> Format | None:
    if value.get("type") == "json_object":
        return Format()
    schema = as_dict(value.get("json_schema"))
    if value.get("type") != "json_schema" or not schema:
        return None
    return Format(
        as_dict(schema.get("schema")) or None,
        as_text(schema.get("name")) or "answer",
        as_text(schema.get("description")),
        as_strict(schema.get("strict")),
    )


def _turn(message: Json) -> Turn | None:
    role = message.get("role")
    if role in ("system", "developer"):
        return Turn("system", _parts(message.get("content")))
    if role == "user":
        return Turn("user", _parts(message.get("content")))
    if role in ("tool", "function"):
        parts = tuple(part for part in _parts(message.get("content")) if isinstance(part, Text | Media))
        call_id = as_text(message.get("tool_call_id")) or f"call_{as_text(message.get('name'))}"
        return Turn("user", [ToolResult(call_id, parts, cache=as_dict(message.get("cache_control")) or None)])
    if role == "assistant":
        return Turn("assistant", _assistant(message))
    LOSSES.note("chat message of another role")
    return None


def _assistant(message: Json) -> list[Part]:
    parts: list[Part] = [*read_reasoning(message), *_parts(message.get("content"))]
    if refusal := as_text(message.get("refusal")):
        parts.append(Text(refusal, refusal=True))
    for call in as_dicts(message.get("tool_calls")):
        call_id = as_text(call.get("id"))
        if isinstance(call.get("custom"), dict):
            custom = call["custom"]
            parts.append(ToolCall(call_id, as_text(custom.get("name")), as_text(custom.get("input")), custom=True))
        else:
            function = as_dict(call.get("function"))
            parts.append(ToolCall(call_id, as_text(function.get("name")), as_text(function.get("arguments"))))
    if legacy := as_dict(message.get("function_call")):
        name = as_text(legacy.get("name"))
        parts.append(ToolCall(f"call_{name}", name, as_text(legacy.get("arguments"))))
    return parts


def _parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [part for item in as_dicts(content) if (part := _part(item))]


def _part(item: Json) -> Part | None:
    kind = item.get("type")
    cache = as_dict(item.get("cache_control")) or None
    if kind == "text" or (kind is None and "text" in item):
        return Text(as_text(item.get("text")), cache)
    if kind == "refusal":
        return Text(as_text(item.get("refusal")), refusal=True)
    if kind == "image_url":
        image = item.get("image_url")
        url = image if isinstance(image, str) else as_text(as_dict(image).get("url"))
        detail = as_text(as_dict(image).get("detail"))
        mime, data = parse_data_url(url)
        return Media("image", mime, data, "" if data else url, detail=detail, cache=cache)
    if kind == "file":
        return _file(as_dict(item.get("file")), cache)
    if kind == "input_audio":
        audio = as_dict(item.get("input_audio"))
        mime = _AUDIO.get(as_text(audio.get("format")), "audio/wav")
        return Media("audio", mime, as_text(audio.get("data")), cache=cache)
    LOSSES.note("chat content part of another type")
    return None


def _file(file: Json, cache: Json | None) -> Media:
    raw = as_text(file.get("file_data"))
    mime, data = parse_data_url(raw)
    name = as_text(file.get("filename"))
    return Media(
        "document", mime or "application/pdf", data or raw, file_id=as_text(file.get("file_id")), name=name, cache=cache
    )
