# ruff: noqa: E501
"""Ranking: relevance from 0 to 1, nothing for nothing, and bounded work for whatever is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills import Ranker, Skill

from .shelf import ALL


def skill(fields: dict[str, str]) -> Skill:
    return Skill(**fields, path=Path(fields["name"]), source="user", enabled=True, digest="0", metadata={})


SKILLS = [skill(fields) for fields in ALL]
RANKER = Ranker(SKILLS)


def found(query: str, ranker: Ranker = RANKER, min_score: float = 0.3) -> list[str]:
    return [match.skill.name for match in ranker.rank(query, general=6, specific=10, min_score=min_score)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("my pytest suite has a flaky test", "flaky-tests"),
        ("this database query is very slow", "slow-queries"),
        ("please write the minutes of today's meeting", "meeting-minutes"),
        ("帮我写会议纪要", "meeting-minutes"),
        ("数据库查询很慢怎么办", "slow-queries"),
        ("議事録をまとめてください", "meeting-minutes"),
        ("데이터베이스 쿼리가 느려요", "slow-queries"),
        ("Die Datenbankabfrage ist sehr langsam", "slow-queries"),
        ("La requête SQL est trop lente", "slow-queries"),
        ("use the backup-before-edit skill", "backup-before-edit"),
    ],
)
def test_the_fitting_skill_comes_first(query: str, first: str) -> None:
    assert found(query)[0] == first


@pytest.mark.parametrize(
    "query",
    ["", "hello", "thanks a lot!", "ok", "继续", "好的", "yes, do it", "please fix this", "can you help me with my work?",
     "what is a good pasta recipe?", "今天天气怎么样", "tell me a joke", "who won the football game"],
)  # fmt: skip
def test_nothing_is_relevant_to_small_talk_or_other_subjects(query: str) -> None:
    assert found(query) == []


def test_a_library_of_one_skill_is_no_easier_to_please() -> None:
    one = Ranker([SKILLS[0]])
    assert found("flaky pytest test", one) == ["flaky-tests"]
    assert found("run this for me please, and use what you need", one) == []


def test_an_empty_library_ranks_nothing() -> None:
    assert found("flaky test", Ranker([])) == []


def test_disabled_skills_are_not_ranked() -> None:
    assert found("flaky pytest test", Ranker([replace(SKILLS[0], enabled=False)])) == []


def test_general_and_specific_skills_have_budgets_of_their_own() -> None:
    query = "flaky test, slow query, and keep a backup copy of every file before changing it"
    ranked = RANKER.rank(query, general=0, specific=1, min_score=0.0)
    assert len(ranked) == 1 and not ranked[0].skill.general
    assert [m.skill.name for m in RANKER.rank(query, general=1, specific=0, min_score=0.0)] == ["backup-before-edit"]


def test_a_skill_far_behind_the_best_is_not_recalled() -> None:
    query = "the pytest test is flaky and intermittent"
    scores = {match.skill.name: match.score for match in RANKER.scores(f"{query}, database")}
    assert scores["slow-queries"] < 0.5 * scores["flaky-tests"]
    assert found(f"{query}, database", min_score=0.0) == ["flaky-tests"]


def test_two_thousand_words_neither_match_everything_nor_hide_the_subject() -> None:
    filler = " ".join(f"word{n} thing{n % 7} other{n % 131}" for n in range(700))
    assert found(filler) == []
    assert found(f"{filler} my pytest test is flaky, why are my tests flaky and intermittent?") == ["flaky-tests"]


@given(st.text(max_size=500))
def test_scores_stay_between_nothing_and_one(query: str) -> None:
    scores = [match.score for match in RANKER.scores(query)]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@given(st.lists(st.sampled_from(ALL), max_size=4), st.text(max_size=60))
def test_the_order_of_the_skills_does_not_matter(fields: list[dict[str, str]], query: str) -> None:
    unique = list({item["name"]: skill(item) for item in fields}.values())
    forward, backward = Ranker(unique).scores(query), Ranker(unique[::-1]).scores(query)
    assert [(m.skill.name, m.score) for m in forward] == [(m.skill.name, m.score) for m in backward]
