"""Context windows by model name, from the table that litellm ships; read as a file, without importing litellm."""

from __future__ import annotations

import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

_FILE = "model_prices_and_context_window_backup.json"
_NAMES = MappingProxyType(
    {"kimi": "moonshot", "qwen": "dashscope", "lmstudio": "lm_studio", "openai-codex": "openai"}
)  # litellm's name of a provider where it is not ours
_DATE = re.compile(r"[-@](?:\d{8}|\d{6}|\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True, slots=True)
class _Table:
    by_name: Mapping[str, int]
    by_last: Mapping[str, int]  # by what follows the last slash: the window that most sellers give it


def window(provider: str, model: str) -> int:
    """Tokens the model reads at once, 0 when the table doesn't know it. Reads a file: call it in a thread."""
    table = _table()
    for name in _variants(model.lower()):
        for key in (f"{_NAMES.get(provider, provider)}/{name}", name):
            if key in table.by_name:
                return table.by_name[key]
        if found := table.by_last.get(name.rpartition("/")[2]):
            return found
    return 0


def _variants(model: str) -> Iterator[str]:
    """The name, then without what marks an edition of the same model: `:free`, a date."""
    seen = [model]
    seen.append(seen[-1].split(":")[0])
    seen.append(_DATE.sub("", seen[-1]))
    yield from dict.fromkeys(name for name in seen if name)


@lru_cache(maxsize=1)
def _table() -> _Table:
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        return _Table({}, {})
    try:
        raw = json.loads((Path(spec.origin).parent / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return _Table({}, {})
    by_name = {
        name.lower(): tokens
        for name, entry in raw.items()
        if isinstance(entry, dict) and isinstance(tokens := entry.get("max_input_tokens"), int) and tokens > 0
    }
    last: dict[str, Counter[int]] = {}
    for name, tokens in by_name.items():
        last.setdefault(name.rpartition("/")[2], Counter())[tokens] += 1
    return _Table(by_name, {name: _usual(counts) for name, counts in last.items()})


def _usual(counts: Counter[int]) -> int:
    """The most frequent; of equals the smallest, which overflows nothing."""
    return min(counts, key=lambda tokens: (-counts[tokens], tokens))
