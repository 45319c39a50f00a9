"""A turn from door to door, over real sockets: what goes up, what comes back, what is kept."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from metaclaw.journal import JournalError
from tests.scripted_upstream import Reply, ScriptedUpstream, ToolCall
from tests.unit.gateway.conftest import JSON, RunningGateway, until

DEPLOY = "How do I deploy the shop service to staging?"


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_the_body_goes_up_byte_for_byte_when_nothing_is_put_in(gateway: Any, upstream: ScriptedUpstream) -> None:
    body = b'{ "messages" : [ {"role":"user", "content":"h\\u00e9llo \\ud83d"} ],'
    body += b'\n "x_unknown":[1.50, 1e400, 12345678901234567890123],'
    body += b'"tools":[{"type":"web_search_2027"}], "model":"upstream-model" }'
    reply = gateway().client.post("/v1/chat/completions?beta=true", content=body, headers=JSON)
    assert reply.status_code == 200
    assert upstream.calls()[0].body == body
    assert upstream.calls()[0].query == "beta=true"


def test_only_the_model_name_and_our_own_fields_are_changed(gateway: Any, upstream: ScriptedUpstream) -> None:
    body = b'{"session_id":"chat-7", "model":"mine",  "messages":[{"role":"user","content":"hi"}], "turn_type": "main"}'
    reply = gateway().client.post(
        "/v1/chat/completions", content=body, headers={**JSON, "X-User-Id": "ada", "x-vendor": "kept"}
    )
    sent = upstream.calls()[0]
    assert sent.body == b'{"model":"upstream-model",  "messages":[{"role":"user","content":"hi"}]}'
    assert sent.header("x-vendor") == "kept"
    assert not sent.header("x-user-id") and sent.header("authorization") == "Bearer sk-upstream"
    assert reply.headers["x-session-id"] == "chat-7"


def test_a_stream_reaches_the_client_event_by_event(gateway: Any, upstream: ScriptedUpstream) -> None:
    hold = threading.Event()
    upstream.rule("wait", Reply("one two three", hold=hold, hold_after=2, extra={"x_vendor": {"kept": True}}))
    one = gateway()
    body = {"model": "m", "messages": [user("wait")], "stream": True, "stream_options": {"include_usage": True}}
    with one.client.stream("POST", "/v1/chat/completions", json=body) as reply:
        chunks = reply.iter_raw()
        first = next(chunks)  # arrives although the upstream has not finished
        assert b'"x_vendor"' in first and b"[DONE]" not in first
        hold.set()
        rest = b"".join(chunks)
    direct = httpx.post(f"{upstream.base_url}/chat/completions", json={**body, "model": "upstream-model"})
    assert shape(first + rest) == shape(direct.content)


def shape(stream: bytes) -> list[Any]:
    """A stream without what differs from call to call."""
    events = [e for e in stream.decode().split("\n\n") if e]
    parsed = [json.loads(e[5:]) if "[DONE]" not in e else e for e in events]
    return [
        {k: v for k, v in e.items() if k not in ("id", "created", "usage")} if isinstance(e, dict) else e
        for e in parsed
    ]


def test_usage_is_asked_for_always_and_shown_only_on_request(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway()
    reply = one.chat([user("hi")], stream=True)
    assert json.loads(upstream.calls()[0].body)["stream_options"] == {"include_usage": True}
    assert b'"usage":{' not in reply.content.replace(b" ", b"") and b"[DONE]" in reply.content
    turn = one.turns(reply.headers["x-session-id"])[0]
    assert turn["usage"]["prompt"] > 0 and turn["usage"]["completion"] > 0


def test_a_skill_goes_behind_what_the_person_said_and_stays_there(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str
) -> None:
    one = gateway()
    talk = [{"role": "system", "content": "You are an agent."}, user(DEPLOY)]
    tools = [{"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}]
    answer = one.chat(talk, tools=tools).json()["choices"][0]["message"]
    one.chat([*talk, answer, user("thanks")], tools=tools)
    first, second = (json.loads(call.body) for call in upstream.calls())
    recalled = first["messages"][1]["content"]
    assert recalled.startswith(DEPLOY + "\n\n<metaclaw-recall>") and staging_skill in recalled
    assert first["messages"][0] == talk[0] and first["tools"] == tools
    assert second["messages"][:2] == first["messages"][:2]
    assert second["messages"][3] == user("thanks")


def test_each_request_is_a_prefix_of_the_next_in_a_tool_loop(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str
) -> None:
    upstream.rule("deploy", Reply(tool_calls=(ToolCall("ls", '{"path":"."}', "functions.ls:0"),)), Reply("Deployed."))
    one = gateway(llm={"protocol": "messages"})
    body: dict[str, Any] = {"model": "m", "max_tokens": 99, "messages": [user([{"type": "text", "text": DEPLOY}])]}
    for _ in range(2):
        reply = one.client.post("/v1/messages", json=body, headers={"x-session-id": "loop"}).json()
        body["messages"].append({"role": "assistant", "content": reply["content"]})
        calls = [b for b in reply["content"] if b["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": c["id"], "content": "a"} for c in calls]
        body["messages"].append(user(results or "bye"))
    one.client.post("/v1/messages", json=body, headers={"x-session-id": "loop"})
    sent = [json.loads(call.body)["messages"] for call in upstream.calls("messages")]
    assert sent[1][: len(sent[0])] == sent[0] and sent[2][: len(sent[1])] == sent[1]
    assert [len(sent[0][0]["content"]), len(sent[1][2]["content"])] == [2, 1]  # behind the text, never beside a result
    turns = one.turns("loop")
    assert (turns[0]["calls"], turns[0]["user_text"], turns[0]["answer_text"]) == (2, DEPLOY, "Deployed.")


def test_the_journal_holds_what_was_said_and_nothing_of_what_was_put_in(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str
) -> None:
    one = gateway()
    upstream.rule("deploy", "Tag it first.")
    reply = one.chat([user(DEPLOY)], headers={"x-session-id": "raw"})
    assert reply.status_code == 200
    journal = one.services.journal_or_503()
    messages = journal.messages("raw")
    assert [json.loads(m.body)["content"] for m in messages] == [DEPLOY, "Tag it first."]
    assert not any(staging_skill.encode() in m.body for m in messages)
    turn = one.turns("raw")[0]
    assert [item["name"] for item in turn["recalled"]] == ["deploy-staging"]
    assert turn["status"] == "ok" and turn["answer_text"] == "Tag it first."


def test_a_skill_that_the_client_has_read_itself_is_not_put_in(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str, home: Path
) -> None:
    text = (home / "skills" / "deploy-staging" / "SKILL.md").read_text(encoding="utf-8")
    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path":"SKILL.md"}'}}
    talk = [
        user("read your notes"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"role": "assistant", "content": "Read."},
        user(DEPLOY),
    ]
    gateway().chat(talk)
    assert json.loads(upstream.calls()[0].body)["messages"] == talk


def test_nothing_is_recalled_for_hello(gateway: Any, upstream: ScriptedUpstream, staging_skill: str) -> None:
    gateway().chat([user("hello")])
    assert json.loads(upstream.calls()[0].body)["messages"] == [user("hello")]


def test_recalled_blocks_are_the_same_after_a_restart(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str
) -> None:
    first = gateway()
    talk = [user(DEPLOY)]
    talk.append(first.chat(talk).json()["choices"][0]["message"])
    first.stop()
    gateway().chat([*talk, user("thanks")])
    before, after = (json.loads(call.body)["messages"] for call in upstream.calls())
    assert after[0] == before[0] and staging_skill in after[0]["content"]


def test_a_turn_is_on_disk_before_its_last_byte_is_sent(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway()
    seen: list[int] = []
    with one.client.stream("POST", "/v1/chat/completions", json={"messages": [user("hi")], "stream": True}) as reply:
        for chunk in reply.iter_raw():
            if b"[DONE]" in chunk:
                seen.append(len(one.services.journal_or_503().turns(reply.headers["x-session-id"], limit=5)))
    assert seen == [1]


def test_a_journal_that_can_not_be_written_costs_no_answer(gateway: Any, upstream: ScriptedUpstream) -> None:
    one: RunningGateway = gateway()
    one.services.journal_or_503().close()
    assert one.chat([user("still there?")]).json()["choices"][0]["message"]["content"]
    until(lambda: one.services.metrics.snapshot().get("journal_failed"))


def test_a_source_that_fails_costs_no_answer(gateway: Any, upstream: ScriptedUpstream, staging_skill: str) -> None:
    one: RunningGateway = gateway()

    class Broken:
        name = "broken"

        async def recall(self, query: object) -> list[Any]:
            raise JournalError("no memory today")

        def loaded(self, texts: object) -> set[tuple[str, str]]:
            return set()

    one.services.turns._recall.sources.insert(0, Broken())
    assert one.chat([user(DEPLOY)]).status_code == 200
    assert staging_skill in upstream.calls()[0].body.decode()
    assert one.services.metrics.snapshot()["recall_failed.broken"] == 1


def test_a_side_call_goes_up_untouched_and_is_not_kept(
    gateway: Any, upstream: ScriptedUpstream, staging_skill: str
) -> None:
    one = gateway()
    headers = {"x-session-id": "chat-9", "x-turn-type": "side"}
    one.chat([user(DEPLOY)], headers=headers)
    assert json.loads(upstream.calls()[0].body)["messages"] == [user(DEPLOY)]
    assert one.client.get("/v1/sessions/chat-9").status_code == 404


def test_the_upstreams_error_is_relayed_with_status_body_and_retry_after(
    gateway: Any, upstream: ScriptedUpstream
) -> None:
    upstream.rule("limit", Reply(status=429, error="slow down", headers={"retry-after": "17"}))
    reply = gateway().chat([user("limit")])
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "17")
    assert "slow down" in reply.text


def test_a_stream_that_breaks_ends_as_a_broken_stream(gateway: Any, upstream: ScriptedUpstream) -> None:
    upstream.rule("break", Reply("one two three four", break_after=2))
    one = gateway()
    with pytest.raises(httpx.RemoteProtocolError):
        one.chat([user("break")], stream=True, headers=None)
    until(lambda: one.client.get("/v1/sessions").json()["data"])
    session = one.client.get("/v1/sessions").json()["data"][0]["id"]
    until(lambda: one.turns(session))
    assert one.turns(session)[0]["status"] == "error"


def test_an_error_event_is_relayed_and_ends_the_turn_as_failed(gateway: Any, upstream: ScriptedUpstream) -> None:
    upstream.rule("fail", Reply("one two three", error_after=1, error="model overloaded"))
    one = gateway()
    reply = one.chat([user("fail")], stream=True)
    assert "model overloaded" in reply.text
    until(lambda: one.turns(reply.headers["x-session-id"]))
    turn = one.turns(reply.headers["x-session-id"])[0]
    assert turn["status"] == "error" and "model overloaded" in turn["error"]


def test_an_overload_is_retried_ahead_of_the_first_byte(gateway: Any, upstream: ScriptedUpstream) -> None:
    upstream.rule("busy", "Here I am.")
    upstream.rule("busy", Reply(status=503, error="busy"), times=1)
    one = gateway(llm={"retries": 2})
    assert one.chat([user("busy")]).json()["choices"][0]["message"]["content"] == "Here I am."
    assert len(upstream.calls()) == 2


def test_a_retry_by_the_agent_is_the_same_turn(gateway: Any, upstream: ScriptedUpstream) -> None:
    upstream.rule("deploy", "Done.")
    upstream.rule("deploy", Reply(status=502, error="bad gateway"), times=1)
    one = gateway()
    queued = (
        "[Queued user message from a previous active turn; preserved as context only. Continue below.]\n"
        f"{DEPLOY}\n\nContinue the current task from the existing transcript, preserving completed work."
    )
    assert one.chat([user(DEPLOY)], headers={"x-session-id": "again"}).status_code == 502
    assert one.chat([user(queued)], headers={"x-session-id": "again"}).status_code == 200
    turns = one.turns("again")
    assert [(t["number"], t["status"], t["calls"], t["user_text"]) for t in turns] == [(1, "ok", 2, DEPLOY)]


def test_a_second_upstream_answers_when_the_first_is_down(
    gateway: Any, upstream: ScriptedUpstream, free_port: int
) -> None:
    fallback = {"provider": "custom", "api_base": upstream.url, "model_id": "spare-model"}
    dead = f"http://127.0.0.1:{free_port}/v1"
    one = gateway(llm={"api_base": dead, "fallbacks": [fallback]})
    assert one.chat([user("hi")]).status_code == 200
    assert upstream.calls()[0].json()["model"] == "spare-model"


def test_an_upstream_that_is_not_there_is_named_without_its_address(
    gateway: Any, free_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    reply = gateway(llm={"api_base": f"http://127.0.0.1:{free_port}/v1"}).chat([user("hi")])
    assert reply.status_code == 502
    message = reply.json()["error"]["message"]
    assert "can't be reached (connection refused)" in message
    assert str(free_port) not in message and "sk-upstream" not in message
    assert message in caplog.text


def test_a_provider_that_refuses_is_a_line_in_the_log(gateway: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert gateway().chat([user("HTTP:401")]).status_code == 401
    assert "answered a model call with 401" in caplog.text


def test_a_client_that_leaves_closes_the_upstream(gateway: Any, upstream: ScriptedUpstream) -> None:
    hold = threading.Event()
    upstream.rule("wait", Reply("one two three", hold=hold, hold_after=1))
    one = gateway()
    with one.client.stream("POST", "/v1/chat/completions", json={"messages": [user("wait")], "stream": True}) as reply:
        next(reply.iter_raw())
    until(lambda: one.services.metrics.snapshot().get("client_left"))
    hold.set()
    until(lambda: one.client.get("/v1/sessions").json()["data"])
    session = one.client.get("/v1/sessions").json()["data"][0]["id"]
    until(lambda: one.turns(session))
    assert one.turns(session)[0]["status"] == "aborted"


def test_credentials_of_the_client_pass_through_when_it_is_asked_for(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway(llm={"auth_method": "passthrough", "api_key": ""})
    one.chat([user("hi")], headers={"authorization": "Bearer sk-theirs", "anthropic-beta": "oauth-2025"})
    sent = upstream.calls()[0]
    assert (sent.header("authorization"), sent.header("anthropic-beta")) == ("Bearer sk-theirs", "oauth-2025")
    assert sent.json()["model"] == "any"


def test_session_done_ends_the_session(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway()
    one.chat([user("bye")], headers={"x-session-id": "done", "x-session-done": "1"})
    until(lambda: one.session("done")["ended_at"])
    assert one.session("done")["end_reason"] == "done"


def test_without_a_model_the_gateway_says_what_is_missing(gateway: Any) -> None:
    reply = gateway(llm={"provider": "openai", "api_base": "", "api_key": ""}).chat([user("hi")])
    assert reply.status_code == 503
    assert "metaclaw setup" in reply.json()["error"]["message"]


def test_a_refused_key_is_shown_until_it_is_taken(gateway: Any) -> None:
    one = gateway()
    admin = {"x-metaclaw-token": "run-token"}
    one.chat([user("HTTP:401")])
    problems = one.client.get("/v1/admin/status", headers=admin).json()["problems"]
    assert "refused the key (401)" in problems["model"] and "metaclaw setup" in problems["model"]
    one.chat([user("HTTP:500")])
    assert "model" in one.client.get("/v1/admin/status", headers=admin).json()["problems"]
    one.chat([user("hello")])
    assert one.client.get("/v1/admin/status", headers=admin).json()["problems"] == {}


def test_a_clients_own_refused_key_is_its_own_affair(gateway: Any) -> None:
    one = gateway(llm={"auth_method": "passthrough", "model_id": ""})
    assert one.chat([user("HTTP:401")]).status_code == 401
    admin = {"x-metaclaw-token": "run-token"}
    assert one.client.get("/v1/admin/status", headers=admin).json()["problems"] == {}
