"""The built-in bank as the library sees it: valid, clean, of one size, found, silent for small talk."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw.skills import Library
from metaclaw.skills.format import CATEGORIES, Document, read, write
from metaclaw.skills.library import BANK
from metaclaw.skills.render import render
from metaclaw.skills.screening import screen
from metaclaw.skills.similarity import nearest
from metaclaw.tokens import count

FOLDERS = sorted(path for path in BANK.iterdir() if path.is_dir())
NOTHING = [
    line.rstrip("|")
    for name in ("known.txt", "held_out.txt")
    for line in (Path(__file__).parent / "evaluation" / name).read_text(encoding="utf-8").split("\n")
    if line.endswith("|")
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return Library(tmp_path_factory.mktemp("home") / "skills")


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def document(request: pytest.FixtureRequest) -> Document:
    folder: Path = request.param
    return read((folder / "SKILL.md").read_bytes(), folder.name)


def test_every_file_is_what_the_strict_writer_writes(document: Document) -> None:
    assert document.problems == ()
    assert write(document) == (BANK / document.name / "SKILL.md").read_bytes()


def test_the_screens_find_nothing(document: Document) -> None:
    assert [str(finding) for finding in screen(document)] == []


def test_every_skill_is_long_enough_to_help_and_short_enough_for_a_turn(document: Document) -> None:
    assert 12 <= len(document.body.split("\n")) <= 40
    assert 120 <= count(document.body) <= 450


def test_every_description_says_what_the_skill_does_and_when(document: Document) -> None:
    first, *rest = document.description.split(". ")
    assert first.split()[0].rstrip(",").endswith("s"), "third person: Finds, Writes, Avoids"
    assert any(sentence.startswith(("Use ", "Use:")) for sentence in rest)
    assert count(document.description) <= 120


def test_the_library_takes_every_file(library: Library) -> None:
    assert [skill.name for skill in library.skills()] == [folder.name for folder in FOLDERS]
    assert library.problems == ()
    assert all(skill.source == "builtin" and skill.enabled for skill in library.skills())


def test_there_are_many_skills_in_each_category(library: Library) -> None:
    assert len(FOLDERS) >= 70
    sizes = {name: sum(skill.category == name for skill in library.skills()) for name in CATEGORIES}
    assert sum(sizes.values()) == len(FOLDERS)
    assert all(size >= (1 if name == "general" else 4) for name, size in sizes.items()), sizes


def test_no_two_skills_say_the_same(library: Library) -> None:
    skills = library.skills()
    for skill in skills:
        others = [other for other in skills if other is not skill]
        near = nearest(skill.name, skill.description, skill.body, others)
        assert near is not None and not near.duplicate, (skill.name, near)


def test_a_turn_has_room_for_three_skills_of_any_kind(library: Library) -> None:
    costs = sorted((count(render(skill)) for skill in library.skills()), reverse=True)
    print(f"{len(costs)} skills, {min(costs)} to {max(costs)} tokens, {sum(costs) / len(costs):.0f} on average")
    assert sum(costs[:3]) <= 1500


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
