"""Tools that only responses knows (free text, namespaces), under names that every protocol accepts.

A free-text tool becomes a function with one string, `input`; a namespaced tool gets its namespace as a prefix. The
client gets its own names and forms back.
"""

from __future__ import annotations

from collections.abc import Iterable

from metaclaw.gateway.upstream.translated.parts import Tool, ToolCall
from metaclaw.gateway.upstream.translated.payload import Json, Malformed, as_dict, as_text, decode, encode_text

INPUT_SCHEMA: Json = {
    "type": "object",
    "properties": {"input": {"type": "string", "description": "The whole input of the tool, as free text."}},
    "required": ["input"],
    "additionalProperties": False,
}


def flat_name(name: str, namespace: str) -> str:
    """One name for a tool inside a namespace."""
    if not namespace:
        return name
    return namespace + name if namespace.endswith("__") else f"{namespace}__{name}"


def function_schema(tool: Tool) -> Json:
    """The parameters under which a tool is offered as a function."""
    if tool.custom:
        return INPUT_SCHEMA
    return tool.schema or {"type": "object", "properties": {}}


def function_description(tool: Tool) -> str:
    """What the model is told; the grammar of a free-text tool is told in words, since nothing enforces it."""
    grammar = as_text(as_dict(tool.format).get("definition"))
    if not tool.custom or not grammar:
        return tool.description
    return f"{tool.description}\n\nThe `input` must follow this grammar:\n{grammar}".strip()


def function_arguments(call: ToolCall) -> str:
    """The JSON text of a call's arguments, whatever form the tool has with the client."""
    return text_arguments(call.arguments) if call.custom else call.arguments or "{}"


def text_arguments(text: str) -> str:
    """Free text as the arguments of the function that stands for the tool."""
    return encode_text({"input": text})


def free_text(arguments: str) -> str:
    """The free text out of a function call's arguments; what isn't JSON is taken as the text itself."""
    try:
        parsed = decode(arguments)
    except Malformed:
        return arguments
    if isinstance(parsed, dict) and isinstance(parsed.get("input"), str):
        return str(parsed["input"])
    return parsed if isinstance(parsed, str) else arguments


class ToolNames:
    """The client's tools by the names that the upstream knows."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools = {flat_name(tool.name, tool.namespace): tool for tool in tools if tool.custom or tool.namespace}

    def resolve(self, name: str) -> tuple[str, str, bool]:
        """(name, namespace, whether it is a free-text tool) as the client declared it."""
        tool = self._tools.get(name)
        return (tool.name, tool.namespace, tool.custom) if tool else (name, "", False)
