"""The memory service as its user has it: a process, a folder, an address."""

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

START_SECONDS = 60


class MemoryService:
    """One service over one folder; it may be killed and started again."""

    def __init__(self, folder: Path, port: int, **settings: str) -> None:
        """`settings` are METACLAW_SIDECAR_ names in small letters; by default no model embeds and none extracts."""
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        keep = {name: value for name, value in os.environ.items() if not name.startswith("METACLAW_")}
        given = {"embedder": "none", "port": str(port), "memory_dir": str(folder), **settings}
        self.env = keep | {f"METACLAW_SIDECAR_{name.upper()}": value for name, value in given.items()}
        self.log = folder.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Run it; returns when it is healthy."""
        with self.log.open("ab") as out:
            command = [sys.executable, "-m", "metaclaw_sidecar"]
            self.process = subprocess.Popen(command, env=self.env, stdout=out, stderr=out, start_new_session=True)
        until(self._healthy, "the memory service to be healthy", seconds=START_SECONDS)

    def kill(self) -> None:
        """As a power cut does, without its children having their say either."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def stop(self) -> int:
        """As `metaclaw stop` does; returns the exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def get(self, path: str) -> Any:
        """Ask."""
        return self.ask("GET", path)

    def post(self, path: str, **body: Any) -> Any:
        """Ask with a body."""
        return self.ask("POST", path, body)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Ask; the parsed answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        for name, value in (headers or {}).items():
            request.add_header(name, value)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def run_file(self) -> dict[str, Any]:
        """What it says of itself."""
        value: dict[str, Any] = json.loads((self.folder / "run" / "sidecar.json").read_text(encoding="utf-8"))
        return value

    def printed(self) -> str:
        """Everything it printed."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def _healthy(self) -> Any:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"the memory service ended with {self.process.returncode}\n{self.printed()[-3000:]}")
        try:
            return self.get("/health")
        except (urllib.error.URLError, OSError):
            return None
