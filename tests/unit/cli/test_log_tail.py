"""The end of a log, and what is added."""

from __future__ import annotations

from pathlib import Path

from metaclaw.cli.log_tail import follow_file, last_lines


def test_the_last_lines_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\r\ntwo\nthree \xff\nfour")
    assert last_lines(log, 3) == ["two", "three \ufffd", "four"]
    assert last_lines(log, 0) == []
    assert last_lines(tmp_path / "none", 3) == []


def test_added_lines_are_followed_through_rotation_and_truncation(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old\n", encoding="utf-8")

    def write(text: str) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(text)

    def rotate() -> None:
        log.rename(tmp_path / "log.1")
        write("after rotation\n")

    def truncate() -> None:
        log.write_text("", encoding="utf-8")

    steps = iter(
        [
            lambda: write("half"),
            lambda: write(" whole\n"),
            rotate,
            lambda: write("more\n"),
            truncate,
            lambda: write("after truncation\n"),
        ]
    )
    followed = follow_file(log, pause=lambda: next(steps)())
    assert [next(followed) for _ in range(4)] == ["half whole", "after rotation", "more", "after truncation"]


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "log"
    followed = follow_file(log, pause=lambda: log.write_text("first\n", encoding="utf-8"))
    assert next(followed) == "first"
