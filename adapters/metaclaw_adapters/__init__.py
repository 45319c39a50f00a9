"""The claws: how each agent is pointed at the gateway, and given back as it was.

Names are loaded on first use: the rest of MetaClaw writes its files through this package and needs no claw for that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import NO_KEY, Adapter, ChangeSet, Endpoint, Finding, Installation, Outcome, State
    from .commands import Command, Completed, run
    from .errors import AdapterError, CommandFailed, Interfered, NotEditable, Refused, Unreadable
    from .registry import adapters
    from .wiring import Wiring

__all__ = [
    "NO_KEY",
    "Adapter",
    "AdapterError",
    "ChangeSet",
    "Command",
    "CommandFailed",
    "Completed",
    "Endpoint",
    "Finding",
    "Installation",
    "Interfered",
    "NotEditable",
    "Outcome",
    "Refused",
    "State",
    "Unreadable",
    "Wiring",
    "adapters",
    "run",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in ("base", "commands", "errors", "registry", "wiring"):
            found = getattr(importlib.import_module(f".{module}", __name__), name, None)
            if found is not None:
                return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
