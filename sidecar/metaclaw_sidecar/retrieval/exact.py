"""Exact dense search over the vectors of one scope.

Small embedding models put all texts into a narrow cone, so that a plain cosine ranks by what all texts share. What a
text shares with every other is taken away: the mean of the scope's own vectors, mixed with the mean of reference texts
as long as the scope is small.
"""

import numpy as np
import numpy.typing as npt

from .columns import Column, Floats

REFERENCE_WEIGHT = 100
"""How many vectors of the scope weigh as much as the reference."""


class ExactVectors:
    """One model's vectors of one scope, by row; a row without a vector scores zero. The owner locks."""

    def __init__(self, model: str, reference: Floats) -> None:
        self.model = model
        self.reference = reference.astype(np.float32)
        self._vectors = Column(np.float32, width=len(reference))
        self._norms = Column(np.float32)
        self._present = Column(np.bool_)
        self._sum = np.zeros(len(reference), np.float64)
        self._count = 0
        self._mean = self.reference
        self._mean_count = 0

    @property
    def count(self) -> int:
        """How many rows have a vector."""
        return self._count

    @property
    def present(self) -> npt.NDArray[np.bool_]:
        """Which rows have a vector."""
        return self._present.values

    def vector(self, row: int) -> Floats:
        """A row's vector."""
        vector: Floats = self._vectors.values[row]
        return vector

    def reserve(self, rows: int) -> None:
        """Make room."""
        self._vectors.reserve(rows)

    def append(self) -> None:
        """The next row, without a vector yet."""
        self._vectors.append(0)
        self._norms.append(1)
        self._present.append(False)

    def has(self, row: int) -> bool:
        """Whether the row has a vector."""
        return bool(self._present.values[row])

    def put(self, row: int, vector: Floats) -> None:
        """Give a row its vector."""
        self.drop(row)
        self._vectors.values[row] = vector
        self._norms.values[row] = np.linalg.norm(vector - self._mean)
        self._present.values[row] = True
        self._sum += vector
        self._count += 1

    def drop(self, row: int) -> None:
        """Take a row's vector away."""
        if self.has(row):
            self._sum -= self._vectors.values[row]
            self._vectors.values[row] = 0
            self._present.values[row] = False
            self._count -= 1

    def scores(self, query: Floats) -> Floats:
        """Centred cosine of each row with the query, -1..1."""
        self._follow_mean()
        centred = query - self._mean
        centred = centred / max(float(np.linalg.norm(centred)), 1e-6)
        raw = self._vectors.values @ centred - float(self._mean @ centred)
        scores: Floats = raw / np.maximum(self._norms.values, 1e-6) * self._present.values
        return scores

    def _follow_mean(self) -> None:
        """The mean is renewed when the scope has changed by a twentieth since: norms of all rows depend on it."""
        if self._mean_count and abs(self._count - self._mean_count) * 20 <= self._mean_count:
            return
        total = self._count + REFERENCE_WEIGHT
        self._mean = ((self._sum + REFERENCE_WEIGHT * self.reference) / total).astype(np.float32)
        self._mean_count = self._count
        vectors = self._vectors.values
        # |v - m|² without a second matrix of the size of the first.
        squares = np.einsum("ij,ij->i", vectors, vectors) - 2 * (vectors @ self._mean) + self._mean @ self._mean
        self._norms.values[:] = np.sqrt(np.maximum(squares, 1e-12))
