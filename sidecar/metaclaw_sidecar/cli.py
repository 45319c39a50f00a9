"""`metaclaw-sidecar` and `python -m metaclaw_sidecar`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .errors import BadSettings
from .settings import PREFIX, Settings, load


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the service, or its MCP server; returns the exit code."""
    parser = _parser()
    given = vars(parser.parse_args(arguments))
    command = given.pop("command")
    try:
        settings = load(os.environ, given)
    except BadSettings as error:
        print(f"metaclaw-sidecar: {error}", file=sys.stderr)  # noqa: T201
        return 4
    return _run(command, settings)


def _run(command: str, settings: Settings) -> int:
    if command == "mcp":
        from .mcp import serve_stdio

        return serve_stdio(settings)
    from .process import run

    return run(settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="metaclaw-sidecar",
        description="The memory service of MetaClaw: keeps what was said, draws facts from it, and finds them again.",
        epilog=f"Everything else is set by {PREFIX}*: see docs/memory.md.",
    )
    parser.add_argument("command", nargs="?", choices=("serve", "mcp"), default="serve", help="HTTP, or MCP on stdio")
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (30001)")
    parser.add_argument("--memory-dir", type=Path, help="folder of the store (~/.metaclaw/memory)")
    parser.add_argument("--scope", help="whose memory is meant where a request names none (default)")
    parser.add_argument("--log-level", help="debug, info, warning or error (info)")
    parser.add_argument("--version", action="version", version=__version__)
    return parser
