"""Further clients, each a program of its own: JavaScript SDKs, a conformance suite, two coding agents."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import tools
from tests.conftest import unused_port
from tests.e2e.conftest import PLAIN
from tests.e2e.program import MetaClaw
from tests.e2e.test_sdks import script
from tests.scripted_upstream import Recorded, Reply, ScriptedUpstream, ToolCall

pytestmark = pytest.mark.clients

VOLATILE = ("startedAt", "baseUrl", "engine", "engineInfo", "durationMs", "latencyMs", "ms", "elapsedMs")
CODEX = """\
model = "scripted-model"
model_provider = "gateway"
[model_providers.gateway]
name = "Gateway"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "GATEWAY_KEY"
"""


def installed(folder: str, name: str) -> str:
    """The path of a client's command; skips where it was not fetched."""
    command = tools.folder() / folder / "node_modules" / ".bin" / name
    if not command.exists():
        pytest.skip(f"{name} is not in {tools.folder()}: make test-clients")
    return str(command)


def output(command: list[str], home: Path, **env: str) -> str:
    """Run a client with a home of its own; returns what it printed."""
    plain = {"HOME": str(home), "PATH": tools.path_with_node(), "LANG": "C.UTF-8"}
    done = subprocess.run(command, env={**plain, **env}, capture_output=True, text=True, timeout=180, cwd=home)
    assert done.stdout, f"{command[0]} printed nothing ({done.returncode}): {done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.parametrize("plain_gateway", ["chat", "responses", "messages"], indirect=True)
def test_javascript_sdks_get_the_same_as_from_the_provider(
    provider: ScriptedUpstream, plain_gateway: MetaClaw, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    installed("js", "llmprobe")
    protocol = request.node.callspec.params["plain_gateway"]
    node, program = str(tools.node_bin() / "node"), str(Path(__file__).parent / "js" / "sdks.mjs")
    answers = []
    for address in (provider.url, plain_gateway.url):
        script(provider)
        packages = str(tools.folder() / "js")
        answers.append(json.loads(output([node, program, address, protocol], tmp_path, METACLAW_TEST_JS=packages)))
    assert answers[1] == answers[0]


def test_llmprobe_finds_the_same_behind_the_gateway(
    provider: ScriptedUpstream, three_protocols: MetaClaw, tmp_path: Path
) -> None:
    probe = installed("js", "llmprobe")
    reports = []
    for address in (provider.base_url, f"{three_protocols.url}/v1"):
        script(provider)
        options = ["-k", "sk-upstream-key", "-m", "scripted-model", "--quick", "--no-bench", "--no-save", "--json"]
        reports.append(steady(json.loads(output([probe, address, *options], tmp_path))))
    assert reports[1] == reports[0]


@pytest.fixture
def three_protocols(provider: ScriptedUpstream, tmp_path: Path) -> Iterator[MetaClaw]:
    """A gateway in front of a provider that speaks all three protocols itself."""
    metaclaw = MetaClaw(tmp_path / "metaclaw", unused_port())
    plain = PLAIN.format(protocol="auto", base_url=provider.base_url, port=metaclaw.port)
    metaclaw.configure(plain.replace("provider: custom", "provider: ollama"))
    metaclaw.start_gateway()
    yield metaclaw
    metaclaw.stop_gateway()


def steady(report: Any) -> Any:
    """A report without times and addresses."""
    if isinstance(report, dict):
        return {name: steady(value) for name, value in report.items() if name not in VOLATILE}
    return [steady(item) for item in report] if isinstance(report, list) else report


@pytest.fixture
def recalling(provider: ScriptedUpstream, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MetaClaw]:
    """A gateway with skills to recall, in the protocol the test names."""
    metaclaw = MetaClaw(tmp_path / "metaclaw", unused_port())
    values = {"protocol": request.param, "base_url": provider.base_url, "port": metaclaw.port}
    metaclaw.configure(PLAIN.format(**values).replace("enabled: false\n  auto", "enabled: true\n  auto"))
    metaclaw.start_gateway()
    yield metaclaw
    metaclaw.stop_gateway()


@pytest.mark.parametrize("recalling", ["messages", "chat"], indirect=True)
def test_claude_code_runs_a_tool_through_the_gateway(
    provider: ScriptedUpstream, recalling: MetaClaw, tmp_path: Path
) -> None:
    claude = installed("clients", "claude")
    tool_turn(provider, ToolCall("Bash", '{"command":"echo from-the-shell","description":"Say it"}'))
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    command = [claude, "-p", "Please run the build check.", "--output-format", "json", "--allowedTools", "Bash"]
    reply = json.loads(
        output(
            [*command, "--model", "claude-sonnet-4-5"], tmp_path,
            ANTHROPIC_BASE_URL=recalling.url, ANTHROPIC_API_KEY="sk-upstream-key", **quiet,
        )
    )  # fmt: skip
    assert reply["result"] == "The check printed one line."
    assert_tool_ran(provider.calls(rule="build check"))


@pytest.mark.parametrize("recalling", ["responses", "chat"], indirect=True)
def test_codex_runs_a_tool_through_the_gateway(provider: ScriptedUpstream, recalling: MetaClaw, tmp_path: Path) -> None:
    codex = installed("clients", "codex")
    tool_turn(provider, ToolCall("exec_command", '{"cmd":"echo from-the-shell"}'))
    home = tmp_path / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(CODEX.format(url=recalling.url), encoding="utf-8")
    command = [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    printed = output(
        [*command, "Please run the build check."], tmp_path, CODEX_HOME=str(home), GATEWAY_KEY="sk-upstream-key"
    )
    assert "The check printed one line." in printed
    assert_tool_ran(provider.calls(rule="build check"))


def tool_turn(provider: ScriptedUpstream, call: ToolCall) -> None:
    """Script one tool call, then an answer."""
    provider.reset()
    provider.rule("build check", Reply(text="Let me see. ", tool_calls=(call,)), "The check printed one line.")


def assert_tool_ran(calls: list[Recorded]) -> None:
    """Both calls were streamed, and the second brought what the tool printed."""
    assert len(calls) == 2
    assert all(call.json()["stream"] for call in calls)
    assert b"from-the-shell" in calls[1].body
