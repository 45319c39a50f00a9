"""How many tokens a text has, by a real tokenizer (cl100k_base), loaded on first use and never from the network."""

from __future__ import annotations

import importlib.util
import logging
import math
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken

_VOCABULARY = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"  # as tiktoken names the file of cl100k_base in a cache
_log = logging.getLogger(__name__)


def count(text: str) -> int:
    """Tokens of a text; without the vocabulary a guess that is rather too high, in any script."""
    encoding = _encoding()
    if encoding is None:
        return _guess(text)
    return len(encoding.encode(text, disallowed_special=()))


def _guess(text: str) -> int:
    narrow = sum(mark.isascii() for mark in text)
    wide = sum(mark >= "\u2e80" for mark in text)
    return math.ceil(narrow / 3 + (len(text) - narrow - wide) * 0.8 + wide * 1.6)


@cache
def _encoding() -> tiktoken.Encoding | None:
    folder = _folder()
    if folder is None or importlib.util.find_spec("tiktoken") is None:
        _log.warning("tokens are estimated: there is no tokenizer (`pip install litellm tiktoken`)")
        return None
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


def _folder() -> Path | None:
    """litellm ships the vocabulary that tiktoken would otherwise fetch from the network."""
    spec = importlib.util.find_spec("litellm")
    places = list(spec.submodule_search_locations or ()) if spec else []
    folders = [Path(place) / "litellm_core_utils" / "tokenizers" for place in places]
    return next((folder for folder in folders if (folder / _VOCABULARY).exists()), None)
