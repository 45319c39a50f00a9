"""Packing up and taking away."""

from __future__ import annotations

import os
import stat
import tarfile
from pathlib import Path

import pytest

from metaclaw.supervisor.removal import (
    installed_package,
    own_entries,
    pack,
    remove_entries,
    worth_keeping,
)


def state(folder: Path) -> Path:
    for name in ("skills/one", "logs", "run"):
        (folder / name).mkdir(parents=True)
    (folder / "skills/one/SKILL.md").write_text("---\nname: one\n---\n", encoding="utf-8")
    (folder / "config.yaml").write_text("mode: auto\n", encoding="utf-8")
    return folder


def test_a_state_folder_of_ours_alone_is_removed_whole(tmp_path: Path) -> None:
    home = state(tmp_path / "home")
    assert remove_entries(own_entries(home), home) == []
    assert not home.exists()


def test_what_is_not_ours_stays_even_when_the_state_folder_was_chosen_badly(tmp_path: Path) -> None:
    home = state(tmp_path / "home")
    (home / "thesis.tex").write_text("years of work", encoding="utf-8")
    (home / "photos").mkdir()
    assert [item.name for item in remove_entries(own_entries(home), home)] == ["photos", "thesis.tex"]
    assert not (home / "skills").exists()


def test_a_linked_folder_loses_the_link_and_not_what_it_points_to(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shared = state(tmp_path / "shared") / "skills"
    (home / "skills").symlink_to(shared, target_is_directory=True)
    assert remove_entries(own_entries(home), home) == []
    assert (shared / "one/SKILL.md").exists()


def test_a_state_folder_that_is_not_there_is_nothing_to_remove(tmp_path: Path) -> None:
    assert own_entries(tmp_path / "none") == []
    assert remove_entries([], tmp_path / "none") == []


def test_the_archive_holds_what_was_learned_and_is_its_owners_alone(tmp_path: Path) -> None:
    home = state(tmp_path / "home")
    (home / "memory").mkdir()
    kept = worth_keeping([home / "skills", home / "memory", home / "none"])
    assert kept == [home / "skills"]
    target = pack(kept, tmp_path / "archive.tar.gz")
    with tarfile.open(target) as archive:
        assert "skills/one/SKILL.md" in archive.getnames()
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_an_archive_never_replaces_a_file(tmp_path: Path) -> None:
    target = tmp_path / "archive.tar.gz"
    target.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        pack([], target)
    assert target.read_bytes() == b"precious"


def test_a_checkout_is_never_removed_by_command() -> None:
    package = installed_package()
    assert package.command == ()
    assert str(Path(__file__).parents[3]) in package.told
