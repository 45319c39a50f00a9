"""Who owns a folder, and how others find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaclaw_sidecar.errors import InUse
from metaclaw_sidecar.ownership import Run, announced, owned, read_run
from metaclaw_sidecar.settings import load


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    settings = load({"METACLAW_SIDECAR_MEMORY_DIR": str(tmp_path / "memory")}, {})
    run = Run(4711, "127.0.0.1", 30001, "token", 1.0, "0.1.0")
    held = pytest.raises(InUse, match=r"pid 4711, http://127\.0\.0\.1:30001")
    with owned(settings), announced(settings.run_dir, run), held, owned(settings):
        pass
    with owned(settings):
        assert read_run(settings.run_dir) is None


def test_two_state_folders_cannot_share_one_memory_folder(tmp_path: Path) -> None:
    both = [
        load({"METACLAW_SIDECAR_MEMORY_DIR": str(tmp_path / "memory"), "METACLAW_HOME": str(tmp_path / home)}, {})
        for home in ("a", "b")
    ]
    with owned(both[0]), pytest.raises(InUse, match="another process holds the memories"), owned(both[1]):
        pass


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', "\x00"])
def test_a_run_file_that_is_not_whole_says_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "sidecar.json").write_text(content, encoding="utf-8")
    assert read_run(tmp_path) is None


@pytest.mark.parametrize(
    ("host", "url"),
    [("127.0.0.1", "http://127.0.0.1:1"), ("0.0.0.0", "http://127.0.0.1:1"), ("::", "http://[::1]:1"), ("::1", "http://[::1]:1")],
)  # fmt: skip
def test_the_service_is_reached_by_loopback(host: str, url: str) -> None:
    assert Run(1, host, 1, "token").url == url
