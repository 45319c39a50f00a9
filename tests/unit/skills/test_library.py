"""The library: two folders as one, changes that are commits, and nothing that one bad file could break."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaclaw.skills import Exists, Library, NotFound, Refused

from .shelf import BACKUP, FLAKY, MINUTES, SQL, document, propose, put, put_raw


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "bank"
    put(folder, document(FLAKY))
    put(folder, document(MINUTES))
    return folder


@pytest.fixture
def library(tmp_path: Path, bank: Path) -> Library:
    return Library(tmp_path / "home" / "skills", builtin=bank)


def names(library: Library) -> list[str]:
    return [skill.name for skill in library.skills()]


def test_opening_a_library_creates_nothing(library: Library) -> None:
    assert names(library) == ["flaky-tests", "meeting-minutes"]
    assert {skill.source for skill in library.skills()} == {"builtin"}
    assert not library.user_dir.exists()


def test_a_persons_skill_takes_the_place_of_a_built_in_one(library: Library) -> None:
    put(library.user_dir, document(FLAKY, body="Mine."))
    assert library.reload()
    assert (library.get("flaky-tests").body, library.get("flaky-tests").source) == ("Mine.", "user")


def test_a_reload_without_a_change_keeps_the_snapshot_and_the_ranker(library: Library) -> None:
    skills, ranker = library.skills(), library.ranker()
    assert not library.reload()
    assert library.skills() is skills and library.ranker() is ranker


def test_bad_folders_are_reported_and_the_rest_is_used(library: Library, tmp_path: Path) -> None:
    user = library.user_dir
    put(user, document(SQL))
    put_raw(user, "empty", b"")
    put_raw(user, "latin", "---\nname: latin\ndescription: Käse\n---\nKäse".encode("latin-1"))
    put_raw(user, "front-only", "---\nname: front-only\ndescription: d\n---\n")
    put_raw(user, "huge", b"x" * 300_000)
    (user / "no-file").mkdir()
    (user / "folder-as-file" / "SKILL.md").mkdir(parents=True)
    put_raw(user, "<b>", "---\nname: x\ndescription: d\n---\nbody")
    put_raw(user, ".hidden", "---\nname: x\ndescription: d\n---\nbody")
    (user / "loop").symlink_to(user / "loop")
    library.reload()
    assert names(library) == ["flaky-tests", "meeting-minutes", "slow-queries"]
    skipped = {problem.path.parent.name for problem in library.problems if problem.skipped}
    assert {"empty", "latin", "front-only", "huge", "folder-as-file"} <= skipped


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_folder_does_not_hide_the_others(library: Library) -> None:
    put(library.user_dir, document(SQL)).chmod(0)
    put(library.user_dir, document(BACKUP))
    library.reload()
    assert "backup-before-edit" in names(library) and "slow-queries" not in names(library)


def test_a_folder_that_a_person_named_freely_is_used_under_that_name(library: Library) -> None:
    put_raw(library.user_dir, "Release Notes", "---\nname: release-notes\ndescription: d\n---\nbody")
    library.reload()
    assert library.get("Release Notes").body == "body"


def test_add_writes_a_private_file_and_one_commit(library: Library) -> None:
    skill = library.add(document(SQL))
    assert skill.source == "user" and skill.enabled
    assert [version.message for version in library.versions("slow-queries")] == ["Add slow-queries"]
    if os.name == "posix":
        assert skill.path.stat().st_mode & 0o777 == 0o600
        assert library.user_dir.stat().st_mode & 0o777 == 0o700
        assert (library.user_dir / ".git").stat().st_mode & 0o777 == 0o700


def test_adding_what_is_there_is_refused_and_changes_nothing(library: Library) -> None:
    before = library.add(document(SQL)).digest
    with pytest.raises(Exists, match="edit"):
        library.add(document(SQL, body="Other."))
    assert library.get("slow-queries").digest == before


def test_editing_a_built_in_skill_makes_a_copy_of_the_persons(library: Library, bank: Path) -> None:
    shipped = (bank / "flaky-tests" / "SKILL.md").read_bytes()
    library.edit("flaky-tests", document(FLAKY, body="Mine."))
    assert library.get("flaky-tests").source == "user"
    assert (bank / "flaky-tests" / "SKILL.md").read_bytes() == shipped
    library.remove("flaky-tests")
    assert library.get("flaky-tests").source == "builtin"


def test_a_built_in_skill_is_switched_off_not_removed(library: Library) -> None:
    with pytest.raises(Refused, match="disable"):
        library.remove("flaky-tests")
    library.disable("flaky-tests")
    assert not Library(library.user_dir, builtin=library.get("flaky-tests").path.parents[1]).get("flaky-tests").enabled
    assert [m.skill.name for m in library.ranker().rank("flaky pytest test", general=5, specific=5, min_score=0)] == []
    library.enable("flaky-tests")
    assert library.get("flaky-tests").enabled
    assert [v.message for v in library.versions("flaky-tests")] == ["Enable flaky-tests", "Disable flaky-tests"]


def test_an_unknown_name_says_so(library: Library) -> None:
    for call in (library.get, library.remove, library.enable, library.document):
        with pytest.raises(NotFound, match="no-such"):
            call("no-such")


def test_every_change_comes_back_byte_for_byte(library: Library) -> None:
    path = library.add(document(SQL)).path
    first = path.read_bytes()
    odd = b"\xef\xbb\xbf---\r\nname: slow-queries\r\ndescription: By hand\r\n---\r\nMixed\nline ends\r\nno end"
    path.write_bytes(odd)
    (path.parent / "scripts").mkdir()
    (path.parent / "scripts" / "run.sh").write_bytes(b"#!/bin/sh\n")
    (path.parent / "scripts" / "run.sh").chmod(0o700)
    library.edit("slow-queries", document(SQL, body="Third."))
    hand = next(v for v in library.versions("slow-queries") if v.message == "Record changes made by hand")
    library.revert("slow-queries")
    assert path.read_bytes() == odd
    oldest = library.versions("slow-queries")[-1]
    library.revert("slow-queries", oldest.commit[:8])
    assert path.read_bytes() == first and not (path.parent / "scripts").exists()
    library.revert("slow-queries", hand.commit)
    assert path.read_bytes() == odd
    if os.name == "posix":
        assert (path.parent / "scripts" / "run.sh").stat().st_mode & 0o100


def test_a_removed_skill_comes_back(library: Library) -> None:
    data = library.add(document(SQL)).path.read_bytes()
    library.remove("slow-queries")
    assert "slow-queries" not in names(library)
    skill = library.revert("slow-queries")
    assert skill is not None and skill.path.read_bytes() == data


def test_revert_keeps_what_was_changed_by_hand_in_the_history(library: Library) -> None:
    path = library.add(document(SQL)).path
    path.write_text("never committed", encoding="utf-8")
    library.revert("slow-queries")
    assert "never committed" in library.diff("slow-queries")


def test_a_version_nobody_has_is_refused(library: Library) -> None:
    library.add(document(SQL))
    for commit in ("deadbeef", "../x", ""):
        with pytest.raises(NotFound):
            library.revert("slow-queries", commit)
    with pytest.raises(NotFound):
        library.revert("slow-queries")


def test_a_diff_shows_the_newest_change(library: Library) -> None:
    library.add(document(SQL))
    library.edit("slow-queries", document(SQL, body="Only this."))
    library.disable("slow-queries")
    diff = library.diff("slow-queries")
    assert "+Only this." in diff and "-# Slow queries" in diff


def test_git_itself_finds_the_folder_clean_and_sound(library: Library) -> None:
    library.add(document(SQL))
    library.disable("slow-queries")
    propose(library, document(BACKUP), "Learn backup-before-edit")

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=library.user_dir, capture_output=True, text=True, check=True
        ).stdout

    assert git("status", "--short") == ""
    assert git("log", "--format=%an %s").splitlines()[0] == "MetaClaw Learn backup-before-edit"
    git("fsck", "--strict")


def test_a_repository_of_the_persons_own_keeps_its_other_files(library: Library) -> None:
    library.user_dir.mkdir(parents=True)
    (library.user_dir / "README.md").write_text("mine", encoding="utf-8")
    for arguments in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", *arguments], cwd=library.user_dir, check=True)
    library.add(document(SQL))
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"], cwd=library.user_dir, capture_output=True, text=True
    )
    assert "README.md" in listed.stdout and "slow-queries/SKILL.md" in listed.stdout


def test_a_broken_repository_is_reported_and_does_not_stop_a_change(library: Library) -> None:
    library.user_dir.mkdir(parents=True)
    (library.user_dir / ".git").mkdir()
    (library.user_dir / ".git" / "HEAD").write_text("nonsense", encoding="utf-8")
    assert library.add(document(SQL)).name == "slow-queries"
    assert library.history_problem


def test_a_broken_state_file_keeps_the_last_known_state(library: Library) -> None:
    library.disable("flaky-tests")
    (library.user_dir / ".metaclaw" / "state.json").write_text("{", encoding="utf-8")
    library.reload()
    assert not library.get("flaky-tests").enabled
    assert any("state" in problem.what for problem in library.problems)


def test_a_link_is_never_followed_out_of_the_folder_when_it_is_removed(library: Library, tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", document(SQL))
    library.user_dir.mkdir(parents=True)
    (library.user_dir / "slow-queries").symlink_to(outside.parent)
    library.reload()
    library.remove("slow-queries")
    assert outside.exists() and not (library.user_dir / "slow-queries").is_symlink()


def test_what_the_evolver_wrote_is_learned_until_a_person_touches_it(library: Library) -> None:
    propose(library, document(SQL))
    assert library.get("slow-queries").source == "learned"
    path = library.get("slow-queries").path
    path.write_bytes(path.read_bytes() + b"\nMy own line.\n")
    library.reload()
    assert library.get("slow-queries").source == "user"
    with pytest.raises(Refused):
        propose(library, document(SQL, body="Mine again."))
    assert "My own line." in path.read_text(encoding="utf-8")


def test_the_evolver_does_not_touch_built_in_skills(library: Library) -> None:
    with pytest.raises(Refused):
        propose(library, document(FLAKY, body="New."))


def test_processes_take_turns(library: Library) -> None:
    code = (
        "import sys; from pathlib import Path; from metaclaw.skills import Library, Document\n"
        "library = Library(Path(sys.argv[1]), builtin=False)\n"
        "for n in range(5): library.add(Document(f'skill-{sys.argv[2]}-{n}', 'Some words here.', 'Body.'))"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(library.user_dir), who]) for who in "ab"]
    assert [run.wait(60) for run in runs] == [0, 0]
    library.reload()
    assert len([name for name in names(library) if name.startswith("skill-")]) == 10
    log = subprocess.run(["git", "log", "--format=%s"], cwd=library.user_dir, capture_output=True, text=True).stdout
    assert sorted(log.split("\n")[:-1]) == sorted(f"Add skill-{who}-{n}" for who in "ab" for n in range(5))


async def test_a_file_written_by_hand_is_seen_and_recorded(library: Library) -> None:
    told = asyncio.Event()

    async def changed() -> None:
        told.set()

    watching = asyncio.create_task(library.watch(changed))
    try:
        async with asyncio.timeout(30):
            while not told.is_set():
                # The watcher may begin after the first write: write until it says so.
                put(library.user_dir, document(SQL, body=f"Body {asyncio.get_running_loop().time()}."))
                await asyncio.sleep(0.3)
        assert library.get("slow-queries").source == "user"
    finally:
        watching.cancel()


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, json, metaclaw.skills\n"
        "heavy = 'dulwich ruamel sqlalchemy pydantic numpy watchfiles snowballstemmer'.split()\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert json.loads(out) == []


def test_a_skill_file_that_links_out_of_its_folder_is_not_read(library: Library, tmp_path: Path) -> None:
    outside = tmp_path / "private.txt"
    outside.write_text("a secret of this machine", encoding="utf-8")
    folder = library.user_dir / "looks-harmless"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to(outside)
    library.reload()
    assert "looks-harmless" not in [skill.name for skill in library.skills()]
    assert any("outside the skill's folder" in str(problem) for problem in library.problems)
