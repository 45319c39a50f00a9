"""What the provider is asked, for what the client said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from metaclaw.gateway.upstream.translated import LOSSES, Untranslatable, translate_request

Json = dict[str, Any]
_PNG = "iVBORw0KGgo="
_PNG_SOURCE = {"type": "base64", "media_type": "image/png", "data": _PNG}
_PNG_URL = f"data:image/png;base64,{_PNG}"


def _chat(**more: Any) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}


def _messages(**more: Any) -> Json:
    return {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], **more}


_TOOL = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
_CHAT_TOOLS = [{"type": "function", "function": {"name": "search", "description": "Find.", "parameters": _TOOL}}]
_CHAT_LOOP: list[Json] = [
    {"role": "system", "content": "Be brief."},
    {
        "role": "user",
        "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": _PNG_URL}}],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "functions.search:0", "type": "function", "function": {"name": "search", "arguments": '{"q":"a"}'}},
            {"id": "functions.search:1", "type": "function", "function": {"name": "search", "arguments": '{"q":"b"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "functions.search:0", "content": "A"},
    {"role": "tool", "tool_call_id": "functions.search:1", "content": "B"},
    {"role": "user", "content": "Go on."},
]


def test_a_tool_loop_goes_from_chat_to_messages() -> None:
    body = translate_request(
        "chat", "messages", {"model": "claude-sonnet-4-5", "messages": _CHAT_LOOP, "tools": _CHAT_TOOLS}
    )
    mark = {"type": "ephemeral"}
    assert body == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "tools": [{"name": "search", "description": "Find.", "input_schema": _TOOL}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": _PNG},
                        "cache_control": mark,
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "functions.search:0", "name": "search", "input": {"q": "a"}},
                    {"type": "tool_use", "id": "functions.search:1", "name": "search", "input": {"q": "b"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "functions.search:0", "content": "A"},
                    {"type": "tool_result", "tool_use_id": "functions.search:1", "content": "B"},
                    {"type": "text", "text": "Go on.", "cache_control": mark},
                ],
            },
        ],
    }


def test_a_tool_loop_goes_from_chat_to_responses() -> None:
    body = translate_request("chat", "responses", {"model": "gpt-4.1", "messages": _CHAT_LOOP, "tools": _CHAT_TOOLS})
    assert body == {
        "store": False,
        "model": "gpt-4.1",
        "instructions": "Be brief.",
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "What is this?"},
                    {"type": "input_image", "detail": "auto", "image_url": _PNG_URL},
                ],
            },
            {"type": "message", "role": "assistant", "content": "I look."},
            {"type": "function_call", "call_id": "functions.search:0", "name": "search", "arguments": '{"q":"a"}'},
            {"type": "function_call", "call_id": "functions.search:1", "name": "search", "arguments": '{"q":"b"}'},
            {"type": "function_call_output", "call_id": "functions.search:0", "output": "A"},
            {"type": "function_call_output", "call_id": "functions.search:1", "output": "B"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
        ],
        "tools": [{"type": "function", "name": "search", "description": "Find.", "parameters": _TOOL, "strict": False}],
    }


def test_claude_codes_request_goes_to_chat() -> None:
    """Billing header gone, cache marks gone, errors and pictures of tools kept, ids verbatim."""
    cached = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = translate_request(
        "messages",
        "chat",
        {
            "model": "kimi-k2.5",
            "max_tokens": 32_000,
            "stream": True,
            "metadata": {"user_id": "user_x_session_y"},
            "thinking": {"type": "enabled", "budget_tokens": 31_999},
            "system": [
                {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1;"},
                {"type": "text", "text": "You are Claude Code.", **cached},
                {"type": "text", "text": "Rules.", **cached},
            ],
            "tools": [
                {"name": "Bash", "description": "Run.", "input_schema": _TOOL, **cached},
                {"type": "web_search_20250305", "name": "web_search"},
            ],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Go.", **cached}]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                        {"type": "tool_use", "id": "functions.Bash:0", "name": "Bash", "input": {"q": "ls"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "functions.Bash:0",
                            "is_error": True,
                            "content": [
                                {"type": "text", "text": "no such file"},
                                {"type": "image", "source": _PNG_SOURCE},
                            ],
                        },
                        {"type": "text", "text": "<recalled>"},
                    ],
                },
            ],
        },
    )
    assert body == {
        "model": "kimi-k2.5",
        "max_tokens": 32_000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "Bash", "description": "Run.", "parameters": _TOOL}}],
        "messages": [
            {"role": "system", "content": "You are Claude Code.\n\nRules."},
            {"role": "user", "content": "Go."},
            {
                "role": "assistant",
                "content": None,
                "reasoning_content": "Hm.",
                "tool_calls": [
                    {
                        "id": "functions.Bash:0",
                        "type": "function",
                        "function": {"name": "Bash", "arguments": '{"q":"ls"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "functions.Bash:0", "content": "Error: no such file"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Attached to the result of tool call functions.Bash:0:"},
                    {"type": "image_url", "image_url": {"url": _PNG_URL}},
                    {"type": "text", "text": "<recalled>"},
                ],
            },
        ],
    }


def test_codexs_request_goes_to_chat_and_messages() -> None:
    body: Json = {
        "model": "m",
        "instructions": "You are Codex.",
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Sandbox: on."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "Hm."}],
                "encrypted_content": "gAAA",
            },
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I fix."}]},
            {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": "*** Begin"},
            {
                "type": "function_call",
                "call_id": "call_2",
                "name": "query",
                "namespace": "mcp__db__",
                "arguments": "{}",
            },
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ok"},
            {
                "type": "function_call_output",
                "call_id": "call_2",
                "output": [{"type": "input_image", "image_url": _PNG_URL}],
            },
        ],
        "tools": [{"type": "custom", "name": "apply_patch", "description": "Patch."}, {"type": "local_shell"}],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "medium", "summary": "auto"},
        "store": False,
        "stream": True,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "thread-1",
        "text": {"verbosity": "low"},
        "client_metadata": {"x": "y"},
    }
    chat = translate_request("responses", "chat", body)
    assert [m["role"] for m in chat["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert chat["messages"][0]["content"] == "You are Codex.\n\nSandbox: on."
    spoken = chat["messages"][2]
    assert (spoken["content"], spoken["reasoning_content"]) == ("I fix.", "Hm.")
    calls = [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in spoken["tool_calls"]]
    assert calls == [("call_1", "apply_patch", {"input": "*** Begin"}), ("call_2", "mcp__db__query", {})]
    assert chat["tools"][0]["function"]["parameters"]["required"] == ["input"]
    assert (chat["reasoning_effort"], chat["verbosity"], chat["parallel_tool_calls"]) == ("medium", "low", False)
    assert chat["prompt_cache_key"] == "thread-1"
    assert not chat.keys() & {"store", "include", "client_metadata", "instructions"}

    messages = translate_request("responses", "messages", {**body, "model": "claude-opus-4-6"})
    assert [block["text"] for block in messages["system"]] == ["You are Codex.", "Sandbox: on."]
    assert [b["type"] for b in messages["messages"][1]["content"]] == ["text", "tool_use", "tool_use"]
    results = messages["messages"][2]["content"]
    assert [r["tool_use_id"] for r in results] == ["call_1", "call_2"]
    assert results[1]["content"][0]["type"] == "image"
    assert messages["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert (messages["thinking"], messages["output_config"]) == ({"type": "adaptive"}, {"effort": "medium"})


@pytest.mark.parametrize(
    ("openai", "anthropic"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "search"}}, {"type": "tool", "name": "search"}),
    ],
)
def test_tool_choice_goes_both_ways(openai: Any, anthropic: Json) -> None:
    there = translate_request("chat", "messages", _chat(tools=_CHAT_TOOLS, tool_choice=openai))
    assert there["tool_choice"] == anthropic
    back = translate_request("messages", "chat", {**there, "tool_choice": anthropic})
    assert back["tool_choice"] == openai
    parallel = translate_request("chat", "messages", _chat(tools=_CHAT_TOOLS, parallel_tool_calls=False))
    assert parallel["tool_choice"] == {"type": "auto", "disable_parallel_tool_use": True}
    assert translate_request("messages", "chat", parallel)["parallel_tool_calls"] is False


def test_limits_have_the_name_that_the_target_knows() -> None:
    for source in (_chat(max_tokens=50), _chat(max_completion_tokens=50)):
        assert translate_request("chat", "messages", source)["max_tokens"] == 50
        assert translate_request("chat", "responses", source)["max_output_tokens"] == 50
    assert translate_request("messages", "chat", _messages())["max_tokens"] == 100
    assert translate_request("messages", "chat", _messages(model="gpt-5.2"))["max_completion_tokens"] == 100
    assert translate_request("chat", "messages", _chat())["max_tokens"] == 8192
    assert translate_request("chat", "messages", _chat(model="claude-3-haiku-20240307"))["max_tokens"] == 4096


def test_a_schema_for_the_answer_is_kept() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "thing", "schema": schema, "strict": True}}
    messages = translate_request("chat", "messages", _chat(response_format=form))
    assert messages["output_config"] == {"format": {"type": "json_schema", "schema": schema}}
    responses = translate_request("chat", "responses", _chat(response_format=form))
    assert responses["text"]["format"] == {"type": "json_schema", "name": "thing", "schema": schema, "strict": True}
    back = translate_request("messages", "chat", _messages(output_config=messages["output_config"]))
    assert back["response_format"]["json_schema"]["schema"] == schema


@pytest.mark.parametrize(
    ("model", "more", "thinking", "effort"),
    [
        ("claude-sonnet-4-5", {"reasoning_effort": "high"}, {"type": "enabled", "budget_tokens": 24_576}, None),
        (
            "claude-sonnet-4-5",
            {"reasoning_effort": "high", "max_tokens": 4000},
            {"type": "enabled", "budget_tokens": 2000},
            None,
        ),
        ("claude-sonnet-4-5", {"reasoning_effort": "low", "max_tokens": 1000}, None, None),
        ("claude-sonnet-4-5", {"reasoning_effort": "none"}, None, None),
        ("claude-opus-4-6", {"reasoning_effort": "xhigh"}, {"type": "adaptive"}, "high"),
        ("claude-opus-4-7", {"reasoning_effort": "xhigh"}, {"type": "adaptive"}, "xhigh"),
        ("claude-3-5-sonnet-20241022", {"reasoning_effort": "high"}, None, None),
        (
            "claude-sonnet-4-5",
            {"thinking": {"type": "enabled", "budget_tokens": 5000}},
            {"type": "enabled", "budget_tokens": 5000},
            None,
        ),
        (
            "claude-sonnet-4-5",
            {"reasoning_effort": "high", "tools": _CHAT_TOOLS, "tool_choice": "required"},
            None,
            None,
        ),
    ],
)
def test_thinking_is_asked_for_in_a_form_that_the_model_accepts(
    model: str, more: Json, thinking: Json | None, effort: str | None
) -> None:
    body = translate_request("chat", "messages", _chat(model=model, temperature=0.2, **more))
    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == effort
    assert ("temperature" in body) is (thinking is None)


def test_an_effort_goes_only_to_models_that_take_one() -> None:
    """A client that always thinks (Claude Code) must not be refused by a model that cannot."""
    thinks = _messages(thinking={"type": "enabled", "budget_tokens": 31_999})
    assert "reasoning_effort" not in translate_request("messages", "chat", {**thinks, "model": "gpt-4.1"})
    assert translate_request("messages", "chat", {**thinks, "model": "gpt-5.2"})["reasoning_effort"] == "high"
    assert "reasoning" not in translate_request("messages", "responses", {**thinks, "model": "gpt-4.1"})
    asked = translate_request("messages", "responses", {**thinks, "model": "gpt-5.2"})
    assert asked["reasoning"] == {"effort": "high", "summary": "auto"}
    said = _messages(output_config={"effort": "low"})
    assert translate_request("messages", "chat", said)["reasoning_effort"] == "low"


def test_thinking_is_off_in_a_loop_whose_thinking_is_lost() -> None:
    lost = translate_request(
        "chat", "messages", {"model": "claude-sonnet-4-5", "reasoning_effort": "high", "messages": _CHAT_LOOP[:-1]}
    )
    assert "thinking" not in lost


def test_only_its_own_signatures_go_to_a_provider() -> None:
    """A foreign or missing signature is a 400 there; the rest of the turn is kept."""
    said = {"role": "assistant", "content": "Yes.", "reasoning_content": "unsigned"}
    body = translate_request("chat", "messages", _chat(messages=[{"role": "user", "content": "?"}, said]))
    assert body["messages"][1]["content"] == [{"type": "text", "text": "Yes."}]
    items = translate_request("chat", "responses", _chat(messages=[{"role": "user", "content": "?"}, said]))["input"]
    assert [item["type"] for item in items] == ["message", "message"]
    signed = {"type": "thinking", "thinking": "Hm.", "signature": "anthropics own"}
    turns = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": [signed, {"type": "text", "text": "Yes."}]},
    ]
    items = translate_request("messages", "responses", _messages(messages=turns))["input"]
    assert [item["type"] for item in items] == ["message", "message"]


def test_the_clients_cache_marks_are_kept_for_claude_and_dropped_for_others() -> None:
    marked = [{"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}]
    kept = translate_request("chat", "messages", _chat(messages=[{"role": "system", "content": "S"}, *marked]))
    assert kept["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in kept["system"][0]
    assert translate_request("messages", "chat", _messages(messages=marked))["messages"][0]["content"] == "hi"
    reseller = translate_request("messages", "chat", _messages(model="anthropic/claude-opus-4.5", messages=marked))
    assert reseller["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_files_go_where_there_is_a_place_for_them() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
    content = [
        {"type": "document", "title": "a.pdf", "source": pdf},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.com/b.pdf"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.com/c.png"}},
    ]
    body = _messages(messages=[{"role": "user", "content": content}])
    before = LOSSES.counts["chat attachment"]
    chat = translate_request("messages", "chat", body)["messages"][0]["content"]
    assert [part["type"] for part in chat] == ["file", "text", "image_url"]
    assert chat[0]["file"] == {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    assert LOSSES.counts["chat attachment"] == before + 1
    items = translate_request("messages", "responses", body)["input"][0]["content"]
    assert [item["type"] for item in items] == ["input_file", "input_text", "input_file", "input_image"]
    back = translate_request("chat", "messages", _chat(messages=[{"role": "user", "content": chat}]))
    assert back["messages"][0]["content"][0]["source"] == pdf


def test_a_tool_error_is_an_error_again_for_nobody_else() -> None:
    """OpenAI's protocols have no flag for it, so the words say it, once."""
    for text, told in (("gone", "Error: gone"), ("Error: gone", "Error: gone"), ("<error>x", "<error>x")):
        result = {"type": "tool_result", "tool_use_id": "t", "is_error": True, "content": text}
        turns = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]},
            {"role": "user", "content": [result]},
        ]
        chat = translate_request("messages", "chat", _messages(messages=turns))
        assert chat["messages"][1]["content"] == told
        items = translate_request("messages", "responses", _messages(messages=turns))["input"]
        assert items[1]["output"] == told


def test_arguments_that_are_no_json_come_back_as_they_were() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "n", "arguments": '{"cut": "of'}}
    said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    there = translate_request("chat", "messages", _chat(messages=said))
    assert isinstance(there["messages"][1]["content"][0]["input"], dict)
    back = translate_request("messages", "chat", there)
    assert back["messages"][1]["tool_calls"] == [call]


@pytest.mark.parametrize("value", [42, None, {"role": "user"}, True])
@pytest.mark.parametrize(("source", "key"), [("chat", "messages"), ("messages", "messages"), ("responses", "input")])
def test_a_conversation_that_is_none_is_refused_in_plain_words(source: Any, key: str, value: Any) -> None:
    for target in {"chat", "messages", "responses"} - {source}:
        with pytest.raises(Untranslatable, match=f"'{key}' must be a list") as refused:
            translate_request(source, target, {"model": "m", key: value})
        assert refused.value.status == 400
        with pytest.raises(Untranslatable, match=f"'{key}' is missing"):
            translate_request(source, target, {"model": "m"})


@pytest.mark.parametrize("field", ["previous_response_id", "conversation", "prompt"])
def test_what_was_stored_elsewhere_is_refused_in_words(field: str) -> None:
    with pytest.raises(Untranslatable, match=field) as caught:
        translate_request("responses", "chat", {"model": "m", "input": "hi", field: "x"})
    assert caught.value.status == 400


@pytest.mark.parametrize("target", ["chat", "messages", "responses"])
def test_parts_that_nobody_knows_never_crash(target: Any) -> None:
    odd: list[Any] = [None, 3, {"type": "hologram"}, {"type": ["x"]}, {"text": 1}, "x"]
    for source, field in (("chat", "messages"), ("messages", "messages"), ("responses", "input")):
        turns = [{"role": role, "content": odd} for role in ("user", "assistant", "system", "tool", "oracle", 7)]
        body = {"model": 3, field: [*turns, *odd], "tools": odd, "tool_choice": odd, "stop": 5, "thinking": "x"}
        assert translate_request(source, target, body)  # type: ignore[arg-type]
