"""What adapters look at: versions without starting programs, homes, files that must be left alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from metaclaw_adapters.machine import expanded, listens, package_version, read_document, user_home
from tests.conftest import unused_port
from tests.unit.adapters.conftest import posix


def environment(root: Path, name: str = "lib/python3.12/site-packages") -> Path:
    """A Python environment with one package and its program."""
    info = root / name / "some_agent-1.4.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some-agent\nVersion: 1.4.2\n")
    program = root / "bin" / "agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    return program


@pytest.mark.parametrize("place", ["lib/python3.12/site-packages", "lib/python3/dist-packages", "Lib/site-packages"])
def test_a_version_is_read_from_the_environment_of_the_program(tmp_path: Path, place: str) -> None:
    program = environment(tmp_path / "env", place)
    assert package_version(str(program), "some-agent") == "1.4.2"
    assert package_version(str(program), "another") == ""
    assert package_version(None, "some-agent") == ""


@posix
def test_a_link_that_an_installer_put_on_the_path_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "bin" / "agent"
    link.parent.mkdir()
    link.symlink_to(environment(tmp_path / "env"))
    assert package_version(str(link), "some-agent") == "1.4.2"


def test_the_home_is_that_of_the_environment(tmp_path: Path) -> None:
    name = "USERPROFILE" if sys.platform == "win32" else "HOME"
    assert user_home({name: str(tmp_path)}) == tmp_path
    assert user_home({name: " "}) == Path.home()
    assert expanded("~/x", tmp_path) == tmp_path / "x"
    assert expanded(str(tmp_path), Path("/nowhere")) == tmp_path


def test_nothing_listens_on_a_free_port() -> None:
    assert not listens(unused_port())


def test_files_that_are_not_understood_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    assert read_document(path, "json5")[0].data is None
    path.write_text("{ not json")
    document, blocked = read_document(path, "json5")
    assert (document.value, document.data) == ({}, b"{ not json")
    assert "was left alone" in blocked
    path.write_text("[1]")
    assert "does not hold named values" in read_document(path, "json5")[1]


@posix
def test_a_link_out_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text("{}")
    path = tmp_path / "home" / "config.json"
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere.json")
    assert "edit that file yourself" in read_document(path, "json5")[1]
