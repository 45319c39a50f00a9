"""Search over memories and raw turns: lexical, dense, fused; never an error, never a wait."""

from .documents import Corpus, Document, Hit, Kind, Mode
from .retriever import Retriever
from .settings import RetrievalSettings

__all__ = ["Corpus", "Document", "Hit", "Kind", "Mode", "RetrievalSettings", "Retriever"]
