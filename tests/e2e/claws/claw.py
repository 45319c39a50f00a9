"""An agent in a home of its own, and the proof that matters: wired, it talks through us; unwired, it is what it was."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import tools
from tests.conftest import unused_port
from tests.e2e.conftest import PLAIN
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import Recorded, ScriptedUpstream

TURN_SECONDS = 240  # a cold start of some takes half a minute on a small machine
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "claws"
ASKED = "Please look at which files are in the folder, for the harbour log."
ANSWER = "Two files, the harbour log among them."
AGAIN = "And what did I ask you to look for?"
REMEMBERED = "For the harbour log."


@dataclass
class Claw:
    """One agent: its name, its home, what sets its processes apart from the developer's own."""

    name: str
    home: Path
    quiet: Mapping[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes, and of MetaClaw's when it looks for it."""
        path = os.pathsep.join([str(tools.claw_bin(self.name)), os.environ.get("PATH", os.defpath)])
        kept = {name: os.environ[name] for name in ("LANG", "SYSTEMROOT", "TEMP", "TMP") if name in os.environ}
        home = {"HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path}
        return {"LANG": "C.UTF-8", **kept, **home, "NO_COLOR": "1", "PYTHONUTF8": "1", **self.quiet}

    def has(self, fixture: str) -> None:
        """Give it a sample configuration."""
        for source in sorted((FIXTURES / fixture).rglob("*")):
            if source.is_file():
                target = self.home / source.relative_to(FIXTURES / fixture)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())

    def run(self, *argv: str, env: Mapping[str, str] | None = None) -> str:
        """Run one of its programs; returns what it printed."""
        command = [str(tools.claw_bin(self.name) / argv[0]), *argv[1:]]
        done = subprocess.run(
            command, env={**self.env, **(env or {})}, cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=TURN_SECONDS,
        )  # fmt: skip
        if done.returncode:
            raise AssertionError(
                f"{' '.join(argv[:2])} failed ({done.returncode}): {(done.stderr or done.stdout)[-3000:]}"
            )
        return done.stdout

    def files(self, *patterns: str) -> dict[str, tuple[bytes, int]]:
        """Its configuration files with their modes."""
        found = sorted(path for pattern in patterns for path in self.home.glob(pattern) if path.is_file())
        return {
            str(path.relative_to(self.home)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in found
        }


def metaclaw_for(claw: Claw, provider: ScriptedUpstream, home: Path, protocol: str = "chat") -> MetaClaw:
    """MetaClaw in the environment of the agent's user, in front of the scripted provider; its gateway runs."""
    metaclaw = MetaClaw(home, unused_port(), claw.env)
    plain = PLAIN.format(protocol=protocol, base_url=provider.base_url, port=metaclaw.port)
    metaclaw.configure(plain.replace('model_id: ""', "model_id: scripted-model"))
    metaclaw.start_gateway()
    return metaclaw


def script(provider: ScriptedUpstream, tool: str, arguments: str) -> None:
    """One question that takes a tool, and one that takes the memory of the first."""
    provider.reset()
    provider.tool("harbour log", tool, arguments, then=ANSWER)
    provider.rule("what did I ask", REMEMBERED, tools=True)


def spoken(provider: ScriptedUpstream) -> list[Recorded]:
    """The model calls of the two turns, without what the agent asks beside them."""
    return [call for call in provider.calls() if call.rule in ("harbour log", "what did I ask")]


def conversation(metaclaw: MetaClaw, claw: str) -> Sequence[dict[str, Any]]:
    """The turns of the agent's only session, as the journal has them."""
    sessions = [one for one in metaclaw.request("GET", "/v1/sessions")["data"] if one["claw"] == claw]
    assert len(sessions) == 1, f"one conversation, not {len(sessions)}: {sessions}"
    turns: list[dict[str, Any]] = metaclaw.request("GET", f"/v1/sessions/{sessions[0]['id']}/turns")["data"]
    return turns
