"""Stages of learned skills: every move is allowed to somebody, logged, committed and can be taken back."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaclaw.skills import Library, NotFound, Refused, Skill
from metaclaw.skills.format import write
from metaclaw.skills.lifecycle import MOVES, Actor, Move, MoveLog, Stage, replay

from .shelf import BACKUP, SQL, document, propose

NAME = str(SQL["name"])


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "skills", builtin=False)


def decide(library: Library, stage: Stage, by: Actor = "person", name: str = NAME) -> Skill | None:
    return library.decide(name, Move(2.0, name, "", stage, by, "because"))


def logged(library: Library) -> list[tuple[str, str]]:
    return [(move.stage, move.by) for move in MoveLog(library.user_dir / ".metaclaw").read()]


def test_a_trial_is_recalled_a_proposal_waits_and_what_is_retired_rests(library: Library) -> None:
    assert propose(library, document(SQL)).enabled and library.get(NAME).stage == "trial"
    waiting = propose(library, document(BACKUP), stage="proposed")
    assert not waiting.enabled and [skill.name for skill in library.served()] == [NAME]
    assert decide(library, "active") is not None and library.get(NAME).stage == "active"
    retired = decide(library, "retired", "trial")
    assert retired is not None and not retired.enabled and library.served() == ()
    again = decide(library, "active")
    assert again is not None and again.enabled


def test_a_new_skill_that_is_turned_down_goes_and_its_history_keeps_it(library: Library) -> None:
    propose(library, document(SQL))
    assert decide(library, "rejected", "trial") is None
    with pytest.raises(NotFound):
        library.get(NAME)
    assert NAME in library.withdrawn()
    back = library.revert(NAME)
    assert back is not None and back.body == SQL["body"]


def test_an_amendment_that_is_turned_down_gives_way_to_the_version_before_it_byte_for_byte(library: Library) -> None:
    propose(library, document(SQL))
    decide(library, "active", "trial")
    before = library.get(NAME).path.read_bytes()
    amended = propose(library, document(SQL, body="Shorter."), "Amend")
    previous = library.previous(NAME)
    assert amended.stage == "trial" and previous is not None and write(document(SQL)) == before
    kept = decide(library, "rejected", "trial")
    assert kept is not None and kept.stage == "active" and kept.path.read_bytes() == before
    assert library.previous(NAME) is None
    assert logged(library) == [
        ("trial", "evolver"), ("active", "trial"), ("trial", "evolver"), ("rejected", "trial"), ("active", "trial"),
    ]  # fmt: skip


def test_an_amendment_that_waits_for_a_person_leaves_the_version_before_it_in_use(library: Library) -> None:
    propose(library, document(SQL))
    decide(library, "active", "trial")
    propose(library, document(SQL, body="From a web page."), "Amend", stage="proposed")
    (served,) = library.served()
    assert served.body == SQL["body"] and library.get(NAME).body == "From a web page."
    assert decide(library, "active") is not None
    assert [skill.body for skill in library.served()] == ["From a web page."] and library.previous(NAME) is None


def test_proposing_twice_is_proposing_once(library: Library) -> None:
    propose(library, document(SQL))
    versions = len(library.versions(NAME))
    propose(library, document(SQL))
    assert len(library.versions(NAME)) == versions and len(logged(library)) == 1


def test_what_a_person_changes_is_theirs_and_nobody_elses_from_then_on(library: Library) -> None:
    propose(library, document(SQL))
    library.edit(NAME, document(SQL, body="My own words."))
    assert library.get(NAME).source == "user" and library.get(NAME).stage == "active"
    assert logged(library)[-1] == ("theirs", "person")
    for attempt in (lambda: propose(library, document(SQL, body="Mine.")), lambda: decide(library, "retired", "trial")):
        with pytest.raises(Refused):
            attempt()
    assert library.get(NAME).body == "My own words."


def test_a_move_that_is_not_allowed_says_what_is_and_changes_nothing(library: Library) -> None:
    propose(library, document(SQL), stage="proposed")
    with pytest.raises(Refused, match="is proposed: it can become nothing, not active"):
        decide(library, "active", "trial")
    assert library.get(NAME).stage == "proposed" and len(logged(library)) == 1


def test_from_every_stage_a_person_has_a_way_out() -> None:
    for stage in ("proposed", "trial", "active", "retired", "rejected"):
        assert any("person" in actors for actors in MOVES[stage].values()), stage


def test_each_move_is_one_commit(library: Library) -> None:
    propose(library, document(SQL))
    decide(library, "active", "trial")
    decide(library, "retired")
    messages = [version.message.splitlines()[0] for version in library.versions(NAME)]
    assert messages[-1] == "Learn"
    history = library.history
    with history._repo() as repo:
        assert repo is not None
        walked = [entry.commit.message.decode().splitlines()[0] for entry in repo.get_walker()]
    assert walked == [f"{NAME} is retired", f"{NAME} is active", "Learn"]


def test_a_torn_last_line_is_left_out_and_the_next_one_is_whole(tmp_path: Path) -> None:
    log = MoveLog(tmp_path)
    log.append([Move(1.0, NAME, "a", "trial", "evolver", "one")])
    with log.path.open("ab") as file:
        file.write(b'{"at": 2.0, "name"')
    log.append([Move(3.0, NAME, "a", "active", "trial", "two")])
    assert [move.reason for move in log.read()] == ["one", "two"]


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("propose"), st.sampled_from(["One.", "Two.", "Three."]), st.sampled_from(["trial", "proposed"])
        ),
        st.tuples(st.just("decide"), st.sampled_from(get_args(Stage)), st.sampled_from(["person", "trial"])),
        st.tuples(st.just("edit"), st.sampled_from(["Mine.", "Ours."]), st.just("")),
        st.tuples(st.just("remove"), st.just(""), st.just("")),
    ),
    max_size=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_no_sequence_of_moves_loses_a_persons_words_and_the_log_rebuilds_the_stages(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    library = Library(tmp_path_factory.mktemp("any") / "skills", builtin=False)
    mine: str | None = None
    for what, one, two in steps:
        try:
            if what == "propose":
                propose(library, document(SQL, body=one), stage=two)  # type: ignore[arg-type]
            elif what == "decide":
                decide(library, one, two)  # type: ignore[arg-type]
            elif what == "edit":
                library.edit(NAME, document(SQL, body=one))
                mine = one
            else:
                library.remove(NAME)
                mine = None
        except (Refused, NotFound):
            pass
        if mine is not None:
            assert (library.get(NAME).body, library.get(NAME).source) == (mine, "user")
    rebuilt = replay(MoveLog(library.user_dir / ".metaclaw").read())
    present = [skill for skill in library.skills() if skill.source == "learned"]
    for skill in present:
        assert (rebuilt[skill.name].stage, rebuilt[skill.name].version) == (skill.stage, skill.digest)
    if not present and NAME in rebuilt:
        assert rebuilt[NAME].stage in ("rejected", "theirs")
