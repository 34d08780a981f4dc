"""Globs that cost too much are refused, and only those."""

from pathlib import Path

import pytest

from thalweg.errors import InvalidGlobPatternError
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.routes import inner_globs
from thalweg_agent.backends.sandbox import included
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


@pytest.mark.parametrize("pattern", ["./a/*.py", ".//a/*.py", "././a/**/*.py"])
def test_a_pattern_may_begin_with_the_folder_of_the_search(pattern: str, tmp_path: Path) -> None:
    """On a disk, in a state, in a sandbox, and below a route; `./*.py` is a file of that folder."""
    assert compile_grep_include_glob(pattern)("a/b.py")
    assert inner_globs(pattern, ["a"]) == inner_globs(pattern.replace("./", "").strip("/"), ["a"])
    assert included(pattern) == included("/" + pattern.replace("./", "").strip("/"))
    assert not compile_grep_include_glob("./*.py")("a/b.py")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").touch()
    found = FilesystemBackend(tmp_path).glob(pattern).matches or []
    assert [info["path"] for info in found] == ["/a/b.py"]
