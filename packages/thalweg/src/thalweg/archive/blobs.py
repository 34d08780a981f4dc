"""Large texts of a message, stored separately and once.

A message is logged as one line of JSON in which every large text is empty, and a list of their
positions and hashes.
"""

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from thalweg.database.base import decode, encode
from thalweg.engine.entries import Message, Part, message_from_json, message_to_json
from thalweg.errors import StorageError

LARGE_CHARS = 2_000
"""Longer texts are stored once, by hash. That changes about six more pages of the database: for a
shorter text, more than it saves."""
_MAX_COMPRESSED_SHARE = 0.9
"""A blob is stored compressed if that is smaller than this share of it."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A large text as it is stored."""

    hash: bytes
    data: bytes
    packed: bool
    """Whether `data` is compressed."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is stored."""

    body: str
    """ASCII JSON, large texts empty."""
    holes: str
    """JSON list of `[part, field, hash]`, or empty."""
    blobs: tuple[Blob, ...] = ()


def pack(text: str) -> Blob:
    """Return the blob of a text.

    Example:
        >>> unpack(pack("a" * 5_000).data, packed=True) == "a" * 5_000
        True
    """
    raw = encode(text)
    packed = zlib.compress(raw, 3)
    is_smaller = len(packed) < len(raw) * _MAX_COMPRESSED_SHARE
    return Blob(hashlib.sha256(raw).digest(), packed if is_smaller else raw, is_smaller)


def unpack(data: bytes, *, packed: bool) -> str:
    """Return the text of a blob.

    Raises:
        StorageError: Its bytes are corrupt.
    """
    try:
        return decode(zlib.decompress(data) if packed else data)
    except (zlib.error, UnicodeDecodeError) as error:
        raise _damaged_error(error) from error


def _damaged_error(error: ValueError | zlib.error) -> StorageError:
    problem = f"a stored text is damaged ({error})"
    return StorageError("the archive", problem, "restore the file from a backup")


def take_apart(message: Message) -> StoredMessage:
    """Return the stored form of a message; `put_together` is the inverse.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> take_apart(Message("user", (Text("hi"),))).holes
        ''
    """
    blobs: list[Blob] = []
    holes: list[tuple[int, str, str]] = []
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        large_fields = {
            f.name: pack(text) for f in fields(part) if _is_large(text := getattr(part, f.name))
        }
        holes += [(index, name, blob.hash.hex()) for name, blob in large_fields.items()]
        blobs += large_fields.values()
        parts.append(
            _replace_texts(part, dict.fromkeys(large_fields, "")) if large_fields else part
        )
    if not holes:
        return StoredMessage(message_to_json(message), "")
    body = message_to_json(replace(message, parts=tuple(parts)))
    return StoredMessage(body, json.dumps(holes, separators=(",", ":")), tuple(blobs))


def _replace_texts(part: Part, texts: dict[str, str]) -> Part:
    return replace(part, **texts)  # type: ignore[arg-type]  # every field of a part is a str


def _is_large(value: object) -> bool:
    return isinstance(value, str) and len(value) > LARGE_CHARS


def put_together(body: str, holes: str, fetch: Callable[[bytes], str]) -> Message:
    """Return a message from its stored form.

    Args:
        body: `StoredMessage.body`.
        holes: `StoredMessage.holes`.
        fetch: Returns the text stored under a hash.

    Raises:
        StorageError: The stored form is corrupt.
    """
    try:
        message = message_from_json(body)
    except ValueError as error:
        raise _damaged_error(error) from error
    if not holes:
        return message
    parts = list(message.parts)
    for index, name, digest in json.loads(holes):
        parts[index] = _replace_texts(parts[index], {name: fetch(bytes.fromhex(digest))})
    return replace(message, parts=tuple(parts))


def large_text_hashes(holes: str) -> list[bytes]:
    r"""Return the hashes of the large texts of a stored message.

    Example:
        >>> large_text_hashes('[[0,"text","00ff"]]'), large_text_hashes("")
        ([b'\x00\xff'], [])
    """
    return [bytes.fromhex(digest) for _, _, digest in json.loads(holes)] if holes else []
