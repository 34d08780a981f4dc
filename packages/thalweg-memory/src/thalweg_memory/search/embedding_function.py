"""Vectors of texts, as the caller's function makes them."""

from collections.abc import Callable, Iterable, Sequence

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
