"""What recall costs where the provider prices cached prefixes: nothing, the system prompt rewritten, ours.

Replays a 15-turn agent conversation (8 requests a turn), a 15-turn chat, and a chat that changes the subject at every
turn, in chat completions (automatic cache) and Anthropic messages (the client's own cache marks), through the real
gateway. "Rewritten" puts what is recalled for each question by itself at the end of the system prompt.
`python -m benchmarks.prompt_cache`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.traffic import QUESTIONS
from tests.conftest import unused_port
from tests.e2e.program import MetaClaw
from tests.scripted_upstream import Counted, Reply, ScriptedUpstream, ToolCall
from tests.scripted_upstream.cache import tokens
from tests.scripted_upstream.reading import read

TURNS, LOOP = 15, 8
SYSTEM = "You are a careful assistant with many tools. Follow the rules of the house. " * 1000  # with tools 27k tokens
FILE = "def total(rows):\n    return sum(row.amount for row in rows)\n" * 40  # what a tool call gives back
DOLLARS = 3.0  # for a million tokens of input
READ, WRITE = 0.1, {"chat": 1.0, "messages": 1.25}
TASK = (
    "The test suite fails only sometimes on the build machine. Find out why.",
    "Which test was it in the last three runs?",
    "Yes, go on with the second idea.",
    "Now run it twenty times in a row.",
    "Fix it properly, not with a retry.",
    "Why is that right?",
    "Write a test that would have caught it.",
    "ok",
    "Give the function a clearer name.",
    "Commit this with a short message.",
    "Does the documentation need a change?",
    "Shorten that paragraph.",
    "Write the description of the pull request.",
    "Tell the team in two sentences.",
    "Thanks, that was all.",
)
TALK = (
    "I have to give a talk about our database migration next week. How do I begin?",
    "Twenty minutes, for people who don't write code.",
    "What should be on the first slide?",
    "Can you make that less dry?",
    "Which numbers matter to them?",
    "We had two hours of downtime. Should I say so?",
    "Good. How do I say it?",
    "And if they ask who was at fault?",
    "ok",
    "Write me an outline.",
    "The third point is too long.",
    "What do I say at the end?",
    "How often should I rehearse?",
    "I'm nervous about the questions.",
    "Thanks, that helps.",
)
SUBJECTS = (
    *QUESTIONS,
    "Translate the release notes into German and keep the code blocks.",
    "Which of these two libraries should we use, and why?",
    "The container is restarted again and again, find out why.",
    "Draw up a schedule for the migration of the accounts.",
    "Compare last month's figures with the forecast and explain the gap.",
)
CONVERSATIONS = (
    ("agent loop, 8 requests a turn", TASK, True),
    ("chat", TALK, False),
    ("chat, a new subject at every turn", SUBJECTS, False),
)
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


def tool_list(wire: str) -> list[dict[str, Any]]:
    """Forty tools, as an agent has them."""
    schema = {"type": "object", "properties": {"path": {"type": "string", "description": "Where. " * 60}}}
    named = [{"name": f"tool_{n}", "description": "Reads a file and tells what is in it. " * 8} for n in range(40)]
    if wire == "messages":
        return [{**one, "input_schema": schema} for one in named]
    return [{"type": "function", "function": {**one, "parameters": schema}} for one in named]


class Client:
    """An agent: keeps its history, runs its tools, marks what may be cached where the protocol has marks."""

    def __init__(self, wire: str, url: str, system: Callable[[int], str], session: str) -> None:
        self.wire = wire
        self.session = session
        self.url = url + {"chat": "/v1/chat/completions", "messages": "/v1/messages"}[wire]
        self.system = system
        self.history: list[dict[str, Any]] = []

    def converse(self, questions: Sequence[str]) -> None:
        """The whole conversation."""
        for turn, question in enumerate(questions):
            self.history.append({"role": "user", "content": [{"type": "text", "text": question}]})
            while not self.ask(turn):
                pass

    def ask(self, turn: int) -> bool:
        """One model call, and the tools it wants; True when the turn is over."""
        body: dict[str, Any] = {"model": "scripted-model", "tools": tool_list(self.wire), "max_tokens": 4096}
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
        headers = {"Content-Type": "application/json", "X-Session-Id": self.session, "anthropic-version": "2023-06-01"}
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
    upstream: ScriptedUpstream,
    wire: str,
    url: str,
    system: Callable[[int], str],
    questions: Sequence[str],
    *,
    loop: bool,
) -> tuple[Cost, list[str]]:
    """One conversation; its cost, and what the newest message of the person was at each turn."""
    upstream.reset()
    if loop:
        steps = [Reply(tool_calls=(ToolCall(f"tool_{n}", '{"path":"a.py"}'),)) for n in range(LOOP - 1)]
        upstream.rule(".", *steps, Reply(text="All of it is done now. " * 20))
    else:
        upstream.rule(".", Reply(text="This is what I would do. " * 40))
    Client(wire, url, system, "replayed" + questions[0]).converse(questions)
    calls = upstream.calls(wire)
    counted = [call.counted for call in calls if call.counted]
    assert len(counted) == TURNS * (LOOP if loop else 1), f"{len(counted)} calls"
    texts = [read(wire, call.json()).user_text for call in calls[:: LOOP if loop else 1]]
    return price(wire, counted), added(texts, questions)


def alone(upstream: ScriptedUpstream, wire: str, url: str, questions: Sequence[str]) -> list[str]:
    """What is recalled for each question when it is the first of a conversation."""
    upstream.reset()
    for question in questions:
        Client(wire, url, lambda _: "", f"alone {question}").converse([question])
    return added([read(wire, call.json()).user_text for call in upstream.calls(wire)], questions)


def added(texts: list[str], questions: Sequence[str]) -> list[str]:
    """What was recalled at each turn: the person's newest message less the person's own words."""
    return [text.replace(question, "", 1).strip() for question, text in zip(questions, texts, strict=True)]


def mean_tokens(blocks: list[str]) -> int:
    """Tokens of a turn's recall, where there was any."""
    sizes = [tokens(len(block.encode())) for block in blocks if block]
    return sum(sizes) // len(sizes)


def unchanged(_: int) -> str:
    """The client's own system prompt."""
    return SYSTEM


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
            for name, questions, loop in CONVERSATIONS:
                nothing, _ = replay(upstream, wire, upstream.url, unchanged, questions, loop=loop)
                ours, blocks = replay(upstream, wire, metaclaw.url, unchanged, questions, loop=loop)
                if not any(blocks):
                    raise SystemExit(f"{name}: nothing was recalled, so there is nothing to price")
                told = f"recalled at {sum(map(bool, blocks))} of {TURNS} turns, {mean_tokens(blocks)} tokens each"
                print(f"{name}, {wire}: {told}", flush=True)
                each = rewriting(alone(upstream, wire, metaclaw.url, questions))
                rewritten, _ = replay(upstream, wire, upstream.url, each, questions, loop=loop)
                found[name] = {"nothing": nothing, "system prompt rewritten": rewritten, "ours": ours}
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
