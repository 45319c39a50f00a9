"""Where MetaClaw keeps its state, and how paths in the configuration are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from metaclaw_adapters.files import private_dir

DEFAULT_HOME = "~/.metaclaw"


def home(environ: Mapping[str, str] | None = None) -> Path:
    """The state folder: `METACLAW_HOME`, else `~/.metaclaw`. It need not exist yet."""
    given = (os.environ if environ is None else environ).get("METACLAW_HOME", "").strip()
    return Path(given or DEFAULT_HOME).expanduser().absolute()


def make_home(environ: Mapping[str, str] | None = None) -> Path:
    """The state folder, made if need be, open to its owner only."""
    return private_dir(home(environ))


def expand(text: str, environ: Mapping[str, str] | None = None) -> Path:
    """A path of the configuration as a real one.

    `~/.metaclaw` means the state folder wherever `METACLAW_HOME` put it; a relative path starts there.
    """
    folder = home(environ)
    parts = Path(text).parts
    if parts[:2] == ("~", ".metaclaw"):
        return folder.joinpath(*parts[2:])
    return folder / Path(text).expanduser()
