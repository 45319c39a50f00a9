"""The built-in bank as the library sees it: readable, clean, found by its own words, silent for small talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw.skills import Library
from metaclaw.skills.screening import find_secrets

NOTHING = [
    line.rstrip("|")
    for name in ("known.txt", "held_out.txt")
    for line in (Path(__file__).parent / "evaluation" / name).read_text(encoding="utf-8").split("\n")
    if line.endswith("|")
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    opened = Library(tmp_path_factory.mktemp("home") / "skills")
    if not opened.skills():
        pytest.skip("this checkout has no built-in bank")
    return opened


def test_every_file_is_read_without_forgiveness(library: Library) -> None:
    assert [(problem.path.parent.name, problem.what) for problem in library.problems] == []


def test_no_skill_holds_a_secret(library: Library) -> None:
    assert [skill.name for skill in library.skills() if find_secrets(skill.body)] == []


def test_every_skill_is_found_by_its_own_description(library: Library) -> None:
    ranker = library.ranker()
    lost = []
    for skill in library.skills():
        found = [match.skill.name for match in ranker.rank(skill.description, general=6, specific=10, min_score=0.3)]
        if skill.name not in found[:3]:
            lost.append((skill.name, found[:3]))
    assert lost == []


def test_small_talk_recalls_next_to_nothing(library: Library) -> None:
    ranker = library.ranker()
    recalled = {
        query: [match.skill.name for match in found]
        for query in NOTHING
        if (found := ranker.rank(query, general=6, specific=10, min_score=0.3))
    }
    assert len(recalled) <= len(NOTHING) * 0.05, recalled
