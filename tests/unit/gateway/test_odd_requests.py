"""Requests nobody should send: they get an answer or one clear line, and the next one is served."""
# ruff: noqa: E501 - the bodies are easier to read whole

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scripted_upstream import ScriptedUpstream
from tests.unit.gateway.conftest import JSON

ODD = {
    "empty": b"",
    "an array": b"[]",
    "null": b"null",
    "a string": b'"x"',
    "messages is no list": b'{"messages": "hi", "input": 3}',
    "messages is null": b'{"messages": null}',
    "a message is no object": b'{"messages": [1, null, "x", [2]]}',
    "content of other types": b'{"messages":[{"role":"user","content":5},{"role":7,"content":{"a":1}},{"content":[[1]]}]}',
    "roles of other kinds": b'{"messages":[{"role":"\\u0000","content":"x"},{"role":7,"content":"y"},{"role":"function","content":"z"}]}',
    "parts of other types": b'{"messages":[{"role":"user","content":[1,null,{"type":4,"text":5},{"type":"text","text":null}]}]}',
    "calls of other types": b'{"messages":[{"role":"assistant","tool_calls":{"a":1}},{"role":"assistant","tool_calls":[3]}]}',
    "own fields of other types": b'{"session_id":{"a":1},"turn_type":7,"session_done":[],"messages":[{"role":"user","content":"x"}]}',
    "metadata of other types": b'{"metadata":[1],"prompt_cache_key":5,"messages":[{"role":"user","content":"x"}]}',
    "model of another type": b'{"model":{"a":1},"stream":"yes","tools":5,"messages":[{"role":"user","content":"x"}]}',
    "doubled keys": b'{"messages":[],"messages":[{"role":"user","content":"x"}],"model":"a","model":"b"}',
    "a NUL": b'{"messages":[{"role":"user","content":"a\\u0000b"}]}',
    "invalid UTF-8": b'{"messages":[{"role":"user","content":"\xff\xfe"}]}',
    "a byte order mark": b'\xef\xbb\xbf{"messages":[{"role":"user","content":"x"}]}',
    "deep nesting": b'{"messages":[{"role":"user","content":' + b"[" * 20000 + b"]" * 20000 + b"}]}",
    "deep nesting elsewhere": b'{"x":' + b'{"a":' * 20000 + b"1" + b"}" * 20000 + b',"messages":[]}',
    "cut off": b'{"messages":[{"role":"user","content":"x"}',
    "two values": b'{"messages":[]}{"messages":[]}',
    "system of other types": b'{"system":[1,{"type":"text"}],"instructions":{"a":1},"messages":[{"role":"user","content":"x"}]}',
    "stream options of other types": b'{"stream":true,"stream_options":7,"messages":[{"role":"user","content":"x"}]}',
}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/messages/count_tokens"])
def test_an_odd_body_is_answered_and_the_gateway_goes_on(gateway: Any, upstream: ScriptedUpstream, path: str) -> None:
    one = gateway(llm={"protocol": "messages" if "messages" in path else "responses" if "resp" in path else "chat"})
    for name, body in ODD.items():
        reply = one.client.post(path, content=body, headers=JSON)
        assert reply.status_code in (200, 400, 413, 422, 500) and (reply.status_code != 500 or upstream.calls()), name
        assert reply.headers["content-type"].startswith(("application/json", "text/event-stream")), name
    assert one.chat([{"role": "user", "content": "still there?"}]).status_code == 200
    counts = one.services.metrics.snapshot()
    assert (counts.get("edit_failed", 0), counts.get("record_failed", 0)) == (0, 0)


@pytest.mark.parametrize("name", sorted(ODD))
def test_an_odd_message_never_trips_the_gateway_itself(
    gateway: Any, upstream: ScriptedUpstream, name: str, caplog: Any
) -> None:
    gateway().client.post("/v1/chat/completions", content=ODD[name], headers=JSON)
    assert not [record for record in caplog.records if record.exc_info and "NotJson" not in record.exc_info[0].__name__]


@pytest.mark.parametrize(
    "session", ["../../etc/passwd", "a b\tc", "x" * 10_000, "日本語", "a;drop table", "%0d%0aX-Evil: 1"]
)
def test_a_session_id_of_any_kind_is_made_plain(gateway: Any, upstream: ScriptedUpstream, session: str) -> None:
    one = gateway()
    body = {"model": "m", "session_id": session, "messages": [{"role": "user", "content": "hi"}]}
    first = one.client.post("/v1/chat/completions", json=body)
    again = one.client.post("/v1/chat/completions", json=body)
    name = first.headers["x-session-id"]
    assert first.status_code == 200 and again.headers["x-session-id"] == name
    assert len(name) <= 128 and name.isascii() and name.isprintable() and " " not in name
    assert one.client.get("/v1/sessions").json()["data"][0]["id"] == name


def test_a_long_history_is_understood_once(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway()
    talk: list[dict[str, Any]] = [{"role": "system", "content": "s" * 40_000}]
    for n in range(1000):
        talk += [
            {"role": "user", "content": f"question {n} " * 20},
            {"role": "assistant", "content": f"answer {n} " * 20},
        ]
    talk.append({"role": "user", "content": "and now?"})
    reply = one.chat(talk, headers={"x-session-id": "long"})
    assert reply.status_code == 200
    assert len(one.services.journal_or_503().messages("long")) == 2002
    assert json.loads(upstream.calls()[0].body)["messages"] == talk
