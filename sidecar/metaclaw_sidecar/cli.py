"""`metaclaw-sidecar` and `python -m metaclaw_sidecar`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .errors import BadSettings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service, or its MCP server; returns the exit code."""
    given = vars(_parser().parse_args(arguments))
    try:
        return _run(given.pop("command"), given)
    except ImportError as error:
        print(f"metaclaw-sidecar: {error}: it comes with MetaClaw, install that again", file=sys.stderr)  # noqa: T201
        return 1


def _run(command: str, given: Mapping[str, Any]) -> int:
    from .settings import load

    try:
        settings = load(os.environ, given)
    except BadSettings as error:
        print(f"metaclaw-sidecar: {error}", file=sys.stderr)  # noqa: T201
        return 4
    if command == "mcp":
        from .mcp import serve_stdio

        return serve_stdio(settings)
    from .process import run

    return run(settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="metaclaw-sidecar",
        description="The memory service of MetaClaw: keeps what was said, draws facts from it, and finds them again.",
        epilog="Everything else is set by METACLAW_SIDECAR_*: see docs/memory.md.",
    )
    parser.add_argument("command", nargs="?", choices=("serve", "mcp"), default="serve", help="HTTP, or MCP on stdio")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (30001)")
    parser.add_argument("--memory-dir", type=Path, help="folder of the store (~/.metaclaw/memory)")
    parser.add_argument("--scope", help="whose memory is meant where a request names none (default)")
    parser.add_argument("--log-level", help="debug, info, warning or error (info)")
    parser.add_argument("--version", action="version", version=__version__)
    return parser
