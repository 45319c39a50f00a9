"""The gateway one would write in an afternoon: FastAPI and one httpx client (uvicorn benchmarks.passthrough:app)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from fastapi import FastAPI, Request
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for all requests."""
    limits = httpx.Limits(max_connections=256, max_keepalive_connections=256)
    async with httpx.AsyncClient(base_url=os.environ["ORIGIN"], limits=limits, timeout=600) as app.state.client:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/v1/chat/completions")
async def forward(request: Request) -> StreamingResponse:
    """Send the body on, stream the answer back."""
    client: httpx.AsyncClient = request.app.state.client
    headers = {"content-type": "application/json"}
    asked = client.build_request("POST", "/v1/chat/completions", content=await request.body(), headers=headers)
    answer = await client.send(asked, stream=True)
    kept = {name: answer.headers[name] for name in ("content-type",) if name in answer.headers}
    return StreamingResponse(
        answer.aiter_raw(), answer.status_code, headers=kept, background=BackgroundTask(answer.aclose)
    )
