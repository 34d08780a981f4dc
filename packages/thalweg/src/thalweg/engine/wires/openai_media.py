"""Images, sounds and files as parts of a chat message in OpenAI's form.

LangChain messages use the same parts.
"""

from collections.abc import Mapping
from typing import Any

from thalweg.engine.entries import Media
from thalweg.engine.wires.fields import Fields, media_at, pack, unpack, url_of
from thalweg.engine.wires.media_blocks import block_of, take_content

MEDIA_TYPES = ("image_url", "input_audio", "file")
_BY_ADDRESS = {"video_url": "video/*", "audio_url": "audio/*"}
"""Parts of vLLM and other servers."""


def read_media(part: Mapping[str, Any], wire: str) -> Media | None:
    """Parse a part with an image, a sound, a film or a file; return `None` for any other part."""
    fields = Fields(part)
    kind = fields.peek("type")
    body = fields.left.get(kind)
    if kind in _BY_ADDRESS and isinstance(body, Mapping) and isinstance(body.get("url"), str):
        return take_content(wire, part, (kind, "url"), _BY_ADDRESS[kind])
    if kind == "file" and isinstance(body, Mapping) and isinstance(body.get("file_id"), str):
        return take_content(wire, part, (), "application/octet-stream")
    if isinstance(body, str):
        body = {"url": body}
    if kind not in MEDIA_TYPES or not isinstance(body, Mapping):
        return None
    del fields.left["type"], fields.left[kind]
    inner = Fields(body)
    media = _CONTENT[kind](inner)
    if media is None:
        return None
    left = {**fields.left, **({kind: inner.left} if inner.left else {})}
    return Media(media.mime, media.data, media.url, pack(wire, left))


def _image(body: Fields) -> Media | None:
    url = body.text("url")
    return media_at(url, "image/*") if url else None


def _sound(body: Fields) -> Media | None:
    data = body.text("data")
    return Media(f"audio/{body.text('format') or 'wav'}", data) if data else None


def _file(body: Fields) -> Media | None:
    data = body.text("file_data")
    return media_at(data, "application/octet-stream") if data else None


_CONTENT = {"image_url": _image, "input_audio": _sound, "file": _file}


def write_media(media: Media, wire: str) -> dict[str, Any]:
    """Return media as the part that OpenAI has for its type."""
    if (block := block_of(media, wire)) is not None:
        return block
    left = unpack(media.extra, wire)
    if media.url and not media.mime.startswith("image/"):
        return {"type": "text", "text": media.url}  # nothing but images is taken by address
    if media.mime.startswith("audio/") and media.data:
        kind = "input_audio"
        body = {"data": media.data, "format": media.mime.removeprefix("audio/")}
    elif media.mime.startswith("image/") or not media.data:
        kind, body = "image_url", {"url": url_of(media)}
    else:
        kind, body = "file", {"file_data": url_of(media)}
    inner = left.pop(kind, None)
    kept = inner if isinstance(inner, dict) else {}
    if kind == "file" and not kept:
        kept = {"filename": f"file.{media.mime.rpartition('/')[2]}"}
    return {"type": kind, kind: {**kept, **body}, **left}
