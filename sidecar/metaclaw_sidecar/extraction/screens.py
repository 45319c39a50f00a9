"""Rules that no model is trusted with: what it says must stand in the turn, and must be something to remember."""

from __future__ import annotations

import re
import unicodedata

from ..redaction import HIDDEN, redact

_QUESTION = re.compile(r"[?？؟\u037e՞]\s*[\"'”’»)]*\s*$")
_INSTRUCTION = re.compile(
    r"\b(?:ignor(?:e|ing)|disregard|forget|override|bypass)\b[^.!?]{0,30}"
    r"\b(?:previous|prior|above|earlier|all|your|system|safety)\b[^.!?]{0,30}\b(?:instructions?|prompts?|rules?|guidelines?)\b"
    r"|\b(?:do not|don't|never)\s(?:\w+\s){0,3}?(?:tell|inform|mention|reveal|notify)\b.{0,30}"
    r"\b(?:user|person|human|owner)\b"
    r"|<\|(?:im_start|im_end|system|user|assistant|endoftext)\|>|\[/?INST\]"
    r"|</?(?:system|assistant|function_calls|tool_call)\b"
    r"|(?:忽略|无视|無視|忘记).{0,12}(?:之前|以上|前面|所有|系统).{0,8}(?:指令|指示|规则|提示)"
    r"|(?:以前|これまで|上記|すべて|システム)の.{0,6}(?:指示|命令|ルール).{0,6}(?:無視|忘れ)",
    re.IGNORECASE,
)
_MACHINE_STATE = re.compile(
    r"\b(?:pid|process id|port)\W{0,3}\d{2,6}\b|\b(?:localhost|127\.0\.0\.1):\d+|/tmp/\S+|\b0x[0-9a-f]{6,}\b"
    r"|\b(?:is|are) currently (?:running|installed|listening)\b"
    r"|\b(?:built|compiled) (?:successfully|without errors)\b|\bbuild (?:succeeded|passed|failed)\b"
    r"|^\W*(?:~|[A-Za-z]:)?(?:[/\\][\w.@ -]+){2,}\W*$",
    re.IGNORECASE,
)
# How a question, or a supposition, begins where no question mark ends it.
_ASKING = re.compile(
    r"\W*(?:(?:what|where|when|who|which|why|how)(?:'s|\s+(?:is|are|was|were|do|does|did|can|could|should|would|will|am)\b)"
    r"|(?:is|are|am|was|were|do|does|did|can|could|should|would|will|have|has)\s+(?:i|you|we|he|she|it|they|my|our|there)\b"
    r"|(?:suppose|imagine|pretend|assume|hypothetically|what if|let's say)\b"
    r"|(?:假如|假设|如果说|要是)|(?:stell dir vor|angenommen|imagina|imagine que|supposons|представь)\b)",
    re.IGNORECASE,
)
_ASKED = re.compile(r"(?:[吗嗎呢]|ですか|ますか|でしょうか|습니까|나요)\s*$")
_CLAUSE_END = re.compile(r"[.!?。！？؟\n,;:，；：、—–]")
# Being somewhere for a while: it never ends what is lastingly so.
_PASSING = re.compile(
    r"\b(?:visit(?:s|ed|ing)?|trip|travel(?:s|led|ed|ling|ing)?|vacation|holidays?|toured?"
    r"|stay(?:s|ed|ing)? (?:at|in|with)|besuch\w*|reis(?:e|t|te|en)\b|urlaub"
    r"|visit[éae]\w*|voyage\w*|viaj\w+|vacaciones|viagg\w+|посе[тщ]\w+|поездк\w+)"
    r"|访问|參觀|参观|旅行|旅游|出差|訪(?:れ|問|ね)|방문|여행",
    re.IGNORECASE,
)
_LONGEST_FACT = 600


def problem(content: str, quote: str, side: str) -> str:
    """Why a proposed fact is refused, in one word; "" when it may stay."""
    wanted = folded(quote)
    if len(wanted) < 2 or wanted not in folded(side):
        return "unfounded"
    if _asks(side, quote):
        return "question"
    if unsafe(quote):
        return "instruction"
    return untold(content)


def untold(content: str) -> str:
    """Why a text is nothing to remember, whoever said it; "" when it may stay."""
    if not content.strip() or len(content) > _LONGEST_FACT:
        return "length"
    if unsafe(content):
        return "instruction"
    if _MACHINE_STATE.search(content):
        return "machine_state"
    return "secret" if HIDDEN in redact(content) else ""


def passing(content: str) -> bool:
    """Whether it tells of being somewhere for a while."""
    return _PASSING.search(content) is not None


def unsafe(text: str) -> bool:
    """Whether a text tries to give orders instead of telling something."""
    return _INSTRUCTION.search(text) is not None


def folded(text: str) -> str:
    """Text for comparison: white space, case and quotation marks don't count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[\"'“”‘’«»`*_]", "", plain).split())


def _asks(side: str, quote: str) -> bool:
    """Whether the quote is a question or a supposition, by the clause in which it stands."""
    said = quote.strip()
    at = side.find(said)
    if at < 0:
        at, side = 0, said
    begin = max((found.end() for found in _CLAUSE_END.finditer(side, 0, at)), default=0)
    end = at + len(said)
    ends = _CLAUSE_END.search(said[-1:]) or _CLAUSE_END.search(side, end)
    clause = side[begin:end] if _CLAUSE_END.search(said[-1:]) else side[begin : ends.end() if ends else len(side)]
    asked = _QUESTION.search(clause) or _ASKED.search(clause.rstrip(" .。,，"))
    return asked is not None or _ASKING.match(clause) is not None
