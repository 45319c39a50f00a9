"""What the upstream answers: rules in order, each a pattern and the replies of one user message."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.scripted_upstream.reading import Asked

GROUP = re.compile(r"\\(?:(\d)|g<(\w+)>)")
ANSWERS_PER_USER_MESSAGE = 50  # of tool calls; a client that loses tool results would otherwise loop for ever


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call; an empty `id` gets a made one."""

    name: str
    arguments: str = "{}"
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer, the same in every protocol; the faults are faults on the wire."""

    text: str = ""
    reasoning: str = ""
    signature: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    interleave: bool = False  # fragments of parallel tool calls alternate
    finish: str = ""  # chat's word for it; empty: stop or tool_calls
    extra: Mapping[str, Any] = field(default_factory=dict)  # unknown fields, in the answer and in each chunk
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    error: str = ""  # message of an error status or of an error chunk
    raw: str = ""  # the whole body, instead of one made from the above
    delay_ms: float = 0  # before the first byte
    pace_ms: float = 0  # between two chunks
    pieces: int = 0  # how many content deltas; 0: one for each word
    error_after: int | None = None  # content chunks, then an error chunk
    break_after: int | None = None  # content chunks, then the connection is cut
    hold: threading.Event | None = None  # the stream waits for it …
    hold_after: int = 2  # … after so many chunks

    def text_pieces(self, text: str) -> list[str]:
        """`text` cut as it is streamed; joined again it is the same text."""
        if self.pieces:
            size = max(1, -(-len(text) // self.pieces))
            return [text[start : start + size] for start in range(0, len(text), size)]
        return re.findall(r"\S+\s*|\s+", text)

    def within(self, limit: int) -> Reply:
        """Cut to so many tokens, of four bytes each."""
        if not limit or len(self.text) <= limit * 4:
            return self
        return replace(self, text=self.text[: limit * 4], tool_calls=(), finish="length")

    def expanded(self, match: re.Match[str] | None) -> Reply:
        """With `\\1` or `\\g<name>` in text and tool arguments taken from the match."""
        if match is None or match.re.groups == 0:
            return self

        def fill(text: str) -> str:
            return GROUP.sub(lambda found: match[int(found[1]) if found[1] else found[2]] or "", text)

        calls = tuple(replace(call, name=fill(call.name), arguments=fill(call.arguments)) for call in self.tool_calls)
        return replace(self, text=fill(self.text), tool_calls=calls)


@dataclass(slots=True)
class Rule:
    """`replies[n]` answers after n rounds of tool calls since the newest user message; the last text goes on answering.

    `times` limits how often the rule is used, for faults that pass ("the first two calls fail").
    """

    when: str
    replies: Sequence[Reply]
    where: Literal["user", "system", "all"] = "user"
    tools: bool | None = None  # only for requests with (without) tools
    wire: str = ""
    times: int | None = None

    def match(self, asked: Asked) -> re.Match[str] | None:
        """The match in the request, if the rule is for it."""
        if self.times == 0 or (self.wire and self.wire != asked.wire):
            return None
        if self.tools is not None and self.tools != asked.has_tools:
            return None
        text = {"user": asked.user_text, "system": asked.system_text, "all": asked.all_text}[self.where]
        return re.search(self.when, text, re.DOTALL)


DIRECTIVES = (
    Rule(r"HTTP:(\d{3})", [Reply(status=-1, error="scripted failure")]),
    Rule(
        r"CALL:(?P<name>[\w.-]+):(?P<args>\{.*?\})(?=\s|$)",
        [Reply(tool_calls=(ToolCall(r"\g<name>", r"\g<args>"),)), Reply(text="Tool finished.")],
    ),
    Rule(r"SAY:([^\n]+)", [Reply(text=r"\1")]),
)
"""Words in a user message that script the answer by themselves, for trials by hand."""


class Script:
    """Picks the reply for a request; tool calls can't repeat without end."""

    def __init__(self, rules: Sequence[Rule] = (), default: Reply | None = None) -> None:
        self.rules = [*rules]
        self.default = default or Reply(text="Understood.")
        self._tool_answers: Counter[str] = Counter()

    def clear(self) -> None:
        """Forget all rules and counts."""
        self.rules.clear()
        self._tool_answers.clear()

    def reply(self, asked: Asked) -> tuple[str, Reply]:
        """The rule's pattern and the reply."""
        for rule in (*self.rules, *DIRECTIVES):
            match = rule.match(asked)
            if match is not None:
                return rule.when, self._step(rule, match, asked)
        return "", self.default

    def _step(self, rule: Rule, match: re.Match[str], asked: Asked) -> Reply:
        if rule.times is not None:
            rule.times -= 1
        if asked.rounds < len(rule.replies):
            reply = rule.replies[asked.rounds]
        elif rule.replies[-1].tool_calls:
            reply = Reply(text="Tool finished.")
        else:
            reply = rule.replies[-1]
        if reply.tool_calls:
            self._tool_answers[asked.user_text] += 1
            if self._tool_answers[asked.user_text] > ANSWERS_PER_USER_MESSAGE:
                return Reply(text="The script calls no tool again for this message.")
        if reply.status == -1:
            reply = replace(reply, status=int(match.group(1)))
        return reply.expanded(match)

    @classmethod
    def from_json(cls, text: str) -> Script:
        """From a list of `{"when": …, "replies": [{"text": …, "tool_calls": [{"name": …}]}]}`."""
        rules = []
        for item in json.loads(text):
            replies = [
                Reply(**{**reply, "tool_calls": tuple(ToolCall(**call) for call in reply.get("tool_calls", ()))})
                for reply in item.pop("replies")
            ]
            rules.append(Rule(replies=replies, **item))
        return cls(rules)
