"""Real programs around the gateway: OpenClaw, and MetaClaw as its user has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import tools
from tests.conftest import unused_port
from tests.e2e.plugin import pack
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import ScriptedUpstream

PLAIN = """\
mode: skills_only
claw_type: none
llm:
  provider: custom
  protocol: {protocol}
  api_base: {base_url}
  api_key: sk-upstream-key
  model_id: ""
proxy:
  port: {port}
skills:
  enabled: false
  auto_evolve: false
"""


@pytest.fixture(scope="session")
def openclaw_tools() -> None:
    """Skip where the real OpenClaw is not installed."""
    if not tools.openclaw().exists():
        pytest.skip(f"OpenClaw is not in {tools.folder()}: make tools")


@pytest.fixture(scope="module")
def provider() -> Iterator[ScriptedUpstream]:
    """One scripted provider for a module's tests; like many, it doesn't tell its models' context windows."""
    with ScriptedUpstream(context_length=0) as server:
        yield server


@pytest.fixture(scope="module", params=["chat"])
def plain_gateway(
    provider: ScriptedUpstream, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[MetaClaw]:
    """A gateway that has nothing to recall, in front of the scripted provider."""
    metaclaw = MetaClaw(tmp_path_factory.mktemp("metaclaw"), unused_port())
    values = {"protocol": request.param, "base_url": provider.base_url, "port": metaclaw.port}
    metaclaw.configure(PLAIN.format(**values))
    metaclaw.start_gateway()
    yield metaclaw
    metaclaw.stop_gateway()


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, openclaw_tools: None) -> Path:
    """The folder with the archives, built as `make plugin` does, without the wheel."""
    if not (tools.PLUGIN / "node_modules").exists():
        pytest.skip("the plugin's compiler is not installed: make tools")
    return pack(tmp_path_factory.mktemp("dist"))
