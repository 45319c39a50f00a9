"""A real OpenClaw with a home of its own: quiet, offline, driven by its command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import tools

READY_SECONDS = 180  # a cold start takes half a minute on a small machine
TURN_SECONDS = 180

# What a person has before MetaClaw comes: comments, a provider of their own, a trailing comma.
CONFIG = """\
// My OpenClaw. Please keep this comment.
{
  gateway: { mode: "local", bind: "loopback", port: %(port)d, auth: { mode: "token", token: "%(token)s" } },
  models: {
    mode: "merge",
    catalogRefresh: { enabled: false },
    providers: {
      mine: { // the model I pay for
        baseUrl: "%(base_url)s",
        apiKey: "sk-upstream-key",
        api: "openai-completions",
        models: [
          { id: "scripted-model", name: "Scripted", reasoning: false, input: ["text"],
            contextWindow: 128000, maxTokens: 8192 },
        ],
      },
    },
  },
  agents: { defaults: {
    model: { primary: "mine/scripted-model" },
    workspace: "%(workspace)s",
    heartbeat: { every: "0m" },
    sandbox: { mode: "off" },
  } },
  skills: { workshop: { autonomous: { mode: "off" } } },
  update: { checkOnStart: false },
  telemetry: { enabled: false },
  logging: { file: "%(log)s" },
}
"""


class OpenClaw:
    """One installation: its home, its gateway process, its commands."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self.config = home / ".openclaw" / "openclaw.json"
        self.log = home / "openclaw.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> dict[str, str]:
        """The environment that its commands, and MetaClaw's, run in."""
        path = os.pathsep.join([str(tools.openclaw().parent), tools.path_with_node()])
        quiet = {"OPENCLAW_DISABLE_BONJOUR": "1", "OPENCLAW_NO_AUTO_UPDATE": "1", "NO_COLOR": "1", "CI": "1"}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OPENCLAW_", "METACLAW_"))}
        return {**kept, "HOME": str(self.home), "PATH": path, **quiet}

    def configure(self, base_url: str) -> bytes:
        """Write the person's own configuration; returns its bytes."""
        values = {
            "port": self.port,
            "token": "gateway-token-0123456789abcdef",
            "base_url": base_url,
            "workspace": (self.home / "workspace").as_posix(),
            "log": self.log.as_posix(),
        }
        (self.home / "workspace").mkdir(parents=True, exist_ok=True)
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_text(CONFIG % values, encoding="utf-8")
        return self.config.read_bytes()

    def values(self) -> dict[str, Any]:
        """The configuration file as OpenClaw last wrote it (plain JSON from then on)."""
        loaded: dict[str, Any] = json.loads(self.config.read_text(encoding="utf-8"))
        return loaded

    def run(self, *arguments: str, timeout: float = 120, env: Mapping[str, str] | None = None) -> str:
        """Run one of its commands; returns what it printed."""
        command = [str(tools.openclaw()), *arguments]
        done = subprocess.run(command, env={**self.env, **(env or {})}, capture_output=True, timeout=timeout, text=True)
        if done.returncode:
            raise AssertionError(f"openclaw {arguments[0]} failed ({done.returncode}): {done.stderr or done.stdout}")
        return done.stdout

    def start(self) -> None:
        """Start its gateway and wait until it is ready."""
        seen = {"OPENCLAW_RAW_STREAM": "1", "OPENCLAW_RAW_STREAM_PATH": str(self.home / "raw-stream.jsonl")}
        command = [str(tools.openclaw()), "gateway", "run"]
        with (self.home / "gateway.out").open("wb") as out:
            self._process = subprocess.Popen(
                command, env={**self.env, **seen}, stdout=out, stderr=out, start_new_session=True
            )
        deadline = time.monotonic() + READY_SECONDS
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"OpenClaw's gateway is not ready:\n{self.output()[-3000:]}")
            time.sleep(0.3)

    def turn(self, text: str, session: str) -> dict[str, Any]:
        """Say something in a session, through the gateway; returns the whole reply."""
        printed = self.run(
            "agent", "--agent", "main", "--session-key", session, "--message", text, "--json", timeout=TURN_SECONDS
        )
        reply: dict[str, Any] = json.loads(printed[printed.index("{") :])
        return reply

    def say(self, text: str, session: str) -> str:
        """Say something; returns the text of the answer."""
        return "\n".join(part.get("text") or "" for part in self.turn(text, session)["result"]["payloads"])

    def streamed(self) -> str:
        """The pieces of answers as they reached it, JSON lines."""
        path = self.home / "raw-stream.jsonl"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def output(self) -> str:
        """What the gateway process printed."""
        path = self.home / "gateway.out"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def stop(self) -> None:
        """End the gateway and what it started."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(10)
        self._process = None

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
