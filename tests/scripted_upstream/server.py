"""The HTTP server: routes, faults, and the record of what came in."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from aiohttp import web

from tests.scripted_upstream import chat, messages, responses
from tests.scripted_upstream.answer import CREATED, Made
from tests.scripted_upstream.cache import Counted, PromptCache, tokens
from tests.scripted_upstream.reading import Asked, read
from tests.scripted_upstream.script import Reply, Rule, Script, ToolCall

DIALECTS: dict[str, ModuleType] = {"chat": chat, "messages": messages, "responses": responses, "completions": chat}
PATHS = {
    "chat/completions": "chat",
    "completions": "completions",
    "messages/count_tokens": "count_tokens",
    "messages": "messages",
    "responses": "responses",
    "embeddings": "embeddings",
}

HOLD_SECONDS = 60


@dataclass(slots=True)
class Recorded:
    """One request as it came in, and how it ended."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes
    at: float
    wire: str = ""
    rule: str = ""
    status: int = 0
    counted: Counted | None = None
    ended: bool = False
    hung_up: bool = False  # the client left before the end

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    def header(self, name: str) -> str:
        """A header's value, or nothing."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def line(self) -> str:
        """As a line of JSON; the body as text, or in base64 when it is none."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name not in ("body", "counted")}
        try:
            fields["body"] = self.body.decode()
        except UnicodeDecodeError:
            fields["body_base64"] = base64.b64encode(self.body).decode()
        if self.counted:
            fields["usage"] = {name: getattr(self.counted, name) for name in self.counted.__slots__}
        return json.dumps(fields, ensure_ascii=False)


@dataclass
class ScriptedUpstream:
    """The server, in a thread of its own: `with ScriptedUpstream() as upstream: upstream.base_url`."""

    script: Script = field(default_factory=Script)
    port: int = 0
    api_key: str = ""  # when set, others are answered 401
    models: Sequence[str] = ("scripted-model", "scripted-small")
    context_length: int = 131072  # told in the model list; 0 tells none
    log: Path | None = None

    def __post_init__(self) -> None:
        self.requests: list[Recorded] = []
        self.cache = PromptCache()
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stop: Callable[[], object] = lambda: None

    @property
    def url(self) -> str:
        """Scheme, address and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What OpenAI clients are given."""
        return f"{self.url}/v1"

    def rule(self, when: str, *replies: Reply | str, **options: Any) -> Rule:
        """Add a rule ahead of the others; a string is a plain text reply."""
        made = [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]
        rule = Rule(when, made, **options)
        self.script.rules.insert(0, rule)
        return rule

    def tool(self, when: str, name: str, arguments: str = "{}", *, then: str = "Tool finished.") -> Rule:
        """Add a rule that calls one tool, then says `then`."""
        return self.rule(when, Reply(tool_calls=(ToolCall(name, arguments),)), then)

    def calls(self, wire: str = "", rule: str | None = None) -> list[Recorded]:
        """Model calls so far (not lists of models and the like), by protocol and by rule."""
        return [
            call
            for call in [*self.requests]
            if (call.wire == wire if wire else call.wire in DIALECTS) and rule in (None, call.rule)
        ]

    def wait(self, condition: Callable[[Self], bool], timeout: float = 30) -> None:
        """Wait until `condition` holds; it is tried again whenever a request comes in or ends."""
        with self._news:
            if not self._news.wait_for(lambda: condition(self), timeout):
                raise TimeoutError(f"upstream saw {[(call.path, call.status) for call in self.requests]}")

    def reset(self) -> None:
        """Forget requests, rules and cache."""
        self.script.clear()
        self.requests.clear()
        self.cache = PromptCache()

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(started,), name="scripted-upstream", daemon=True)
        self._thread.start()
        if not started.wait(10):
            raise RuntimeError(f"scripted upstream did not start on port {self.port}")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        if self._thread:
            self._thread.join(10)

    def _run(self, started: threading.Event) -> None:
        async def serve() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            self._stop = lambda: loop.call_soon_threadsafe(stop.set)
            runner = await self.start()
            started.set()
            await stop.wait()
            await runner.cleanup()

        asyncio.run(serve())

    async def start(self) -> web.AppRunner:
        """Listen in the running loop."""
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        return runner

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        recorded = Recorded(
            request.method, request.path, request.query_string, [*request.headers.items()], b"", time.time()
        )
        try:
            recorded.body = await request.read()
            response = await self._answer(request, recorded)
            recorded.status = recorded.status or response.status
            return response
        except (asyncio.CancelledError, ConnectionResetError):
            recorded.hung_up = True
            raise
        finally:
            recorded.ended = True
            self._tell(recorded)

    def _tell(self, recorded: Recorded) -> None:
        with self._news:
            self._news.notify_all()
        if self.log:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(recorded.line() + "\n")

    async def _answer(self, request: web.Request, recorded: Recorded) -> web.StreamResponse:
        recorded.wire = next((wire for end, wire in PATHS.items() if request.path.rstrip("/").endswith("/" + end)), "")
        dialect = DIALECTS.get("messages" if recorded.wire == "count_tokens" else recorded.wire, chat)
        with self._news:
            self.requests.append(recorded)
            self._news.notify_all()
        if self.api_key and self.api_key not in (_bearer(request), request.headers.get("x-api-key", "")):
            return web.json_response(_refusal(dialect, 401, "wrong key"), status=401)
        if request.method in ("GET", "HEAD"):
            return self._look(request)
        if not recorded.wire:
            return web.json_response(_refusal(dialect, 404, f"no such path: {request.path}"), status=404)
        try:
            body = json.loads(recorded.body)
        except ValueError as error:
            return web.json_response(_refusal(dialect, 400, f"not JSON: {error}"), status=400)
        if recorded.wire == "embeddings":
            return web.json_response(_embeddings(body))
        try:
            asked = read("messages" if recorded.wire == "count_tokens" else recorded.wire, body)
        except (TypeError, AttributeError, ValueError) as error:
            return web.json_response(_refusal(dialect, 400, f"not a request: {error}"), status=400)
        if recorded.wire == "count_tokens":
            return web.json_response({"input_tokens": tokens(sum(len(block) for block, _ in asked.prompt))})
        return await self._model_call(request, recorded, asked, dialect)

    def _look(self, request: web.Request) -> web.StreamResponse:
        path = request.path.rstrip("/")
        if request.method == "HEAD" or not path:
            return web.json_response({"ok": True})
        listed = [self._model(name) for name in self.models]
        if path.endswith("/models"):
            return web.json_response({"object": "list", "data": listed, "has_more": False})
        found = [model for model in listed if path.endswith(f"/models/{model['id']}")]
        if found:
            return web.json_response(found[0])
        return web.json_response(_refusal(chat, 404, f"no such path: {path}"), status=404)

    def _model(self, name: str) -> dict[str, Any]:
        made = {"created": CREATED, "created_at": "2025-12-01T00:00:00Z", "owned_by": "example"}
        window = {"context_length": self.context_length, "max_output_tokens": 8192} if self.context_length else {}
        return {"id": name, "object": "model", "type": "model", "display_name": name, **made, **window}

    async def _model_call(
        self, request: web.Request, recorded: Recorded, asked: Asked, dialect: ModuleType
    ) -> web.StreamResponse:
        recorded.rule, reply = self.script.reply(asked)
        reply = reply.within(asked.limit)
        if reply.delay_ms:
            await asyncio.sleep(reply.delay_ms / 1000)
        recorded.status = reply.status
        if reply.status != 200:
            body = reply.raw or json.dumps(_refusal(dialect, reply.status, reply.error or "scripted failure"))
            return web.Response(
                text=body, status=reply.status, headers={**reply.headers}, content_type="application/json"
            )
        counted = (self.cache.marked if asked.wire == "messages" else self.cache.automatic)(asked.prompt)
        written = reply.text + reply.reasoning + "".join(call.name + call.arguments for call in reply.tool_calls)
        recorded.counted = replace(counted, completion=max(1, tokens(len(written.encode()))))
        made = Made(asked, reply, recorded.counted)
        if not asked.stream:
            whole = dialect.completion if asked.wire == "completions" else dialect.whole
            return web.Response(
                text=reply.raw or json.dumps(whole(made), ensure_ascii=False),
                headers={**reply.headers},
                content_type="application/json",
            )
        return await self._stream(request, made, dialect)

    async def _stream(self, request: web.Request, made: Made, dialect: ModuleType) -> web.StreamResponse:
        reply = made.reply
        response = web.StreamResponse(headers={"Cache-Control": "no-cache", "x-request-id": "req_1", **reply.headers})
        response.content_type = "text/event-stream"
        response.charset = "utf-8"
        await response.prepare(request)
        make = dialect.completion_events if made.asked.wire == "completions" else dialect.events
        events: Iterator[bytes] = iter([reply.raw.encode()]) if reply.raw else make(made)
        for number, event in enumerate(events):
            if number == reply.error_after:
                await response.write(dialect.error(made))
                break
            if number == reply.break_after:
                with contextlib.suppress(AttributeError):
                    request.transport.abort()  # type: ignore[union-attr]
                return response
            if number == reply.hold_after and reply.hold:
                await _held(reply.hold)
            if number and reply.pace_ms:
                await asyncio.sleep(reply.pace_ms / 1000)
            await response.write(event)
        await response.write_eof()
        return response


async def _held(event: threading.Event) -> None:
    """Wait for another thread's event, in short waits so that no thread is left behind when the client leaves."""
    for _ in range(HOLD_SECONDS * 5):
        if await asyncio.to_thread(event.wait, 0.2):
            return


def _bearer(request: web.Request) -> str:
    return request.headers.get("Authorization", "").removeprefix("Bearer ").strip()


def _refusal(dialect: ModuleType, status: int, message: str) -> dict[str, Any]:
    maker: Callable[[int, str], dict[str, Any]] = getattr(dialect, "refusal", chat.refusal)
    return maker(status, message)


def _embeddings(body: dict[str, Any]) -> dict[str, Any]:
    given = body.get("input") or []
    texts = [given] if isinstance(given, str) else given
    vectors = [[byte / 255 for byte in hashlib.sha256(str(text).encode()).digest()[:8]] for text in texts]
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    if body.get("encoding_format") == "base64":
        for item, vector in zip(data, vectors, strict=True):
            item["embedding"] = base64.b64encode(array("f", vector).tobytes()).decode()
    count = sum(tokens(len(str(text).encode())) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": data, "model": body.get("model", ""), "usage": usage}
