"""The memory as an MCP client has it: on standard input and output, and over streamable HTTP, by the official SDK."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import unused_port
from tests.e2e.memory_service import MemoryService
from tests.e2e.waiting import until

pytest.importorskip("numpy")
mcp = pytest.importorskip("mcp")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[MemoryService]:
    made = MemoryService(tmp_path / "memory", unused_port())
    yield made
    made.stop()


def stdio(service: MemoryService, *arguments: str) -> Any:
    """A client of `metaclaw-sidecar mcp` for this folder."""
    command = ["-m", "metaclaw_sidecar", "mcp", *arguments]
    return mcp.Client(mcp.StdioServerParameters(command=sys.executable, args=command, env=service.env))


async def call(client: Any, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    text = "".join(part.text for part in answer.content)
    assert not answer.is_error, text
    return text


async def test_alone_it_is_the_service_and_a_second_client_works_through_the_first(service: MemoryService) -> None:
    async with stdio(service) as first:
        assert {tool.name for tool in (await first.list_tools()).tools} == {
            "memory_search", "memory_store", "memory_forget", "memory_status",
        }  # fmt: skip
        stored = json.loads(await call(first, "memory_store", content="The user's boat is called Minna."))
        async with stdio(service) as second:
            found = await call(second, "memory_search", query="what is the boat called")
            assert stored["memory_id"] in found
            assert found.startswith("<metaclaw-memory>\n")
            receipt = json.loads(await call(second, "memory_forget", memory_id=stored["memory_id"]))
            assert receipt["memories"] == [stored["memory_id"]]
        assert await call(first, "memory_search", query="what is the boat called") == "Nothing found."
        status = json.loads(await call(first, "memory_status"))
        assert (status["scope_id"], status["active"], status["search"]) == ("default", 0, "lexical")
    assert not (service.folder / "run" / "sidecar.json").exists()


def test_told_to_stop_it_ends_though_its_input_is_open(service: MemoryService) -> None:
    command = [sys.executable, "-m", "metaclaw_sidecar", "mcp"]
    process = subprocess.Popen(command, env=service.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    until(lambda: (service.folder / "run" / "sidecar.json").exists(), "the run file")
    until(lambda: service.get("/health"), "the service to answer")
    process.terminate()
    assert process.wait(30) == 0
    assert not (service.folder / "run" / "sidecar.json").exists()


async def test_beside_a_running_service_both_see_the_same(service: MemoryService) -> None:
    service.start()
    async with stdio(service, "--scope", "user:ann") as client:
        await call(client, "memory_store", content="Ann keeps bees.", memory_type="preference", tags=["hobby"])
        held = service.get("/memories?scope_id=user:ann")["memories"]
        assert [(one["content"], one["memory_type"], one["tags"]) for one in held] == [
            ("Ann keeps bees.", "preference", ["hobby"])
        ]
        service.post("/store", content="Nobody keeps wasps.")
        assert await call(client, "memory_search", query="wasps") == "Nothing found."
        service.stop()
        answer = await client.call_tool("memory_search", {"query": "bees"})
        assert answer.is_error
        assert "start" in answer.content[0].text
        service.start()
        assert "Ann keeps bees." in await call(client, "memory_search", query="bees")


async def test_a_wrong_argument_is_told_to_the_model(service: MemoryService) -> None:
    service.start()
    async with mcp.Client(f"{service.url}/mcp") as client:
        for tool, arguments in (
            ("memory_forget", {"memory_id": "mem_0"}),
            ("memory_store", {"content": "x", "memory_type": "opinion"}),
            ("memory_search", {}),
        ):
            assert (await client.call_tool(tool, arguments)).is_error


async def test_over_http_the_scope_comes_with_the_connection_and_survives_a_restart(service: MemoryService) -> None:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    service.start()

    def connected(scope: httpx2.AsyncClient) -> Any:
        return mcp.Client(streamable_http_client(f"{service.url}/mcp", http_client=scope))

    async with httpx2.AsyncClient(headers={"x-memory-scope": "user:ann"}) as ann, connected(ann) as client:
        await call(client, "memory_store", content="Ann keeps bees.")
        service.kill()
        service.start()
        assert "bees" in await call(client, "memory_search", query="bees")
    async with mcp.Client(f"{service.url}/mcp") as other:
        assert await call(other, "memory_search", query="bees") == "Nothing found."
    async with httpx2.AsyncClient(headers={"x-memory-scope": "user:*"}) as wild, connected(wild) as client:
        assert (await client.call_tool("memory_search", {"query": "bees"})).is_error
