"""Writes a responses request."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.models import effort_of, is_openai_reasoning, takes_effort
from metaclaw.gateway.upstream.translated.parts import (
    Choice,
    Format,
    Media,
    Part,
    Prompt,
    Reasoning,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Turn,
    texts,
)
from metaclaw.gateway.upstream.translated.payload import Json, present

_ENCRYPTED = "reasoning.encrypted_content"


def write_request(prompt: Prompt) -> Json:
    """The request as responses wants it; nothing is stored at the provider, so reasoning is asked for encrypted."""
    opening, rest = prompt.opening()
    body: Json = {"store": False, **prompt.shared, "model": prompt.model}
    if instructions := "\n\n".join(text for turn in opening for text in texts(turn.parts)):
        body["instructions"] = instructions
    calls = [part for turn in rest for part in turn.parts if isinstance(part, ToolCall)]
    customs = {call.id for call in calls if call.custom}
    body["input"] = [item for turn in rest for item in _items(turn, customs)]
    if prompt.stream:
        body["stream"] = True
    if prompt.tools:
        body["tools"] = [_tool(tool) for tool in prompt.tools]
        if prompt.choice:
            body["tool_choice"] = _choice(prompt.choice, prompt.tools)
        if prompt.parallel is not None:
            body["parallel_tool_calls"] = prompt.parallel
    settings: Json = {
        "max_output_tokens": prompt.max_tokens or None,
        "temperature": prompt.temperature,
        "top_p": prompt.top_p,
        "reasoning": _reasoning_settings(prompt),
        "text": _text_settings(prompt),
    }
    if prompt.stop or prompt.top_k is not None:
        LOSSES.note("responses stop or top_k")
    body.update(present(settings))
    if body.get("reasoning") or is_openai_reasoning(prompt.model):
        body["include"] = [_ENCRYPTED]  # a model that does not reason refuses it
    return body


def _reasoning_settings(prompt: Prompt) -> Json | None:
    thinking = prompt.thinking
    if thinking is None:
        return None
    if thinking.off:
        return {"effort": "none"} if "gpt-5." in prompt.model else None
    if not thinking.effort and not takes_effort(prompt.model):
        return None  # a mere budget is not worth a 400 from a model that doesn't reason
    effort = effort_of(thinking)
    return {"effort": effort, "summary": "auto"} if effort else {"summary": "auto"}


def _text_settings(prompt: Prompt) -> Json | None:
    text: Json = {}
    if prompt.format:
        text["format"] = _format(prompt.format)
    if prompt.verbosity:
        text["verbosity"] = prompt.verbosity
    return text or None


def _format(form: Format) -> Json:
    if form.schema is None:
        return {"type": "json_object"}
    value = {"type": "json_schema", "name": form.name, "schema": form.schema}
    return present({**value, "strict": form.strict, "description": form.description or None})


def _tool(tool: Tool) -> Json:
    if tool.custom:
        return present(
            {
                "type": "custom",
                "name": tool.name,
                "description": tool.description or None,
                "format": tool.format,
            }
        )
    # Without `strict`, responses would make the schema strict where it can; elsewhere the default is not strict.
    body: Json = {"type": "function", "name": tool.name, "strict": tool.strict or False}
    body["parameters"] = tool.schema or {"type": "object", "properties": {}}
    if tool.description:
        body["description"] = tool.description
    return body


def _choice(choice: Choice, tools: list[Tool]) -> str | Json:
    if choice.mode != "tool":
        return choice.mode
    custom = any(tool.custom for tool in tools if tool.name == choice.name)
    return {"type": "custom" if custom else "function", "name": choice.name}


def _items(turn: Turn, customs: set[str]) -> list[Json]:
    if turn.role == "assistant":
        return [item for part in turn.parts if (item := _assistant_item(part))]
    role = "developer" if turn.role == "system" else "user"
    items: list[Json] = []
    content: list[Json] = []
    for part in turn.parts:
        if isinstance(part, ToolResult):
            items.append(_result(part, custom=part.id in customs))
        elif block := _content(part):
            content.append(block)
    if content:
        items.append({"type": "message", "role": role, "content": content})
    return items


def _assistant_item(part: Part) -> Json | None:
    if isinstance(part, Text):
        return {"type": "message", "role": "assistant", "content": part.text} if part.text else None
    if isinstance(part, ToolCall) and part.custom:
        return {"type": "custom_tool_call", "call_id": part.id, "name": part.name, "input": part.arguments}
    if isinstance(part, ToolCall):
        arguments = part.arguments or "{}"
        return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
    if isinstance(part, Reasoning) and part.proof and part.proof.origin == "responses":
        summary = [{"type": "summary_text", "text": part.text}] if part.text else []
        item: Json = {"type": "reasoning", "summary": summary, "encrypted_content": part.proof.value}
        return {**item, "id": part.proof.id} if part.proof.id else item
    # Reasoning that this provider has not encrypted itself is refused.
    LOSSES.note("responses assistant part")
    return None


def _result(result: ToolResult, *, custom: bool) -> Json:
    kind = "custom_tool_call_output" if custom else "function_call_output"
    blocks = [block for part in result.parts if (block := _content(part))]
    output: str | list[Json]
    if all(block["type"] == "input_text" for block in blocks):
        output = "\n\n".join(block["text"] for block in blocks)
        if result.failed and not output.lstrip("<[ ").lower().startswith(("error", "tool_use_error")):
            output = f"Error: {output}"
    else:
        output = [{"type": "input_text", "text": "Error:"}, *blocks] if result.failed else blocks
    return {"type": kind, "call_id": result.id, "output": output}


def _content(part: Part) -> Json | None:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, Media) and (block := _media(part)):
        return block
    LOSSES.note("responses attachment")
    return None


def _media(part: Media) -> Json | None:
    data = f"data:{part.mime};base64,{part.data}" if part.data else ""
    if part.kind == "image" and (part.data or part.url or part.file_id):
        where = {"file_id": part.file_id} if part.file_id and not data else {"image_url": data or part.url}
        return {"type": "input_image", "detail": part.detail or "auto", **where}
    if part.kind != "document":
        return None
    if data:
        return {"type": "input_file", "filename": part.name or "document.pdf", "file_data": data}
    if part.url:
        return {"type": "input_file", "file_url": part.url}
    return {"type": "input_file", "file_id": part.file_id} if part.file_id else None
