"""The helper model in a process of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metaclaw.helper_llm import HelperError
from metaclaw.helper_process import HelperProcess
from tests.scripted_upstream import Reply, ScriptedUpstream

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


@pytest.fixture
def config(tmp_path: Path, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("METACLAW_HOME", str(tmp_path))
    path = tmp_path / "config.yaml"
    path.write_text(
        f"llm: {{provider: custom, api_base: '{upstream.url}', model_id: helper, api_key: sk-helper}}\n",
        encoding="utf-8",
    )
    return path


async def test_an_answer_comes_back_parsed_and_this_process_stays_small(
    config: Path, upstream: ScriptedUpstream
) -> None:
    before = "litellm" in sys.modules
    upstream.rule("count", json.dumps({"n": 3}))
    reply = await HelperProcess(config, "evolver").complete([{"role": "user", "content": "count"}], schema=SCHEMA)
    assert reply.parsed == {"n": 3} and reply.usage["completion"] > 0
    assert upstream.calls()[0].header("authorization") == "Bearer sk-helper"
    assert ("litellm" in sys.modules) == before


async def test_a_refusal_comes_back_with_its_reason(config: Path, upstream: ScriptedUpstream) -> None:
    upstream.rule("count", Reply(status=401, error="bad key"))
    with pytest.raises(HelperError) as raised:
        await HelperProcess(config, "evolver").complete([{"role": "user", "content": "count"}])
    assert raised.value.status == 401


async def test_a_process_that_dies_is_a_failure_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "config.yaml"
    broken.write_text("llm: [", encoding="utf-8")
    with pytest.raises(HelperError, match="exit code 1"):
        await HelperProcess(broken, "judge").complete([{"role": "user", "content": "x"}])
