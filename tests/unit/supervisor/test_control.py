"""Small questions to local processes."""

from __future__ import annotations

import socket

import pytest

from metaclaw.supervisor import ask, base_url, fingerprint
from metaclaw.supervisor.process import Run


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:30000"),
        ("0.0.0.0", "http://127.0.0.1:30000"),
        ("::", "http://[::1]:30000"),
        ("::1", "http://[::1]:30000"),
        ("[::1]", "http://[::1]:30000"),
        ("localhost", "http://localhost:30000"),
    ],
)
def test_the_url_for_this_machine(host: str, url: str) -> None:
    assert base_url(host, 30000) == url


def test_nobody_there_is_no_reply(free_port: int) -> None:
    assert ask("127.0.0.1", free_port, "/healthz") is None


def test_somebody_who_does_not_speak_http_is_no_reply() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert ask("127.0.0.1", server.getsockname()[1], "/healthz", timeout=0.1) is None


def test_the_token_is_never_part_of_what_is_printed() -> None:
    assert "hunter2" not in repr(Run(pid=1, host="127.0.0.1", port=1, token="hunter2"))
    assert fingerprint("hunter2") != "hunter2"
    assert len(fingerprint("hunter2")) == 16
