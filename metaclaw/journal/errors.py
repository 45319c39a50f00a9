"""What can go wrong with the journal.

JournalError        it could not be opened, or an item could not be written
├── NewerSchema     a later MetaClaw wrote it; nothing was altered
└── Unreadable      damaged, not a journal, out of reach, or not ours to open
"""

from __future__ import annotations


class JournalError(Exception):
    """The journal can't do what it was asked; the message says what, where and what to do."""


class NewerSchema(JournalError):
    """The journal was written by a later MetaClaw."""


class Unreadable(JournalError):
    """The journal can't be opened or read."""
