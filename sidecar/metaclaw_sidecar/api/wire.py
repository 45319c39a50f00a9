"""What all routes share: the scope that is meant, bodies read off the loop, and errors in one shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from ..errors import BadScope, NotFound, Refused, SidecarError, StoreError
from ..scopes import parse
from ..service import Service
from .requests import Asked

_LARGE = 1 << 16  # bytes of JSON whose parsing another request would feel
_STATUS: dict[type[SidecarError], tuple[int, str]] = {
    BadScope: (400, "bad_scope"),
    NotFound: (404, "not_found"),
    Refused: (409, "conflict"),
    StoreError: (503, "unavailable"),
}
_TYPES = {403: "forbidden", 404: "not_found", 405: "method"}


class _Request(Request):
    async def json(self) -> Any:
        """The body's value; a large one is parsed in a thread, and half a character is no reason to lose a turn."""
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = _parsed(body) if len(body) < _LARGE else await asyncio.to_thread(_parsed, body)
        return self._json


class Route(APIRoute):
    """A route whose body is parsed that way."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, given our kind of request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_Request(request.scope, request.receive))

        return handle


def service_of(request: Request) -> Service:
    """The service behind the app."""
    return cast(Service, request.app.state.service)


def _query_scope(
    request: Request,
    scope_id: Annotated[str | None, Query(description="whose memory; the service's own scope")] = None,
    scope: Annotated[str | None, Query(description="the same")] = None,
) -> str | None:
    if scope_id is not None and scope is not None and scope_id != scope:
        raise BadScope("scope and scope_id name two scopes")
    return scope if scope_id is None else scope_id


Owner = Annotated[Service, Depends(service_of)]
_Query = Annotated[str | None, Depends(_query_scope)]


def _scope(service: Owner, named: _Query) -> str:
    return parse(named, service.settings.scope)


ScopeId = Annotated[str, Depends(_scope)]
"""The scope of a request without a body."""


def scope_of(service: Service, asked: Asked) -> str:
    """The scope of a request with a body."""
    return parse(asked.scope_id, service.settings.scope)


def failure(status: int, kind: str, message: str) -> JSONResponse:
    """An error as the API shows it."""
    return JSONResponse({"error": {"type": kind, "message": message}}, status)


def add_error_handlers(app: FastAPI) -> None:
    """Give every error that one shape."""

    async def refused(_: Request, error: Exception) -> Response:
        status, kind = next((known for tree, known in _STATUS.items() if isinstance(error, tree)), (409, "conflict"))
        return failure(status, kind, str(error))

    async def invalid(_: Request, error: Exception) -> Response:
        problem = cast(RequestValidationError, error).errors()[0]
        if problem["type"] == "json_invalid":
            return failure(400, "invalid", "the body is not JSON")
        place = ".".join(str(part) for part in problem["loc"][1:])
        return failure(422, "invalid", f"{place}: {problem['msg']}" if place else str(problem["msg"]))

    async def other(request: Request, error: Exception) -> Response:
        status = cast(HTTPException, error).status_code
        message = f"there is no {request.url.path}" if status == 404 else str(cast(HTTPException, error).detail)
        return failure(status, _TYPES.get(status, "invalid"), message)

    async def fault(_: Request, __: Exception) -> Response:  # the server logs it
        return failure(500, "internal", "the memory service has a fault here; its log says which")

    app.add_exception_handler(SidecarError, refused)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, other)
    app.add_exception_handler(Exception, fault)


def _parsed(body: bytes) -> Any:
    value = json.loads(body)
    return _whole(value) if b"\\ud" in body or b"\\uD" in body else value


def _whole(value: Any) -> Any:
    """The value without halves of surrogate pairs."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(item) for name, item in value.items()}
    return value
