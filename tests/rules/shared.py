"""Checks that more than one provider makes."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tests.rules.rule import Check, Request

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})


def strings(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every string in a JSON value with its path, keys included."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}", key
            yield from strings(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, f"{path}.{index}")


def valid_unicode(request: Request) -> Iterator[str]:
    """The body is UTF-8, and no string in it has half of a surrogate pair."""
    try:
        json.loads(request.raw.decode("utf-8"))
    except ValueError as error:
        yield f"the request body is not valid JSON: {error}"
        return
    for path, text in strings(request.body):
        if any("\ud800" <= char <= "\udfff" for char in text):
            yield f"{path}: lone surrogate in {text[:40]!r}"


def at_most_bytes(limit: int) -> Check:
    """The body is no longer than `limit` bytes."""

    def check(request: Request) -> Iterator[str]:
        if len(request.raw) > limit:
            yield f"{len(request.raw):,} bytes exceed the maximum of {limit:,}"

    return check


def at_most_items(*path: str, limit: int) -> Check:
    """The list at `path` of the body has at most `limit` items."""

    def check(request: Request) -> Iterator[str]:
        value: Any = request.body
        for key in path:
            value = value.get(key) or {}
        if isinstance(value, list) and len(value) > limit:
            yield f"{'.'.join(path)}: {len(value)} items exceed the maximum of {limit}"

    return check


def metadata_limits(request: Request) -> Iterator[str]:
    """At most 16 pairs; keys of at most 64 characters, values of at most 512."""
    pairs = request.body.get("metadata") or {}
    if len(pairs) > 16:
        yield f"metadata: {len(pairs)} pairs exceed the maximum of 16"
    for key, value in pairs.items():
        if len(key) > 64 or not isinstance(value, str) or len(value) > 512:
            yield f"metadata.{key[:40]}: key or value is too long, or no string"


def shown_type(data: str) -> str:
    """Return the type that the first bytes of an image have; empty if they have none."""
    starts = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif"}
    return next((kind for start, kind in starts.items() if data.startswith(start)), "")


def bad_base64(data: object) -> bool:
    """Whether `data` is empty or no base64."""
    if not isinstance(data, str) or not data:
        return True
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error:
        return True
    return False


def bad_image_url(url: object) -> str:
    """Return what is wrong with an OpenAI image URL; empty where nothing is."""
    if not isinstance(url, str) or not url:
        return "no URL"
    if url.startswith(("https://", "http://")):
        return ""
    matched = re.fullmatch(r"data:([\w/+.-]+);base64,(.*)", url, re.DOTALL)
    if matched is None:
        return "neither a web address nor a base64 data URL"
    if matched[1] not in IMAGE_TYPES:
        return f"unsupported image type {matched[1]}"
    return "not base64" if bad_base64(matched[2]) else ""


def repeated(values: Iterable[str]) -> list[str]:
    """Return the values that occur more than once."""
    seen: set[str] = set()
    again: list[str] = []
    for value in values:
        if value in seen:
            again.append(value)
        seen.add(value)
    return again


def bad_schema(schema: object) -> str:
    """Return what is wrong with a tool's input schema; empty where nothing is."""
    if not isinstance(schema, dict):
        return "the schema is no object"
    if schema.get("type") != "object":
        return f"the schema's type is {schema.get('type')!r}, not 'object'"
    if not isinstance(schema.get("properties", {}), dict):
        return "`properties` is no object"
    required: Sequence[str] = schema.get("required", [])
    unknown = [name for name in required if name not in schema.get("properties", {})]
    return f"required names without a property: {unknown}" if unknown else ""
