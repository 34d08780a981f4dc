"""Finding items by a vector: all vectors of a scope are compared, in memory. Needs NumPy."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from thalweg_memory.search.vectors import MOST_SCANNED, Vectors, VectorState

MOST_BYTES = 256 * 1024 * 1024
"""Vectors that a process keeps in memory, those of the scopes that were asked for last."""
_FLOAT = np.dtype("<f4")


@dataclass(slots=True)
class _Matrix:
    """The vectors of one scope that have one size; rows beyond `count` are spare capacity."""

    state: VectorState
    vectors: npt.NDArray[np.float32]
    places: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    count: int = 0

    @classmethod
    def empty(cls, epoch: int, width: int) -> "_Matrix":
        none = np.empty(0, np.int64)
        return cls(VectorState(epoch=epoch), np.empty((0, width), np.float32), none, none)

    def is_at_least(self, state: VectorState) -> bool:
        own = self.state
        return own.written >= state.written and own.removed >= state.removed

    def update(self, stored: Vectors, state: VectorState) -> None:
        """Add written vectors, and remove deleted ones."""
        if self.state.removed != state.removed:
            kept = np.isin(self.places[: self.count], stored.places())
            self.vectors = self.vectors[: self.count][kept]
            self.places = self.places[: self.count][kept]
            self.numbers = self.numbers[: self.count][kept]
            self.count = len(self.numbers)
        width = self.vectors.shape[1]
        rows = [*stored.since(self.state.written, width * _FLOAT.itemsize)]
        self._make_room(self.count + len(rows))
        end = self.count + len(rows)
        joined = b"".join([vector for *_, vector in rows])
        self.vectors[self.count : end] = np.frombuffer(joined, _FLOAT).reshape(-1, width)
        self.places[self.count : end] = [place for place, *_ in rows]
        self.numbers[self.count : end] = [number for _, number, _ in rows]
        self.count, self.state = end, state

    def _make_room(self, size: int) -> None:
        if size > len(self.numbers):
            more = max(size - len(self.numbers), len(self.numbers) // 4)
            self.vectors = np.concatenate(
                (self.vectors, np.empty((more, self.vectors.shape[1]), np.float32))
            )
            self.places = np.concatenate((self.places, np.empty(more, np.int64)))
            self.numbers = np.concatenate((self.numbers, np.empty(more, np.int64)))

    def nearest(self, vector: npt.NDArray[np.float32], limit: int) -> dict[int, float]:
        cosines = self.vectors[: self.count] @ vector
        best = np.arange(self.count)
        if self.count > limit:
            best = np.argpartition(cosines, -limit)[-limit:]
        return dict(zip(self.numbers[best].tolist(), cosines[best].tolist(), strict=True))


class VectorIndex:
    """The vectors of scopes of one database, as a process keeps them to compare."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, int], _Matrix] = OrderedDict()

    def find(
        self, stored: Vectors, vector: bytes, limit: int, found: Sequence[int]
    ) -> dict[int, float]:
        """Find the items that are nearest to a vector.

        Args:
            stored: The vectors of a scope.
            vector: Of the question.
            limit: Items that are returned at most.
            found: Items that words found: in a scope with very many, only these are compared.

        Returns:
            Their cosines.
        """
        state = stored.state()
        query = np.frombuffer(vector, _FLOAT)
        if not state.items:
            return {}
        if state.items > MOST_SCANNED:
            rows = [(n, v) for n, v in stored.of(found) if len(v) == len(vector)]
            matrix = np.frombuffer(b"".join([v for _, v in rows]), _FLOAT)
            cosines = (matrix.reshape(-1, len(query)) @ query).tolist()
            return dict(zip([n for n, _ in rows], cosines, strict=True))
        with self._lock:
            return self._matrix(stored, state, len(query)).nearest(query, limit)

    def _matrix(self, stored: Vectors, state: VectorState, width: int) -> _Matrix:
        key = (stored.scope, width)
        matrix = self._kept.pop(key, None)
        if matrix is None or matrix.state.epoch != state.epoch:
            matrix = _Matrix.empty(state.epoch, width)
        if not matrix.is_at_least(state):
            matrix.update(stored, state)
        self._kept[key] = matrix
        while len(self._kept) > 1 and self._bytes() > self._most_bytes:
            self._kept.popitem(last=False)
        return matrix

    def _bytes(self) -> int:
        return sum(matrix.vectors.nbytes for matrix in self._kept.values())
