"""Growing numpy columns, and the links between neighbouring rows."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

NOBODY = -1
"""The neighbour of a row that has none."""


class Column:
    """A numpy array that grows at its end in amortised constant time."""

    def __init__(self, dtype: npt.DTypeLike, width: int = 0) -> None:
        self._data: npt.NDArray[Any] = np.zeros((16, width) if width else 16, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, value: Any) -> None:
        """Add one row."""
        if self._size == len(self._data):
            self.reserve(2 * self._size)
        self._data[self._size] = value
        self._size += 1

    def reserve(self, rows: int) -> None:
        """Make room for so many rows in one go."""
        if rows > len(self._data):
            grown = np.zeros((rows, *self._data.shape[1:]), self._data.dtype)
            grown[: self._size] = self._data[: self._size]
            self._data = grown

    @property
    def values(self) -> npt.NDArray[Any]:
        """A view of what is there; valid until the next append."""
        return self._data[: self._size]


class Links:
    """Which row stands before and which after a row in its session."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, int], int] = {}
        self._places: list[tuple[str, int] | None] = []
        self._before = Column(np.int64)
        self._after = Column(np.int64)

    def append(self, session_id: str, position: int) -> None:
        """Place the next row; a row without a session has no neighbours."""
        row = len(self._places)
        self._before.append(NOBODY)
        self._after.append(NOBODY)
        place = (session_id, position) if session_id else None
        self._places.append(place)
        if place is None or place in self._rows:
            return
        self._rows[place] = row
        self._join(self._rows.get((session_id, position - 1), NOBODY), row)
        self._join(row, self._rows.get((session_id, position + 1), NOBODY))

    def remove(self, row: int) -> None:
        """Its neighbours lose it."""
        place = self._places[row]
        if place is None or self._rows.get(place) != row:
            return
        del self._rows[place]
        before, after = int(self._before.values[row]), int(self._after.values[row])
        if before != NOBODY:
            self._after.values[before] = NOBODY
        if after != NOBODY:
            self._before.values[after] = NOBODY
        self._before.values[row] = self._after.values[row] = NOBODY

    def _join(self, left: int, right: int) -> None:
        if left != NOBODY and right != NOBODY:
            self._after.values[left] = right
            self._before.values[right] = left

    @property
    def before(self) -> Rows:
        """Row before each row."""
        return self._before.values

    @property
    def after(self) -> Rows:
        """Row after each row."""
        return self._after.values
