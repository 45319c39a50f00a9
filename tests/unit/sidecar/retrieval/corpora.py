"""A corpus in memory that keeps its promises, and an embeddings endpoint on loopback."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

from metaclaw_sidecar.retrieval import Document, Retriever


class MemoryCorpus:
    """Documents and vectors of some scopes."""

    def __init__(self, *documents: Document) -> None:
        self.by_scope: dict[str, dict[str, Document]] = defaultdict(dict)
        self.stored: dict[tuple[str, str], dict[str, bytes]] = defaultdict(dict)
        for document in documents:
            self.by_scope[document.scope_id][document.id] = document

    def documents(self, scope_id: str) -> Iterable[Document]:
        return list(self.by_scope[scope_id].values())

    def models(self, scope_id: str) -> Mapping[str, int]:
        return {model: len(rows) for (scope, model), rows in self.stored.items() if scope == scope_id and rows}

    def vectors(self, scope_id: str, model: str) -> Mapping[str, bytes]:
        return dict(self.stored[scope_id, model])

    def put_vectors(self, scope_id: str, model: str, dim: int, vectors: Mapping[str, bytes]) -> None:
        assert all(len(row) == 4 * dim for row in vectors.values())
        known = self.by_scope[scope_id]
        self.stored[scope_id, model].update({key: row for key, row in vectors.items() if key in known})

    def drop_vectors(self, scope_id: str, model: str) -> None:
        self.stored.pop((scope_id, model), None)


def memory(text: str, scope_id: str = "ann", at: float = 0.0) -> Document:
    """A memory that stands alone."""
    return Document(f"m-{hashlib.sha256(text.encode()).hexdigest()[:8]}", scope_id, text, "memory", at)


def talk(*texts: str, scope_id: str = "ann", session_id: str = "s1", at: float = 0.0) -> list[Document]:
    """Consecutive turns of one session, with ids t0, t1, …"""
    return [Document(f"{session_id}-t{n}", scope_id, t, "turn", at, session_id, n) for n, t in enumerate(texts)]


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Until it holds; the test fails when it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def settled(retriever: Retriever) -> bool:
    """Whether everything is loaded and embedded."""
    status = retriever.status()
    return bool(status["dense"]) and status["loading"] == 0 and status["embedding"] == 0


# Words that mean the same, for the endpoint's vectors.
_SUBJECTS = {"cat": 0, "kitten": 0, "pet": 0, "car": 1, "vehicle": 1, "engine": 1, "bread": 2, "bakery": 2, "loaf": 2}


class EmbeddingEndpoint:
    """Speaks OpenAI's embeddings protocol; texts on the same subject lie close together."""

    def __init__(self, dim: int = 16) -> None:
        self.dim = dim
        self.open = threading.Event()
        self.open.set()
        self.requests = 0
        self.url = ""

    def vector(self, text: str) -> list[float]:
        row = np.full(self.dim, 0.01)
        for word in text.lower().replace("?", " ").replace(".", " ").split():
            if word in _SUBJECTS:
                row[_SUBJECTS[word]] += 1
        return list(row / np.linalg.norm(row))


@contextmanager
def embedding_endpoint(dim: int = 16) -> Iterator[EmbeddingEndpoint]:
    """A running endpoint; it answers only while `open` is set."""
    endpoint = EmbeddingEndpoint(dim)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            endpoint.requests += 1
            endpoint.open.wait(60)
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            data = [{"object": "embedding", "index": n, "embedding": endpoint.vector(t)} for n, t in enumerate(texts)]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            body = json.dumps({"object": "list", "model": asked["model"], "data": data, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Be quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.open.set()
        server.shutdown()
        server.server_close()
