"""MetaClaw as its user has it: its commands, its state folder, its gateway's address."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.waiting import until

COMMAND_SECONDS = 180


class MetaClaw:
    """One installation, in a state folder of its own."""

    def __init__(self, home: Path, port: int, env: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.port = port
        self.config = home / "config.yaml"
        base = {name: value for name, value in (env or os.environ).items() if not name.startswith("METACLAW_")}
        keys = [name for name in base if name.endswith("_API_KEY")]
        for name in keys:
            del base[name]
        no_keyring = {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        self.env = {**base, **no_keyring, "METACLAW_HOME": str(home), "NO_COLOR": "1", "PYTHONUTF8": "1"}
        self._gateway: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.port}"

    def run(self, *arguments: str, given: str = "", ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `metaclaw ARGUMENTS` with `given` as its input."""
        done = subprocess.run(
            [sys.executable, "-m", "metaclaw", *arguments],
            env=self.env, input=given, capture_output=True, text=True, timeout=COMMAND_SECONDS,
        )  # fmt: skip
        if ok and done.returncode:
            raise AssertionError(f"metaclaw {' '.join(arguments)} → {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *arguments: str) -> Any:
        """What a command prints with `--json`."""
        return json.loads(self.run(*arguments, "--json").stdout)

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Ask the gateway; returns the parsed answer."""
        data = None if body is None else json.dumps(body).encode()
        made = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        for name, value in ({**self._credentials(), **(headers or {})}).items():
            made.add_header(name, value)
        with urllib.request.urlopen(made, timeout=60) as answer:
            return json.loads(answer.read())

    def configure(self, text: str) -> None:
        """Write config.yaml."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.config.write_text(text, encoding="utf-8")

    def start_gateway(self) -> None:
        """Run the gateway process alone, without touching any agent."""
        with (self.home / "gateway.out").open("wb") as out:
            self._gateway = subprocess.Popen(
                [sys.executable, "-m", "metaclaw.gateway", "--config", str(self.config)],
                env=self.env, stdout=out, stderr=out,
            )  # fmt: skip
        until(self._ready, "the gateway to be ready", seconds=60)

    def stop_gateway(self) -> None:
        """End that process."""
        if self._gateway is not None:
            self._gateway.send_signal(signal.SIGTERM)
            try:
                self._gateway.wait(40)
            except subprocess.TimeoutExpired:
                self._gateway.kill()
            self._gateway = None

    def log(self) -> str:
        """Everything it logged, for a failing test's message."""
        paths = [self.home / "gateway.out", *sorted((self.home / "logs").glob("*.log"))]
        return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths if path.exists())

    def _ready(self) -> bool:
        if self._gateway is not None and self._gateway.poll() is not None:
            raise AssertionError(f"the gateway ended with {self._gateway.returncode}\n{self.log()[-4000:]}")
        try:
            return bool(self.request("GET", "/readyz"))
        except (urllib.error.URLError, OSError, ValueError):
            return False

    def _credentials(self) -> dict[str, str]:
        """The token of the running gateway, which its owner alone can read."""
        facts = self.home / "run" / "gateway.json"
        if not facts.exists():
            return {}
        return {"X-MetaClaw-Token": str(json.loads(facts.read_text(encoding="utf-8"))["token"])}
