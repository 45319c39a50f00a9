"""What can go wrong in the sidecar, in words that its callers may show.

SidecarError
├── BadSettings     a setting can't be used; the process ends with exit code 4
├── StoreError      the store can't be opened or written
│   ├── NewerSchema     a newer version wrote it; nothing was altered
│   └── InUse           another process holds the folder
├── BadScope        a scope that no caller may name
├── NotFound        no such memory, turn or job in this scope
├── Refused         the request makes no sense for what it names
└── ExtractionError the model gave no usable answer; the job is tried again, then shown
"""

from __future__ import annotations


class SidecarError(Exception):
    """The sidecar can't do what was asked."""


class BadSettings(SidecarError):
    """A setting can't be used."""


class StoreError(SidecarError):
    """The store can't be opened or written."""


class NewerSchema(StoreError):
    """The store was written by a newer version."""


class InUse(StoreError):
    """Another process holds the memory folder."""


class BadScope(SidecarError):
    """Not a scope that can be asked for."""


class NotFound(SidecarError):
    """Nothing of that id in this scope."""


class Refused(SidecarError):
    """The request can't be carried out on what it names."""


class ExtractionError(SidecarError):
    """The model gave no usable answer. `permanent` says that another try can't help."""

    def __init__(self, message: str, *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
