"""Errors reach the client in its own dialect, so that it backs off, compacts or gives up as it should."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from metaclaw.gateway.upstream.translated import translate_error, translate_status
from tests.contract.translated.provider_streams import CHAT_TOOLS, MESSAGES_TOOLS, RESPONSES_TOOLS, chat_chunk, chat_sse
from tests.contract.translated.serving import Served

_ASK = [{"role": "user", "content": "hi"}]


def _openai(server: Served) -> openai.OpenAI:
    return openai.OpenAI(api_key="sk-test", base_url=f"{server.url}/v1", max_retries=0)


def _anthropic(server: Served) -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key="sk-test", base_url=server.url, max_retries=0)


def _consume(server: Served, client: str) -> str:
    """Read a stream to its end; the text that came."""
    text = ""
    if client == "chat":
        for chunk in _openai(server).chat.completions.create(model="m", messages=_ASK, stream=True):
            assert chunk.choices[0].finish_reason is None, "an invented stop"
            text += chunk.choices[0].delta.content or ""
    elif client == "messages":
        with _anthropic(server).messages.stream(model="m", max_tokens=9, messages=_ASK) as stream:
            for event in stream:
                assert event.type not in ("message_stop", "message_delta"), "an invented stop"
                text += (
                    event.delta.text if event.type == "content_block_delta" and event.delta.type == "text_delta" else ""
                )
    return text


def test_anthropics_overflow_is_context_length_exceeded_for_openai_clients(messages_provider: Served) -> None:
    error = {"type": "invalid_request_error", "message": "prompt is too long: 205351 tokens > 200000 maximum"}
    messages_provider.provider.answer({"type": "error", "error": error}, 400)
    with pytest.raises(openai.BadRequestError) as caught:
        _openai(messages_provider).chat.completions.create(model="m", messages=_ASK)
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 200000 tokens" in str(caught.value)
    assert "205351" in str(caught.value)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (
            400,
            {
                "message": "This model's maximum context length is 131072 tokens. However, your messages resulted in "
                "140000 tokens. Please reduce the length of the messages.",
                "type": "invalid_request_error",
                "code": "context_length_exceeded",
            },
        ),
        (400, {"message": "Invalid request: Your request exceeded model token limit: 262144", "type": "invalid"}),
        (400, {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"}),
        (413, {"message": "Input is too long for requested model."}),
    ],
)
def test_every_overflow_is_prompt_is_too_long_for_anthropic_clients(
    chat_provider: Served, status: int, error: dict[str, Any]
) -> None:
    chat_provider.provider.answer({"error": error}, status)
    with pytest.raises(anthropic.BadRequestError) as caught:
        _anthropic(chat_provider).messages.create(model="m", max_tokens=9, messages=_ASK)
    body = caught.value.body
    assert isinstance(body, dict)
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["message"].startswith("prompt is too long")
    if "140000" in error["message"]:
        assert body["error"]["message"] == "prompt is too long: 140000 tokens > 131072 maximum"


def test_an_overloaded_provider_says_so_in_both_dialects(chat_provider: Served, messages_provider: Served) -> None:
    chat_provider.provider.answer({"error": {"message": "busy"}}, 503, retry_after="7")
    with pytest.raises(anthropic.APIStatusError) as caught:
        _anthropic(chat_provider).messages.create(model="m", max_tokens=9, messages=_ASK)
    assert caught.value.status_code == 529
    assert caught.value.response.headers["retry-after"] == "7"
    assert "overloaded_error" in str(caught.value.body)
    messages_provider.provider.answer({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529)
    with pytest.raises(openai.InternalServerError) as other:
        _openai(messages_provider).responses.create(model="m", input="hi")
    assert other.value.status_code == 503
    assert other.value.code == "server_is_overloaded"


def test_rate_limits_keep_their_headers(messages_provider: Served) -> None:
    messages_provider.provider.answer(
        {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}},
        429,
        retry_after="17",
        anthropic_ratelimit_requests_remaining="0",
    )
    with pytest.raises(openai.RateLimitError) as caught:
        _openai(messages_provider).chat.completions.create(model="m", messages=_ASK, stream=True)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "17"
    assert caught.value.response.headers["anthropic-ratelimit-requests-remaining"] == "0"


@pytest.mark.parametrize(
    "body", [b"<html><body>502 Bad Gateway</body></html>", b"", b"upstream connect error", b"[]", b"\xff\xfe", b'"no"']
)
def test_an_error_of_any_form_has_the_clients_form(body: bytes) -> None:
    told = json.loads(translate_error(502, body, "messages"))
    assert told["type"] == "error"
    assert told["error"]["type"] == "api_error"
    assert told["error"]["message"]
    assert "<html" not in told["error"]["message"]
    assert translate_status(502, body, "messages") == 502
    assert json.loads(translate_error(401, body, "chat"))["error"]["code"] == "invalid_api_key"


@pytest.mark.parametrize(
    ("wire", "client", "stream"),
    [
        ("chat", "messages", CHAT_TOOLS),
        ("messages", "chat", MESSAGES_TOOLS),
        ("responses", "chat", RESPONSES_TOOLS),
        ("responses", "messages", RESPONSES_TOOLS),
    ],
)
@pytest.mark.parametrize("hang_up", [True, False])
def test_a_stream_that_breaks_ends_as_an_error(
    provider_of: Callable[[str], Served], wire: str, client: str, stream: bytes, hang_up: bool
) -> None:
    server = provider_of(wire)
    server.provider.answer(stream[: stream.index("🐈".encode()) + 120])
    server.provider.hang_up = hang_up
    with pytest.raises((openai.APIError, anthropic.APIStatusError)) as caught:
        _consume(server, client)
    assert "broke off" in str(caught.value)
    assert server.over.wait(10)
    assert bool(server.failures) is hang_up  # a cut connection is an UpstreamError for the gateway, too


def test_a_broken_stream_is_a_failed_response(chat_provider: Served) -> None:
    chat_provider.provider.answer(chat_sse(chat_chunk({"content": "Hel"}), done=False))
    kinds = [e.type for e in _openai(chat_provider).responses.create(model="m", input="hi", stream=True)]
    assert kinds[-2:] == ["error", "response.failed"]
    assert "response.completed" not in kinds


def test_an_error_chunk_becomes_the_clients_error_event(chat_provider: Served, messages_provider: Served) -> None:
    error = {"error": {"message": "Provider returned error", "code": 429, "type": "rate_limit_error"}}
    chat_provider.provider.answer(chat_sse(chat_chunk({"content": "Hel"}), error))
    with pytest.raises(anthropic.APIStatusError) as caught:
        _consume(chat_provider, "messages")
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"] == {"type": "rate_limit_error", "message": "Provider returned error"}
    whole = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    start = MESSAGES_TOOLS[: MESSAGES_TOOLS.index(b"event: ping")]
    messages_provider.provider.answer(start + f"event: error\ndata: {json.dumps(whole)}\n\n".encode())
    with pytest.raises(openai.APIError) as other:
        _consume(messages_provider, "chat")
    assert other.value.code == "server_is_overloaded"


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "abort"])
def test_a_reason_that_means_failure_is_no_stop(chat_provider: Served, reason: str) -> None:
    chat_provider.provider.answer(chat_sse(chat_chunk({"content": "Hel"}), chat_chunk({}, reason)))
    with pytest.raises(anthropic.APIStatusError):
        _consume(chat_provider, "messages")


def test_a_call_without_a_finish_reason_is_still_a_call(chat_provider: Served) -> None:
    body = {"index": 0, "id": "call_1", "function": {"name": "look", "arguments": '{"a":1}'}}
    chat_provider.provider.answer(chat_sse(chat_chunk({"tool_calls": [body]})))
    message = _anthropic(chat_provider).messages.stream(model="m", max_tokens=9, messages=_ASK)
    with message as stream:
        final = stream.get_final_message()
    assert final.stop_reason == "tool_use"
    assert final.content[0].input == {"a": 1}


def test_what_only_the_other_provider_could_know_is_a_clear_400(chat_provider: Served) -> None:
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        _openai(chat_provider).responses.create(model="m", input="hi", previous_response_id="resp_1")
    assert not chat_provider.provider.asked
