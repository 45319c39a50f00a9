"""Providers without one of the three wire protocols (Bedrock, Vertex, Gemini's own, …), asked through litellm."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from metaclaw import base_url, litellm_library
from metaclaw.gateway.upstream import chat_stream
from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError, WireName
from metaclaw.providers import PROVIDERS, routed_model

if TYPE_CHECKING:
    from metaclaw.config.models import Fallback, Llm

# What of a client's body becomes an argument. Never all of it: litellm takes `api_base`, `api_key`, `mock_response`
# and more as arguments of the same call.
_FROM_BODY = (
    "messages", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "n",
    "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed", "stop", "temperature",
    "thinking", "tool_choice", "tools", "top_logprobs", "top_p", "user",
)  # fmt: skip
_IMAGE_SCHEMES = frozenset(("data", "http", "https", "gs", "s3"))

_log = logging.getLogger(__name__)


class Routed:
    """One upstream reached through litellm; speaks chat completions."""

    def __init__(self, name: str, llm: Llm | Fallback, *, idle_timeout: float = 600.0) -> None:
        self.name = name
        self._llm = llm
        self._timeout = idle_timeout

    def speaks(self, wire: WireName) -> bool:
        """Chat completions only; translators stand around it for the rest."""
        return wire == "chat"

    async def warm(self) -> None:
        """Import the library in the background, so that the first call need not wait for it."""
        try:
            await litellm_library.warm()
        except litellm_library.LibraryError as error:
            _log.warning("%s", error)

    async def send(self, request: Request) -> Answer:
        """Ask, and answer as a chat completions server would."""
        body = chat_stream.read_body(request)
        arguments = self._arguments(body)
        stream = body.get("stream") is True
        try:
            reply = await litellm_library.run(lambda module: _ask(module, arguments))
        except litellm_library.LibraryError as error:
            raise UpstreamError(503, str(error)) from None
        except UpstreamError:
            raise
        except Exception as error:  # whatever litellm and the client libraries below it raise is the upstream's failure
            return self._refused(litellm_library.failure(error), request.model)
        if not stream:
            return chat_stream.json_answer(_whole(reply), upstream=self.name, model=request.model)
        frames = self._frames(reply, usage=chat_stream.wants_usage(body))
        return chat_stream.stream_answer(frames, lambda: _hang_up(reply), upstream=self.name, model=request.model)

    def _arguments(self, body: Mapping[str, Any]) -> dict[str, Any]:
        model = body.get("model")
        _check_images(body["messages"])
        arguments = {name: body[name] for name in _FROM_BODY if body.get(name) is not None}
        arguments |= credentials(self._llm)
        arguments["model"] = routed_model(self._llm, model if isinstance(model, str) else "")
        arguments |= {"num_retries": 0, "max_retries": 0, "timeout": self._timeout, "drop_params": True}
        if body.get("stream") is True:
            arguments |= {"stream": True, "stream_options": {"include_usage": True}}
        return arguments

    def _refused(self, failure: litellm_library.Failure, model: str) -> Answer:
        if failure.kind in ("timeout", "unreachable", "missing_package"):
            status = failure.status or 502
            raise UpstreamError(
                status, f"{self.name}: {failure.message}", retryable=failure.retryable and status != 503
            )
        return chat_stream.error_answer(
            failure.status, failure.message, upstream=self.name, model=model, retry_after=failure.retry_after
        )

    async def _frames(self, reply: Any, *, usage: bool) -> AsyncIterator[bytes]:
        try:
            while (data := await litellm_library.run(lambda _: _next(reply))) is not None:
                if usage or not data.get("usage") or data["choices"]:
                    yield chat_stream.frame(data if usage else _without_usage(data))
        except Exception as error:  # a stream that breaks, whatever broke it, must end as a broken stream
            failure = litellm_library.failure(error)
            raise UpstreamError(failure.status or 502, f"{self.name} broke off: {failure.message}") from None
        yield chat_stream.DONE

    async def aclose(self) -> None:
        """litellm keeps its own connections."""


def credentials(llm: Llm | Fallback) -> dict[str, Any]:
    """The arguments that say where and with which key, from the configuration and from nowhere else."""
    arguments: dict[str, Any] = {}
    if key := llm.api_key.get_secret_value():
        arguments["api_key"] = key
    if llm.api_base and PROVIDERS[llm.provider].name == "bedrock":
        arguments["aws_bedrock_runtime_endpoint"] = llm.api_base
    return arguments


def _check_images(messages: list[Any]) -> None:
    """litellm itself fetches pictures given by address; it must not be sent to this machine or its network."""
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            image = part.get("image_url") if isinstance(part, dict) else None
            address = image.get("url") if isinstance(image, dict) else image
            if isinstance(address, str) and not _fetchable(address):
                raise UpstreamError(400, "an image_url must be a data: URL or a public address")


def _fetchable(address: str) -> bool:
    scheme = address.partition(":")[0].lower()
    if scheme not in _IMAGE_SCHEMES:
        return False
    try:
        return scheme == "data" or (bool(urlsplit(address).netloc) and not base_url.is_private(address))
    except ValueError:
        return False


async def _ask(module: Any, arguments: dict[str, Any]) -> Any:
    if arguments.get("tools"):
        known = module.get_supported_openai_params(model=arguments["model"]) or []
        if "tools" not in known:
            raise UpstreamError(400, f"the model {arguments['model']} takes no tools, as far as the model table knows")
    return await module.acompletion(**arguments)


async def _next(reply: Any) -> dict[str, Any] | None:
    try:
        chunk = await anext(reply)
    except StopAsyncIteration:
        return None
    return _shape(chunk.model_dump(exclude_none=True), "delta")


def _whole(reply: Any) -> bytes:
    return json.dumps(_shape(reply.model_dump(exclude_none=True), "message"), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


def _shape(data: dict[str, Any], part: str) -> dict[str, Any]:
    """As a chat completions server writes it: the fields clients rely on are there, empty extras are not."""
    data = {name: value for name, value in data.items() if value != [] or name == "choices"}
    for choice in data.get("choices", ()):
        choice.setdefault("finish_reason", None)
        if part == "message":
            choice.get("message", {}).setdefault("content", None)
    return data


def _without_usage(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "usage"}


async def _hang_up(reply: Any) -> None:
    async def close(_: Any) -> None:
        await reply.aclose()

    with contextlib.suppress(Exception):  # the client has left; there is nobody to tell
        await asyncio.wait_for(litellm_library.run(close), 5)
