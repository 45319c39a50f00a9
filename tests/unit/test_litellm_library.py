"""litellm is imported quietly and offline, and its errors are put into our words."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from metaclaw import litellm_library
from metaclaw.litellm_library import failure, public

IMPORT = """
import asyncio, os, sys
seen = []
sys.addaudithook(lambda name, args: seen.append(name) if name in ('socket.connect', 'socket.getaddrinfo') else None)
os.environ['NO_PROXY'] = 'one.example.com'
from metaclaw import litellm_library
async def look(module):
    return module.__name__, module.telemetry, module.REPEATED_STREAMING_CHUNK_LIMIT > 10**9
print(asyncio.run(litellm_library.run(look)), seen, os.environ['no_proxy'])
"""


def test_the_first_use_imports_it_without_network_telemetry_or_noise() -> None:
    clean = {name: value for name, value in os.environ.items() if name.lower() != "no_proxy"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True, timeout=120, env=clean
    )
    assert done.stdout.strip() == "('litellm', False, True) [] one.example.com,localhost,127.0.0.1,::1"
    assert done.stderr == ""


async def test_what_the_work_raises_comes_back() -> None:
    async def fail(_: object) -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await litellm_library.run(fail)


class _Status(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status


def chained(outer: Exception, inner: Exception) -> Exception:
    outer.__context__ = inner
    return outer


def test_the_upstreams_status_outranks_the_one_put_on_top() -> None:
    wrapped = 'litellm.InternalServerError: XException - {"error": {"message": "too busy"}}'
    told = failure(chained(_Status(500, wrapped), _Status(529, "x")))
    assert (told.status, told.message, told.retryable) == (529, "too busy", True)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (TimeoutError(), 504, "timeout"),
        (chained(RuntimeError("x"), ImportError("No module named 'boto3'")), 503, "missing_package"),
        (RuntimeError("odd"), 502, "runtime"),
    ],
)
def test_other_trouble_has_a_kind_and_a_status(error: Exception, status: int, kind: str) -> None:
    told = failure(error)
    assert (told.status, told.kind) == (status, kind)


def test_a_missing_package_is_named_with_what_to_install() -> None:
    assert "metaclaw[bedrock]" in failure(ImportError("No module named 'boto3'")).message
    assert "needs google" in failure(ImportError("No module named 'google.auth'")).message


@pytest.mark.parametrize(
    "secret", ["sk-proj-abcdef123456", "Bearer abc.def", "https://user:pw@api.example.com/v1?key=1", "AIza" + "x" * 35]
)
def test_no_key_and_no_url_gets_into_a_public_line(secret: str) -> None:
    line = public(f"refused {secret}\nby   the server")
    assert secret not in line and "\n" not in line and line.startswith("refused ")
