"""Media in texts: one line that names the type and the size of what only the part itself shows."""

import json
import re

from thalweg.engine.entries import Media, Message
from thalweg.engine.media.facts import facts_of, pixels_of

LABEL_CHARS = 200
"""Most characters of a label."""
_NAME_CHARS = 80
_NAME = re.compile(r'"(?:filename|title)": ?("(?:[^"\\]|\\.)+")')
_TYPE = re.compile(r'"type": ?"([\w./-]{1,40})"')
_STORED_ID = re.compile(r'"(?:file_id|id)": ?"([^"\\]+)"')
"""The name of a file, its type and its id in storage, among a part's other fields."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{1000,}={0,2}")
"""Content, and no identifier or digest: as for a block of an unknown type."""


def media_label(media: Media) -> str:
    """Return what media are, in a few words: name, type, size, pixels, pages or seconds.

    Example:
        >>> media_label(Media("image/gif", "R0lGODlhCgAUAA=="))
        'image/gif, 10 bytes, 10 x 20'
        >>> media_label(Media("image/png", url="https://example.org/a.png"))
        'image/png, https://example.org/a.png'
    """
    kind = _TYPE.search(media.extra)
    labels = [media.mime or (kind[1] if kind else "media")]
    if name := _NAME.search(media.extra):
        labels.insert(0, " ".join(json.loads(name[1]).split())[:_NAME_CHARS])
    if media.data:
        labels += [f"{_decoded_size(media.data):,} bytes", *_size_labels(media)]
    elif media.url:
        labels.append(media.url)
    elif stored := _STORED_ID.search(media.extra):
        labels.append(stored[1])
    return " ".join(", ".join(labels).split())[:LABEL_CHARS]


MAX_LISTED_MEDIA = 8
"""Most media that a line names."""


def media_line(message: Message) -> str:
    """Return the media of a message on one line, bounded; empty if it has none.

    Example:
        >>> media_line(Message("user", (Media("image/png", "AAAA"), Media("audio/wav", "AAAA"))))
        'image/png, 3 bytes; audio/wav, 3 bytes'
    """
    media = [part for part in message.parts if isinstance(part, Media)]
    omitted = [f"{len(media) - MAX_LISTED_MEDIA} more"] if len(media) > MAX_LISTED_MEDIA else []
    return "; ".join([*map(media_label, media[:MAX_LISTED_MEDIA]), *omitted])


def _size_labels(media: Media) -> list[str]:
    if (pixels := pixels_of(media)) is not None:
        return [f"{pixels[0]:,} x {pixels[1]:,}"]
    facts = facts_of(media)
    if facts.pages is not None:
        return [f"{facts.pages:,} page{'' if facts.pages == 1 else 's'}"]
    return [] if facts.seconds is None else [f"{facts.seconds:,.1f} seconds"]


def _decoded_size(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4


def without_base64(text: str) -> str:
    """Replace content in base64 by its size.

    Example:
        >>> without_base64('{"data": "' + "A" * 4_000 + '"}')
        '{"data": "[3,000 bytes]"}'
    """
    return _BASE64.sub(lambda match: f"[{_decoded_size(match[0]):,} bytes]", text)
