"""Tuning of the retrieval settings: what was measured, what waits for a yes, and the way back."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from .wire import Owner, Route

router = APIRouter(route_class=Route, prefix="/upgrade", tags=["upgrade"])


@router.get("/status")
async def status(service: Owner) -> dict[str, Any]:
    """The retrieval settings in force, those that wait for a yes, and what was measured."""
    return service.tuner.status()


@router.post("/trigger")
async def trigger(service: Owner) -> dict[str, bool]:
    """Tune now; `ran` is false when that is under way, or there is too little to measure."""
    return {"triggered": True, "ran": await service.tuner.run()}


@router.post("/approve")
async def approve(service: Owner) -> dict[str, Any]:
    """Put in force what waits for a yes."""
    return service.tuner.approve()


@router.post("/reject")
async def reject(service: Owner) -> dict[str, Any]:
    """Drop what waits for a yes."""
    return service.tuner.reject()


@router.post("/rollback")
async def rollback(service: Owner) -> dict[str, Any]:
    """Go back to what was in force before."""
    return service.tuner.rollback()
