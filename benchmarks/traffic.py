"""What clients ask: bodies of a size, streams, and the main turns of growing conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.load import request
from benchmarks.origin import TEXT

PATH = "/v1/chat/completions"
TURNS = 10
QUESTIONS = (
    "Why does this test fail only sometimes on the build machine, and how do I find the cause?",
    "Please review this pull request for security problems before I merge it.",
    "Write an email to the team about the delay of the release.",
    "How should I clean the missing values in this data set before I fit a model?",
    "The SQL query takes a minute, how can I make it faster?",
    "Summarise these three papers and tell me where they disagree.",
    "Set up a cron job that backs up the database every night.",
    "Refactor this function, it has grown to two hundred lines.",
    "Plan my week: two deadlines, a trip on Thursday, and the tax papers.",
    "The monthly report number 3 is due, what do I have to do?",
)


def sized(url: str, headers: Mapping[str, str], size: int, model: str = "whole", *, stream: bool = False) -> bytes:
    """One request whose body has about `size` bytes."""
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "hello"}]}
    if stream:
        body["stream"] = True
    filler = "All of this was said before. " * (max(0, size - 200) // 29)
    body["messages"].insert(0, {"role": "system", "content": filler})
    return request(url, json.dumps(body).encode(), {**headers})


def conversations(url: str, headers: Mapping[str, str], count: int, prefix: str) -> Iterator[bytes]:
    """Main turns: `count` conversations of ten turns, each request with all that was said before."""
    system = {"role": "system", "content": "You are a personal assistant. " * 60}
    for number in range(count):
        messages: list[dict[str, str]] = [system]
        named = {**headers, "X-Session-Id": f"{prefix}-{number}"}
        for turn in range(TURNS):
            question = QUESTIONS[(number + turn) % len(QUESTIONS)]
            messages.append({"role": "user", "content": f"{question} ({number}.{turn})"})
            yield request(url, json.dumps({"model": "whole", "messages": messages}).encode(), named)
            messages.append({"role": "assistant", "content": TEXT})
