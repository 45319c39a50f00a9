"""The memory service without its wire: one object that owns the store, retrieval and the extraction worker."""

from .access import Access
from .curation import Curation, NewMemory
from .intake import BufferedTurn, Flushed, Ingested, Intake, Said
from .recall import Found, Recall, Recalled
from .service import Service
from .upkeep import Upkeep

__all__ = [
    "Access",
    "BufferedTurn",
    "Curation",
    "Flushed",
    "Found",
    "Ingested",
    "Intake",
    "NewMemory",
    "Recall",
    "Recalled",
    "Said",
    "Service",
    "Upkeep",
]
