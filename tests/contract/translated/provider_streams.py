"""Streams and answers as providers send them on the wire, put together after their public documentation."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def chat_sse(*chunks: Json | str, newline: str = "\n", space: str = " ", done: bool = True) -> bytes:
    """A chat completions stream; a string is sent as a line of its own (comments)."""
    lines = [c if isinstance(c, str) else f"data:{space}{json.dumps(c, ensure_ascii=False)}" for c in chunks]
    if done:
        lines.append(f"data:{space}[DONE]")
    return "".join(line + newline * 2 for line in lines).encode()


def named_sse(*events: Json) -> bytes:
    """A messages or responses stream: the event's name is its type."""
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events
    ).encode()


def chat_chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    return {
        "id": "chatcmpl-9zQ",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "kimi-k2.5",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        **more,
    }


def call(index: int, arguments: str, call_id: str = "", name: str = "") -> Json:
    function: Json = {"arguments": arguments}
    item: Json = {"index": index, "function": function}
    if call_id:
        item |= {"id": call_id, "type": "function"}
        function["name"] = name
    return {"tool_calls": [item]}


CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    "completion_tokens_details": {"reasoning_tokens": 20},
}

# Reasoning, text with letters of several bytes, then two parallel calls whose arguments are interleaved.
CHAT_TOOLS = chat_sse(
    chat_chunk({"role": "assistant", "content": ""}),
    chat_chunk({"reasoning_content": "Let me "}),
    chat_chunk({"reasoning_content": "think: 猫"}),
    chat_chunk({"content": "Ich schaue nach – "}),
    chat_chunk({"content": "moment 🐈."}),
    chat_chunk(call(0, "", "functions.search:0", "search")),
    chat_chunk(call(0, '{"q": ')),
    chat_chunk(call(1, "", "functions.read:1", "read")),
    chat_chunk(call(1, '{"path": "a')),
    chat_chunk(call(0, '"{\\"naïve\\"}"')),
    chat_chunk(call(1, '.txt"}')),
    chat_chunk(call(0, "}")),
    chat_chunk({}, "tool_calls"),
    chat_chunk({}) | {"choices": [], "usage": CHAT_USAGE},
)

# The same habits in other clothes: comments, CRLF, no blank after "data:", usage in the last chunk with a choice.
CHAT_TEXT = chat_sse(
    ": OPENROUTER PROCESSING",
    chat_chunk({"role": "assistant", "content": "Hello"}),
    ": keep-alive",
    chat_chunk({"content": ", wörld"}),
    chat_chunk({"content": ""}, "stop", usage=CHAT_USAGE),
    newline="\r\n",
    space="",
)

CHAT_SIGNED = chat_sse(
    chat_chunk({"role": "assistant", "content": "", "reasoning": None, "reasoning_details": []}),
    chat_chunk(
        {
            "content": "",
            "reasoning": "First ",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "First ", "format": "anthropic-claude-v1", "index": 0}
            ],
        }
    ),
    chat_chunk(
        {
            "content": "",
            "reasoning": "this.",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "this.", "format": "anthropic-claude-v1", "index": 0}
            ],
        }
    ),
    chat_chunk(
        {
            "content": "",
            "reasoning_details": [
                {"type": "reasoning.text", "signature": "sig-router", "format": "anthropic-claude-v1", "index": 0}
            ],
        }
    ),
    chat_chunk({"content": "Done."}),
    chat_chunk({}, "stop"),
    chat_chunk({}) | {"choices": [], "usage": CHAT_USAGE},
)

MESSAGES_TOOLS = named_sse(
    {
        "type": "message_start",
        "message": {
            "id": "msg_01X",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": 300,
                "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 600,
                "output_tokens": 1,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Let me "}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "think: 猫"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "EqQBsig=="}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "redacted_thinking", "data": "RVdhc=="}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "Ich schaue nach – "}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "moment 🐈."}},
    {"type": "content_block_stop", "index": 2},
    {
        "type": "content_block_start",
        "index": 3,
        "content_block": {"type": "tool_use", "id": "toolu_01A", "name": "search", "input": {}},
    },
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '{"q": '}},
    {"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": '"naïve"}'}},
    {"type": "content_block_stop", "index": 3},
    {
        "type": "content_block_start",
        "index": 4,
        "content_block": {"type": "tool_use", "id": "toolu_01B", "name": "now", "input": {}},
    },
    {"type": "content_block_stop", "index": 4},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 20}},
    },
    {"type": "message_stop"},
)

_RESPONSE: Json = {
    "id": "resp_68a",
    "object": "response",
    "created_at": 1_790_000_000,
    "status": "in_progress",
    "model": "gpt-5.2",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": None,
}
_RESPONSES_USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
    "total_tokens": 1050,
}
_RS = {
    "id": "rs_68b",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "Let me think: 猫"}],
    "encrypted_content": "gAAAAABo",
}
_MSG = {
    "id": "msg_68c",
    "type": "message",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Ich schaue nach – moment 🐈.", "annotations": [], "logprobs": []}],
}


def _fc(item_id: str, call_id: str, name: str, arguments: str) -> Json:
    return {
        "id": item_id,
        "type": "function_call",
        "status": "completed",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


_FC0 = _fc("fc_1", "call_A", "search", '{"q": "naïve"}')
_FC1 = _fc("fc_2", "call_B", "read", '{"path": "a.txt"}')
RESPONSES_WHOLE: Json = {
    **_RESPONSE,
    "status": "completed",
    "output": [_RS, _MSG, _FC0, _FC1],
    "usage": _RESPONSES_USAGE,
}

RESPONSES_TOOLS = named_sse(
    *(
        event | {"sequence_number": number}
        for number, event in enumerate(
            (
                {"type": "response.created", "response": _RESPONSE},
                {"type": "response.in_progress", "response": _RESPONSE},
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {"id": "rs_68b", "type": "reasoning", "summary": []},
                },
                {
                    "type": "response.reasoning_summary_part.added",
                    "item_id": "rs_68b",
                    "output_index": 0,
                    "summary_index": 0,
                    "part": {"type": "summary_text", "text": ""},
                },
                {
                    "type": "response.reasoning_summary_text.delta",
                    "item_id": "rs_68b",
                    "output_index": 0,
                    "summary_index": 0,
                    "delta": "Let me ",
                },
                {
                    "type": "response.reasoning_summary_text.delta",
                    "item_id": "rs_68b",
                    "output_index": 0,
                    "summary_index": 0,
                    "delta": "think: 猫",
                },
                {"type": "response.output_item.done", "output_index": 0, "item": _RS},
                {
                    "type": "response.output_item.added",
                    "output_index": 1,
                    "item": {**_MSG, "status": "in_progress", "content": []},
                },
                {
                    "type": "response.content_part.added",
                    "item_id": "msg_68c",
                    "output_index": 1,
                    "content_index": 0,
                    "part": {"type": "output_text", "text": "", "annotations": []},
                },
                {
                    "type": "response.output_text.delta",
                    "item_id": "msg_68c",
                    "output_index": 1,
                    "content_index": 0,
                    "delta": "Ich schaue nach – ",
                },
                {
                    "type": "response.output_text.delta",
                    "item_id": "msg_68c",
                    "output_index": 1,
                    "content_index": 0,
                    "delta": "moment 🐈.",
                },
                {
                    "type": "response.output_text.done",
                    "item_id": "msg_68c",
                    "output_index": 1,
                    "content_index": 0,
                    "text": "Ich schaue nach – moment 🐈.",
                },
                {"type": "response.output_item.done", "output_index": 1, "item": _MSG},
                {
                    "type": "response.output_item.added",
                    "output_index": 2,
                    "item": {**_FC0, "status": "in_progress", "arguments": ""},
                },
                {
                    "type": "response.output_item.added",
                    "output_index": 3,
                    "item": {**_FC1, "status": "in_progress", "arguments": ""},
                },
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": "fc_1",
                    "output_index": 2,
                    "delta": '{"q": ',
                },
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": "fc_2",
                    "output_index": 3,
                    "delta": '{"path": "a',
                },
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": "fc_1",
                    "output_index": 2,
                    "delta": '"naïve"}',
                },
                {
                    "type": "response.function_call_arguments.delta",
                    "item_id": "fc_2",
                    "output_index": 3,
                    "delta": '.txt"}',
                },
                {"type": "response.output_item.done", "output_index": 2, "item": _FC0},
                {"type": "response.output_item.done", "output_index": 3, "item": _FC1},
                {"type": "response.completed", "response": RESPONSES_WHOLE},
            )
        )
    )
)

CHAT_WHOLE: Json = {
    "id": "chatcmpl-9zQ",
    "object": "chat.completion",
    "created": 1_790_000_000,
    "model": "kimi-k2.5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": "Ich schaue nach – moment 🐈.",
                "reasoning_content": "Let me think: 猫",
                "tool_calls": [
                    {
                        "id": "functions.search:0",
                        "type": "function",
                        "function": {"name": "search", "arguments": '{"q": "naïve"}'},
                    },
                    {
                        "id": "functions.read:1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path": "a.txt"}'},
                    },
                ],
            },
        }
    ],
    "usage": CHAT_USAGE,
}

MESSAGES_WHOLE: Json = {
    "id": "msg_01X",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [
        {"type": "thinking", "thinking": "Let me think: 猫", "signature": "EqQBsig=="},
        {"type": "redacted_thinking", "data": "RVdhc=="},
        {"type": "text", "text": "Ich schaue nach – moment 🐈."},
        {"type": "tool_use", "id": "toolu_01A", "name": "search", "input": {"q": "naïve"}},
        {"type": "tool_use", "id": "toolu_01B", "name": "now", "input": {}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 300,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 600,
        "output_tokens": 50,
        "output_tokens_details": {"thinking_tokens": 20},
    },
}

STREAMS: dict[str, bytes] = {"chat": CHAT_TOOLS, "messages": MESSAGES_TOOLS, "responses": RESPONSES_TOOLS}
ANSWERS: dict[str, Json] = {"chat": CHAT_WHOLE, "messages": MESSAGES_WHOLE, "responses": RESPONSES_WHOLE}
