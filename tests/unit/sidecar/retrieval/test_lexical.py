"""BM25 over windows."""

import math
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metaclaw_sidecar.retrieval.columns import Links
from metaclaw_sidecar.retrieval.lexical import BACKGROUND, K1, PASSAGE, B, LexicalIndex

Rows = list[tuple[str, int, list[str]]]
rows = st.lists(
    st.tuples(st.sampled_from(["", "s1", "s2"]), st.integers(0, 12), st.lists(st.sampled_from("abcde"), max_size=6)),
    max_size=24,
    unique_by=lambda row: row[:2] if row[0] else (row[1], id(row)),
)


def build(documents: Rows) -> LexicalIndex:
    links = Links()
    index = LexicalIndex(links)
    for session, position, words in documents:
        links.append(session, position)
        index.append(words)
    return index


def around(documents: Rows, number: int, steps: int) -> list[str]:
    """The words of a document and of the unbroken run of neighbours on each side."""
    places = {(session, position): words for session, position, words in documents if session}
    session, position, words = documents[number]
    found = list(words)
    for direction in (-1, 1):
        for step in range(1, steps + 1):
            place = (session, position + direction * step)
            if not session or place not in places:
                break
            found += places[place]
    return found


def expected(documents: Rows, query: list[str], steps: int) -> list[float]:
    texts = [Counter(around(documents, number, steps)) for number in range(len(documents))]
    mean = max(sum(text.total() for text in texts) / max(len(texts), 1), 1.0)
    scores, best = [0.0] * len(texts), 0.0
    for term in query:
        df = sum(term in text for text in texts)
        idf = math.log1p((len(texts) + BACKGROUND - df + 0.5) / (df + 0.5))
        best += idf
        for number, text in enumerate(texts):
            tf = text[term]
            scores[number] += idf * (K1 + 1) * tf / (tf + K1 * (1 - B + B * text.total() / mean)) if tf else 0
    return [score / max(best, 1e-6) for score in scores]


@given(rows, st.lists(st.sampled_from("abcdez"), min_size=1, max_size=4, unique=True))
def test_scores_are_bm25_of_the_window_and_of_the_passage(documents: Rows, query: list[str]) -> None:
    scores = build(documents).scores(query)
    np.testing.assert_allclose(scores.window, expected(documents, query, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scores.passage, expected(documents, query, PASSAGE), rtol=1e-4, atol=1e-5)


@settings(max_examples=50)
@given(rows, st.data())
def test_a_removed_row_leaves_scores_as_if_it_had_never_been(documents: Rows, data: st.DataObject) -> None:
    index = build(documents)
    gone = data.draw(st.sets(st.integers(0, len(documents) - 1))) if documents else set()
    for row in gone:
        index.remove(row, documents[row][2])
        index._links.remove(row)
    rest = [number for number in range(len(documents)) if number not in gone]
    scores = index.scores(["a", "b"])
    without = build([documents[number] for number in rest]).scores(["a", "b"])
    np.testing.assert_allclose(scores.window[rest], without.window, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scores.passage[rest], without.passage, rtol=1e-4, atol=1e-5)
    assert not scores.window[list(gone)].any()
