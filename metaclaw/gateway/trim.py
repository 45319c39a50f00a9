"""Keeps a request within `max_context_tokens` by leaving out the oldest whole turns; off unless it is configured."""

from __future__ import annotations

from collections.abc import Callable

from metaclaw.gateway.protocols import ClientRequest, Item


def oldest_turns(request: ClientRequest, limit: int, count: Callable[[str], int]) -> frozenset[int]:
    """Indices of the items to leave out so that the conversation has at most `limit` tokens.

    Only whole turns go, oldest first: a person's message with everything up to the next one, so that no tool result
    loses its call. System messages and the newest turn always stay, even if they alone pass the limit.
    """
    costs = [count(item.raw.decode("utf-8", "replace")) for item in request.items]
    total = sum(costs)
    left_out: set[int] = set()
    for turn in _turns(request.items)[:-1]:
        if total <= limit:
            break
        left_out.update(turn)
        total -= sum(costs[index] for index in turn)
    return frozenset(left_out)


def _turns(items: list[Item]) -> list[list[int]]:
    turns: list[list[int]] = []
    answered = True
    for index, item in enumerate(items):
        if item.role in ("system", "developer"):
            continue
        person = item.role == "user" and any(u.role == "user" and u.kind != "result" for u in item.units)
        results = any(u.kind == "result" for u in item.units)
        if not turns or (person and answered and not results):
            turns.append([])
            answered = False
        turns[-1].append(index)
        answered = answered or any(u.role == "assistant" for u in item.units)
    return turns
