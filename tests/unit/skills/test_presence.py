"""Seeing which skills the client has read itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaclaw.skills import Library, Presence, Skill, render

from .shelf import FLAKY, document, put

SKILL = Skill(**FLAKY, path=Path("a"), source="user", enabled=True, digest="0", metadata={})


def present(*texts: str) -> bool:
    return Presence([SKILL]).found(texts) == {SKILL.name}


@pytest.fixture(scope="module")
def bank(tmp_path_factory: pytest.TempPathFactory) -> list[Skill]:
    return list(Library(tmp_path_factory.mktemp("skills")).skills())


@given(data=st.data())
def test_any_skill_of_a_library_is_recognised_whatever_a_tool_does_to_its_lines(
    bank: list[Skill], data: st.DataObject
) -> None:
    presence = Presence(bank)
    skill = data.draw(st.sampled_from(bank))
    prefix = data.draw(st.sampled_from(["", "    ", "{}: ", "  {}\t", "> ", "{}| "]))
    lines = [prefix.format(number) + line for number, line in enumerate(skill.body.split("\n"), 1)]
    text = data.draw(st.text(max_size=80)) + "\n" + "\n".join(lines)
    assert presence.found([text]) == {skill.name}
    assert presence.found(["\n".join(lines[: len(lines) // 4])]) == set()


def test_a_skill_in_a_script_without_spaces_is_recognised() -> None:
    body = "\n".join(
        f"{number}. 先运行一次测试并把失败时的种子和顺序记录下来然后再决定下一步做什么" for number in "一二三四五六七"
    )
    skill = replace(SKILL, name="不稳定的测试", body=body)
    assert Presence([SKILL, skill]).found([f"文件:\n{body}\n完"]) == {skill.name}
    assert Presence([SKILL, skill]).found(["先运行一次测试"]) == set()


def test_a_disabled_skill_is_not_looked_for() -> None:
    assert Presence([replace(SKILL, enabled=False)]).found([render(SKILL)]) == set()


def test_a_skill_file_the_client_read_is_recognised(tmp_path: Path) -> None:
    raw = put(tmp_path, document()).read_text(encoding="utf-8")
    numbered = "\n".join(f"{number:6d}\t{line}" for number, line in enumerate(raw.split("\n"), 1))
    for text in (raw, numbered, raw.replace("\n", "\r\n"), f"<file>\n{raw}\n</file>", render(SKILL)):
        assert present("something else", text)


def test_an_older_version_with_the_same_name_and_description_counts_as_present(tmp_path: Path) -> None:
    raw = put(tmp_path, document(body="An older text of these instructions.")).read_text(encoding="utf-8")
    assert present(raw)


def test_talk_about_the_skill_is_not_the_skill(tmp_path: Path) -> None:
    other = put(
        tmp_path,
        document(description="Something wholly different, for another day.", body="Nothing alike at all in here."),
    )
    texts = [
        "",
        "use flaky-tests please",
        SKILL.description,
        json.dumps({"name": "flaky-tests"}),
        other.read_text(encoding="utf-8"),
    ]
    assert not present(*texts)
    assert not present()
