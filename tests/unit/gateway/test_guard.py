"""Who is let in."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.scripted_upstream import ScriptedUpstream
from tests.unit.gateway.conftest import JSON

BODY = b'{"messages":[{"role":"user","content":"hi"}]}'
ROUTES = ["/healthz", "/v1/models", "/v1/sessions", "/v1/chat/completions", "/v1/nothing"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_foreign_host_name_is_refused_on_every_route(gateway: Any, route: str) -> None:
    reply = gateway().client.get(route, headers={"host": "evil.example.com"})
    assert reply.status_code == 421 and "allowed_hosts" in reply.json()["error"]["message"]


@pytest.mark.parametrize("route", ROUTES)
def test_a_foreign_origin_is_refused_on_every_route(gateway: Any, route: str) -> None:
    reply = gateway().client.get(route, headers={"origin": "https://evil.example.com"})
    assert reply.status_code == 403
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_loopback_names_are_known_with_port(gateway: Any) -> None:
    one = gateway()
    port = one.services.settings.proxy.port
    for host in (f"localhost:{port}", f"[::1]:{port}", "127.0.0.1"):
        assert one.client.get("/healthz", headers={"host": host}).status_code == 200


def test_a_form_post_is_refused(gateway: Any, upstream: ScriptedUpstream) -> None:
    reply = gateway().client.post("/v1/chat/completions", content=BODY, headers={"content-type": "text/plain"})
    assert reply.status_code == 415 and not upstream.calls()


@pytest.mark.parametrize("header", ["authorization", "x-api-key", "x-metaclaw-key"])
def test_the_key_opens_and_a_wrong_one_does_not(gateway: Any, upstream: ScriptedUpstream, header: str) -> None:
    one = gateway(proxy={"api_key": "sk-gateway-key"})
    prefix = "Bearer " if header == "authorization" else ""
    right = one.client.post("/v1/chat/completions", content=BODY, headers={**JSON, header: prefix + "sk-gateway-key"})
    wrong = one.client.post("/v1/chat/completions", content=BODY, headers={**JSON, header: prefix + "sk-other"})
    none = one.client.post("/v1/chat/completions", content=BODY, headers=JSON)
    assert (right.status_code, wrong.status_code, none.status_code) == (200, 403, 403)
    assert "sk-gateway-key" not in str(upstream.calls()[0].headers)


def test_a_body_beyond_the_limit_is_refused_before_it_is_read(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway(proxy={"max_body_mb": 1})
    body = b'{"messages":[{"role":"user","content":"' + b"x" * (2 * 2**20) + b'"}]}'
    reply = one.client.post("/v1/chat/completions", content=body, headers=JSON)
    assert reply.status_code == 413 and "max_body_mb" in reply.json()["error"]["message"] and not upstream.calls()


def test_an_error_speaks_the_callers_dialect(gateway: Any) -> None:
    one = gateway()
    reply = one.client.post("/v1/messages", content=b"{", headers=JSON)
    assert reply.status_code == 400 and reply.json()["error"]["type"] == "invalid_request_error"
    assert reply.json()["type"] == "error"


def test_an_unknown_route_is_a_json_404_that_names_what_there_is(gateway: Any) -> None:
    one = gateway()
    for route in ("/api/v1/models", "/api/tags", "/props", "/version"):
        reply = one.client.get(route)
        assert reply.status_code == 404 and "/v1/chat/completions" in reply.json()["error"]["message"]
    assert one.client.head("/").status_code == 200


def test_one_model_is_shown_by_its_id_whatever_is_in_the_id(gateway: Any) -> None:
    one = gateway(llm={"model_id": "vendor/model:1"})
    (listed,) = one.client.get("/v1/models").json()["data"]
    assert one.client.get("/v1/models/vendor/model:1").json() == listed
    missing = one.client.get("/v1/models/other")
    assert missing.status_code == 404 and "GET /v1/models" in missing.json()["error"]["message"]


def test_a_model_list_that_can_not_be_read_is_counted_and_logged(gateway: Any, caplog: Any) -> None:
    one = gateway(llm={"model_id": "", "api_base": "http://127.0.0.1:9"})
    assert [entry["id"] for entry in one.client.get("/v1/models").json()["data"]] == ["metaclaw"]
    assert one.services.metrics.snapshot()["models_failed"] == 1
    assert "model list could not be read" in caplog.text


def test_administration_wants_the_run_token(gateway: Any) -> None:
    one = gateway()
    assert one.client.get("/v1/admin/status").status_code == 403
    reply = one.client.get("/v1/admin/status", headers={"x-metaclaw-token": "run-token"})
    assert reply.status_code == 200 and reply.json()["mode"] == "skills_only"


def test_an_origin_that_can_not_be_read_is_a_foreign_one(gateway: Any) -> None:
    assert gateway().client.get("/healthz", headers={"origin": "http://[::1"}).status_code == 403


def test_a_compressed_body_is_refused_and_named_as_such(gateway: Any, upstream: ScriptedUpstream) -> None:
    headers = {**JSON, "content-encoding": "gzip"}
    reply = gateway().client.post("/v1/messages", content=gzip.compress(BODY), headers=headers)
    assert reply.status_code == 415 and "content-encoding" in reply.json()["error"]["message"] and not upstream.calls()
    assert reply.json()["type"] == "error"


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/embeddings", "/v1/completions", "/v1/messages"])
def test_an_empty_body_is_a_400(gateway: Any, path: str) -> None:
    assert gateway().client.post(path).status_code == 400


def test_an_unknown_route_below_messages_speaks_anthropics_dialect(gateway: Any) -> None:
    reply = gateway().client.post("/v1/messages/batches", json={})
    assert (reply.status_code, reply.json()["type"]) == (404, "error")


@pytest.mark.parametrize(
    "path", ["/v1/sessions?before=nan", f"/v1/sessions/s/turns?after={10**20}", "/v1/sessions/s/turns?after=-1"]
)
def test_numbers_that_no_database_keeps_are_a_400(gateway: Any, path: str) -> None:
    assert gateway().client.get(path).status_code == 400


def test_feedback_is_for_a_turn_of_that_session(gateway: Any, upstream: ScriptedUpstream) -> None:
    one = gateway()
    session = one.chat([{"role": "user", "content": "hi"}]).headers["x-session-id"]
    turn = one.turns(session)[0]["id"]
    for body, status in [
        ({"score": 1, "turn_id": turn}, 200),
        ({"score": -0.5, "text": "half \ud800 of a pair"}, 200),
        ({"score": 1, "turn_id": turn + 1}, 404),
        ({"score": 1, "turn_id": 10**24}, 400),
        ({"score": 1, "turn_id": "1"}, 400),
        ({"score": True}, 400),
        ({"score": 2}, 400),
        ({"text": "no score"}, 400),
    ]:
        reply = one.client.post(f"/v1/sessions/{session}/feedback", content=json.dumps(body), headers=JSON)
        assert reply.status_code == status, (body, reply.text)


def test_what_fails_inside_is_a_500_in_the_callers_dialect_and_counted(gateway: Any) -> None:
    one = gateway()
    one.services.other_calls = None  # a part that is broken
    reply = one.client.post("/v1/messages/count_tokens", json={"messages": []})
    assert reply.status_code == 500 and reply.json()["type"] == "error"
    assert one.services.metrics.snapshot()["request_failed"] == 1
