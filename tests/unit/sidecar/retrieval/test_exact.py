"""Exact dense search."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metaclaw_sidecar.retrieval.exact import REFERENCE_WEIGHT, ExactVectors


def unit(generator: np.random.Generator, rows: int) -> np.ndarray:
    vectors = generator.normal(size=(rows, 8)).astype(np.float32) + 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_scores_are_cosines_of_what_is_left_without_the_mean(rows: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    vectors, reference, query = unit(generator, rows), unit(generator, 20).mean(axis=0), unit(generator, 1)[0]
    index = ExactVectors("m", reference)
    for row, vector in enumerate(vectors):
        index.append()
        index.put(row, vector)
    mean = (vectors.sum(axis=0) + REFERENCE_WEIGHT * reference) / (rows + REFERENCE_WEIGHT)
    centred = vectors - mean
    asked = (query - mean) / np.linalg.norm(query - mean)
    expected = centred @ asked / np.linalg.norm(centred, axis=1)
    np.testing.assert_allclose(index.scores(query), expected, atol=1e-3)


def test_a_row_without_a_vector_scores_nothing() -> None:
    vectors = unit(np.random.default_rng(1), 2)
    index = ExactVectors("m", vectors.mean(axis=0))
    index.append()
    index.append()
    index.put(0, vectors[0])
    assert index.scores(vectors[0])[1] == 0
    index.drop(0)
    assert index.count == 0
    assert not index.scores(vectors[0]).any()
