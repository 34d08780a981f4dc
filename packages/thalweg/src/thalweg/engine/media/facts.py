"""The measures of an image, a document, a sound or a film: its pixels, pages and seconds.

A file is read once: the facts are remembered by its content, so that a document in the history of
a thread costs no time in later turns.
"""

import binascii
import io
import re
from dataclasses import dataclass
from typing import Final, Literal

from thalweg.engine.entries import Media
from thalweg.engine.media.images import Dimensions, dimensions

MediaKind = Literal["image", "pdf", "sound", "film", "text", "other"]

_KIND_BY_MIME: Final[dict[str, MediaKind]] = {
    "image": "image",
    "audio": "sound",
    "video": "film",
    "text": "text",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
"""Kinds by media type, or by its first half."""
_TYPE_BY_START: Final[dict[re.Pattern[str], str]] = {
    re.compile(r"JVBERi"): "application/pdf",  # %PDF-
    re.compile(r"iVBORw0KGgo"): "image/png",
    re.compile(r"[/_]9j[/_]"): "image/jpeg",
    re.compile(r"R0lGOD"): "image/gif",
    re.compile(r"UklGR.{7}RUJQ"): "image/webp",  # RIFF, its length, WEBP
    re.compile(r"UklGR.{7}QVZF"): "audio/wav",
    re.compile(r"SUQz"): "audio/mp3",  # with tags
    re.compile(r"T2dnUw"): "audio/ogg",
    re.compile(r"ZkxhQw"): "audio/flac",
    re.compile(r"GkXfo"): "video/webm",  # and Matroska
}
"""Media types by the first characters of a file in base64."""
_UNSTATED: Final = frozenset({"", "application/octet-stream", "image/*", "audio/*", "video/*"})
"""Media types of blocks that state none."""


@dataclass(frozen=True, slots=True)
class MediaFacts:
    """The pages and the length of a file; `None` if they cannot be read."""

    pages: int | None = None
    """Pages of a PDF."""
    seconds: float | None = None
    """Length of a sound or a film."""


UNREAD: Final = MediaFacts()
"""Of a file that is damaged, locked, or not there by value."""


def type_of(media: Media) -> str:
    """Return the media type of a part, as providers write it.

    An image by value has the type of its first bytes, and so has a file whose type is not stated:
    providers refuse an image whose type is stated wrongly.

    Example:
        >>> type_of(Media("image/png", data="/9j/4AAQSkZJRg==")), type_of(Media("image/JPG"))
        ('image/jpeg', 'image/jpeg')
    """
    stated = media.mime.partition(";")[0].strip().lower()
    is_image = stated.startswith("image/")
    if media.data and (is_image or stated in _UNSTATED):
        found = next(
            (kind for start, kind in _TYPE_BY_START.items() if start.match(media.data)), ""
        )
        if found.startswith("image/" if is_image and stated != "image/*" else ""):
            stated = found or stated
    if is_image or stated == "application/pdf" or media.mime.lower() in _UNSTATED:
        return "image/jpeg" if stated == "image/jpg" else stated
    return media.mime


def kind_of(media: Media) -> MediaKind:
    """Return the kind of a part, by its type or, if none is stated, its first bytes.

    Example:
        >>> kind_of(Media("application/pdf")), kind_of(Media("", data="JVBERi0xLjQK"))
        ('pdf', 'pdf')
    """
    mime = type_of(media).partition(";")[0].strip().lower()
    return _KIND_BY_MIME.get(mime) or _KIND_BY_MIME.get(mime.partition("/")[0]) or "other"


def pixels_of(media: Media) -> Dimensions | None:
    """Return width and height of an image by value; `None` if they cannot be read."""
    return dimensions(media.data) if media.data and kind_of(media) == "image" else None


_FACTS_CACHE: dict[tuple[str, int, int], MediaFacts] = {}
"""Facts by kind, length and hash of the content; a text computes its hash once."""
_MAX_CACHED_FACTS = 4_096
"""Files whose facts are remembered."""


def facts_of(media: Media) -> MediaFacts:
    """Return the pages or seconds of a file by value.

    Returns:
        `UNREAD` for all that is no PDF, sound or film, and for a file that cannot be read.
    """
    kind = kind_of(media)
    if kind not in {"pdf", "sound", "film"} or not media.data:
        return UNREAD
    key = kind, len(media.data), hash(media.data)
    if (known := _FACTS_CACHE.get(key)) is not None:
        return known
    if len(_FACTS_CACHE) >= _MAX_CACHED_FACTS:
        _FACTS_CACHE.clear()
    _FACTS_CACHE[key] = facts = _read_facts(kind, decoded(media.data))
    return facts


def decoded(data: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding; empty if it is broken."""
    if "-" in data or "_" in data:
        data = data.replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""


def _read_facts(kind: MediaKind, raw: bytes) -> MediaFacts:
    if kind == "pdf":
        return MediaFacts(pages=count_pages(raw))
    return MediaFacts(seconds=measure_seconds(raw))


_TAIL_BYTES = 4_096
"""Bytes at the end of a PDF in which its last offset is; readers look in 1,024."""
_BYTES_PER_PAGE = 4
"""No writer needs less for a page, compressed; a PDF that claims more pages is damaged."""


def count_pages(raw: bytes) -> int | None:
    """Return the pages of a PDF, from its page tree.

    A file without its end (a download that broke off) is not repaired: that would read all of it.

    Returns:
        `None` if it is damaged, or locked with a password.
    """
    if b"startxref" not in raw[-_TAIL_BYTES:]:
        return None
    from pypdf import PdfReader  # noqa: PLC0415 (only threads with a PDF need it)
    from pypdf.generic import DictionaryObject  # noqa: PLC0415

    pages: object = None
    try:
        tree = PdfReader(io.BytesIO(raw)).root_object["/Pages"]
        if isinstance(tree, DictionaryObject):
            pages = tree["/Count"]
    except Exception:  # noqa: BLE001 (a parser of strangers' files: any error means unreadable)
        return None
    if not isinstance(pages, int) or not 0 < pages <= len(raw) // _BYTES_PER_PAGE:
        return None
    return int(pages)


_MIN_BYTES_PER_SECOND = 50
"""Bytes that no codec in use stores less than for a second; a header that claims longer is wrong.
"""


def measure_seconds(raw: bytes) -> float | None:
    """Return the length of a sound or a film, from its headers, in seconds.

    WAV, MP3, OGG, Opus, FLAC, AIFF, WMA, and the MP4 family are read.

    Returns:
        `None` for other formats, and for files that are damaged.
    """
    from tinytag import TinyTag  # noqa: PLC0415 (only threads with a sound or a film need it)

    try:
        tag = TinyTag.get(file_obj=io.BytesIO(raw), tags=False)
        seconds, bytes_per_second = float(tag.duration or 0), float(tag.bitrate or 0) * 125
    except Exception:  # noqa: BLE001 (a parser of strangers' files: any error means unreadable)
        return None
    if raw[:4] == b"RIFF" and bytes_per_second:  # a stream's header has no length
        seconds = len(raw) / bytes_per_second
    return seconds if 0 < seconds <= len(raw) / _MIN_BYTES_PER_SECOND else None
