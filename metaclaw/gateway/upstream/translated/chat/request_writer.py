"""Writes a chat completions request."""

from __future__ import annotations

from metaclaw.gateway.upstream.translated.chat.reasoning import merged_details, open_own_proof, proof_details
from metaclaw.gateway.upstream.translated.losses import LOSSES
from metaclaw.gateway.upstream.translated.models import effort_of, is_claude, is_openai_reasoning, takes_effort
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
    joined,
    texts,
)
from metaclaw.gateway.upstream.translated.payload import Json, present
from metaclaw.gateway.upstream.translated.toolnames import (
    flat_name,
    function_arguments,
    function_description,
    function_schema,
)

_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}


def write_request(prompt: Prompt) -> Json:
    """The request as chat completions want it; usage is always asked for."""
    body: Json = {"model": prompt.model, "messages": _Messages(prompt).write()}
    if prompt.stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    if prompt.max_tokens:
        limit = "max_completion_tokens" if is_openai_reasoning(prompt.model) else "max_tokens"
        body[limit] = prompt.max_tokens
    if prompt.tools:
        body["tools"] = [_tool(tool, keep_cache=is_claude(prompt.model)) for tool in prompt.tools]
        if prompt.choice:
            body["tool_choice"] = _choice(prompt.choice)
        if prompt.parallel is not None:
            body["parallel_tool_calls"] = prompt.parallel
    settings: Json = {
        "temperature": prompt.temperature,
        "top_p": prompt.top_p,
        "stop": prompt.stop or None,
        "reasoning_effort": _effort(prompt),
        "response_format": _format(prompt.format),
        "verbosity": prompt.verbosity or None,
    }
    if prompt.top_k is not None:
        LOSSES.note("chat top_k")
    return {**_shared(prompt.shared), **body, **present(settings)}


def _shared(fields: Json) -> Json:
    # What only repeats a default is left out: several servers refuse every field that they don't know.
    kept = {key: value for key, value in fields.items() if key not in ("store", "metadata", "service_tier")}
    if fields.get("store") is True:
        kept.update({key: fields[key] for key in ("store", "metadata") if key in fields})
    if fields.get("service_tier") not in (None, "auto", "default"):
        kept["service_tier"] = fields["service_tier"]
    return kept


def _effort(prompt: Prompt) -> str | None:
    # A model that doesn't know the field answers 400. So it is sent where the client named an effort itself, or
    # where the model is known to take it; a mere budget is not worth a refused turn.
    thinking = prompt.thinking
    if thinking is None:
        return None
    if thinking.off:
        return "none" if "gpt-5." in prompt.model else None
    if thinking.effort or takes_effort(prompt.model):
        return effort_of(thinking) or None
    return None


def _tool(tool: Tool, *, keep_cache: bool) -> Json:
    function: Json = {"name": flat_name(tool.name, tool.namespace), "parameters": function_schema(tool)}
    if description := function_description(tool):
        function["description"] = description
    if tool.strict:
        function["strict"] = True
    body: Json = {"type": "function", "function": function}
    if keep_cache and tool.cache:
        body["cache_control"] = tool.cache
    return body


def _choice(choice: Choice) -> str | Json:
    if choice.mode == "tool":
        return {"type": "function", "function": {"name": choice.name}}
    return choice.mode


def _format(form: Format | None) -> Json | None:
    if form is None:
        return None
    if form.schema is None:
        return {"type": "json_object"}
    schema: Json = {"name": form.name, "schema": form.schema, "strict": form.strict}
    return {"type": "json_schema", "json_schema": present({**schema, "description": form.description or None})}


class _Messages:
    """The conversation as a list of messages."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        self._keep_cache = is_claude(prompt.model)  # resellers of Claude read cache_control here; others refuse it
        self._out: list[Json] = []

    def write(self) -> list[Json]:
        opening, rest = self._prompt.opening()
        system: list[Part] = [part for turn in opening for part in turn.parts]
        if system:
            self._out.append({"role": "system", "content": self._plain(system)})
        for turn in joined(rest):
            self._turn(turn)
        return self._out

    def _turn(self, turn: Turn) -> None:
        if turn.role == "system":
            self._out.append({"role": "system", "content": self._plain(turn.parts)})
        elif turn.role == "assistant":
            self._assistant(turn.parts)
        else:
            self._user(turn.parts)

    def _plain(self, parts: list[Part]) -> str | list[Json]:
        # One string is what every server and every chat template takes; blocks are kept only for their cache marks.
        if self._keep_cache and any(isinstance(part, Text) and part.cache for part in parts):
            return [self._text(part) for part in parts if isinstance(part, Text)]
        return "\n\n".join(texts(parts))

    def _text(self, part: Text) -> Json:
        block: Json = {"type": "text", "text": part.text}
        if self._keep_cache and part.cache:
            block["cache_control"] = part.cache
        return block

    def _assistant(self, parts: list[Part]) -> None:
        calls = [part for part in parts if isinstance(part, ToolCall)]
        message: Json = {"role": "assistant", "content": "\n\n".join(texts(parts)) or None}
        details, extras = self._reasoning(message, [part for part in parts if isinstance(part, Reasoning)])
        if details:
            message["reasoning_details"] = details
        if calls:
            message["tool_calls"] = [_call(call, extras) for call in calls]
        if message["content"] is None and not calls:
            message["content"] = ""
        if len(message["content"] or "") or calls or len(message) > 2:
            self._out.append(message)

    def _reasoning(self, message: Json, parts: list[Reasoning]) -> tuple[list[Json], Json]:
        details: list[Json] = []
        extras: Json = {}
        field, readable = "reasoning_content", []
        for index, part in enumerate(parts):
            if part.text:
                readable.append(part.text)
            if part.proof and part.proof.origin == "chat":
                own_field, own_details, own_extras = open_own_proof(part.proof)
                field = own_field or field
                details.extend(own_details)
                extras.update(own_extras)
            elif part.proof and self._keep_cache and part.proof.origin == "messages":
                details.extend(proof_details(part.text, part.proof, index))
        if readable:
            message[field] = "\n\n".join(readable)
        return merged_details(details), extras

    def _user(self, parts: list[Part]) -> None:
        shown: list[Json] = []  # what a tool showed and a tool message can't hold: told right after the results
        for part in parts:
            if isinstance(part, ToolResult):
                self._out.append({"role": "tool", "tool_call_id": part.id, "content": self._result(part)})
                media = [block for item in part.parts if isinstance(item, Media) if (block := self._media(item))]
                if media:
                    shown += [{"type": "text", "text": f"Attached to the result of tool call {part.id}:"}, *media]
        blocks = shown + [block for part in parts if (block := self._block(part))]
        if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
            self._out.append({"role": "user", "content": blocks[0]["text"]})
        elif blocks:
            self._out.append({"role": "user", "content": blocks})

    def _result(self, result: ToolResult) -> str | list[Json]:
        content = self._plain(list(result.parts))
        if (
            result.failed
            and isinstance(content, str)
            and not content.lstrip("<[ ").lower().startswith(("error", "tool_use_error"))
        ):
            return f"Error: {content}"
        return content

    def _block(self, part: Part) -> Json | None:
        if isinstance(part, Text):
            return self._text(part)
        return self._media(part) if isinstance(part, Media) else None

    def _media(self, part: Media) -> Json | None:
        block = _media_block(part)
        if block is None:
            LOSSES.note("chat attachment")
        elif self._keep_cache and part.cache:
            block["cache_control"] = part.cache
        return block


def _media_block(part: Media) -> Json | None:
    if part.kind == "image" and (part.data or part.url):
        url = f"data:{part.mime or 'image/png'};base64,{part.data}" if part.data else part.url
        image: Json = {"url": url}
        if part.detail:
            image["detail"] = part.detail
        return {"type": "image_url", "image_url": image}
    if part.kind == "audio" and part.data and part.mime in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": _AUDIO[part.mime]}}
    if part.kind == "document" and part.file_id:
        return {"type": "file", "file": {"file_id": part.file_id}}
    if part.kind == "document" and part.data:
        data = f"data:{part.mime or 'application/pdf'};base64,{part.data}"
        return {"type": "file", "file": {"filename": part.name or "document.pdf", "file_data": data}}
    return None


def _call(call: ToolCall, extras: Json) -> Json:
    function = {"name": flat_name(call.name, call.namespace), "arguments": function_arguments(call)}
    body: Json = {"id": call.id, "type": "function", "function": function}
    if call.id in extras:
        body["extra_content"] = extras[call.id]
    return body
