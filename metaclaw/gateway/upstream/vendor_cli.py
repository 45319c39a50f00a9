"""A subscription as upstream: the vendor's own command line program answers, as plain text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from metaclaw.gateway.upstream import chat_stream
from metaclaw.gateway.upstream.base import Answer, Request, UpstreamError, WireName
from metaclaw.litellm_library import public
from metaclaw.subscription import Call, Event, Program, SubscriptionError, conversation, program_for, start

if TYPE_CHECKING:
    from metaclaw.config.models import Llm


class VendorCli:
    """One vendor's program; speaks chat completions, without tools."""

    def __init__(
        self,
        name: str,
        llm: Llm,
        *,
        idle_timeout: float = 600.0,
        environ: Mapping[str, str] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        """`environ` stands in for the process's environment; `extra` is set on top of what the program inherits."""
        self.name = name
        self._llm = llm
        self._idle = idle_timeout
        self._environ = environ
        self._extra = extra

    def speaks(self, wire: WireName) -> bool:
        """Chat completions only; translators stand around it for the rest."""
        return wire == "chat"

    async def send(self, request: Request) -> Answer:
        """Run the program; return at its first words, or when it fails."""
        body = chat_stream.read_body(request)
        program = self._program()
        _check_tools(body, program)
        model = str(body.get("model") or self._llm.model_id or "")
        said = conversation(body["messages"], body.get("response_format"))
        try:
            call = await start(
                program, said, model=model, token=self._llm.oauth_token.get_secret_value(),
                idle=self._idle, environ=self._environ, extra=self._extra,
            )  # fmt: skip
        except SubscriptionError as error:
            raise UpstreamError(error.status, str(error)) from None
        try:
            return await self._answer(call, program, body, model)
        except BaseException:
            await call.aclose()
            raise

    def _program(self) -> Program:
        program = program_for(self._llm.provider)
        if program is None:
            raise UpstreamError(
                503, f"{self._llm.provider} has no subscription program: use anthropic, openai-codex or gemini"
            )
        return program

    async def _answer(self, call: Call, program: Program, body: dict[str, Any], model: str) -> Answer:
        events = _events(call, self.name)
        first = await anext(events)
        if first.error:
            await call.aclose()
            return self._refused(first, program, model)
        writer = chat_stream.Writer(model)
        if body.get("stream") is True:
            source = _frames(first, events, writer, self.name, usage=chat_stream.wants_usage(body))
            return chat_stream.stream_answer(source, call.aclose, upstream=self.name, model=model)
        texts, thoughts, last = await _gather(first, events)
        await call.aclose()
        if last.error:
            return self._refused(last, program, model)
        message = {"content": texts} | ({"reasoning_content": thoughts} if thoughts else {})
        whole = writer.whole(message, last.finish, _usage(last))
        return chat_stream.json_answer(whole, upstream=self.name, model=model)

    def _refused(self, event: Event, program: Program, model: str) -> Answer:
        if event.status == 0:
            raise UpstreamError(503, f"{program.title} is not logged in: {program.login}")
        message = f"{program.title}: {public(event.error)}"
        return chat_stream.error_answer(event.status, message, upstream=self.name, model=model)

    async def aclose(self) -> None:
        """Each call ends its own program."""


def _check_tools(body: Mapping[str, Any], program: Program) -> None:
    choice = body.get("tool_choice")
    if body.get("tools") and (choice == "required" or isinstance(choice, dict)):
        raise UpstreamError(400, f"{program.title} answers with text only: it can't be made to call a tool")


async def _events(call: Call, name: str) -> AsyncIterator[Event]:
    try:
        async for event in call.events():
            yield event
    except SubscriptionError as error:
        raise UpstreamError(error.status, f"{name}: {error}") from None


async def _frames(
    first: Event, events: AsyncIterator[Event], writer: chat_stream.Writer, name: str, *, usage: bool
) -> AsyncIterator[bytes]:
    yield writer.delta({"role": "assistant", "content": ""})
    event = first
    while not event.last:
        yield writer.delta({"content": event.text} if event.text else {"reasoning_content": event.reasoning})
        event = await anext(events)
    if event.error:
        raise UpstreamError(event.status or 503, f"{name} broke off: {public(event.error)}")
    yield writer.delta({}, event.finish)
    if usage:
        yield writer.usage(_usage(event))
    yield chat_stream.DONE


async def _gather(first: Event, events: AsyncIterator[Event]) -> tuple[str, str, Event]:
    texts, thoughts, event = [], [], first
    while not event.last:
        texts.append(event.text)
        thoughts.append(event.reasoning)
        event = await anext(events)
    return "".join(texts), "".join(thoughts), event


def _usage(event: Event) -> dict[str, Any]:
    prompt, completion = event.usage.get("prompt", 0), event.usage.get("completion", 0)
    details = {"cached_tokens": event.usage.get("cached", 0)}
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": details,
    }
