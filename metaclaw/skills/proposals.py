"""What the evolver's model may propose, and the mechanical checks between a proposal and a skill."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from metaclaw.skills.errors import SkillError
from metaclaw.skills.format import CATEGORIES, Document, check
from metaclaw.skills.screening import screen
from metaclaw.skills.similarity import nearest, same_trigger
from metaclaw.skills.skill import Skill
from metaclaw.skills.transcript import Exchange, Transcript

MOST_PROPOSALS = 3
_URL = re.compile(r"https?://[^\s)>\]\"'`]+")
_OVERLAP = 0.5  # cosine of two triggers from which on two skills would be recalled on the same occasions
_COPIED_LINE = 30
_COPIED_CJK = 14


class Edit(BaseModel):
    """A replacement in a skill's body: `old` must be there, exactly once."""

    old: str
    new: str


class Quote(BaseModel):
    """Words of a turn that a proposal rests on."""

    turn: int
    text: str


class Proposal(BaseModel):
    """One change the model proposes, or nothing with the reason."""

    action: Literal["add", "amend", "nothing"]
    name: str = ""
    description: str = ""
    category: str = "general"
    body: str = ""
    edits: list[Edit] = Field(default_factory=list)
    reason: str = ""
    quotes: list[Quote] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A skill to be written. `base` is the digest of the file it amends; empty for a new skill.

    `waits` says why a person has to say yes first; empty when the person's own words carry it.
    """

    document: Document
    base: str
    proposal: Proposal
    waits: str = ""


@dataclass(frozen=True, slots=True)
class Declined:
    """A proposal that was not taken, and why."""

    name: str
    reason: str


def schema() -> dict[str, Any]:
    """The JSON schema of the model's answer, in the strict form: every field required, none besides."""
    text = {"type": "string"}
    fields: dict[str, Any] = {
        "action": {"type": "string", "enum": ["add", "amend", "nothing"]},
        "name": text,
        "description": text,
        "category": {"type": "string", "enum": list(CATEGORIES)},
        "body": text,
        "edits": {"type": "array", "items": _closed({"old": text, "new": text})},
        "reason": text,
        "quotes": {"type": "array", "items": _closed({"turn": {"type": "integer"}, "text": text})},
    }
    return _closed({"proposals": {"type": "array", "items": _closed(fields)}})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_answer(parsed: Any) -> tuple[list[Proposal], list[Declined]]:
    """The proposals in the model's answer; what doesn't fit the schema is declined by itself."""
    parsed = _storable(parsed)
    items = parsed.get("proposals") if isinstance(parsed, dict) else parsed
    if not isinstance(items, list):
        return [], [Declined("", "the model's answer was not the JSON that was asked for")]
    proposals: list[Proposal] = []
    declined: list[Declined] = []
    for item in items:
        try:
            proposal = Proposal.model_validate(item)
        except ValidationError as error:
            first = error.errors()[0]
            declined.append(Declined("", f"not a proposal: {'.'.join(map(str, first['loc']))}: {first['msg']}"))
            continue
        if len(proposals) < MOST_PROPOSALS:
            proposals.append(proposal)
        else:
            declined.append(Declined(proposal.name, f"more than {MOST_PROPOSALS} proposals from one session"))
    return proposals, declined


def _storable(value: Any) -> Any:
    """JSON without halves of surrogate pairs, which no file and no commit can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_storable(item) for item in value]
    return {str(k): _storable(v) for k, v in value.items()} if isinstance(value, dict) else value


def judge(
    proposal: Proposal,
    session: Transcript,
    skills: Sequence[Skill],
    documents: Mapping[str, Document],
    withdrawn: Mapping[str, str],
) -> Accepted | Declined:
    """Decide by rule alone whether a proposal becomes a skill.

    `documents` holds the whole files by name, `withdrawn` the descriptions of skills the person deleted.
    """
    name = proposal.name.strip()
    if proposal.action == "nothing":
        return Declined(name, f"nothing to learn: {proposal.reason.strip() or 'no reason given'}")
    missing, waits = _unfounded(proposal, session)
    if missing:
        return Declined(name, missing)
    current = next((skill for skill in skills if skill.name == name), None)
    drafted = (_amended if proposal.action == "amend" else _added)(proposal, current, documents)
    if isinstance(drafted, str):
        return Declined(name, drafted)
    wrong = _screened(drafted, [skill for skill in skills if skill is not current])
    if wrong:
        return Declined(name, wrong)
    waits = waits or _foreign(drafted, session)
    if current is None:
        held_back, in_play = _covered(proposal, session, {skill.name for skill in skills if skill.source == "learned"})
        if held_back:
            return Declined(name, f"{held_back} is there for this, and was held back in this session to see its worth")
        waits = waits or _rivals(drafted, in_play, skills)
    for unwanted, description in withdrawn.items():
        if unwanted == name or same_trigger(unwanted, description, drafted):
            return Declined(name, f"the person deleted {unwanted}, which said the same")
    return Accepted(drafted, current.digest if current is not None else "", proposal, waits)


def _unfounded(proposal: Proposal, session: Transcript) -> tuple[str, str]:
    """Why the proposal's quotes don't carry it, and why they carry it only if the person agrees; empty when they do."""
    turns = {exchange.number: exchange for exchange in session.exchanges}
    by_person = quoted = False
    for quote in proposal.quotes:
        words = _flat(quote.text)
        if not words:
            continue
        exchange = turns.get(quote.turn)
        if exchange is None or not _spoken(words, exchange):
            return f"it quotes words that were not said in turn {quote.turn}", ""
        by_person = by_person or words in _flat(exchange.said)
        quoted = True
    if by_person:
        return "", ""
    return ("", "it rests on no words of the person") if quoted else ("it quotes nothing that was said", "")


def _spoken(words: str, exchange: Exchange) -> bool:
    texts = (exchange.said, exchange.answered, *(tool.result for tool in exchange.tools))
    return any(words in _flat(text) for text in texts)


def _added(proposal: Proposal, current: Skill | None, _: Mapping[str, Document]) -> Document | str:
    if current is not None:
        return f"{current.name} is there already"
    document = Document(
        name=proposal.name.strip(),
        description=" ".join(proposal.description.split()),
        body=_tidy(proposal.body),
        category=proposal.category if proposal.category in CATEGORIES else "general",
    )
    return _valid(document)


def _amended(proposal: Proposal, current: Skill | None, documents: Mapping[str, Document]) -> Document | str:
    if current is None:
        return "it amends a skill that is not there"
    if current.source != "learned":
        return f"{current.name} is {'built in' if current.source == 'builtin' else 'a person’s'}: it is not changed"
    document = documents[current.name]
    body = document.body
    for edit in proposal.edits:
        places = body.count(edit.old) if edit.old.strip() else 0
        if places != 1:
            found = "is not there" if places == 0 else f"is there {places} times"
            return f"the text it replaces {found}: {_short(edit.old)}"
        body = body.replace(edit.old, edit.new)
    description = " ".join(proposal.description.split()) or document.description
    amended = replace(document, body=_tidy(body), description=description)
    if amended == document:
        return "it changes nothing"
    return _valid(amended)


def _valid(document: Document) -> Document | str:
    try:
        check(document)
    except SkillError as error:
        return str(error)
    return document


def _screened(document: Document, others: Sequence[Skill]) -> str:
    """Why the text may not become a skill; empty when it may."""
    findings = screen(document)
    if findings:
        return "; ".join(str(finding) for finding in findings[:3])
    near = nearest(document.name, document.description, document.body, others)
    if near is not None and near.duplicate:
        return f"{near.skill.name} says the same (trigger {near.trigger:.2f}, text {near.text:.2f})"
    return ""


def _covered(proposal: Proposal, session: Transcript, learned: set[str]) -> tuple[str, str]:
    """A learned skill that was held back, and one that was in play, where the proposal's lesson was taught."""
    cited = {quote.turn for quote in proposal.quotes}
    # A correction stands in the turn behind the one that it corrects.
    taught = [exchange for exchange in session.exchanges if exchange.number in cited or exchange.number + 1 in cited]
    held_back = [name for exchange in taught for name in exchange.held_back if name in learned]
    in_play = [name for exchange in taught for name in exchange.recalled if name in learned]
    return (held_back or [""])[0], (in_play or [""])[0]


def _rivals(document: Document, in_play: str, skills: Sequence[Skill]) -> str:
    """Why a new skill may be at odds with one that is there, so that the person decides; empty when it isn't."""
    if in_play:
        return f"{in_play} was in play and did not help: it may need an amendment instead"
    proven = [skill for skill in skills if skill.source == "learned" and skill.stage == "active"]
    near = nearest(document.name, document.description, document.body, proven)
    if near is None or near.trigger < _OVERLAP:
        return ""
    return f"it is for the same occasions as {near.skill.name}, which has proved itself"


def _foreign(document: Document, session: Transcript) -> str:
    """What of the text comes from somebody other than the person, who then has to agree; empty when nothing does."""
    said = session.said()
    for url in _URL.findall(document.body):
        if url.rstrip(".,;:") not in said:
            return f"it holds a link the person never gave: {_short(url)}"
    copied = _copied_line(document.body, said, session.tool_results())
    if copied:
        return f"it repeats what a tool gave back: {_short(copied)}"
    return ""


def _copied_line(body: str, said: str, tool_results: str) -> str:
    """A line that stands in a tool's output and not in the person's words."""
    outputs, words = _flat(tool_results), _flat(said)
    for line in body.split("\n"):
        flat = _flat(line.strip().lstrip("#>*-0123456789. "))
        least = _COPIED_LINE if flat.isascii() else _COPIED_CJK
        if len(flat) >= least and flat in outputs and flat not in words:
            return line.strip()
    return ""


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def _tidy(body: str) -> str:
    lines = [line.rstrip() for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return "\n".join(lines).strip("\n")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
