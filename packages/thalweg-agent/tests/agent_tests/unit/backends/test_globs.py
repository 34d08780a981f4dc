"""Globs that cost too much are refused, and only those."""

import pytest

from thalweg.errors import InvalidGlobPatternError
from thalweg_agent.backends.searches.globs import MAX_GLOBSTARS, compile_grep_include_glob

FINE = (
    "**/*.py",
    "a/**/b/**/c/**/d/**",
    "**/**/**/**/**/a",
    "{a/**,b/**,c/**,d/**,e/**,f/**}/*.py",
    "{**/a,{**/b,**/c/**}}/**/*",
    "**/{a,b}/**/{c,d}/**/e",
    "}**{",
)
COSTLY = (
    "**/a/" * (MAX_GLOBSTARS + 1) + "x",
    "{**/a/**/b,c}/{**/d/**/e,f}/**/g",
    "{" + "**/a/" * 5,
    "**/a/" * 200,
)


@pytest.mark.parametrize("pattern", FINE)
def test_a_pattern_people_write_is_taken(pattern: str) -> None:
    """However many alternatives it has."""
    compile_grep_include_glob(pattern)


@pytest.mark.parametrize("pattern", COSTLY)
def test_a_pattern_that_could_take_for_ever_is_refused(pattern: str) -> None:
    """With what to do instead."""
    with pytest.raises(InvalidGlobPatternError, match=r"use at most 4"):
        compile_grep_include_glob(pattern)


def test_a_pattern_that_is_refused_is_named() -> None:
    """For a model to write another."""
    with pytest.raises(ValueError, match=r"traversal not allowed in glob pattern '\.\./x'"):
        compile_grep_include_glob("../x")
    with pytest.raises(ValueError, match=r"'\{a,b\}.*exceeded the limit"):
        compile_grep_include_glob("{a,b}" * 10)


def test_stars_of_one_name_cost_little() -> None:
    """However many, however alike the name."""
    assert not compile_grep_include_glob("*a" * 40 + "b")("a" * 255)
