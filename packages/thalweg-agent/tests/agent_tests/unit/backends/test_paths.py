"""Paths in their one form, and why others are refused."""

import copy
import pickle

import pytest

from thalweg.errors import PathError
from thalweg_agent.backends.paths import (
    files_under,
    glob_anchor,
    normalize_path,
    sanitize_tool_call_id,
    validate_path,
)


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("foo/bar", "/foo/bar"),
        ("/./foo//bar/", "/foo/bar"),
        ("//foo", "/foo"),
        ("foo\\bar/baz", "/foo/bar/baz"),
        ("a\\\\b", "/a/b"),
        ("foo..bar/..hidden", "/foo..bar/..hidden"),
        ("/a/~/b", "/a/~/b"),
        ("", "/"),
        (".", "/"),
        ("/", "/"),
        (" /a", "/ /a"),
        ("/" + "n" * 255, "/" + "n" * 255),
    ],
)
def test_a_path_is_brought_into_its_form(path: str, form: str) -> None:
    """Which begins with `/` and has nothing idle in it."""
    assert validate_path(path) == form


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/a/../b", r"^Path traversal not allowed: /a/\.\./b$"),
        ("..\\b", "Path traversal not allowed"),
        ("~/a", "Path traversal not allowed"),
        ("~root/a", "Path traversal not allowed"),
        ("C:\\a", r"^Windows absolute paths are not supported: C:\\a\. Please use"),
        ("d:a", "Windows absolute paths are not supported"),
        ("/a\0b", r"NUL character in it: '/a\\x00b'"),
        ("/\udcff", "not valid Unicode"),
        ("/" + "n" * 256, r"too long \(257 bytes\)"),
        ("/" + "ü" * 128, r"too long \(257 bytes\)"),
        ("/a" * 2_049, r"too long \(4098 bytes\)"),
    ],
)
def test_a_path_is_refused_with_the_reason(path: str, why: str) -> None:
    """For a model to write another; the error survives a copy."""
    with pytest.raises(PathError, match=why) as caught:
        validate_path(path)

    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_a_path_may_have_to_be_in_a_folder() -> None:
    """In it, and not in one whose name begins alike."""
    for prefix in ("/data", "/data/"):
        assert validate_path("data/a", allowed_prefixes=["/x", prefix]) == "/data/a"
        for path in ("/database/a", "/etc/a", "/"):
            with pytest.raises(PathError, match="must start with one of"):
                validate_path(path, allowed_prefixes=[prefix])


def test_a_folder_of_a_search_has_one_form() -> None:
    """An empty path means everything; blanks mean nothing."""
    assert [normalize_path(path) for path in (None, "", "/", "a/", "/a//", "//a")] == [
        "/",
        "/",
        "/",
        "/a",
        "/a",
        "/a",
    ]
    with pytest.raises(PathError, match="cannot be empty"):
        normalize_path("  ")


def test_files_under_a_folder_are_those_in_it() -> None:
    """And the one that is at the path, which does not hide them: a state may have both."""
    files = {"/a": 1, "/a/b": 2, "/ab": 3, "/c/d": 4}

    assert files_under(files, "/") == files
    assert files_under(files, "/a") == {"/a": 1, "/a/b": 2}
    assert files_under(files, "/c") == {"/c/d": 4}
    assert files_under(files, "/x") == {}


def test_a_rule_reaches_what_is_below_its_anchor() -> None:
    """The anchor ends before the first wildcard."""
    assert [glob_anchor(rule) for rule in ("/a/{b,c}/d", "/[ab]", "/a/b.txt", "a\\b*")] == [
        "/a",
        "/",
        "/a/b.txt",
        "a",
    ]


def test_the_id_of_a_call_is_the_name_of_a_file() -> None:
    """This holds for an id of any origin."""
    assert sanitize_tool_call_id("../../x\\y") == "______x_y"
    long = sanitize_tool_call_id("ü" * 65)
    assert long.startswith("call-")
    assert len(long) == 69
    assert sanitize_tool_call_id("ü" * 64) == "ü" * 64
