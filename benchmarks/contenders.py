"""Who is measured: how each is started in front of the origin. One that is not installed says so and is left out.

`python -m benchmarks.contenders install` puts the two programs with environments of their own into the tools folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests import tools

ROOT = Path(__file__).resolve().parent.parent
PEERS = {"litellm": ["litellm[proxy]==1.108.7"], "aiming": ["aiming-metaclaw==0.4.1.2", "openai", "torch"]}
KEY = "sk-benchmark-0123456789abcdef0123456789abcdef"


class Absent(Exception):
    """A contender is not installed here; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a contender is started: a folder of its own, its port, the origin's port."""

    folder: Path
    port: int
    origin: int

    @property
    def upstream(self) -> str:
        """The origin's base URL."""
        return f"http://127.0.0.1:{self.origin}/v1"

    def write(self, name: str, text: str) -> Path:
        """Write a file there."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


@dataclass(frozen=True, slots=True)
class Launch:
    """A command, and how it is talked to."""

    command: list[str]
    env: Mapping[str, str] = field(default_factory=dict)
    ready: str = "/healthz"
    headers: Mapping[str, str] = field(default_factory=dict)
    streams: bool = True


@dataclass(frozen=True, slots=True)
class Contender:
    """One row of the table."""

    name: str
    launch: Callable[[Place], Launch] | None  # None: the origin itself
    turns: bool = False  # measured with main turns of growing conversations
    seconds: float = 1.0  # the share of the usual time it is measured for


def clean(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which a program finds no agent of this machine."""
    return {"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **more}


def nginx(place: Place) -> Launch:
    """One worker, buffering off."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if not program:
        raise Absent("nginx is not installed (Debian: apt-get install nginx-light)")
    text = f"""
        worker_processes 1; daemon off; pid {place.folder}/pid; error_log {place.folder}/error.log;
        events {{ worker_connections 1024; }}
        http {{
            access_log off; client_max_body_size 64m; client_body_buffer_size 4m;
            client_body_temp_path {place.folder}/body; proxy_temp_path {place.folder}/proxy;
            fastcgi_temp_path {place.folder}/f; uwsgi_temp_path {place.folder}/u; scgi_temp_path {place.folder}/s;
            keepalive_requests 1000000000;
            upstream origin {{ server 127.0.0.1:{place.origin}; keepalive 256; keepalive_requests 1000000000; }}
            server {{
                listen 127.0.0.1:{place.port};
                location = /healthz {{ return 200; }}
                location / {{
                    proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
                    proxy_buffering off; proxy_request_buffering off;
                }}
            }}
        }}
    """
    return Launch([program, "-c", str(place.write("nginx.conf", text)), "-p", str(place.folder)])


def fastapi_httpx(place: Place) -> Launch:
    """The smallest usual Python proxy."""
    command = [sys.executable, "-m", "uvicorn", "benchmarks.passthrough:app", "--port", str(place.port)]
    env = {**clean(place.folder), "ORIGIN": f"http://127.0.0.1:{place.origin}", "PYTHONPATH": str(ROOT)}
    return Launch([*command, "--no-access-log", "--log-level", "warning"], env, ready="/openapi.json")


def litellm(place: Place) -> Launch:
    """litellm's proxy server."""
    program = peer("litellm") / "litellm"
    config = f"""
model_list:
  - model_name: "*"
    litellm_params: {{model: "hosted_vllm/*", api_base: "{place.upstream}", api_key: "{KEY}"}}
general_settings: {{master_key: "{KEY}"}}
"""
    env = clean(place.folder, LITELLM_LOCAL_MODEL_COST_MAP="True", LITELLM_MODE="PRODUCTION", LITELLM_LOG="ERROR")
    command = [str(program), "--config", str(place.write("config.yaml", config)), "--host", "127.0.0.1"]
    command += ["--port", str(place.port), "--num_workers", "1", "--telemetry", "False"]
    return Launch(command, env, ready="/health/liveliness", headers={"Authorization": f"Bearer {KEY}"})


def aiming_metaclaw(place: Place) -> Launch:
    """The public program of the same name."""
    program = peer("aiming") / "metaclaw"
    config = f"""
mode: skills_only
claw_type: none
configure_openclaw: false
llm: {{auth_method: api_key, provider: custom, model_id: whole, api_base: "{place.upstream}", api_key: "{KEY}"}}
proxy: {{port: {place.port}, host: 127.0.0.1}}
skills: {{enabled: true, dir: "{place.folder}/skills", retrieval_mode: template, auto_evolve: false}}
memory: {{enabled: false}}
max_context_tokens: 0
"""
    place.write(".metaclaw/config.yaml", config)
    headers = {"X-Session-Id": "benchmark", "X-Turn-Type": "main"}
    return Launch([str(program), "start"], clean(place.folder), headers=headers, streams=False)


def metaclaw(*, recall: bool) -> Callable[[Place], Launch]:
    """This project: `recall` with 60 skills and a journal, or with nothing to recall."""

    def launch(place: Place) -> Launch:
        config = f"""
mode: skills_only
claw_type: none
llm: {{provider: custom, protocol: chat, api_base: "{place.upstream}", api_key: "{KEY}", model_id: ""}}
proxy: {{port: {place.port}}}
skills: {{enabled: {str(recall).lower()}, auto_evolve: false, retrieval_mode: template, dir: "{place.folder}/skills"}}
"""
        path = place.write("config.yaml", config)
        if recall:
            fill_library(place)
        env = clean(
            place.folder, METACLAW_HOME=str(place.folder), PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring"
        )
        headers = {} if recall else {"X-Turn-Type": "side"}
        return Launch([sys.executable, "-m", "metaclaw.gateway", "--config", str(path)], env, "/readyz", headers)

    return launch


def fill_library(place: Place, total: int = 60) -> None:
    """Add skills of a user to the built-in ones, up to `total`."""
    from metaclaw.skills import Library

    there = len(Library(place.folder / "skills").skills())
    for number in range(total - there):
        text = (
            f"---\nname: house-rule-{number}\ndescription: Use when the monthly report number {number} is due.\n"
            f"category: productivity\n---\n\n# Report {number}\n\n1. Collect the figures of the month.\n"
            "2. Compare them with the month before.\n3. Write three sentences and send them.\n"
        )
        place.write(f"skills/house-rule-{number}/SKILL.md", text)


def peer(name: str) -> Path:
    """The program folder of a peer's environment."""
    programs = tools.folder() / "peers" / name / "bin"
    if not programs.exists():
        raise Absent("not installed: python -m benchmarks.contenders install")
    return programs


CONTENDERS = (
    Contender("direct", None),
    Contender("nginx", nginx),
    Contender("metaclaw, pass-through", metaclaw(recall=False)),
    Contender("metaclaw, main turn", metaclaw(recall=True), turns=True),
    Contender("FastAPI + httpx", fastapi_httpx),
    Contender("litellm proxy 1.108.7", litellm, seconds=0.5),
    Contender("aiming-metaclaw 0.4.1.2", aiming_metaclaw, seconds=0.5),
)


def install() -> None:
    """Fetch the peers, each into an environment of its own."""
    for name, packages in PEERS.items():
        folder = tools.folder() / "peers" / name
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *packages], check=True)


if __name__ == "__main__" and sys.argv[1:] == ["install"]:
    os.umask(0o022)
    install()
