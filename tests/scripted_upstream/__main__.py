"""Run the scripted upstream by itself."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from tests.scripted_upstream.script import Script
from tests.scripted_upstream.server import ScriptedUpstream


async def serve(upstream: ScriptedUpstream) -> None:
    """Listen until interrupted."""
    await upstream.start()
    print(f"scripted upstream at {upstream.base_url}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.scripted_upstream", description=__doc__)
    parser.add_argument("--port", type=int, default=18180)
    parser.add_argument("--log", type=Path, help="append each request as a line of JSON")
    parser.add_argument("--script", type=Path, help="rules as JSON: [{when, replies: [{text, tool_calls, …}]}]")
    parser.add_argument("--api-key", default="", help="answer 401 to any other key")
    options = parser.parse_args()
    script = Script.from_json(options.script.read_text(encoding="utf-8")) if options.script else Script()
    try:
        asyncio.run(serve(ScriptedUpstream(script, options.port, options.api_key, log=options.log)))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
