"""The gateway's process: `python -m metaclaw.gateway --config FILE`.

It holds `run/gateway.lock` for life and writes `run/gateway.json` once it listens. Exit codes: 0 stopped, 1 failed or
already running, 3 port taken, 4 bad configuration.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import signal
import socket
import sys
import time
from pathlib import Path

from metaclaw import __version__, logs
from metaclaw.config import ConfigError, Loaded, home, load, make_home
from metaclaw_adapters.files import private_dir, write_atomic

PORT_TAKEN, BAD_CONFIG = 3, 4
_DRAIN_SECONDS = 30
_log = logging.getLogger("metaclaw.gateway")  # as a program this module has no name of its own


def main() -> int:
    """Run until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m metaclaw.gateway", description=__doc__)
    parser.add_argument("--config", type=Path, default=None, help="configuration file")
    arguments = parser.parse_args()
    try:
        loaded = load(arguments.config)
    except ConfigError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the starter reads it
        return BAD_CONFIG
    run = private_dir(make_home() / "run")
    from filelock import FileLock, Timeout

    # Who looks whether it is held holds it for an instant.
    lock = FileLock(run / "gateway.lock", timeout=1, mode=0o600)
    try:
        lock.acquire()
    except Timeout:
        print("another gateway holds this state folder; `metaclaw status` shows it", file=sys.stderr)  # noqa: T201
        return 1
    with lock:
        return _run(loaded, run / "gateway.json")


def _run(loaded: Loaded, run_file: Path) -> int:
    proxy = loaded.settings.proxy
    try:
        listener = _listen(proxy.host, proxy.port)
    except OSError as error:
        print(f"{proxy.host}:{proxy.port}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return PORT_TAKEN if error.errno == errno.EADDRINUSE else 1
    logs.configure(loaded.settings.log, home(), secrets=loaded.secret_values())
    for warning in loaded.warnings:
        _log.warning("%s", warning)
    try:
        return _serve(loaded, run_file, listener)
    finally:
        run_file.unlink(missing_ok=True)


def _serve(loaded: Loaded, run_file: Path, listener: socket.socket) -> int:
    import uvicorn

    from metaclaw.gateway.app import build_app
    from metaclaw.gateway.services import Services, new_token

    proxy = loaded.settings.proxy
    services = Services(loaded, new_token())
    config = uvicorn.Config(
        build_app(services),
        loop="auto",
        http="httptools",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        date_header=False,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
        timeout_keep_alive=75,
    )
    server = uvicorn.Server(config)

    def shut_down() -> None:
        server.should_exit = True

    services.shut_down = shut_down
    # The server raises the signal again when it is done; without a handler of ours that would end in -15, not in 0.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: shut_down())
    facts = {
        "pid": os.getpid(),
        "host": proxy.host,
        "port": proxy.port,
        "token": services.token,
        "started_at": time.time(),
        "version": __version__,
    }
    write_atomic(run_file, json.dumps(facts).encode(), mode=0o600)
    _log.info("listening on %s:%s, mode %s", proxy.host, proxy.port, loaded.settings.mode)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":  # there it would let a second program take the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
    except OSError:
        listener.close()
        raise
    return listener


if __name__ == "__main__":
    sys.exit(main())
