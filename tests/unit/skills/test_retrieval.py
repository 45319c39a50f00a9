"""Ranking by meaning as well: an optional help that may be absent, late or broken without anybody noticing."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw.skills import Ranker, Skill
from metaclaw.skills.embedding import installed
from metaclaw.skills.retrieval import Retriever

from .shelf import ALL

SKILLS = [Skill(**f, path=Path("a"), source="user", enabled=True, digest="0", metadata={}) for f in ALL]
RANKER = Ranker(SKILLS)
needs_model = pytest.mark.skipif(not installed(), reason="the embedding model is not installed")


async def names(retriever: Retriever, query: str) -> list[str]:
    found = await retriever.rank(RANKER, query, general=6, specific=10, min_score=0.3)
    return [match.skill.name for match in found]


async def test_by_words_alone_it_is_the_ranker() -> None:
    retriever = Retriever("template")
    await retriever.prepare(SKILLS)
    assert retriever.mode == "template" and retriever.off_because == ""
    assert await retriever.rank(RANKER, "slow sql query", general=6, specific=10, min_score=0.3) == RANKER.rank(
        "slow sql query", general=6, specific=10, min_score=0.3
    )


async def test_until_the_vectors_are_there_words_decide() -> None:
    retriever = Retriever("hybrid")
    assert await names(retriever, "flaky pytest test") == ["flaky-tests"]
    assert retriever.mode == "template" and retriever.off_because
    retriever.close()


async def test_a_broken_cache_is_computed_anew_and_a_broken_model_costs_its_own_help_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaclaw.skills.retrieval.installed", lambda: True)
    monkeypatch.setattr("metaclaw.skills.embedding._model", _no_module)
    retriever = Retriever("hybrid", tmp_path / "vectors.npz")
    await retriever.prepare(SKILLS)
    assert retriever.failed == 1 and "could not" in retriever.off_because
    assert await names(retriever, "flaky pytest test") == ["flaky-tests"]
    retriever.close()


@needs_model
async def test_meaning_finds_what_words_do_not_and_stays_silent_for_small_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaclaw.skills.retrieval._PATIENCE", 30.0)
    (tmp_path / "vectors.npz").write_bytes(b"broken")
    retriever = Retriever("auto", tmp_path / "vectors.npz")
    await retriever.prepare(SKILLS)
    assert retriever.mode == "hybrid"
    assert (await names(retriever, "我的测试有时候会失败"))[0] == "flaky-tests"
    assert (await names(retriever, "my unit test passes locally but fails on CI half of the time"))[:1] == [
        "flaky-tests"
    ]
    for query in ("hello", "thanks", "tell me a joke", "recommend a pasta recipe", "who won the football match"):
        assert await names(retriever, query) == []
    retriever.close()
    again = Retriever("hybrid", tmp_path / "vectors.npz")
    monkeypatch.setattr("metaclaw.skills.embedding._model", _no_module)
    await again.prepare(SKILLS)
    assert again.failed == 0 and again.mode == "hybrid"
    again.close()


@needs_model
async def test_a_late_vector_does_not_hold_a_turn_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    retriever = Retriever("hybrid")
    await retriever.prepare(SKILLS)
    monkeypatch.setattr("metaclaw.skills.retrieval._PATIENCE", 0.0)
    assert await names(retriever, "flaky pytest test") == ["flaky-tests"]
    assert retriever.late == 1
    retriever.close()


def _no_module(name: str) -> None:
    raise ImportError(name)


@needs_model
async def test_half_of_a_surrogate_pair_costs_no_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaclaw.skills.retrieval._PATIENCE", 30.0)
    retriever = Retriever("hybrid")
    await retriever.prepare(SKILLS)
    assert (await names(retriever, "my flaky pytest test \ud800"))[:1] == ["flaky-tests"]
    assert retriever.failed == 0
    retriever.close()
