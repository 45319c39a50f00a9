"""How well ranking does on what people say, in a dozen languages: figures with a floor under each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from metaclaw.skills import Ranker, Skill
from metaclaw.skills.embedding import installed
from metaclaw.skills.retrieval import Retriever

FOLDER = Path(__file__).parent / "evaluation"
# The same for all: how to work, which says nothing about the subject.
BODY = "# How\n\n1. Read what is there and say what you found.\n2. Do one small step, then check the result."


@dataclass(frozen=True)
class Figures:
    """Shares of queries: the first skill fits; one of the first three fits; something is recalled for nothing."""

    first: float
    third: float
    false: float


def lines(name: str) -> list[list[str]]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [line.split("|") for line in text.split("\n") if line and not line.startswith("#")]


SKILLS = [
    Skill(name, words, category, BODY, Path(name), "user", True, "0", {})
    for name, category, words in lines("library.txt")
]


async def figures(name: str, retriever: Retriever) -> Figures:
    ranker = Ranker(SKILLS)
    hits = [0, 0]
    asked = false = 0
    queries = lines(name)
    for query, fitting in queries:
        found = await retriever.rank(ranker, query, general=6, specific=10, min_score=0.3)
        names, wanted = [match.skill.name for match in found], set(fitting.split(",")) - {""}
        if not wanted:
            false += bool(names)
            continue
        asked += 1
        hits[0] += bool(set(names[:1]) & wanted)
        hits[1] += bool(set(names[:3]) & wanted)
    result = Figures(hits[0] / asked, hits[1] / asked, false / (len(queries) - asked))
    print(f"{name} {retriever.mode}: {result}")
    return result


@pytest.mark.parametrize(
    ("name", "first", "third", "false"), [("known.txt", 0.82, 0.88, 0.02), ("held_out.txt", 0.76, 0.82, 0.02)]
)
async def test_by_words_alone(name: str, first: float, third: float, false: float) -> None:
    reached = await figures(name, Retriever("template"))
    assert reached.first >= first and reached.third >= third and reached.false <= false


@pytest.mark.skipif(not installed(), reason="the embedding model is not installed")
@pytest.mark.parametrize(
    ("name", "first", "third", "false"), [("known.txt", 0.87, 0.92, 0.03), ("held_out.txt", 0.84, 0.89, 0.03)]
)
async def test_by_words_and_meaning(
    name: str, first: float, third: float, false: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaclaw.skills.retrieval._PATIENCE", 30.0)
    retriever = Retriever("hybrid")
    await retriever.prepare(SKILLS)
    reached = await figures(name, retriever)
    retriever.close()
    assert reached.first >= first and reached.third >= third and reached.false <= false
