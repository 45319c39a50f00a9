"""The real mem0 as extractor: its traps are closed, and what it draws is screened like everything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from metaclaw_sidecar.errors import ExtractionError
from metaclaw_sidecar.extraction import Mem0Extractor, Model
from metaclaw_sidecar.extraction.mem0_child import CheckedLlm
from metaclaw_sidecar.records import Memory, Turn
from metaclaw_sidecar.service import Said
from metaclaw_sidecar.settings import LlmSettings
from metaclaw_sidecar.store.memories import draft
from tests.scripted_upstream import ScriptedUpstream
from tests.unit.sidecar.service.conftest import opened

pytest.importorskip("mem0", reason="mem0ai is not installed")

_DAY = 1_772_445_600.0  # 2026-03-02, a Monday


def turn(number: int, prompt: str, response: str = "Ok.") -> Turn:
    return Turn(f"turn_{number:014x}", "ann", "s1", number, prompt, response, _DAY + number, "claimed")


def known(text: str) -> Memory:
    return draft("ann", text, "semantic", _DAY, origin="extracted")


def extractor(upstream: ScriptedUpstream) -> Mem0Extractor:
    return Mem0Extractor(Model(LlmSettings(model="openai/m", api_base=upstream.base_url, api_key="sk-test")))


def memories(*texts: str) -> str:
    return json.dumps(
        {"memory": [{"id": str(n), "text": text, "attributed_to": "user"} for n, text in enumerate(texts)]}
    )


async def test_one_call_gives_facts_with_their_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with ScriptedUpstream() as upstream:
        upstream.rule(
            ".",
            memories("User lives in Paris", "User plays chess on Mondays", "The process id 4711 is up", "User rows"),
            where="all",
        )
        turns = [turn(0, "I live in Paris"), turn(1, "On Mondays I play chess"), turn(2, "thanks")]
        drawn = await extractor(upstream).extract(turns, [known("User likes figs"), known("User rows")], "")
        assert [(fact.content, fact.turn.position) for fact in drawn.facts] == [
            ("User lives in Paris", 0), ("User plays chess on Mondays", 1),
        ]  # fmt: skip
        assert drawn.refused == {"machine_state": 1}
        (call,) = upstream.calls("chat")
        asked = call.body.decode()
        assert "2026-03-02 (Monday)" in asked
        assert "User likes figs" in asked
        assert call.header("authorization") == "Bearer sk-test"
        assert not (tmp_path / ".mem0").exists()


def scripted(folder: Path, text: str) -> list[str]:
    """A program in the place of the model that always says this."""
    program = folder / "model.py"
    answer = json.dumps({"text": text, "usage": {"prompt": 7, "completion": 3}})
    program.write_text(f"import sys; sys.stdin.read(); print({answer!r})", encoding="utf-8")
    return [sys.executable, str(program)]


async def test_a_cut_off_answer_is_a_failure_where_mem0_sees_nothing_to_remember(tmp_path: Path) -> None:
    command = scripted(tmp_path, '{"memory": [{"id": "0", "text": "User lives in Par')
    model = Model(LlmSettings(command=tuple(command)))
    with pytest.raises(ExtractionError, match=r"malformed: .*cut off") as failed:
        await Mem0Extractor(model).extract([turn(0, "I live in Paris")], [], "")
    assert not failed.value.permanent
    assert (model.calls, model.tokens) == (1, 0)


@pytest.mark.parametrize(
    ("text", "reason"), [("I would rather not.", "malformed"), ('{"facts": []}', "malformed"), ('{"memory": []}', "")]
)
def test_only_a_whole_list_of_memories_reaches_mem0(tmp_path: Path, text: str, reason: str) -> None:
    llm = CheckedLlm({"command": scripted(tmp_path, text), "max_tokens": 100, "timeout": 30})
    if not reason:
        assert json.loads(llm.generate_response([])) == {"memory": []}
        return
    with pytest.raises(ExtractionError):
        llm.generate_response([])
    assert llm.failure["reason"] == reason


async def test_forgotten_text_stands_in_no_file(tmp_path: Path) -> None:
    llm = tmp_path / "llm.json"
    llm.write_text(
        json.dumps({"command": scripted(tmp_path, memories("User grows quinces in Lund"))}), encoding="utf-8"
    )
    llm.chmod(0o600)
    async with opened(tmp_path, llm_file=str(llm), extractor="mem0") as service:
        await service.intake.buffer_turn("ann", "s1", Said("I grow quinces in Lund", "Nice."))
        done = await service.intake.flush_session("ann", "s1", final=False, wait=60)
        assert (done.state, done.added) == ("done", 1)
        assert (await service.statistics("ann"))["extraction"] == {"calls": 1, "tokens": 10, "failed": 0}
        found = await service.recall.search("ann", "quinces", limit=5, kind="memory")
        receipt = await service.curation.forget("ann", found.results[0]["memory_id"], with_history=True)
        assert (len(receipt["memories"]), receipt["turns"]) == (1, 1)
        assert not (await service.recall.search("ann", "quinces", limit=5)).results
    left = [file for file in (tmp_path / "memory").rglob("*") if file.is_file() and b"quinces" in file.read_bytes()]
    assert not left
