"""The results as a Markdown table."""

from __future__ import annotations

from typing import Any

COLUMNS = (
    # heading, figure, less the direct call's, digits
    ("added p50, 1 client (ms)", "p50_c1_ms", True, 2),
    ("added p99 (ms)", "p99_c1_ms", True, 2),
    ("p50 / p99, 16 clients (ms)", ("p50_c16_ms", "p99_c16_ms"), False, 1),
    ("p50 / p99, 64 clients (ms)", ("p50_c64_ms", "p99_c64_ms"), False, 1),
    ("requests/s on one core", "rate_per_core", False, 0),
    ("CPU a request (µs)", "cpu_us_c16", False, 0),
    ("128 KB added (ms)", "p50_128k_ms", True, 2),
    ("1 MB added (ms)", "p50_1m_ms", True, 1),
    ("first byte after (ms)", "first_byte_ms", True, 2),
    ("CPU a burst chunk (µs)", "burst_cpu_us", False, 1),
    ("CPU a paced chunk (µs)", "paced_cpu_us", False, 0),
    ("64 streams, 2.00 s ideal (s)", "streams64_s", False, 2),
    ("cold start (s)", "cold_start_s", False, 2),
    ("RSS idle / loaded / 10,000 turns (MiB)", ("rss_idle_mib", "rss_loaded_mib", "rss_soaked_mib"), False, 0),
)


def render(found: dict[str, Any]) -> str:
    """One row a contender; what could not be measured below."""
    results = found["results"]
    direct = results.get("direct", {})
    lines = ["| | " + " | ".join(column[0] for column in COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, figures in results.items():
        cells = [_cell(figures, direct, *column[1:]) for column in COLUMNS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += [f"\n{name}: not measured. {reason}" for name, reason in found["absent"].items()]
    failed = {name: sum(v for k, v in figures.items() if "failed" in k) for name, figures in results.items()}
    lines += [f"\n{name}: {count:.0f} answers were no success" for name, count in failed.items() if count]
    return "\n".join(lines)


def _cell(
    figures: dict[str, float], direct: dict[str, float], name: str | tuple[str, ...], less: bool, digits: int
) -> str:
    names = (name,) if isinstance(name, str) else name
    values = [figures[one] - (direct.get(one, 0.0) if less else 0.0) if one in figures else None for one in names]
    return " / ".join("–" if value is None else f"{value:,.{digits}f}" for value in values)
