"""The service's process: locks, port, server, signals, exit codes."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from . import __version__
from .errors import SidecarError
from .ownership import Run, announced, owned
from .settings import Settings

if TYPE_CHECKING:
    from .service import Service

STOPPED, FAILED, USAGE, PORT_TAKEN, BAD_SETTINGS = range(5)
_DRAIN_SECONDS = 10
_SWITCH = 0.0005  # seconds a thread may keep the interpreter while a request waits for it
Companion = Callable[["Service"], Awaitable[None]]
_log = logging.getLogger(__name__)


def run(settings: Settings) -> int:
    """Serve until told to stop; returns the exit code, after one line on standard error where something is wrong."""
    try:
        with owned(settings):
            return listen_and_serve(settings)
    except (SidecarError, OSError) as error:
        print(f"metaclaw-sidecar: {error}", file=sys.stderr)  # noqa: T201 - the starter reads it
        return BAD_SETTINGS


def configure_logs(level: str) -> None:
    """Log to standard error; what libraries have to say of themselves is not news."""
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s", force=True
    )
    for noisy in ("uvicorn", "httpx", "httpcore", "chromadb", "mem0", "LiteLLM", "urllib3", "filelock", "mcp"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def listen_and_serve(settings: Settings, beside: Companion | None = None) -> int:
    """Serve; whoever calls this owns the folders. With something `beside`, as long as that runs, on any port."""
    try:
        listener = _listen(settings.host, settings.port, or_any=beside is not None)
    except OSError as error:
        reason = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        print(f"metaclaw-sidecar: {settings.host}:{settings.port}: {reason}", file=sys.stderr)  # noqa: T201
        return PORT_TAKEN if error.errno == errno.EADDRINUSE else FAILED
    configure_logs(settings.log_level)
    sys.setswitchinterval(_SWITCH)
    with listener, asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_serve(settings, listener, beside))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if importlib.util.find_spec("uvloop") is None:  # it is not made for Windows
        return None
    import uvloop

    return uvloop.new_event_loop


async def _serve(settings: Settings, listener: socket.socket, beside: Companion | None) -> int:
    import uvicorn

    from .api import build_app
    from .service import Service

    token = secrets.token_urlsafe(32)
    port = listener.getsockname()[1]
    service = Service(settings)

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: Any = None) -> None:
            await service.release()  # else those who follow events would keep it from ending
            await super().shutdown(sockets)

    def shut_down() -> None:
        server.should_exit = True

    config = uvicorn.Config(
        build_app(service, token, port=port, shut_down=shut_down), http="httptools", lifespan="on", access_log=False,
        log_config=None, server_header=False, date_header=False, proxy_headers=False, timeout_keep_alive=75,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )  # fmt: skip
    server = Server(config)
    # The server raises the signal again when it is done; without a handler of ours that would end in -15, not in 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: shut_down())
    with announced(settings.run_dir, Run(os.getpid(), settings.host, port, token, time.time(), __version__)):
        _log.info("memory of %s on %s:%s, extraction: %s", settings.memory_dir, settings.host, port, service.extraction)
        other = asyncio.create_task(_until_done(beside(service), shut_down)) if beside else None
        await server.serve(sockets=[listener])
    if other is not None and not other.done():
        os._exit(STOPPED)  # told to stop while a thread waits for our standard input: nothing else ends that wait
    return STOPPED if server.started else FAILED


async def _until_done(other: Awaitable[None], shut_down: Callable[[], None]) -> None:
    try:
        await other
    finally:
        shut_down()


def _listen(host: str, port: int, *, or_any: bool = False) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's delay off only for sockets that name their protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # there it would let a second program take the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        if or_any and error.errno == errno.EADDRINUSE:
            return _listen(host, 0)
        raise
    return listener
