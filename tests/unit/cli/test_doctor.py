"""`metaclaw doctor`: one table, every check, each with what to do."""

from __future__ import annotations

import http.server
import json
import threading
from pathlib import Path

import pytest

from tests.scripted_upstream import ScriptedUpstream
from tests.unit.cli.conftest import Metaclaw, Ran


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder without agents."""
    for name in ("HOME", "USERPROFILE", "PATH"):
        monkeypatch.setenv(name, str(tmp_path))


def checks(done: Ran) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in json.loads(done.out)}


def configure(state: Path, text: str) -> None:
    state.mkdir(mode=0o700, exist_ok=True)
    path = state / "config.yaml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)


def test_on_a_fresh_machine_it_says_what_to_do_first(metaclaw: Metaclaw) -> None:
    done = metaclaw("doctor")
    assert done.code == 1
    assert "metaclaw setup" in done.out
    assert "metaclaw start" in done.out


def test_a_sound_installation_passes_and_lists_every_host(
    metaclaw: Metaclaw, state: Path, upstream: ScriptedUpstream, free_port: int
) -> None:
    configure(
        state,
        f"claw_type: none\nproxy: {{port: {free_port}}}\n"
        f"llm: {{provider: custom, api_base: '{upstream.base_url}', model_id: scripted-model}}\n",
    )
    done = metaclaw("doctor", "--call", "--json")
    found = checks(done)
    assert done.code == 0, done.out
    assert found["upstream"]["state"] == found["model call"]["state"] == found["skills"]["state"] == "ok"
    assert upstream.base_url.removeprefix("http://").removesuffix("/v1") in found["hosts"]["detail"]
    assert found["agents"]["state"] == "off"


def test_a_broken_configuration_does_not_end_the_examination(metaclaw: Metaclaw, state: Path) -> None:
    configure(state, "proxy:\n  prot: 1\n")
    found = checks(metaclaw("doctor", "--json"))
    assert "config.yaml:2:3" in found["configuration"]["detail"]
    assert {"gateway", "disk", "versions"} <= found.keys()


class Refuses(http.server.BaseHTTPRequestHandler):
    """A provider that knows nobody."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_refused_key_is_a_failure_that_says_how_to_set_another(
    metaclaw: Metaclaw, state: Path, free_port: int
) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Refuses) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}/v1"
        llm = f"llm: {{provider: custom, api_base: '{base}', api_key: sk-wrong-key, model_id: m}}"
        configure(state, f"claw_type: none\nproxy: {{port: {free_port}}}\n{llm}\n")
        done = metaclaw("doctor", "--json")
        server.shutdown()
    assert done.code == 1
    assert checks(done)["key"]["remedy"] == "metaclaw config set llm.api_key -"
    assert "sk-wrong-key" not in done.out


def test_one_check_that_breaks_is_a_line_and_the_others_go_on(metaclaw: Metaclaw, state: Path, free_port: int) -> None:
    (state / "claws" / "openclaw").mkdir(parents=True)
    (state / "claws" / "openclaw" / "manifest.json").write_text("{", encoding="utf-8")
    configure(state, f"proxy: {{port: {free_port}}}\n")
    found = checks(metaclaw("doctor", "--json"))
    assert found["openclaw"]["state"] == "failed"
    assert "hosts" in found


def test_a_state_folder_that_can_not_be_used_is_a_line_of_the_table(metaclaw: Metaclaw, state: Path) -> None:
    (state / "run" / "gateway.lock").mkdir(parents=True)  # opening it fails, also for an administrator
    found = checks(metaclaw("doctor", "--json"))
    assert found["gateway"]["state"] == "warning"
    assert "state folder" in found and "skills" in found
