"""The record of every turn: written off the request path, read by whoever learns from it."""

from .database import sqlite_url
from .errors import JournalError, NewerSchema, Unreadable
from .journal import Journal
from .records import (
    Call,
    Event,
    Feedback,
    Injection,
    Item,
    Message,
    Session,
    SessionEnd,
    Turn,
    Usage,
)

__all__ = [
    "Call",
    "Event",
    "Feedback",
    "Injection",
    "Item",
    "Journal",
    "JournalError",
    "Message",
    "NewerSchema",
    "Session",
    "SessionEnd",
    "Turn",
    "Unreadable",
    "Usage",
    "sqlite_url",
]
