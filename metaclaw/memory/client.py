"""The one client of the memory service."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import aiohttp

_FIRST_REST, _LONGEST_REST = 0.5, 15.0


class MemoryDown(Exception):
    """The memory service gave no answer, or not in time; the message is one line for people.

    `refused` says that it did answer, and that the same call would be refused again.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service answers, and what it wants to see of its callers."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the service, whatever its status."""

    status: int
    body: bytes
    kind: str = "application/json"

    def value(self) -> Any:
        """The answer as JSON. Raises MemoryDown for an error or for something else."""
        try:
            value = json.loads(self.body)
        except ValueError:
            raise MemoryDown(f"the memory service answered {self.status} and no JSON") from None
        if self.status >= 400:
            error = value.get("error") if isinstance(value, dict) else None
            message = error.get("message") if isinstance(error, dict) else None
            text = f"the memory service refused ({self.status}): {message or 'no reason given'}"
            raise MemoryDown(text, refused=self.status < 500)
        return value


class MemoryClient:
    """Asks the service. After a failure it rests for a moment, so that a dead service costs a turn next to nothing."""

    def __init__(
        self,
        place: Callable[[], Place | None],
        session: Callable[[str], aiohttp.ClientSession],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`place` says where the service is now, None while it is nowhere; `session` gives the HTTP pool for a URL."""
        self._place = place
        self._session = session
        self._clock = clock
        self._rest = 0.0
        self._resting_until = 0.0
        self.problem = ""  # why the last call failed; empty once one went well

    @property
    def resting(self) -> bool:
        """Whether it was just seen not to answer."""
        return self._clock() < self._resting_until

    async def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float, hurried: bool = False
    ) -> Any:
        """The service's answer as JSON. A `hurried` call isn't tried while the client rests. Raises MemoryDown."""
        if hurried and self.resting:
            raise MemoryDown(self.problem)
        raw = None if body is None else json.dumps(body).encode()
        return (await self.send(method, path, raw, timeout=timeout)).value()

    async def send(
        self, method: str, path: str, body: bytes | None = None, *, query: str = "", timeout: float
    ) -> Reply:
        """The service's answer as it is; `timeout` is in seconds. Raises MemoryDown when there is none."""
        import aiohttp

        place = self._place()
        if place is None:
            raise self._failed("the memory service is not running")
        url = f"{place.url.rstrip('/')}{path}{f'?{query}' if query else ''}"
        headers = {**place.headers, **({"Content-Type": "application/json"} if body is not None else {})}
        try:
            async with self._session(url).request(
                method, url, data=body, headers=headers, timeout=aiohttp.ClientTimeout(total=timeout)
            ) as answer:
                reply = Reply(answer.status, await answer.read(), answer.headers.get("Content-Type", ""))
        except TimeoutError:
            raise self._failed(f"the memory service did not answer in {timeout * 1000:.0f} ms") from None
        except (aiohttp.InvalidURL, ValueError):
            raise self._failed(f"memory.sidecar_url is not a URL: {place.url}") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._failed(f"the memory service can't be reached ({type(error).__name__})") from None
        self._rest, self._resting_until, self.problem = 0.0, 0.0, ""
        return reply

    def _failed(self, problem: str) -> MemoryDown:
        self.problem = problem
        self._rest = min(_LONGEST_REST, self._rest * 2 or _FIRST_REST)
        self._resting_until = self._clock() + self._rest
        return MemoryDown(problem)
