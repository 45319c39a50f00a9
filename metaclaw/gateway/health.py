"""Liveness and readiness: answered without the framework, so that a gateway that is only watched stays small."""

from __future__ import annotations

from metaclaw import __version__
from metaclaw.gateway.protocols.spans import dumps
from metaclaw.gateway.services import Services
from metaclaw.gateway.wire import Send, respond

PATHS = ("/healthz", "/readyz")


async def answer(services: Services, path: str, send: Send) -> None:
    """`/healthz` proves which process this is; `/readyz` is 200 once journal and skills are open, else 503.

    `memory` tells a client that could recall memories itself whether the gateway does it.
    """
    if path == "/healthz":
        body = {"ok": True, "pid": services.pid, "version": __version__, "instance": services.instance}
        body["memory"] = services.settings.memory.enabled
        await respond(send, 200, dumps(body))
        return
    waiting = services.waiting_for()
    await respond(send, 503 if waiting else 200, dumps({"ok": not waiting, "waiting_for": waiting}))
