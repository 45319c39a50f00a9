"""What can go wrong while a claw is wired, in words for its user.

Exceptions:
    AdapterError
    ├── Unreadable      a file of the claw can't be read or is of an unknown shape; it was left alone
    ├── NotEditable     the file can be read, but this edit can't be made in its text; it was left alone
    ├── CommandFailed   a program of the claw failed, or took too long
    ├── Refused         the claw's own validator or writer said no; everything was put back
    └── Interfered      somebody else changed the file in the middle of it; trying again is safe
"""

from __future__ import annotations


class AdapterError(Exception):
    """A claw could not be wired, unwired or looked at."""


class Unreadable(AdapterError):
    """A configuration file can't be understood."""


class NotEditable(AdapterError):
    """The text of a configuration file can't take this edit."""


class CommandFailed(AdapterError):
    """A program ended badly, or not in time."""


class Refused(AdapterError):
    """The claw itself did not accept the change."""


class Interfered(AdapterError):
    """A file changed between our looking at it and our writing it."""
