"""Runs a vendor's program for one answer, and leaves nothing of it behind.

SubscriptionError
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from metaclaw.subscription.commands import INSTRUCTIONS, Program, child_environment, usable_model
from metaclaw.subscription.events import Event, Reader, failed
from metaclaw.subscription.transcript import Conversation

_LINE_LIMIT = 2**26  # one printed line may hold a whole answer
_STDERR_KEPT = 4000


class SubscriptionError(Exception):
    """The program could not be asked. `status`: 400 wrong request, 503 missing or not logged in, 504 silent."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Call:
    """One running program. Iterate once over its events; `aclose` ends it at any time."""

    def __init__(self, program: Program, process: asyncio.subprocess.Process, folder: Path, idle: float) -> None:
        self._program = program
        self._process = process
        self._folder = folder
        self._idle = idle
        self._closed = False
        self._stderr = b""
        self._tasks: list[asyncio.Task[None]] = []

    def feed(self, prompt: str) -> None:
        """Write the prompt to stdin and collect stderr, both beside the reading of stdout."""
        self._tasks = [asyncio.create_task(self._write(prompt)), asyncio.create_task(self._keep_stderr())]

    async def _write(self, prompt: str) -> None:
        stdin = self._process.stdin
        if stdin is None:
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it ended before reading; stdout says why
            stdin.write(prompt.encode("utf-8", "replace"))
            await stdin.drain()
            stdin.close()

    async def _keep_stderr(self) -> None:
        if self._process.stderr is not None:
            while chunk := await self._process.stderr.read(65536):
                self._stderr = (self._stderr + chunk)[-_STDERR_KEPT:]

    async def events(self) -> AsyncIterator[Event]:
        """The answer as it is printed; the last event says how it ended. Raises SubscriptionError on silence."""
        reader = Reader(self._program.name)
        stdout = self._process.stdout
        while stdout is not None:
            try:
                line = await asyncio.wait_for(stdout.readline(), self._idle)
            except TimeoutError:
                raise SubscriptionError(504, f"{self._program.title} fell silent") from None
            except ValueError:
                raise SubscriptionError(502, f"{self._program.title} printed an endless line") from None
            if not line:
                break
            for event in reader.feed(line.decode("utf-8", "replace")):
                yield event
                if event.last:
                    return
        yield await self._ended_early()

    async def _ended_early(self) -> Event:
        code = await self._process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        lines = [line for line in self._stderr.decode("utf-8", "replace").splitlines() if line.strip()]
        said = " ".join(lines[-3:])
        event = failed(said)
        if event.status != 502:
            return event
        return failed(f"it ended with code {code}" + (f": {said}" if said else ""), 502)

    async def aclose(self) -> None:
        """End the program with all it started, and remove its folder."""
        if self._closed:
            return
        self._closed = True
        try:
            _kill_tree(self._process)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._process.wait()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _kill_tree(process: asyncio.subprocess.Process) -> None:
    import psutil  # only here: it takes time to import

    if process.returncode is not None:
        return
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    with contextlib.suppress(ProcessLookupError):
        process.kill()


async def start(
    program: Program,
    conversation: Conversation,
    *,
    model: str = "",
    token: str = "",
    idle: float = 600.0,
    environ: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
) -> Call:
    """Start the program on a conversation. `extra` is set on top of its environment. Raises SubscriptionError."""
    if not usable_model(model):
        raise SubscriptionError(400, f"{program.title} can't be given a model of that name")
    inherited = dict(os.environ if environ is None else environ)
    path = shutil.which(program.name, path=inherited.get("PATH"))
    if path is None:
        raise SubscriptionError(
            503, f"{program.title} is not installed (no `{program.name}` on PATH): {program.install}"
        )
    folder = Path(tempfile.mkdtemp(prefix="metaclaw-cli-"))
    try:
        _write_files(folder, program, conversation)
        environment = child_environment(inherited) | program.environment(folder, token) | dict(extra or {})
        process = await asyncio.create_subprocess_exec(
            path,
            *program.arguments(folder, model),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder / "work",
            env=environment,
            limit=_LINE_LIMIT,
            start_new_session=os.name == "posix",
        )
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SubscriptionError(503, f"{program.title} can't be started: {error.strerror or error}") from None
    call = Call(program, process, folder, idle)
    call.feed(conversation.prompt)
    return call


def _write_files(folder: Path, program: Program, conversation: Conversation) -> None:
    (folder / "work").mkdir(mode=0o700)
    for name, content in {INSTRUCTIONS: conversation.system, **program.files}.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
