"""The index for large scopes, against real vector stores."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metaclaw_sidecar.retrieval import RetrievalSettings, Retriever
from metaclaw_sidecar.retrieval.vector_index import IndexUnavailable, VectorIndex

from .corpora import MemoryCorpus, embedding_endpoint, memory, settled, wait_for

pytest.importorskip("mem0")
pytest.importorskip("chromadb")


@pytest.fixture(params=["chroma", "chroma-server", "qdrant"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    options: dict[str, Any] = {}
    server = None
    if request.param == "chroma-server":
        server, port = chroma_server(tmp_path)
        options = {"host": "127.0.0.1", "port": port}
    elif request.param == "qdrant":
        pytest.importorskip("qdrant_client")
        options = {"path": str(tmp_path / "qdrant"), "on_disk": True}
    opened = VectorIndex(RetrievalSettings(directory=tmp_path / "index", store=request.param, store_options=options))
    yield opened
    opened.close()
    if server is not None:
        server.terminate()
        server.wait(20)


def chroma_server(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(Path(sys.executable).with_name("chroma")), "run", "--path", str(folder / "server")]
    server = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], stdout=subprocess.DEVNULL)

    def answers() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    wait_for(answers)
    return server, port


def test_the_nearest_come_with_their_centred_cosine(index: VectorIndex) -> None:
    generator = np.random.default_rng(3)
    vectors = generator.normal(size=(60, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    reference, query = vectors[:20].mean(axis=0), vectors[7]
    named = {f"doc {n}": vector for n, vector in enumerate(vectors)}
    index.put("ann", "m", reference, named)
    index.put("ann", "m", reference, {"doc 3": vectors[3]})
    index.put("bob", "m", reference, {"his": query})
    found = index.search("ann", "m", reference, query, 5)
    centred = vectors - reference
    asked = (query - reference) / np.linalg.norm(query - reference)
    cosines = centred @ asked / np.linalg.norm(centred, axis=1)
    best = np.argsort(-cosines)[:5]
    assert list(found) == [f"doc {n}" for n in best]
    np.testing.assert_allclose(list(found.values()), cosines[best], atol=1e-3)
    index.remove("ann", "m", 8, ["doc 7", "unknown"])
    assert "doc 7" not in index.search("ann", "m", reference, query, 5)
    index.drop("ann", "m", 8)
    assert index.search("ann", "m", reference, query, 5) == {}


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    settings = RetrievalSettings(directory=tmp_path / "index")
    first = VectorIndex(settings)
    with pytest.raises(IndexUnavailable, match="another process"):
        VectorIndex(settings)
    first.close()
    VectorIndex(settings).close()


def test_a_scope_that_outgrows_exact_search_is_found_through_the_index(tmp_path: Path) -> None:
    kitten, others = memory("Tom got a kitten"), [memory(f"The vehicle is number {n}") for n in range(6)]
    with embedding_endpoint() as endpoint:
        settings = RetrievalSettings(
            directory=tmp_path / "index",
            embedder="openai/first",
            embedder_url=endpoint.url,
            embedder_key="sk-test",
            exact_limit=4,
            deadline=10.0,
        )
        retriever = Retriever(MemoryCorpus(kitten, *others), settings)
        retriever.warm("ann")
        wait_for(lambda: settled(retriever))
        assert retriever.status()["indexed_scopes"] == 1
        assert [hit.id for hit in retriever.search("any pet?", "ann", 1)] == [kitten.id]
        retriever.changed("ann", [memory("A new cat came")], [kitten.id])
        wait_for(lambda: settled(retriever))
        assert [hit.id for hit in retriever.search("any pet?", "ann", 1)] == [memory("A new cat came").id]
        assert retriever.status()["failures"] == 0
        retriever.close()
