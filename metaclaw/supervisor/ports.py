"""Which program holds a port."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath

import psutil

_INTERPRETERS = ("python", "pypy", "node", "bun", "deno", "ruby", "java", "php", "perl")


@dataclass(frozen=True, slots=True)
class Holder:
    """The program that listens on a port; `pid` 0 and no name where the system won't tell."""

    pid: int = 0
    name: str = ""
    command: str = ""
    user: str = ""

    def __str__(self) -> str:
        if not self.pid:
            return "another program (of another user: its name needs administrator rights)"
        program = f"{self.name} {self.command}".strip()
        return f"{program} (pid {self.pid}" + (f", user {self.user}" if self.user else "") + ")"


def is_free(host: str, port: int) -> bool:
    """Whether this address can be listened on now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # On Windows SO_REUSEADDR would let two programs share the port; elsewhere it only forgives TIME_WAIT.
        option = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        probe.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            return error.errno not in (errno.EADDRINUSE, errno.EACCES)
        return True


def holder(port: int) -> Holder | None:
    """Who listens on this TCP port; None when nobody does."""
    for pid, local_port, status in _sockets():
        if local_port == port and status == psutil.CONN_LISTEN:
            return _describe(pid) if pid else Holder()
    return None


def _sockets() -> Iterator[tuple[int | None, int, str]]:
    """(pid, local port, status) of TCP sockets: of the whole machine, or of what this user may see (macOS)."""
    try:
        for one in psutil.net_connections(kind="tcp"):
            yield one.pid, one.laddr.port if one.laddr else 0, one.status
        return
    except psutil.AccessDenied:
        pass
    for process in psutil.process_iter():
        try:
            for item in process.net_connections(kind="tcp"):
                yield process.pid, item.laddr.port if item.laddr else 0, item.status
        except psutil.Error:
            continue


def _describe(pid: int) -> Holder:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            name = process.name()
            command, user = _command(process), _user(process)
    except psutil.Error:
        return Holder(pid=pid, name="a program")
    return Holder(pid, name, command, user)


def _command(process: psutil.Process) -> str:
    """The script or module an interpreter runs; no other argument, since arguments may carry secrets."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return ""
    if len(words) < 2 or not PurePath(words[0]).name.lower().startswith(_INTERPRETERS):
        return ""
    if words[1] == "-m" and len(words) > 2:
        return f"-m {words[2]}"
    return "" if words[1].startswith("-") else PurePath(words[1]).name


def _user(process: psutil.Process) -> str:
    try:
        owner = process.username()
        return "" if owner == psutil.Process().username() else owner
    except (psutil.Error, KeyError):
        return ""
