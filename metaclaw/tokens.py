"""How many tokens a text has: the one way to count, by a real tokenizer (cl100k_base), right for any language.

The tokenizer takes 45 MB, so a process that wants to stay small counts through `count_apart`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tiktoken


def count(text: str) -> int:
    """Tokens of a text."""
    return len(_encoding().encode(text, disallowed_special=()))


async def count_apart(texts: Sequence[str], *, timeout: float = 60.0) -> list[int]:
    """Tokens of each text, counted in a process of its own. Raises RuntimeError when that fails."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "metaclaw.tokens", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(timeout):
            output, _ = await process.communicate(json.dumps(list(texts)).encode())
    except (TimeoutError, asyncio.CancelledError):
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError(f"counting tokens ended with exit code {process.returncode}")
    return [int(n) for n in json.loads(output)]


@cache
def _encoding() -> tiktoken.Encoding:
    # litellm ships the vocabulary that tiktoken would otherwise fetch from the network.
    spec = importlib.util.find_spec("litellm")
    for place in spec.submodule_search_locations or () if spec else ():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(place) / "litellm_core_utils" / "tokenizers"))
    import tiktoken

    return tiktoken.get_encoding("cl100k_base")


if __name__ == "__main__":
    json.dump([count(text) for text in json.load(sys.stdin)], sys.stdout)
