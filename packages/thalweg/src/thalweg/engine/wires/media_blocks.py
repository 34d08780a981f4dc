"""Blocks whose content is stored separately: the block without it, and the path of the content.

So a block is written to its wire as it was read, with every field; and a block that no wire
supports is media, too, if it holds long base64: such content has no tokens that a text counter
could count.
"""

import binascii
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from thalweg.engine.entries import Media
from thalweg.engine.wires.fields import media_from_url, pack, unpack, url_of

MIN_BASE64_CHARS = 1_000
"""Characters of base64 that no text of a block has."""
_SAMPLE_CHARS = 4_096
_BASE64 = re.compile(r"[A-Za-z0-9+/_\-\r\n]+=*\s*")
_MAX_DEPTH = 8
ContentPath = tuple[str | int, ...]


def take_content(wire: str, block: Mapping[str, Any], path: ContentPath, mime: str) -> Media:
    """Return a block as media whose content, at `path`, is a text: base64, a `data:` URL or a URL.

    Args:
        wire: The wire that read the block.
        block: The block.
        path: Where its content is; empty for a block that only names a stored file.
        mime: Its type, or what to assume.
    """
    if not path:
        return Media(mime, extra=pack(wire, {"shell": dict(block), "place": []}))
    value, extra = _without_content(wire, block, path)
    if path[-1] in URL_KEYS and "raw" not in unpack(extra, wire):
        return media_from_url(value, mime, extra)
    return Media(mime, data=value, extra=extra)


def _without_content(
    wire: str, block: Mapping[str, Any], path: ContentPath, **marks: bool
) -> tuple[str, str]:
    """Return the content of a block, and the block without it; its keys keep their order."""
    shell = copy.deepcopy(dict(block))
    container = _container_of(shell, path)
    value, container[path[-1]] = container[path[-1]], ""
    if isinstance(value, bytes):
        value, marks["raw"] = binascii.b2a_base64(value, newline=False).decode(), True
    return value, pack(wire, {"shell": shell, "place": list(path), **marks})


URL_KEYS = ("url", "image_url", "video_url", "audio_url", "file_data", "file_url", "file_uri")
"""Keys that hold a URL, or content as a `data:` URL."""


def unknown_media(wire: str, block: object) -> Media | None:
    """Return a block of an unknown kind as media, if it holds long base64, or bytes.

    Returns:
        `None` for any other block.
    """
    if not isinstance(block, Mapping):
        return None
    largest = max(_content_runs(block, (), _MAX_DEPTH), key=itemgetter(1), default=None)
    if largest is None:
        return None
    value, extra = _without_content(wire, block, largest[0], untyped=True)
    return Media("", data=value, extra=extra)


def _content_runs(
    value: object, path: ContentPath, depth: int
) -> Iterator[tuple[ContentPath, int]]:
    """Yield the places of content in a block, with its size."""
    if isinstance(value, bytes):
        yield path, len(value)
    elif isinstance(value, str):
        if len(value) >= MIN_BASE64_CHARS and _is_base64(value):
            yield path, len(value)
    elif depth and isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _content_runs(inner, (*path, key), depth - 1)
    elif depth and isinstance(value, list):
        for k, inner in enumerate(value):
            yield from _content_runs(inner, (*path, k), depth - 1)


def _is_base64(text: str) -> bool:
    """Return whether a long text is base64, or a `data:` URL, by its two ends and its middle."""
    _, comma, rest = text.partition(";base64,") if text.startswith("data:") else ("", "", text)
    text = rest if comma else text
    middle = len(text) // 2
    samples = text[:_SAMPLE_CHARS], text[middle : middle + _SAMPLE_CHARS], text[-_SAMPLE_CHARS:]
    return all(_BASE64.fullmatch(sample) for sample in samples)


def original_block(media: Media, wire: str) -> dict[str, Any] | None:
    """Return the block that a part was read from, with its content.

    Returns:
        `None` if this wire did not keep it.
    """
    extra_fields = unpack(media.extra, wire)
    shell, path = extra_fields.get("shell"), extra_fields.get("place")
    if not isinstance(shell, dict) or not isinstance(path, list):
        return None
    if path:
        is_address = path[-1] in URL_KEYS and not {"untyped", "raw"} & extra_fields.keys()
        value = url_of(media) if is_address else media.data
        _container_of(shell, path)[path[-1]] = (
            binascii.a2b_base64(value) if "raw" in extra_fields else value
        )
    return shell


def _container_of(shell: dict[str, Any], path: Sequence[str | int]) -> Any:  # noqa: ANN401 (JSON)
    """Return the container of a path's last step; missing objects are made."""
    inner: Any = shell
    for step in path[:-1]:
        if isinstance(inner, dict) and not isinstance(inner.get(step), (dict, list)):
            inner[step] = {}
        inner = inner[step]
    return inner
