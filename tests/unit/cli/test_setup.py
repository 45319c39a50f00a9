"""`metaclaw setup` with options, and in a terminal."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from metaclaw.config import Secrets, load
from tests.scripted_upstream import ScriptedUpstream
from tests.unit.cli.conftest import Metaclaw


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without agents."""
    folder = tmp_path / "person"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("PATH", str(tmp_path))
    return folder


def test_options_say_everything_and_the_key_comes_from_stdin(metaclaw: Metaclaw, state: Path) -> None:
    done = metaclaw(
        "setup", "--yes", "--claw", "none", "--provider", "kimi", "--model", "kimi-k2.5", "--no-memory", "--no-rl",
        "--port", "31000", "--api-key-stdin", "--no-test",
        stdin="sk-hidden-key\n",
    )  # fmt: skip
    assert done.code == 0, done.err
    loaded = load()
    assert loaded.settings.llm.api_key.get_secret_value() == "sk-hidden-key"
    assert loaded.settings.proxy.port == 31000
    assert loaded.settings.mode == "skills_only"
    assert loaded.settings.proxy.api_key.get_secret_value().startswith("mc-")
    assert "hidden" not in done.out + done.err + (state / "config.yaml").read_text(encoding="utf-8")
    assert "+  provider: kimi" in done.out
    assert "`metaclaw start` starts it." in done.out


def test_run_again_it_changes_only_what_is_answered_anew(metaclaw: Metaclaw, state: Path) -> None:
    metaclaw("setup", "--yes", "--claw", "none", "--provider", "kimi", "--model", "m", "--no-test")
    path = state / "config.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# my remark\nskills: {top_k: 3}\n", encoding="utf-8")
    before, key = path.read_text(encoding="utf-8"), Secrets().get("proxy.api_key")
    assert "Nothing to change." in metaclaw("setup", "--yes", "--provider", "kimi", "--no-test").out
    assert path.read_text(encoding="utf-8") == before
    metaclaw("setup", "--yes", "--model", "m2", "--no-test")
    assert path.read_text(encoding="utf-8") == before.replace("model_id: m\n", "model_id: m2\n")
    assert Secrets().get("proxy.api_key") == key


def test_a_first_run_makes_the_gateways_key_also_when_another_setting_was_made_before(metaclaw: Metaclaw) -> None:
    metaclaw("config", "skills.max_tokens", "800")
    metaclaw("setup", "--yes", "--claw", "none", "--provider", "kimi", "--model", "m", "--no-test")
    assert (Secrets().get("proxy.api_key") or "").startswith("mc-")


def test_the_model_is_tried_before_anything_is_written(metaclaw: Metaclaw, upstream: ScriptedUpstream) -> None:
    arguments = ("setup", "--yes", "--claw", "none", "--provider", "custom", "--api-base", upstream.base_url)
    done = metaclaw(*arguments, "--model", "scripted-model")
    assert done.code == 0, done.err
    assert "The model answers: scripted-model answered in" in done.out
    assert "context window" in done.out


def test_a_model_that_does_not_answer_is_said_and_the_answers_are_kept(metaclaw: Metaclaw, free_port: int) -> None:
    base = f"http://127.0.0.1:{free_port}/v1"
    done = metaclaw("setup", "--yes", "--claw", "none", "--provider", "custom", "--api-base", base, "--model", "m")
    assert done.code == 0, done.err
    assert "The model does not answer" in done.out
    assert load().settings.llm.api_base == base


def test_without_a_terminal_and_without_options_it_says_what_to_do(metaclaw: Metaclaw, state: Path) -> None:
    done = metaclaw("setup")
    assert (done.code, "--yes" in done.err) == (2, True)
    assert not (state / "config.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--claw", "lobster"), "no such agent; known: "),
        (("--provider", "kimmi"), "known: kimi"),
        (("--auth", "telepathy"), "--auth"),
    ],
)
def test_a_wrong_name_is_wrong_usage_and_shows_the_right_ones(
    metaclaw: Metaclaw, arguments: tuple[str, ...], told: str
) -> None:
    done = metaclaw("setup", "--yes", "--no-test", *arguments)
    assert done.code == 2
    assert told in done.err


def test_a_broken_configuration_is_never_overwritten(metaclaw: Metaclaw, state: Path) -> None:
    state.mkdir(mode=0o700, exist_ok=True)
    (state / "config.yaml").write_text("llm: [\n", encoding="utf-8")
    done = metaclaw("setup", "--yes", "--provider", "kimi", "--no-test")
    assert done.code == 1
    assert "config.yaml:" in done.err
    assert (state / "config.yaml").read_text(encoding="utf-8") == "llm: [\n"


def test_what_it_did_is_there_as_json(metaclaw: Metaclaw, state: Path) -> None:
    done = metaclaw("setup", "--yes", "--claw", "none", "--provider", "ollama", "--no-test", "--json")
    said = json.loads(done.out)
    assert said["config"] == str(state / "config.yaml")
    assert any("is written" in line for line in said["written"])


def test_the_changes_to_an_agents_files_are_shown_and_left_to_start(metaclaw: Metaclaw, person: Path) -> None:
    config = person / ".openclaw" / "openclaw.json"
    config.parent.mkdir()
    config.write_text('{"agents": {"defaults": {"model": {"primary": "a/b"}}}}', encoding="utf-8")
    before = config.read_bytes()
    done = metaclaw("setup", "--yes", "--claw", "openclaw", "--provider", "ollama", "--model", "m", "--no-test")
    assert 'agents.defaults.model.primary: "a/b"' in done.out
    assert config.read_bytes() == before


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_in_a_terminal_it_asks_shows_and_writes_after_a_yes(state: Path, person: Path, free_port: int) -> None:
    import pty
    import subprocess

    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "metaclaw", "setup", "--provider", "custom", "--no-test", "--model", "m"]
    environ = {**os.environ, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", "TERM": "xterm"}
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environ) as program:
        os.close(follower)
        answers = [
            (b"model calls paid for", b"\r"),
            (b"Address of the server", f"http://127.0.0.1:{free_port}/v1\r".encode()),
            (b"API key for", b"sk-typed-key\r"),
            (b"memory", b"n"),
            (b"Train a model", b"n"),
            (b"Write this?", b"y"),
            (b"Start MetaClaw now?", b"n"),
        ]
        screen = b""
        for question, answer in answers:
            while question not in screen:
                if b"\x1b[6n" in screen:  # the terminal is asked where its cursor is
                    os.write(leader, b"\x1b[1;1R")
                    screen = screen.replace(b"\x1b[6n", b"")
                screen += os.read(leader, 4096)
            shown, screen = screen, b""
            os.write(leader, answer)
            assert b"sk-typed-key" not in shown
        with pytest.raises(OSError, match="Input/output"):
            while True:
                os.read(leader, 4096)
    os.close(leader)
    assert program.returncode == 0
    settings = load().settings
    assert settings.llm.api_base == f"http://127.0.0.1:{free_port}/v1"
    assert settings.llm.api_key.get_secret_value() == "sk-typed-key"
