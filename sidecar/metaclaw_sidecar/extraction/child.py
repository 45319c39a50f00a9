"""Answers one extraction request through litellm: `python -m metaclaw_sidecar.extraction.child`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_NICENESS = 10


def main() -> None:
    """Read a request from standard input, write the answer to standard output."""
    step_back()
    asked = json.loads(sys.stdin.buffer.read())
    answer_to, sys.stdout = sys.stdout, sys.stderr  # what a library prints must not get into the answer
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    json.dump(answer(asked), answer_to)


def step_back() -> None:
    """Let those go first who hand in turns meanwhile."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    """`{text, usage, model}`, or `{reason, message}`."""
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    endpoint = asked["endpoint"]
    arguments: dict[str, Any] = {
        "model": endpoint["model"], "messages": asked["messages"], "max_tokens": asked["max_tokens"],
        "timeout": endpoint["timeout"], "num_retries": 0, "max_retries": 0, "drop_params": True,
    }  # fmt: skip
    if endpoint["api_base"]:
        # litellm would take another provider's key from the environment where none is given.
        arguments |= {"api_base": endpoint["api_base"], "api_key": endpoint["api_key"] or "none"}
    elif endpoint["api_key"]:
        arguments["api_key"] = endpoint["api_key"]
    if endpoint["headers"]:
        arguments["extra_headers"] = endpoint["headers"]
    shape = {"name": asked["purpose"], "schema": asked["schema"], "strict": False}
    try:
        reply = _ask(litellm, arguments | {"response_format": {"type": "json_schema", "json_schema": shape}})
    except Exception as error:  # everything litellm and the libraries below it raise is the endpoint's failure
        return _failure(error, str(endpoint["api_key"]))
    choice = reply.choices[0]
    if choice.finish_reason == "length":
        return {"reason": "truncated", "message": f"the answer was cut off at {asked['max_tokens']} tokens"}
    if choice.finish_reason == "content_filter":
        return {"reason": "refused", "message": "the model refused to answer"}
    usage = getattr(reply, "usage", None)
    counts = {
        "prompt": getattr(usage, "prompt_tokens", 0) or 0,
        "completion": getattr(usage, "completion_tokens", 0) or 0,
    }
    return {"text": choice.message.content or "", "usage": counts, "model": reply.model or ""}


def _ask(litellm: Any, arguments: dict[str, Any]) -> Any:
    try:
        return litellm.completion(**arguments)
    except Exception as error:  # not every server takes a schema; the prompt then asks for the same
        if getattr(error, "status_code", 0) not in (400, 415, 422):
            raise
        del arguments["response_format"]
        return litellm.completion(**arguments)


def _failure(error: Exception, key: str) -> dict[str, Any]:
    status = int(getattr(error, "status_code", 0) or 0)
    message = str(getattr(error, "message", "") or error).partition("\n")[0][:300]
    if key:
        message = message.replace(key, "…")
    reason = "refused" if status in (401, 403, 404) else "failed"
    return {"reason": reason, "message": f"{type(error).__name__} ({status}): {message}"}


if __name__ == "__main__":
    main()
