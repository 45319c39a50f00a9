"""What a gateway costs: this one and others, side by side in one run.

`python -m benchmarks.gateway [--only NAME …] [--seconds 3] [--rounds 1] [--json FILE]`. The contender has core 1, load
and origin share core 0. `added` is the contender's figure less the direct call's of the same run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from benchmarks import load
from benchmarks.contenders import CONTENDERS, Absent, Contender
from benchmarks.running import LOAD_CORE, Running, origin, pin, started
from benchmarks.table import render
from benchmarks.traffic import PATH, conversations, sized

Figures = dict[str, float]


@dataclass
class Bench:
    """One contender under measurement."""

    contender: Contender
    running: Running
    seconds: float
    soak: int = 0  # main turns in all, after which memory is looked at again
    asked: int = 0

    async def measure(self) -> Figures:
        """Every figure, cheapest first."""
        figures: Figures = {"cold_start_s": self.running.cold_start}
        await self.run(1, seconds=0.5)
        if self.contender.turns:  # recall's lazy parts are part of what is idle
            await asyncio.sleep(0.2)
        figures["rss_idle_mib"] = self.running.rss()
        for clients in (1, 16, 64):
            figures |= await self.latency(clients)
        figures["rate_per_core"] = max(figures[f"rate_c{clients}"] for clients in (1, 16, 64))
        for name, size, most in (("128k", 128 * 1024, 200), ("1m", 2**20, 40)):
            body = sized(self.running.url(PATH), self.headers(), size)
            figures[f"p50_{name}_ms"] = (await load.run(self.running.port, body, 1, seconds=4, most=most)).ms(0.5)
        if self.running.launch.streams:
            figures |= await self.streams()
        figures["rss_loaded_mib"] = self.running.rss()
        if self.contender.turns and self.soak:
            while self.asked < self.soak:
                await self.latency(16)
            figures["rss_soaked_mib"] = self.running.rss()
        return figures

    def headers(self) -> dict[str, str]:
        """What the contender wants to see."""
        return {**self.running.launch.headers}

    async def run(self, clients: int, seconds: float) -> load.Load:
        """The usual request, from so many clients."""
        url = self.running.url(PATH)
        if not self.contender.turns:
            body = sized(url, self.headers(), 2048)
            return await load.run(self.running.port, body, clients, seconds=seconds, most=10**9)
        prepared = conversations(url, self.headers(), int(seconds * 400), f"c{clients}-{time.monotonic_ns()}")
        requests = iter([*prepared])
        gc.collect()
        done = await load.run(self.running.port, requests, clients, seconds=seconds, most=10**9)
        self.asked += len(done.seen)
        return done

    async def latency(self, clients: int) -> Figures:
        """Latency, throughput and CPU a request at a number of clients."""
        before, begun = self.running.cpu(), time.perf_counter()
        done = await self.run(clients, self.seconds)
        cpu, wall = self.running.cpu() - before, time.perf_counter() - begun
        busy = done.rate if cpu <= 0 else len(done.seen) / max(cpu, 1e-9)
        return {
            f"p50_c{clients}_ms": done.ms(0.5),
            f"p99_c{clients}_ms": done.ms(0.99),
            f"rate_c{clients}": done.rate,
            f"rate_cpu_c{clients}": busy,
            f"cpu_us_c{clients}": cpu / max(1, len(done.seen)) * 1e6,
            f"core_share_c{clients}": cpu / wall,
            f"failed_c{clients}": float(done.failed),
        }

    async def streams(self) -> Figures:
        """Chunks at once, chunks in time, and 64 streams beside each other."""
        figures: Figures = {}
        burst, cpu = await self.stream("burst-200", 1, most=60)
        figures["burst_cpu_us"] = cpu / max(1, burst.chunks) * 1e6
        paced, cpu = await self.stream("paced-100-10", 1, most=2)
        figures["first_byte_ms"] = paced.ms(0.5, lambda seen: seen.first)
        paced, cpu = await self.stream("paced-200-10", 16, most=16)
        figures["paced_cpu_us"] = cpu / max(1, paced.chunks) * 1e6
        figures["first_byte_c16_ms"] = paced.ms(0.5, lambda seen: seen.first)
        many, _ = await self.stream("paced-200-10", 64, most=64)
        figures["streams64_s"] = many.ms(0.5) / 1e3
        figures["streams64_failed"] = float(many.failed)
        return figures

    async def stream(self, model: str, clients: int, most: int) -> tuple[load.Load, float]:
        """Streamed answers, and the CPU seconds they took."""
        body = sized(self.running.url(PATH), self.headers(), 2048, model, stream=True)
        before = self.running.cpu()
        done = await load.run(self.running.port, body, clients, seconds=5, most=most, stamped=True)
        return done, self.running.cpu() - before


def measured(contender: Contender, origin_port: int, seconds: float, soak: int) -> Figures:
    """Start, measure, end; of main turns, also see what the journal has."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with started(contender, origin_port, Path(folder)) as running:
            bench = Bench(contender, running, seconds * contender.seconds, soak)
            figures = uvloop.run(bench.measure())
        return figures | (journaled(Path(folder), bench.asked) if contender.turns else {})


def journaled(folder: Path, asked: int) -> Figures:
    """How many of the turns the journal lacks, and into how many something was recalled."""
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite3")) as journal:
        ((turns, recalled),) = journal.execute(
            "SELECT count(*), sum(injected_tokens > 0) FROM calls JOIN sessions ON sessions.id = session_id"
            " WHERE kind = 'main' AND client_id != ''"
        )
    return {
        "turns": float(asked),
        "failed_turns_not_in_journal": float(asked - turns),
        "recalled": float(recalled or 0),
    }


def best(rounds: list[Figures]) -> Figures:
    """The undisturbed value of each figure: the best of the rounds."""
    return {name: (max if name.startswith("rate") else min)(figures[name] for figures in rounds) for name in rounds[0]}


def run(names: list[str], seconds: float, rounds: int, soak: int, say: Callable[[str], None]) -> dict[str, Any]:
    """All contenders, round by round; what is absent is told."""
    chosen = [one for one in CONTENDERS if not names or one.name == "direct" or any(n in one.name for n in names)]
    results: dict[str, list[Figures]] = {}
    absent: dict[str, str] = {}
    with origin() as port:
        for _ in range(rounds):
            for contender in chosen:
                if contender.name in absent:
                    continue
                say(contender.name)
                try:
                    results.setdefault(contender.name, []).append(measured(contender, port, seconds, soak))
                except (Absent, RuntimeError, ConnectionError) as error:
                    absent[contender.name] = str(error)
                    results.pop(contender.name, None)
    machine = {"python": platform.python_version(), "system": platform.platform(), "rounds": rounds}
    return {"machine": machine, "absent": absent, "results": {name: best(r) for name, r in results.items()}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names; the direct call is always measured")
    parser.add_argument("--seconds", type=float, default=3.0, help="time for each number of clients")
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many is kept")
    parser.add_argument("--soak", type=int, default=10_000, help="main turns after which memory is looked at again")
    parser.add_argument("--json", type=Path, help="also write everything there")
    options = parser.parse_args()
    pin(LOAD_CORE)
    found = run(
        options.only, options.seconds, options.rounds, options.soak, lambda name: print(f"… {name}", flush=True)
    )
    print(render(found))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
