"""Files are replaced whole, stay private, and links do not lead us astray."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
from pathlib import Path

import pytest

from metaclaw_adapters.files import (
    FileError,
    SymlinkEscape,
    backup,
    digest,
    locked,
    private_dir,
    remove,
    sweep,
    write_atomic,
)

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX modes")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_holds_the_bytes_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a.json", b"one")
    assert (tmp_path / "a.json").read_bytes() == b"one"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@posix
def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomic(path, b"one")
    assert mode_of(path) == 0o600
    path.chmod(0o644)
    write_atomic(path, b"two")
    assert mode_of(path) == 0o644
    write_atomic(path, b"three", mode=0o600)
    assert mode_of(path) == 0o600


@posix
def test_a_link_inside_the_folder_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    write_atomic(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


@posix
def test_a_link_out_of_the_folder_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    outside, home = tmp_path / "outside", tmp_path / "home"
    outside.mkdir()
    home.mkdir()
    (outside / "x").write_bytes(b"theirs")
    (home / "x").symlink_to(outside / "x")
    with pytest.raises(SymlinkEscape, match="outside"):
        write_atomic(home / "x", b"ours")
    assert (outside / "x").read_bytes() == b"theirs"
    write_atomic(home / "x", b"ours", within=tmp_path)
    assert (outside / "x").read_bytes() == b"ours"


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    with pytest.raises(FileError):
        write_atomic(tmp_path / "d", b"x")


def test_a_failed_replacement_leaves_the_old_bytes_and_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_atomic(path, "text, not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def _write_many(path: str, byte: int) -> None:
    for _ in range(40):
        write_atomic(Path(path), bytes([byte]) * 20_000)


def test_two_processes_that_write_at_once_never_mix_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "shared"
    write_atomic(path, b"A" * 20_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), byte)) for byte in b"AB"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert len(set(path.read_bytes())) == 1
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["shared"]


@posix
def test_private_folders_are_closed_to_others_all_the_way_down(tmp_path: Path) -> None:
    deep = private_dir(tmp_path / "a" / "b")
    assert mode_of(deep) == mode_of(tmp_path / "a") == 0o700
    deep.chmod(0o755)
    assert mode_of(private_dir(deep)) == 0o700


def test_a_backup_is_the_same_bytes_and_the_same_content_is_kept_once(tmp_path: Path) -> None:
    original = tmp_path / "openclaw.json"
    original.write_bytes(b"{ /* mine */ }")
    first = backup(original, tmp_path / "saved")
    second = backup(original, tmp_path / "saved")
    assert first == second
    assert first.copy.read_bytes() == b"{ /* mine */ }"
    assert first.sha256 == digest(b"{ /* mine */ }")
    assert len(list((tmp_path / "saved").iterdir())) == 1
    if os.name == "posix":
        assert mode_of(first.copy) == 0o600


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    remove(tmp_path / "nothing")
    remove(tmp_path / "no-folder" / "nothing")


@posix
def test_what_a_crash_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    for name in ("a.json", ".a.json.x1.metaclaw-tmp", ".b.json.x1.metaclaw-tmp", ".a.json.tmp"):
        (tmp_path / name).write_bytes(b"")
    sweep(tmp_path / "a.json")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.json.tmp", ".b.json.x1.metaclaw-tmp", "a.json"]


def _hold(lock: str, told: str) -> None:
    with locked(Path(lock)):
        Path(told).write_text("held")
        multiprocessing.Event().wait(60)


def test_a_lock_is_for_one_process_and_falls_with_it(tmp_path: Path) -> None:
    holder = multiprocessing.get_context("spawn").Process(
        target=_hold, args=(str(tmp_path / "lock"), str(tmp_path / "told"))
    )
    holder.start()
    while not (tmp_path / "told").exists():
        assert holder.is_alive()
    threading.Timer(0.3, holder.kill).start()
    with locked(tmp_path / "lock"):
        holder.join(10)
        assert not holder.is_alive()
