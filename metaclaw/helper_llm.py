"""The one way MetaClaw itself asks a language model: to write skills, to judge, to extract.

HelperError
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from metaclaw import base_url, litellm_library, structured
from metaclaw.providers import (
    ProviderError,
    auth_headers,
    body_defaults,
    extra_headers,
    protocol_bases,
    provider_of,
    routed_model,
)
from metaclaw.subscription import SubscriptionError, conversation, program_for, start

if TYPE_CHECKING:
    from metaclaw.config.models import Llm, Openrouter, Settings

Role = Literal["evolver", "judge", "extractor"]
Reason = Literal["not_configured", "unreachable", "timeout", "refused", "failed", "truncated", "empty", "invalid"]
_LONGEST_PAUSE = 30.0


class HelperError(Exception):
    """The helper model gave no usable answer; `reason` says why in one word, the message in one line."""

    def __init__(self, reason: Reason, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.reason = reason
        self.status = status


@dataclass(frozen=True, slots=True)
class HelperReply:
    """An answer; `parsed` is the JSON value when a schema was given. `usage`: prompt, completion, cached tokens."""

    text: str
    parsed: Any = None
    usage: Mapping[str, int] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    finish: str
    usage: Mapping[str, int]
    model: str


class HelperLlm:
    """One helper model. Safe to share; every call stands alone."""

    def __init__(
        self,
        llm: Llm,
        *,
        openrouter: Openrouter | None = None,
        timeout: float = 180.0,
        attempts: int = 3,
        pause: float = 1.0,
    ) -> None:
        """`timeout` is for one try in seconds; `pause` the first wait between tries, doubled each time."""
        self._llm = llm
        self._openrouter = openrouter
        self._timeout = timeout
        self._attempts = attempts
        self._pause = pause
        self._takes_schema = True

    @classmethod
    def from_settings(cls, settings: Settings, role: Role) -> HelperLlm:
        """The model for a role: its own endpoint where one is configured, else the one that answers the agent."""
        return cls(endpoint(settings, role), openrouter=settings.openrouter)

    @property
    def model(self) -> str:
        """The configured model."""
        return self._llm.model_id

    def missing(self) -> str:
        """What keeps the model from being asked, in one line; empty when nothing does."""
        if self._llm.auth_method == "oauth_token":
            return "" if program_for(self._llm.provider) else f"{self._llm.provider} has no subscription program"
        try:
            self._address()
        except HelperError as error:
            return str(error)
        return ""

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int = 4096,
        purpose: str = "helper",
    ) -> HelperReply:
        """Ask. With a schema the answer is a JSON value that fits it; a wrong one is sent back once to be mended.

        An answer cut off by `max_tokens` is a failure, never a shorter answer. Raises HelperError.
        """
        asked = [dict(message) for message in messages]
        if schema is None:
            said = await self._say(asked, None, max_tokens, purpose)
            return HelperReply(said.text, None, said.usage, said.model)
        asked = _with_schema(asked, schema)
        said = await self._say(asked, schema, max_tokens, purpose)
        try:
            parsed = await asyncio.to_thread(structured.parse, said.text, schema)
            return HelperReply(said.text, parsed, said.usage, said.model)
        except structured.NotFitting as problem:
            mend = f"That does not fit: {problem}. Answer again, with the corrected JSON value and nothing else."
        asked += [{"role": "assistant", "content": said.text}, {"role": "user", "content": mend}]
        again = await self._say(asked, schema, max_tokens, purpose)
        usage = {name: count + said.usage.get(name, 0) for name, count in again.usage.items()}
        try:
            parsed = await asyncio.to_thread(structured.parse, again.text, schema)
            return HelperReply(again.text, parsed, usage, again.model)
        except structured.NotFitting as problem:
            raise HelperError("invalid", f"{self._named()} did not answer with the wanted JSON: {problem}") from None

    async def _say(
        self, messages: list[dict[str, Any]], schema: Mapping[str, Any] | None, max_tokens: int, purpose: str
    ) -> _Said:
        said = await self._with_patience(messages, schema, max_tokens, purpose)
        text = structured.without_thinking(said.text)
        if said.finish == "length":
            raise HelperError("truncated", f"{self._named()} was cut off at {max_tokens} tokens")
        if said.finish == "content_filter":
            raise HelperError("refused", f"{self._named()} refused to answer")
        if not text:
            raise HelperError("empty", f"{self._named()} answered with nothing")
        return _Said(text, said.finish, said.usage, said.model)

    async def _with_patience(
        self, messages: list[dict[str, Any]], schema: Mapping[str, Any] | None, max_tokens: int, purpose: str
    ) -> _Said:
        """Ask until there is an answer, a refusal, or no try left."""
        attempt = 0
        while True:
            arguments: dict[str, Any] = {}
            try:
                if self._llm.auth_method == "oauth_token":
                    return await self._by_subscription(messages)
                arguments = self._arguments(messages, schema if self._takes_schema else None, max_tokens, purpose)
                return await self._by_library(arguments)
            except _Failed as failed:
                if failed.failure.status in (400, 415, 422) and "response_format" in arguments:
                    self._takes_schema = False  # not every server takes it; the prompt asks for the same
                    continue
                attempt += 1
                if attempt >= self._attempts or not failed.failure.retryable:
                    raise _final(failed.failure, self._named()) from None
                await asyncio.sleep(self._wait(attempt, failed.failure.retry_after))

    def _wait(self, attempt: int, retry_after: str) -> float:
        told = float(retry_after) if re.fullmatch(r"\d{1,6}(\.\d+)?", retry_after) else 0.0
        own: float = self._pause * 2 ** (attempt - 1) * (0.5 + random.random())  # noqa: S311 - spreads retries, guards nothing
        return min(max(told, own), _LONGEST_PAUSE)

    async def _by_library(self, arguments: dict[str, Any]) -> _Said:
        async def ask(module: Any) -> Any:
            return await module.acompletion(**arguments)

        try:
            answer = await asyncio.wait_for(litellm_library.run(ask), self._timeout)
        except litellm_library.LibraryError as error:
            raise HelperError("not_configured", str(error)) from None
        except Exception as error:  # whatever litellm and the libraries below it raise is the upstream's failure
            raise _Failed(litellm_library.failure(error)) from None
        choice = answer.choices[0]
        return _Said(choice.message.content or "", choice.finish_reason or "", _usage(answer), answer.model or "")

    async def _by_subscription(self, messages: list[dict[str, Any]]) -> _Said:
        program = program_for(self._llm.provider)
        if program is None:
            raise HelperError("not_configured", f"{self._llm.provider} has no subscription program")
        texts: list[str] = []
        try:
            call = await start(
                program, conversation(messages), model=self._llm.model_id,
                token=self._llm.oauth_token.get_secret_value(), idle=self._timeout,
            )  # fmt: skip
            try:
                async for event in call.events():
                    texts.append(event.text)
                    if event.error and not event.status:
                        raise HelperError("not_configured", f"{program.title} is not logged in: {program.login}")
                    if event.error:
                        raise _Failed(litellm_library.Failure(event.status, litellm_library.public(event.error)))
            finally:
                await call.aclose()
        except SubscriptionError as error:
            raise HelperError("timeout" if error.status == 504 else "not_configured", str(error)) from None
        return _Said("".join(texts), event.finish, event.usage, self._llm.model_id)

    def _arguments(
        self, messages: list[dict[str, Any]], schema: Mapping[str, Any] | None, max_tokens: int, purpose: str
    ) -> dict[str, Any]:
        arguments: dict[str, Any] = {"messages": messages, "max_tokens": max_tokens, "timeout": self._timeout}
        arguments |= {"num_retries": 0, "max_retries": 0, "drop_params": True}
        arguments |= self._address()
        if schema is not None and arguments["model"].startswith("openai/"):
            name = re.sub(r"[^A-Za-z0-9_-]", "_", purpose)[:64] or "answer"
            wanted = {"name": name, "schema": dict(schema), "strict": False}
            arguments["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if extras := body_defaults(self._llm, self._openrouter):
            arguments["extra_body"] = extras
        return arguments

    def _address(self) -> dict[str, Any]:
        """Where litellm asks: model with litellm's prefix, base URL, key."""
        llm, key = self._llm, self._llm.api_key.get_secret_value()
        if not llm.model_id:
            raise HelperError("not_configured", "no model is configured: set llm.model_id, or rl.evolver_model")
        try:
            bases = protocol_bases(llm)
            if not bases:
                return {"model": routed_model(llm)} | ({"api_key": key} if key else {}) | _bedrock(llm)
            wire = next(wire for wire in ("chat", "messages", "responses") if wire in bases)
            headers = extra_headers(llm, wire, self._openrouter) | auth_headers(llm, wire)
            needs_key = provider_of(llm).needs_key
        except ProviderError as error:
            raise HelperError("not_configured", str(error)) from None
        whole = bases[wire].join(wire)
        if needs_key and not key and not base_url.is_private(whole):
            raise HelperError("not_configured", "the helper model has no key: set llm.api_key, or rl.evolver_api_key")
        base = whole.removesuffix({"chat": "/chat/completions", "responses": "/responses"}.get(wire, ""))
        prefix = {"messages": "anthropic", "responses": "openai/responses"}.get(wire, "openai")
        if wire == "chat" and urlsplit(whole).query:
            prefix, base = "hosted_vllm", whole  # the only way of litellm's to keep the query of a base URL
        headers.pop("x-api-key", None)
        if wire != "messages":
            headers.pop("authorization", None)  # litellm writes these two itself
        # Never nothing: litellm would take another provider's key from the environment.
        return {
            "model": f"{prefix}/{llm.model_id}",
            "api_base": base,
            "api_key": key or "none",
            "extra_headers": headers,
        }

    def _named(self) -> str:
        return f"the helper model {self._llm.model_id}".strip()


class _Failed(Exception):
    def __init__(self, failure: litellm_library.Failure) -> None:
        self.failure = failure


def _final(failure: litellm_library.Failure, named: str) -> HelperError:
    reason: Reason = "refused" if 400 <= failure.status < 500 else "failed"
    if failure.status in (0, 504):
        reason = "timeout" if failure.status else "unreachable"
    status = f" ({failure.status})" if failure.status else ""
    return HelperError(reason, f"{named}{status}: {failure.message}", status=failure.status)


def _bedrock(llm: Llm) -> dict[str, str]:
    return {"aws_bedrock_runtime_endpoint": llm.api_base} if llm.api_base and llm.provider == "bedrock" else {}


def _usage(answer: Any) -> dict[str, int]:
    usage = getattr(answer, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    return {
        "prompt": getattr(usage, "prompt_tokens", 0) or 0,
        "completion": getattr(usage, "completion_tokens", 0) or 0,
        "cached": getattr(details, "cached_tokens", 0) or 0,
    }


def _with_schema(messages: list[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    shape = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    wanted = f"Answer with one JSON value and nothing else: no explanation, no code fence. JSON Schema:\n{shape}"
    if messages and messages[0].get("role") == "system" and isinstance(messages[0].get("content"), str):
        return [messages[0] | {"content": f"{messages[0]['content']}\n\n{wanted}"}, *messages[1:]]
    return [{"role": "system", "content": wanted}, *messages]


def endpoint(settings: Settings, role: Role) -> Llm:
    """Who answers for a role: `rl.evolver_*` or `rl.prm_*` where set, else `llm.*`."""
    from metaclaw.config.models import Llm  # only here: the models are built with pydantic

    main, rl = settings.llm, settings.rl
    if role == "judge":
        base, model, secret = rl.prm_url, rl.prm_model, rl.prm_api_key
    elif role == "evolver":
        base, model, secret = rl.evolver_api_base, rl.evolver_model, rl.evolver_api_key
    else:
        return main
    if base:
        key = secret if secret.get_secret_value() or not _same_host(base, main) else main.api_key
        return Llm(provider="custom", api_base=base, model_id=model or main.model_id, api_key=key)
    changes: dict[str, Any] = {"model_id": model} if model else {}
    if secret.get_secret_value():
        changes |= {"api_key": secret, "auth_method": "api_key"}
    return main.model_copy(update=changes)


def _same_host(base: str, main: Llm) -> bool:
    """Whether a role's endpoint is at the main model's host, which may see its key; no other host may."""
    try:
        return base_url.parse(base).place[0] in {address.place[0] for address in protocol_bases(main).values()}
    except (ProviderError, base_url.BaseUrlError):
        return False
