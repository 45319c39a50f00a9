"""Memory as the gateway sees it: the sidecar beside it, a client of it, and what is handed in.

MemoryDown
"""

from metaclaw.memory.client import MemoryClient, MemoryDown, Place
from metaclaw.memory.feeder import Feeder
from metaclaw.memory.keeper import Keeper

__all__ = ["Feeder", "Keeper", "MemoryClient", "MemoryDown", "Place"]
