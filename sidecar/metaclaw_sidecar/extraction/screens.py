"""Rules that no model is trusted with: what it says must stand in the turn, and must be something to remember."""

from __future__ import annotations

import re
import unicodedata

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
    r"|\b(?:is|are) currently (?:running|installed|listening)\b",
    re.IGNORECASE,
)
_LONGEST_FACT = 600


def problem(content: str, quote: str, side: str) -> str:
    """Why a proposed fact is refused, in one word; "" when it may stay."""
    if not content.strip() or len(content) > _LONGEST_FACT:
        return "length"
    wanted = folded(quote)
    if len(wanted) < 2 or wanted not in folded(side):
        return "unfounded"
    if _QUESTION.search(_sentence(side, quote)):
        return "question"
    if unsafe(content) or unsafe(quote):
        return "instruction"
    if _MACHINE_STATE.search(content):
        return "machine_state"
    return ""


def unsafe(text: str) -> bool:
    """Whether a text tries to give orders instead of telling something."""
    return _INSTRUCTION.search(text) is not None


def folded(text: str) -> str:
    """Text for comparison: white space, case and quotation marks don't count."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[\"'“”‘’«»`*_]", "", plain).split())


def _sentence(side: str, quote: str) -> str:
    """The sentence in which a quote stands; the quote alone where it can't be found as it is."""
    at = side.find(quote.strip())
    if at < 0:
        return quote
    end = at + len(quote.strip())
    tail = re.match(r"[^.!?。！？؟\n]{0,200}[?？؟]?", side[end:]) if not re.search(r"[.!?。！？؟]\s*$", quote) else None
    return side[at:end] + (tail[0] if tail else "")
