"""`metaclaw version`."""

from __future__ import annotations

import platform

from metaclaw import __version__
from metaclaw.cli.output import JsonFlag, say, show


def version(json: bool = JsonFlag) -> None:
    """Show the version."""
    if json:
        data = {"version": __version__, "python": platform.python_version(), "platform": platform.platform()}
        show(data, as_json=True)
    else:
        say(f"metaclaw {__version__}")
