"""The log: private, rotating, and without secrets."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw import logs
from metaclaw.config.models import Log


@pytest.fixture(autouse=True)
def root_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    for handler in handlers:
        root.removeHandler(handler)
    yield
    for handler in [*root.handlers]:
        root.removeHandler(handler)
        handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


@pytest.mark.parametrize(
    "secret",
    [
        "Authorization: Bearer SECRETsecret123",
        "authorization: bearer SECRETsecret123",
        "x-api-key: SECRETsecret123",
        "{'api_key': 'SECRETsecret123'}",
        '"access_token": "SECRETsecret123"',
        "https://user:SECRETsecret123@db.example.com/x",
        "postgresql://u:SECRETsecret123@localhost/db",
        "GET https://x.example.com/v1?key=SECRETsecret123&alt=sse",
        "sk-SECRETsecret1234567",
        "sk-ant-api03-SECRETsecret123_-x",
        "eyJSECRETsecret.eyJSECRETsecret.sigSECRETsecret",
        "ghp_SECRETsecret1234567890",
        "password=SECRETsecret123",
        "-----BEGIN RSA PRIVATE KEY-----\nSECRETsecret\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_secret_is_hidden(secret: str) -> None:
    shown = logs.redact(f"before {secret} after")
    assert "SECRET" not in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert "[hidden]" in shown


@pytest.mark.parametrize(
    "text",
    [
        "listening on 127.0.0.1:30000, mode auto",
        "skill task-planning-for-long-work recalled, 812 tokens",
        "https://api.example.com/v1/chat/completions answered 503",
        "key proxy.port is not set",
    ],
)
def test_plain_words_stay(text: str) -> None:
    assert logs.redact(text) == text


@given(st.text(min_size=8, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_a_known_secret_never_comes_through(secret: str, before: str, after: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s%s%s", (before, secret, after), None)
    line = logs.RedactingFormatter([secret]).format(record).partition(" x: ")[2]
    if secret not in "[hidden]":
        assert secret not in line


def test_the_log_is_private_and_has_tracebacks_without_secrets(tmp_path: Path) -> None:
    logs.configure(Log(), tmp_path, secrets=["0012345678"])
    try:
        raise ValueError("refused key 0012345678 and sk-SECRETsecret1234567")
    except ValueError:
        logging.getLogger("metaclaw.x").exception("failed \x1b[31m")
    logging.getLogger("metaclaw.x").debug("not written")
    path = tmp_path / "logs" / "metaclaw.log"
    text = path.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "ValueError: refused key [hidden] and [hidden]" in text
    assert "failed \\x1b[31m" in text
    assert "not written" not in text
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_full_log_rotates_and_every_part_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "_BYTES", 2000)
    logs.configure(Log(), tmp_path)
    for number in range(100):
        logging.getLogger("metaclaw.x").info("line %s é", number)
    parts = sorted((tmp_path / "logs").iterdir())
    assert 2 < len(parts) <= 6
    if os.name == "posix":
        assert {stat.S_IMODE(part.stat().st_mode) for part in parts} == {0o600}


def test_configuring_again_replaces_and_a_dash_is_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(Log(file=str(tmp_path / "own.log"), level="warning"), tmp_path)
    logging.getLogger("metaclaw.x").warning("first")
    logs.configure(Log(file="-"), tmp_path)
    logging.getLogger("metaclaw.x").info("second")
    assert "first" in (tmp_path / "own.log").read_text(encoding="utf-8")
    assert "second" in capsys.readouterr().err
