"""Reads a responses request."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.parts import (
    SHARED,
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
    Untranslatable,
    conversation,
    parse_data_url,
)
from metaclaw.gateway.upstream.translated.payload import Json, as_count, as_dict, as_dicts, as_list, as_text
from metaclaw.gateway.upstream.translated.seals import unseal
from metaclaw.gateway.upstream.translated.settings import as_number, as_strict


def read_request(body: Json) -> Prompt:
    """The request in our words. Raises Untranslatable for what only the server that stored it could know."""
    for field in ("previous_response_id", "conversation", "prompt"):
        if body.get(field):
            raise Untranslatable(
                f"'{field}' refers to something stored at the provider, which this model's provider cannot look up. "
                "Send the whole conversation in 'input' (store: false)."
            )
    text = as_dict(body.get("text"))
    prompt = Prompt(
        model=as_text(body.get("model")),
        tools=read_tools(body),
        choice=_choice(body.get("tool_choice")),
        parallel=body.get("parallel_tool_calls") if isinstance(body.get("parallel_tool_calls"), bool) else None,
        max_tokens=as_count(body.get("max_output_tokens")),
        temperature=as_number(body.get("temperature")),
        top_p=as_number(body.get("top_p")),
        stream=body.get("stream") is True,
        thinking=_thinking(as_dict(body.get("reasoning"))),
        format=_format(as_dict(text.get("format"))),
        verbosity=as_text(text.get("verbosity")),
        user=as_text(body.get("user")),
        shared={key: body[key] for key in SHARED if body.get(key) is not None},
    )
    if instructions := as_text(body.get("instructions")):
        prompt.turns.append(Turn("system", [Text(instructions)]))
    items = conversation(body, "input", text=True)
    if isinstance(items, str):
        prompt.turns.append(Turn("user", [Text(items)]))
    for item in as_list(items):
        if isinstance(item, dict) and (turn := _turn(item)):
            _append(prompt.turns, turn)
    return prompt


def _append(turns: list[Turn], turn: Turn) -> None:
    # One answer of the model is many items here and one turn elsewhere.
    if turns and turn.role != "system" and turns[-1].role == turn.role:
        turns[-1].parts.extend(turn.parts)
    else:
        turns.append(turn)


def read_tools(body: Json) -> list[Tool]:
    """The client's tools; those that the provider runs itself are left out."""
    tools: list[Tool] = []
    for item in as_dicts(body.get("tools")):
        if item.get("type") == "namespace":
            name = as_text(item.get("name"))
            tools += [tool for inner in as_dicts(item.get("tools")) if (tool := _tool(inner, name))]
        elif tool := _tool(item, ""):
            tools.append(tool)
    return tools


def _tool(item: Json, namespace: str) -> Tool | None:
    name, description = as_text(item.get("name")), as_text(item.get("description"))
    if item.get("type") == "function":
        parameters = as_dict(item.get("parameters")) or None
        return Tool(name, description, parameters, as_strict(item.get("strict")), namespace=namespace)
    if item.get("type") == "custom":
        form = as_dict(item.get("format")) or None
        return Tool(name, description, custom=True, format=form, namespace=namespace)
    LOSSES.note("responses tool of the provider")
    return None


def _choice(value: object) -> Choice | None:
    if value in ("auto", "none", "required"):
        return Choice(value)
    choice = as_dict(value)
    if choice.get("type") in ("function", "custom"):
        return Choice("tool", as_text(choice.get("name")))
    if choice.get("type") == "allowed_tools":
        return Choice("required" if choice.get("mode") == "required" else "auto")
    return None


def _thinking(value: Json) -> Thinking | None:
    effort = as_text(value.get("effort"))
    if effort == "none":
        return Thinking(off=True)
    return Thinking(effort) if effort else None


def _format(value: Json) -> Format | None:
    if value.get("type") == "json_object":
        return Format()
    if value.get("type") != "json_schema":
        return None
    return Format(
        as_dict(value.get("schema")) or None,
        as_text(value.get("name")) or "answer",
        as_text(value.get("description")),
        as_strict(value.get("strict")),
    )


def _turn(item: Json) -> Turn | None:
    kind = item.get("type", "message" if "role" in item else None)
    if kind == "message":
        return _message(item)
    if kind == "reasoning":
        return Turn("assistant", [_reasoning(item)])
    if kind in ("function_call", "custom_tool_call"):
        custom = kind == "custom_tool_call"
        call = ToolCall(
            as_text(item.get("call_id")),
            as_text(item.get("name")),
            as_text(item.get("input" if custom else "arguments")),
            custom,
            as_text(item.get("namespace")),
        )
        return Turn("assistant", [call])
    if kind in ("function_call_output", "custom_tool_call_output"):
        output = item.get("output")
        parts = tuple(part for part in _parts(output) if isinstance(part, Text | Media))
        result = ToolResult(as_text(item.get("call_id")), parts)
        return Turn("user", [result])
    if kind == "item_reference":
        raise Untranslatable(
            "'item_reference' refers to something stored at the provider, which this model's provider cannot look "
            "up. Send the items themselves (store: false)."
        )
    LOSSES.note("responses item of another type")
    return None


def _message(item: Json) -> Turn | None:
    parts = _parts(item.get("content"))
    role = item.get("role")
    if role in ("system", "developer"):
        return Turn("system", parts)
    if role in ("user", "assistant"):
        return Turn(role, parts)
    LOSSES.note("responses message of another role")
    return None


def _reasoning(item: Json) -> Reasoning:
    pieces = as_dicts(item.get("summary")) or as_dicts(item.get("content"))
    text = "\n\n".join(as_text(piece.get("text")) for piece in pieces)
    proof = unseal(
        as_text(item.get("encrypted_content")), native="responses", id=as_text(item.get("id")), hidden=not text
    )
    return Reasoning(text, proof)


def _parts(content: object) -> list[Part]:
    if isinstance(content, str):
        return [Text(content)] if content else []
    return [part for item in as_dicts(content) if (part := _part(item))]


def _part(item: Json) -> Part | None:
    kind = item.get("type")
    if kind in ("input_text", "output_text", "text"):
        return Text(as_text(item.get("text")))
    if kind == "refusal":
        return Text(as_text(item.get("refusal")), refusal=True)
    file_id, detail = as_text(item.get("file_id")), as_text(item.get("detail"))
    if kind == "input_image":
        url = as_text(item.get("image_url"))
        mime, data = parse_data_url(url)
        return Media("image", mime, data, "" if data else url, file_id, detail=detail)
    if kind == "input_file":
        raw = as_text(item.get("file_data"))
        mime, data = parse_data_url(raw)
        url = as_text(item.get("file_url"))
        name = as_text(item.get("filename"))
        return Media("document", mime or "application/pdf", data or raw, url, file_id, name)
    LOSSES.note("responses content part of another type")
    return None
