"""Lets the real mem0 draw facts from messages, in memory only: `python -m metaclaw_sidecar.extraction.mem0_child`.

mem0 keeps messages and texts in a history database, reads every user's memories for the id `*`, reports home, fills an
entity store that makes writes take seconds, and takes a broken answer of its model for "nothing to remember". Here it
lives for one call with an empty memory of its own: there is nothing to leak, and what its model says is checked before
mem0 sees it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ExtractionError
from . import child
from .model import parse

_PERSON = "person"
_SIZE = 256
_WORD = re.compile(r"\w+")


def main() -> None:
    """Read `{messages, known, instructions, max_tokens, endpoint | command}`, write `{facts, usage}` or `{reason}`."""
    child.step_back()
    asked = json.loads(sys.stdin.buffer.read())
    answer_to, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not get into the answer
    with tempfile.TemporaryDirectory() as home:
        # Read when mem0 is imported.
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": home, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        json.dump(_answer(asked), answer_to)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    llm = CheckedLlm(asked)
    try:
        memory = _memory(llm)
        _seed(memory, asked["known"])
        done = memory.add(asked["messages"], user_id=_PERSON, prompt=asked["instructions"])
        facts = [_fact(memory, one) for one in done["results"]]
    except Exception as error:  # mem0 wraps what its model did; that is what is told
        return llm.failure or {"reason": "failed", "message": f"mem0: {type(error).__name__}: {str(error)[:200]}"}
    # An answer that mem0 passed over is a failure here, not "nothing to remember".
    return llm.failure or {"facts": facts, "usage": llm.usage}


class CheckedLlm:
    """Our way to the model in the place of mem0's, which knows neither key nor address for litellm."""

    config = None

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        self.failure: dict[str, Any] = {}
        self.usage: dict[str, int] = {}

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_: Any) -> str:
        """The model's answer, if it is whole and has a list of memories."""
        shape = {"type": "object", "required": ["memory"], "properties": {"memory": {"type": "array"}}}
        request = {
            "messages": list(messages), "schema": shape, "max_tokens": self._asked["max_tokens"],
            "purpose": "memory_extraction",
        }  # fmt: skip
        answer = self._ask(request)
        if "reason" not in answer:
            for name, count in (answer.get("usage") or {}).items():
                self.usage[name] = self.usage.get(name, 0) + int(count)
            answer = _checked(str(answer.get("text", "")))
        if "reason" in answer:
            self.failure = answer
            raise ExtractionError(str(answer["reason"]))
        return str(answer["text"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if not self._asked["command"]:
            return child.answer(request | {"endpoint": self._asked["endpoint"]})
        done = subprocess.run(
            self._asked["command"], input=json.dumps(request).encode(), stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, timeout=self._asked["timeout"], check=False,
        )  # fmt: skip
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            return {"reason": "failed", "message": f"the extraction program ended with exit code {done.returncode}"}


def _checked(text: str) -> dict[str, Any]:
    try:
        value = parse(text)
    except ExtractionError as error:
        return {"reason": "malformed", "message": str(error)}
    if not isinstance(value, dict) or not isinstance(value.get("memory"), list):
        return {"reason": "malformed", "message": "the model's answer has no list of memories"}
    return {"text": json.dumps(value, ensure_ascii=False)}


class WordVectors:
    """Enough of an embedder for mem0 to pick which known memories its prompt shows."""

    config = None

    def embed(self, text: str, *_: Any) -> list[float]:
        """Words, hashed into a vector of unit length."""
        vector = [0.0] * _SIZE
        for word in _WORD.findall(text.casefold()) or [text]:
            vector[
                int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=2).digest()) % _SIZE
            ] += 1
        length = sum(value * value for value in vector) ** 0.5 or 1.0
        return [value / length for value in vector]

    def embed_batch(self, texts: Sequence[str], *_: Any) -> list[list[float]]:
        """The same for many."""
        return [self.embed(text) for text in texts]


def _memory(llm: CheckedLlm) -> Any:
    from mem0 import Memory  # type: ignore[import-untyped]
    from qdrant_client import QdrantClient

    unused = {"provider": "openai", "config": {"api_key": "none"}}
    store = {"client": QdrantClient(":memory:"), "collection_name": "known", "embedding_model_dims": _SIZE}
    config = {
        "vector_store": {"provider": "qdrant", "config": store}, "llm": unused, "embedder": unused,
        "history_db_path": ":memory:",
    }  # fmt: skip
    memory = Memory.from_config(config)
    memory.llm, memory.embedding_model = llm, WordVectors()
    memory._link_entities_for_memory = _nothing  # the entity store stays off
    return memory


def _nothing(*_: Any, **__: Any) -> None:
    """What the entity store does here."""


def _seed(memory: Any, known: Sequence[str]) -> None:
    """Let mem0 know what is remembered, so that it does not say it again."""
    if not known:
        return
    import uuid

    payloads = [{"data": text, "hash": hashlib.md5(text.encode()).hexdigest(), "user_id": _PERSON} for text in known]  # noqa: S324
    ids = [str(uuid.uuid4()) for _ in known]
    memory.vector_store.insert(vectors=memory.embedding_model.embed_batch(known), ids=ids, payloads=payloads)


def _fact(memory: Any, added: Mapping[str, Any]) -> dict[str, str]:
    held = memory.vector_store.get(added["id"])
    said_by = (held.payload or {}).get("attributed_to", "") if held else ""
    return {"text": str(added["memory"]), "said_by": str(said_by)}


if __name__ == "__main__":
    main()
