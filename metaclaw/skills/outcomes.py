"""How a turn came out, as far as that can be seen: what the person said next, feedback, a failed answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from metaclaw.journal.records import Event, Turn

_SAME = 0.85  # a request repeated in nearly the same words has not been met
_LOOKED_AT = 400  # characters at the start of a message in which a correction is said

# How people say that an answer was not what they wanted. At the start of a message, or unmistakable anywhere in it.
_OPENINGS = (
    r"no\b(?! problem| worries| need)|nope\b|wrong\b|not (?:quite|what|like|that)\b|that(?:'|’)?s (?:not|wrong)\b|"
    r"this is (?:not|wrong)\b|actually,? (?:no|i)\b|again\b|redo\b|undo\b|stop\b|"
    r"nein\b|falsch\b|nicht (?:so|das)\b|das (?:ist|war) (?:nicht|falsch)|nochmal\b|"
    r"non\b|faux\b|pas (?:ça|comme|ce que)|ce n(?:'|’)est pas|encore une fois|"
    r"no,|mal\b|incorrecto\b|eso no\b|otra vez\b|não\b|errado\b|sbagliato\b|"
    r"нет\b|неправильно|не то\b|не так\b|снова\b|"
    r"不对|不是这|错了|不要这样|重新|不行|違[うい]|間違|そうじゃ|もう一度|やり直|아니|틀렸|다시"
)
_ANYWHERE = (
    r"i (?:already )?(?:said|told you|asked (?:you )?(?:for|to))\b|you (?:forgot|missed|ignored|didn(?:'|’)?t)\b|"
    r"as i (?:said|told)\b|instead of what|still (?:not|wrong|broken|missing|doesn(?:'|’)?t)\b|"
    r"please (?:fix|redo|correct) |"
    r"ich hatte (?:doch )?gesagt|du hast .{0,30}vergessen|immer noch (?:nicht|falsch)|"
    r"je t(?:'|’)ai (?:déjà )?dit|tu as oublié|toujours pas|te dije|olvidaste|todavía no|"
    r"я (?:же )?(?:говорил|сказал|просил)|ты забыл|всё ещё не|"
    r"我(?:之前|已经)?说过|我说的是|你忘了|还是不|又错|言ったでしょ|言いました|忘れて|まだ(?:違|直って)|말했|잊었|아직도"
)
_CORRECTION = re.compile(rf"^\W*(?:{_OPENINGS})|(?:{_ANYWHERE})", re.IGNORECASE)


def corrects(said: str) -> bool:
    """Whether these words of a person say that the answer before them was not right."""
    return _CORRECTION.search(said[:_LOOKED_AT]) is not None


def outcome(turn: Turn, following: Turn | None, feedback: Sequence[Event] = ()) -> bool | None:
    """Whether the turn came out well; None where nothing tells.

    Explicit feedback on the turn outranks everything, and its newest word counts. Otherwise the person's next message
    decides: a correction or the same request again is a failure, going on is not.
    """
    scores = [float(event.payload.get("score", 0.0)) for event in feedback if event.turn_id == turn.id]
    if scores and scores[-1] != 0:
        return scores[-1] > 0
    if turn.status != "ok" or following is None or not following.user_text.strip():
        return None
    asked, next_asked = _flat(turn.user_text), _flat(following.user_text)
    repeated = len(asked) >= 12 and SequenceMatcher(None, asked[:500], next_asked[:500]).ratio() >= _SAME
    return not (repeated or corrects(following.user_text))


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
