"""Which upstream is asked, in which protocol, and what happens when it can't be: retries and fallbacks, ahead of the
first byte only."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metaclaw.gateway.metrics import Metrics
from metaclaw.gateway.upstream.base import Answer, Request, Upstream, UpstreamError, WireName
from metaclaw.gateway.upstream.passthrough import pause

_OVERLOADED = frozenset((500, 502, 503, 504, 529))


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream with what it wants to find in a request."""

    name: str
    upstreams: Sequence[Upstream]  # the first that speaks the client's protocol is used
    model_id: str = ""
    drop_fields: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def upstream(self, wire: WireName) -> Upstream | None:
        """Who answers calls in this protocol."""
        return next((u for u in self.upstreams if u.speaks(wire)), None)


class Dispatcher:
    """Asks the first target, and on trouble ahead of the first byte the next."""

    def __init__(self, targets: Sequence[Target], metrics: Metrics, *, retries: int, missing: str = "") -> None:
        """`missing` says in one line what is not configured when there is no target."""
        self.targets = list(targets)
        self._metrics = metrics
        self._retries = retries
        self._missing = missing

    def speaks(self, wire: WireName) -> bool:
        """Whether some target answers this protocol."""
        return any(t.upstream(wire) for t in self.targets)

    async def send(self, request: Request, body: Callable[[Target], bytes]) -> Answer:
        """The first answer that is not an overload; at the end the last answer or error, whatever it is.

        `body` gives the request's bytes for a target. Raises UpstreamError.
        """
        candidates = [(t, u) for t in self.targets if (u := t.upstream(request.wire)) is not None]
        if not candidates:
            raise UpstreamError(503, self._missing or f"no upstream answers {request.wire} calls")
        for position, (target, upstream) in enumerate(candidates):
            last = position == len(candidates) - 1
            wanted = replace(request, body=body(target), model=target.model_id or request.model)
            answer = await self._try(upstream, wanted, last=last)
            if answer is not None:
                return answer
            self._metrics.count("fallback")
        raise AssertionError("the last candidate answers or raises")

    async def _try(self, upstream: Upstream, request: Request, *, last: bool) -> Answer | None:
        """Ask one upstream, with retries; None when the next one should be asked."""
        for attempt in range(self._retries + 1):
            more = attempt < self._retries
            try:
                answer = await upstream.send(request)
            except UpstreamError as error:
                if error.retryable and more:
                    self._metrics.count("retry")
                    await pause(attempt, random.random())  # noqa: S311 - spreads retries, guards nothing
                    continue
                if last or not error.retryable:
                    raise
                return None
            if answer.status not in _OVERLOADED and not (answer.status == 429 and not last):
                return answer
            if answer.status != 429 and more:
                self._metrics.count("retry")
                await answer.aclose()
                await pause(attempt, random.random())  # noqa: S311
                continue
            if last:
                return answer
            await answer.aclose()
            return None
        raise AssertionError("the last attempt returns or raises")

    async def aclose(self) -> None:
        """Close all upstreams."""
        for target in self.targets:
            for upstream in target.upstreams:
                await upstream.aclose()
