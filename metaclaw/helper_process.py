"""The helper model asked from a process of its own, so that a process which answers people stays small and quick.

The library behind `HelperLlm` takes 190 MB and seconds of computing; a call to it is rare. The request, and nothing
secret, goes to the child on its standard input; the child reads the configuration itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from metaclaw.helper_llm import HelperError, HelperLlm, HelperReply, Role

_NICENESS = 10
_LIMIT = 64 * 1024 * 1024  # bytes of an answer


class HelperProcess:
    """Asks the helper model of a role like `HelperLlm`, through a child process for each call."""

    def __init__(self, config: Path, role: Role, *, timeout: float = 900.0) -> None:
        """`timeout` is for a whole call with all its tries, in seconds."""
        self._config = config
        self._role = role
        self._timeout = timeout

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 4096,
        purpose: str = "helper",
    ) -> HelperReply:
        """Ask. Raises HelperError."""
        asked = {"messages": list(messages), "schema": schema, "max_tokens": max_tokens, "purpose": purpose}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "metaclaw.helper_process", str(self._config), self._role,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            limit=_LIMIT,
        )  # fmt: skip
        try:
            output, _ = await asyncio.wait_for(child.communicate(json.dumps(asked).encode()), self._timeout)
        except TimeoutError:
            raise HelperError("timeout", f"the helper model did not answer in {self._timeout:.0f} s") from None
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return _reply(output, child.returncode)


def _reply(output: bytes, code: int | None) -> HelperReply:
    try:
        answer = json.loads(output)
    except ValueError:
        raise HelperError("failed", f"the helper's process ended with exit code {code} and no answer") from None
    if "reason" in answer:
        raise HelperError(answer["reason"], answer["message"], status=answer["status"])
    return HelperReply(**answer)


async def _serve(config: Path, role: Role) -> dict[str, Any]:
    from metaclaw.config import load

    asked = json.loads(sys.stdin.buffer.read())
    helper = HelperLlm.from_settings(load(config).settings, role)
    try:
        reply = await helper.complete(
            asked["messages"], schema=asked["schema"], max_tokens=asked["max_tokens"], purpose=asked["purpose"]
        )
    except HelperError as error:
        return {"reason": error.reason, "message": str(error), "status": error.status}
    return {**asdict(reply), "usage": dict(reply.usage)}


def main() -> None:
    """Answer one request from standard input on standard output."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    config, role = Path(sys.argv[1]), sys.argv[2]
    if role not in ("evolver", "judge", "extractor"):
        raise SystemExit(2)
    # What a library prints must not get between us and the one who asked.
    answer_to, sys.stdout = sys.stdout, sys.stderr
    json.dump(asyncio.run(_serve(config, role)), answer_to)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
