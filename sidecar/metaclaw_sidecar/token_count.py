"""How many tokens a text has, by a real tokenizer (cl100k_base), loaded on first use."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken


def count(text: str) -> int:
    """Tokens of a text."""
    return len(_encoding().encode(text, disallowed_special=()))


@cache
def _encoding() -> tiktoken.Encoding:
    # litellm ships the vocabulary that tiktoken would otherwise fetch from the network.
    spec = importlib.util.find_spec("litellm")
    for place in spec.submodule_search_locations or () if spec else ():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(place) / "litellm_core_utils" / "tokenizers"))
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")
