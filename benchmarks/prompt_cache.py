"""What recall costs where the provider prices cached prefixes: nothing, the system prompt rewritten, ours.

Replays a 15-turn agent conversation (8 requests a turn) and a 15-turn chat, in chat completions (automatic cache) and
Anthropic messages (the client's own cache marks), through the real gateway. `python -m benchmarks.prompt_cache`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.traffic import QUESTIONS
from tests.conftest import unused_port
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import Counted, Reply, ScriptedUpstream, ToolCall
from tests.scripted_upstream.reading import read

TURNS, LOOP = 15, 8
SYSTEM = "You are a careful assistant with many tools. Follow the rules of the house. " * 1000  # with tools 27k tokens
FILE = "def total(rows):\n    return sum(row.amount for row in rows)\n" * 40  # what a tool call gives back
DOLLARS = 3.0  # for a million tokens of input
READ, WRITE = 0.1, {"chat": 1.0, "messages": 1.25}
MORE = (
    "Translate the release notes into German and keep the code blocks.",
    "Which of these two libraries should we use, and why?",
    "The container is restarted again and again, find out why.",
    "Draw up a schedule for the migration of the accounts.",
    "Compare last month's figures with the forecast and explain the gap.",
)
QUESTIONS_ASKED = (QUESTIONS + MORE)[:TURNS]
CONFIG = """\
mode: skills_only
claw_type: none
llm: {{provider: custom, protocol: {wire}, api_base: "{url}", api_key: sk-benchmark, model_id: ""}}
proxy: {{port: {port}}}
skills: {{auto_evolve: false, retrieval_mode: template}}
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """Input of one conversation, in dollars, and how much of it was read from the cache."""

    dollars: float
    hits: float
    tokens: int


def price(wire: str, counted: list[Counted]) -> Cost:
    """What the provider asks for these calls."""
    prompt, cached = sum(one.prompt for one in counted), sum(one.cached for one in counted)
    written = sum(one.written for one in counted)
    paid = (prompt - cached - written) + cached * READ + written * WRITE[wire]
    return Cost(paid * DOLLARS / 1e6, cached / prompt, prompt)


def tools(wire: str) -> list[dict[str, Any]]:
    """Forty tools, as an agent has them."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where. " * 60}}}
    named = [{"name": f"tool_{n}", "description": "Reads a file and tells what is in it. " * 8} for n in range(40)]
    if wire == "messages":
        return [{**one, "input_schema": schema} for one in named]
    return [{"type": "function", "function": {**one, "parameters": schema}} for one in named]


class Client:
    """An agent: keeps its history, runs its tools, marks what may be cached where the protocol has marks."""

    def __init__(self, wire: str, url: str, system: Callable[[int], str]) -> None:
        self.wire = wire
        self.url = url + {"chat": "/v1/chat/completions", "messages": "/v1/messages"}[wire]
        self.system = system
        self.history: list[dict[str, Any]] = []

    def converse(self, *, with_tools: bool) -> None:
        """The whole conversation."""
        for turn, question in enumerate(QUESTIONS_ASKED):
            self.history.append({"role": "user", "content": [{"type": "text", "text": question}]})
            while not self.ask(turn, with_tools=with_tools):
                pass

    def ask(self, turn: int, *, with_tools: bool) -> bool:
        """One model call, and the tools it wants; True when the turn is over."""
        body: dict[str, Any] = {"model": "scripted-model", "tools": tools(self.wire), "max_tokens": 4096}
        system = self.system(turn)
        if self.wire == "chat":
            body["messages"] = [{"role": "system", "content": system}, *self.history]
        else:
            body["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
            body["messages"] = [*self.history[:-1], marked(self.history[-1])]
        answer = self.post(body)
        return self.take_chat(answer) if self.wire == "chat" else self.take_messages(answer)

    def post(self, body: dict[str, Any]) -> Any:
        """Send."""
        headers = {"Content-Type": "application/json", "X-Session-Id": "benchmark", "anthropic-version": "2023-06-01"}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def take_chat(self, answer: Any) -> bool:
        """Keep the answer; run its tools."""
        message = answer["choices"][0]["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or []
        self.history += [{"role": "tool", "tool_call_id": call["id"], "content": FILE} for call in calls]
        return not calls

    def take_messages(self, answer: Any) -> bool:
        """Keep the answer; run its tools."""
        self.history.append({"role": "assistant", "content": answer["content"]})
        uses = [block for block in answer["content"] if block["type"] == "tool_use"]
        results = [{"type": "tool_result", "tool_use_id": use["id"], "content": FILE} for use in uses]
        if results:
            self.history.append({"role": "user", "content": results})
        return not results


def marked(message: dict[str, Any]) -> dict[str, Any]:
    """The message with a cache mark on its last block, as agents set it."""
    *blocks, last = message["content"]
    return {**message, "content": [*blocks, {**last, "cache_control": {"type": "ephemeral"}}]}


def replay(
    upstream: ScriptedUpstream, wire: str, url: str, system: Callable[[int], str], *, loop: bool
) -> tuple[Cost, list[str]]:
    """One conversation; its cost, and what the newest message of the person was at each call."""
    upstream.reset()
    if loop:
        steps = [Reply(tool_calls=(ToolCall(f"tool_{n}", '{"path":"a.py"}'),)) for n in range(LOOP - 1)]
        upstream.rule(".", *steps, Reply(text="All of it is done now. " * 20))
    else:
        upstream.rule(".", Reply(text="This is what I would do. " * 40))
    Client(wire, url, system).converse(with_tools=loop)
    calls = upstream.calls(wire)
    counted = [call.counted for call in calls if call.counted]
    assert len(counted) == TURNS * (LOOP if loop else 1), f"{len(counted)} calls"
    return price(wire, counted), [read(wire, call.json()).user_text for call in calls]


def added(texts: list[str], per_turn: int) -> list[str]:
    """What was recalled at each turn: the person's newest message less the person's own words."""
    return [text.replace(question, "", 1) for question, text in zip(QUESTIONS_ASKED, texts[::per_turn], strict=True)]


def rewriting(blocks: list[str]) -> Callable[[int], str]:
    """A system prompt that ends with what was recalled for the turn."""
    return lambda turn: SYSTEM + blocks[turn]


def compare(wire: str) -> dict[str, dict[str, Cost]]:
    """Both conversations in one protocol, each way."""
    found: dict[str, dict[str, Cost]] = {}
    with ScriptedUpstream() as upstream, tempfile.TemporaryDirectory(prefix="bench-") as folder:
        metaclaw = MetaClaw(Path(folder), unused_port())
        metaclaw.configure(CONFIG.format(wire=wire, url=upstream.base_url, port=metaclaw.port))
        metaclaw.start_gateway()
        try:
            for name, loop in (("agent loop, 8 requests a turn", True), ("chat", False)):
                nothing, _ = replay(upstream, wire, upstream.url, lambda _: SYSTEM, loop=loop)
                ours, texts = replay(upstream, wire, metaclaw.url, lambda _: SYSTEM, loop=loop)
                blocks = added(texts, LOOP if loop else 1)
                rewritten, _ = replay(upstream, wire, upstream.url, rewriting(blocks), loop=loop)
                found[name] = {"nothing": nothing, "system prompt rewritten": rewritten, "ours": ours}
                metaclaw.request("POST", "/v1/sessions/benchmark/close", {})
        finally:
            metaclaw.stop_gateway()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prompt_cache", description=__doc__)
    parser.add_argument("--json", type=Path, help="also write everything there")
    options = parser.parse_args()
    found = {wire: compare(wire) for wire in ("messages", "chat")}
    print("| conversation | protocol | recall | input cost | × nothing | read from cache |\n|---|---|---|---|---|---|")
    for wire, conversations in found.items():
        for name, ways in conversations.items():
            for way, cost in ways.items():
                times = cost.dollars / ways["nothing"].dollars
                print(f"| {name} | {wire} | {way} | ${cost.dollars:.2f} | {times:.2f} | {cost.hits:.1%} |")
    if options.json:
        plain = {
            wire: {name: {way: cost.dollars for way, cost in ways.items()} for name, ways in conversations.items()}
            for wire, conversations in found.items()
        }
        options.json.write_text(json.dumps(plain, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
