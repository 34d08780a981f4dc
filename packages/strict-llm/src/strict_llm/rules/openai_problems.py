"""The errors of OpenAI that both of its dialects have, in its words."""

import re
from base64 import b64decode
from binascii import Error
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from strict_llm.exchange import Object, RequestProblem

Rule = Callable[[str, Object], Iterator[RequestProblem]]
"""Checks an object at a path."""

NAME = re.compile(r"[a-zA-Z0-9_-]+")
MOST_NAME_CHARS = 64
MOST_TEXT_CHARS = 10_485_760

_TYPES = {
    dict: "an object",
    list: "an array of objects",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    type(None): "null",
}


def missing(path: str) -> RequestProblem:
    """Refuse a body without a field."""
    return RequestProblem(
        f"Missing required parameter: '{path}'.", param=path, code="missing_required_parameter"
    )


def unknown(path: str) -> RequestProblem:
    """Refuse a field that there is not."""
    return RequestProblem(f"Unknown parameter: '{path}'.", param=path, code="unknown_parameter")


def wrong_type(path: str, expected: str, value: object) -> RequestProblem:
    """Refuse a value for its type."""
    got = _TYPES[type(value)].removesuffix(" of objects")
    return RequestProblem(
        f"Invalid type for '{path}': expected {expected}, but got {got} instead.",
        param=path,
        code="invalid_type",
    )


def wrong_value(path: str, value: str, known: tuple[str, ...]) -> RequestProblem:
    """Refuse a value that is none of those there are."""
    names = [f"'{name}'" for name in known]
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return RequestProblem(
        f"Invalid value: '{value}'. Supported values are: {listed}.",
        param=path,
        code="invalid_value",
    )


def text_length(path: str, text: str, most: int) -> Iterator[RequestProblem]:
    """Refuse a text that is too long."""
    if len(text) > most:
        yield RequestProblem(
            f"Invalid '{path}': string too long. Expected a string with maximum length {most}, "
            f"but got a string with length {len(text)} instead.",
            param=path,
            code="string_above_max_length",
        )


def not_empty(path: str, text: str) -> Iterator[RequestProblem]:
    """Refuse an empty text where one must be."""
    if not text:
        yield RequestProblem(
            f"Invalid '{path}': empty string. Expected a string with minimum length 1, "
            "but got an empty string instead.",
            param=path,
            code="empty_string",
        )


def empty_array(path: str) -> RequestProblem:
    """Refuse a list without elements."""
    return RequestProblem(
        f"Invalid '{path}': empty array. Expected an array with minimum length 1, "
        "but got an empty array instead.",
        param=path,
        code="empty_array",
    )


def objects(path: str, values: list[Any], rule: Rule) -> Iterator[RequestProblem]:
    """Check the elements of a list by a rule for objects."""
    for n, value in enumerate(values):
        if isinstance(value, dict):
            yield from rule(f"{path}[{n}]", value)
        else:
            yield wrong_type(f"{path}[{n}]", "an object", value)


def array(path: str, value: object, rule: Rule) -> Iterator[RequestProblem]:
    """Check a list, which must have elements, by a rule for each of them."""
    if not isinstance(value, list):
        yield wrong_type(path, "an array of objects", value)
    elif not value:
        yield empty_array(path)
    else:
        yield from objects(path, value, rule)


def identifier(path: str, value: object, most: int) -> Iterator[RequestProblem]:
    """Check a text that must be there."""
    if not isinstance(value, str):
        yield missing(path)
    else:
        yield from text_length(path, value, most)


def function_name(path: str, name: object) -> Iterator[RequestProblem]:
    """Check the name of a function."""
    if not isinstance(name, str):
        yield wrong_type(path, "a string", name)
        return
    yield from not_empty(path, name)
    yield from text_length(path, name, MOST_NAME_CHARS)
    if name and not NAME.fullmatch(name):
        yield RequestProblem(
            f"Invalid '{path}': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
            param=path,
            code="invalid_value",
        )


def image_url(path: str, url: object) -> Iterator[RequestProblem]:
    """Check the address of an image; of one by value, that it is base64 of an image type."""
    if not isinstance(url, str):
        yield wrong_type(path, "a string", url)
    elif not url.startswith(("http://", "https://")) and (fault := _fault_of_data_url(url)):
        yield RequestProblem(
            f"Invalid '{path}'. Expected a base64-encoded data URL with an image MIME type "
            f"(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got {fault}.",
            param=path,
            code="invalid_value",
        )


@lru_cache(maxsize=1_024)
def _fault_of_data_url(url: str) -> str:
    head, comma, content = url.partition(",")
    if not url.startswith("data:"):
        return "a value without the 'data:' prefix"
    mime, _, encoding = head.removeprefix("data:").partition(";")
    if mime not in {"image/png", "image/jpeg", "image/gif", "image/webp"}:
        return f"unsupported MIME type '{mime}'"
    if not comma or encoding != "base64":
        return "a value that is not base64-encoded"
    if not content:
        return "empty base64-encoded bytes"
    return "" if is_base64(content) else "an invalid base64-encoded value"


def is_base64(content: str) -> bool:
    """Whether a text is strict base64."""
    try:
        b64decode(content, validate=True)
    except (Error, ValueError):
        return False
    return True
