"""Large texts of a message, taken out to be stored once, and put back.

A message is logged as one line of JSON in which every large text is empty, and a list of
where the large texts belong and the hashes they are stored under.
"""

import hashlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, fields, replace

from thalweg.database.base import decode, encode
from thalweg.entries import Message, Part, message_from_json, message_to_json
from thalweg.errors import StorageError

LARGE_CHARS = 2_000
"""Texts longer than this are stored once, by hash. That changes some six more pages of the
database: for a shorter text, more than it saves."""
_WORTH = 0.9
"""A blob is kept compressed when that leaves less than this share of it."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A large text as it is stored."""

    hash: bytes
    data: bytes
    packed: bool
    """Whether `data` is compressed."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it is stored."""

    body: str
    """ASCII JSON, large texts left empty."""
    holes: str
    """JSON list of `[part, field, hash]`, or empty."""
    blobs: tuple[Blob, ...] = ()


def pack(text: str) -> Blob:
    """Make a blob of a text.

    Example:
        >>> unpack(pack("a" * 5_000).data, packed=True) == "a" * 5_000
        True
    """
    raw = encode(text)
    packed = zlib.compress(raw, 3)
    pays = len(packed) < len(raw) * _WORTH
    return Blob(hashlib.sha256(raw).digest(), packed if pays else raw, pays)


def unpack(data: bytes, *, packed: bool) -> str:
    """Read the text of a blob.

    Raises:
        StorageError: Its bytes are not those that were written.
    """
    try:
        return decode(zlib.decompress(data) if packed else data)
    except (zlib.error, UnicodeDecodeError) as error:
        raise _damaged(error) from error


def _damaged(error: ValueError | zlib.error) -> StorageError:
    problem = f"a stored text is damaged ({error})"
    return StorageError("the archive", problem, "restore the file from a backup")


def take_apart(message: Message) -> Stored:
    """Turn a message into what is stored of it; `put_together` is the inverse.

    Example:
        >>> from thalweg.entries import Text
        >>> take_apart(Message("user", (Text("hi"),))).holes
        ''
    """
    blobs: list[Blob] = []
    holes: list[tuple[int, str, str]] = []
    parts: list[Part] = []
    for index, part in enumerate(message.parts):
        large = {
            f.name: pack(text) for f in fields(part) if _is_large(text := getattr(part, f.name))
        }
        holes += [(index, name, blob.hash.hex()) for name, blob in large.items()]
        blobs += large.values()
        parts.append(_with(part, dict.fromkeys(large, "")) if large else part)
    if not holes:
        return Stored(message_to_json(message), "")
    body = message_to_json(replace(message, parts=tuple(parts)))
    return Stored(body, json.dumps(holes, separators=(",", ":")), tuple(blobs))


def _with(part: Part, texts: dict[str, str]) -> Part:
    return replace(part, **texts)  # type: ignore[arg-type]  # every field of a part is a str


def _is_large(value: object) -> bool:
    return isinstance(value, str) and len(value) > LARGE_CHARS


def put_together(body: str, holes: str, fetch: Callable[[bytes], str]) -> Message:
    """Read a stored message back.

    Args:
        body: `Stored.body`.
        holes: `Stored.holes`.
        fetch: Gives the text stored under a hash.

    Raises:
        StorageError: It is not what was written.
    """
    try:
        message = message_from_json(body)
    except ValueError as error:
        raise _damaged(error) from error
    if not holes:
        return message
    parts = list(message.parts)
    for index, name, digest in json.loads(holes):
        parts[index] = _with(parts[index], {name: fetch(bytes.fromhex(digest))})
    return replace(message, parts=tuple(parts))


def held_by(holes: str) -> list[bytes]:
    r"""List the hashes of the large texts of a stored message.

    Example:
        >>> held_by('[[0,"text","00ff"]]'), held_by("")
        ([b'\x00\xff'], [])
    """
    return [bytes.fromhex(digest) for _, _, digest in json.loads(holes)] if holes else []
