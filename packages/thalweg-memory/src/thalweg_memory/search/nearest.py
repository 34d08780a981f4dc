"""Finding items by a vector: all vectors of a scope are compared, in memory. Needs NumPy."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from thalweg_memory.search.index import MOST_SCANNED, Vectors, VectorState

MOST_BYTES = 256 * 1024 * 1024
"""Vectors that a process keeps in memory, those of the scopes that were asked for last."""
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class _Matrix:
    """The vectors of one scope that have one size, a row each, with the numbers of their items."""

    state: VectorState
    vectors: npt.NDArray[np.float32]
    numbers: Sequence[int]

    def nearest(self, vector: npt.NDArray[np.float32], limit: int) -> dict[int, float]:
        cosines = self.vectors @ vector
        best = np.argsort(-cosines, kind="stable")[:limit].tolist()
        return {self.numbers[at]: float(cosines[at]) for at in best}


def _matrix(state: VectorState, rows: Iterable[tuple[int, bytes]], width: int) -> _Matrix:
    fitting = [
        (number, vector) for number, vector in rows if len(vector) == width * _FLOAT.itemsize
    ]
    joined = np.frombuffer(b"".join([vector for _, vector in fitting]), _FLOAT)
    return _Matrix(state, joined.reshape(-1, width), [number for number, _ in fitting])


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
        width = len(query)
        if state.items > MOST_SCANNED:
            return _matrix(state, stored.of(found), width).nearest(query, limit)
        with self._lock:
            matrix = self._kept.get((stored.scope, width))
        if matrix is None or matrix.state != state:
            matrix = _matrix(state, stored.all(), width)
        with self._lock:
            self._kept[stored.scope, width] = matrix
            self._kept.move_to_end((stored.scope, width))
            while len(self._kept) > 1 and self._bytes() > self._most_bytes:
                self._kept.popitem(last=False)
        return matrix.nearest(query, limit)

    def _bytes(self) -> int:
        return sum(matrix.vectors.nbytes for matrix in self._kept.values())
