"""Who is let in."""

from __future__ import annotations

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
