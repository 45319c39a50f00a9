"""Asks the extracting model, in a process of its own: the libraries for it take seconds and 200 MB, a call is rare.

The program gets `{messages, schema, max_tokens, purpose}` as JSON on its standard input, with the endpoint beside it
when it is ours, and answers `{text, usage, model}` or `{reason, message}` on its standard output. Nothing secret is
ever an argument.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ExtractionError
from ..settings import LlmSettings

_LIMIT = 16 << 20
_MOST_ROOM = 16_384
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?```\s*$", re.DOTALL)
_PERMANENT = ("refused", "not_configured")


@dataclass(frozen=True, slots=True)
class Reply:
    """A parsed answer; `usage` counts prompt and completion tokens."""

    value: Any
    usage: Mapping[str, int] = field(default_factory=dict)


class Model:
    """The extracting model."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self.calls = 0
        self.tokens = 0

    async def ask(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], *, attempt: int = 1) -> Reply:
        """One answer as a JSON value. Raises ExtractionError; an answer that was cut off is one.

        Each further attempt may answer twice as long as the one before.
        """
        asked: dict[str, Any] = {
            "messages": list(messages), "schema": dict(schema),
            "max_tokens": self.room(attempt), "purpose": "memory_extraction",
        }  # fmt: skip
        command = list(self._settings.command)
        if not command:
            command = [sys.executable, "-m", "metaclaw_sidecar.extraction.child"]
            asked["endpoint"] = self._endpoint()
        answer = await self._run(command, asked)
        return Reply(parse(str(answer.get("text", ""))), answer.get("usage") or {})

    async def run(self, program: str, asked: Mapping[str, Any], *, attempt: int = 1) -> dict[str, Any]:
        """What a module of ours answers that asks the model itself. Raises ExtractionError."""
        whole = {
            **asked, "max_tokens": self.room(attempt), "command": list(self._settings.command),
            "endpoint": self._endpoint(), "timeout": self._settings.timeout,
        }  # fmt: skip
        return await self._run([sys.executable, "-m", program], whole)

    def room(self, attempt: int) -> int:
        """How many tokens the answer may have."""
        return min(self._settings.max_tokens << min(attempt - 1, 4), max(self._settings.max_tokens, _MOST_ROOM))

    def _endpoint(self) -> dict[str, Any]:
        llm = self._settings
        return {
            "model": llm.model, "api_base": llm.api_base, "api_key": llm.api_key.get_secret_value(),
            "headers": {name: value.get_secret_value() for name, value in llm.headers.items()},
            "timeout": llm.timeout,
        }  # fmt: skip

    async def _run(self, command: Sequence[str], asked: Mapping[str, Any]) -> dict[str, Any]:
        self.calls += 1
        answer = await self._output(command, json.dumps(asked).encode())
        if "reason" in answer:
            permanent = answer["reason"] in _PERMANENT
            raise ExtractionError(f"{answer['reason']}: {answer.get('message', '')}", permanent=permanent)
        usage = {name: int(count) for name, count in (answer.get("usage") or {}).items() if isinstance(count, int)}
        self.tokens += usage.get("prompt", 0) + usage.get("completion", 0)
        return answer | {"usage": usage}

    async def _output(self, command: Sequence[str], request: bytes) -> dict[str, Any]:
        quiet = {name: value for name, value in os.environ.items() if not name.startswith("METACLAW_SIDECAR_LLM_")}
        try:
            child = await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL, limit=_LIMIT, env=quiet,
            )  # fmt: skip
        except OSError as error:
            raise ExtractionError(f"the extraction program can't be started: {error.strerror}") from None
        try:
            output, _ = await asyncio.wait_for(child.communicate(request), self._settings.timeout + 30)
        except TimeoutError:
            raise ExtractionError(f"the model did not answer in {self._settings.timeout:.0f} s") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        try:
            answer = json.loads(output)
        except ValueError:
            raise ExtractionError(f"the extraction program ended with exit code {child.returncode}") from None
        if not isinstance(answer, dict):
            raise ExtractionError("the extraction program did not answer with an object")
        return answer


def parse(text: str) -> Any:
    """The JSON value of an answer, without what models put around it. Raises ExtractionError."""
    bare = _THINKING.sub("", text).strip()
    if fenced := _FENCE.match(bare):
        bare = fenced[1].strip()
    try:
        return json.loads(bare)
    except ValueError:
        raise ExtractionError("the model's answer is not the wanted JSON, or was cut off") from None
