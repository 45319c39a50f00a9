"""A gateway on a real socket, in this process, over a scripted upstream."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from metaclaw.config import Loaded, Settings
from metaclaw.gateway.app import build_app
from metaclaw.gateway.services import Services
from tests.conftest import unused_port
from tests.scripted_upstream import ScriptedUpstream

JSON = {"content-type": "application/json"}


class RunningGateway:
    """One gateway: `client` talks to it, `services` is what it holds."""

    def __init__(self, home: Path, settings: Settings) -> None:
        self.services = Services(Loaded(settings, home / "config.yaml", False, {}), "run-token")
        self.url = f"http://127.0.0.1:{settings.proxy.port}"
        config = uvicorn.Config(
            build_app(self.services),
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
        )
        config.port = settings.proxy.port
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self.client = httpx.Client(base_url=self.url, timeout=20, trust_env=False)

    def start(self) -> RunningGateway:
        self._thread.start()
        until(lambda: self._server.started and not self.services.waiting_for())
        return self

    def stop(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join(20)

    def chat(
        self, messages: list[dict[str, Any]], headers: dict[str, str] | None = None, **fields: Any
    ) -> httpx.Response:
        body = {"model": "any", "messages": messages, **fields}
        return self.client.post("/v1/chat/completions", json=body, headers=headers)

    def session(self, session_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.client.get(f"/v1/sessions/{session_id}").json()
        return found

    def turns(self, session_id: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.get(f"/v1/sessions/{session_id}/turns").json()["data"]
        return found


def until(condition: Callable[[], object], timeout: float = 20) -> None:
    """Wait for something that another thread brings about."""
    ready = threading.Event()
    for _ in range(int(timeout / 0.01)):
        if condition():
            return
        ready.wait(0.01)
    raise AssertionError("it did not happen in time")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("METACLAW_HOME", str(folder))
    return folder


@pytest.fixture
def gateway(home: Path, upstream: ScriptedUpstream) -> Iterator[Callable[..., RunningGateway]]:
    """Starts gateways; settings are given by section, e.g. `gateway(proxy={"api_key": "sk-..."})`."""
    running: list[RunningGateway] = []

    def start(**sections: Any) -> RunningGateway:
        llm = {"provider": "custom", "api_base": upstream.url, "model_id": "upstream-model", "api_key": "sk-upstream"}
        values: dict[str, Any] = {
            **sections,
            "mode": "skills_only",
            "llm": {**llm, "retries": 0, **sections.get("llm", {})},
            "proxy": {"port": unused_port(), **sections.get("proxy", {})},
            "skills": {"auto_evolve": False, "retrieval_mode": "template", **sections.get("skills", {})},
        }
        one = RunningGateway(home, Settings.model_validate(values)).start()
        running.append(one)
        return one

    yield start
    for one in running:
        one.stop()


@pytest.fixture
def staging_skill(home: Path) -> str:
    """A skill in the user's library; returns a line of its body."""
    folder = home / "skills" / "deploy-staging"
    folder.mkdir(parents=True)
    line = "Tag the image with the commit hash, never latest."
    text = f"---\nname: deploy-staging\ndescription: Use when deploying the shop service to staging.\n---\n{line}\n"
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return line


def run(work: Any) -> Any:
    """Run a coroutine to its end."""
    return asyncio.run(work)
