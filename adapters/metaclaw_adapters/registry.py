"""Which claws MetaClaw knows: its own adapters, and those that installed packages add."""

from __future__ import annotations

import importlib
from importlib.metadata import entry_points
from typing import Final

from .base import Adapter

GROUP: Final = "metaclaw.adapters"
_BUILT_IN: Final = {
    "hermes": "metaclaw_adapters.hermes:Hermes",
    "nanobot": "metaclaw_adapters.nanobot:Nanobot",
    "openclaw": "metaclaw_adapters.openclaw:OpenClaw",
}


def adapters() -> dict[str, Adapter]:
    """Every adapter by its claw's name. A package's entry point comes before a built-in of the same name."""
    found: dict[str, Adapter] = {}
    for name, target in _BUILT_IN.items():
        module, _, cls = target.partition(":")
        found[name] = getattr(importlib.import_module(module), cls)()
    for point in entry_points(group=GROUP):
        if point.value != _BUILT_IN.get(point.name):
            found[point.name] = point.load()()
    return found
