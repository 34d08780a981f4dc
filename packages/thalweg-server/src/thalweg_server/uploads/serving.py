"""Serving of files over HTTP such that a browser displays them and never runs them.

A file of an agent or an untrusted author may be a page with a script. It has the origin of the
gateway, so content that a browser would run is downloaded, not displayed.
"""

import re
from dataclasses import dataclass
from email.utils import format_datetime
from typing import Final
from urllib.parse import quote

from thalweg_server.api.files import FileStat

_RANGE: Final = re.compile(
    r"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))[ \t]*", re.IGNORECASE
)
_SHOWN: Final = (
    "image/png image/jpeg image/gif image/webp image/bmp image/avif "
    "audio/mpeg audio/wav audio/ogg audio/flac audio/mp4 video/mp4 video/webm video/quicktime"
)
_READ: Final = (
    "text/plain text/markdown text/csv text/tab-separated-values "
    "application/json application/x-ndjson application/yaml"
)
_LOOKED_AT: Final = frozenset(_SHOWN.split())
"""Media types that a browser shows and does not run."""
_AS_TEXT: Final = frozenset(_READ.split())
"""Media types served as plain text, even with markup in them."""
_RUNS: Final = re.compile(r"html|xml|script|svg|flash|ecmascript|mhtml|rfc822", re.IGNORECASE)
_OPAQUE: Final = "application/octet-stream"


class UnsatisfiableRange(ValueError):  # noqa: N818  # it is answered with 416, and no error of ours
    """None of the bytes asked for are in the file."""


def parse_range(header: str | None, size: int) -> range | None:
    """Parse a request's `Range` header.

    Args:
        header: The header's value; `None` if missing.
        size: Bytes of the file.

    Returns:
        The bytes; `None` to send the whole file: there is no range, its format is unknown, or
        there are several, which a server need not support.

    Raises:
        UnsatisfiableRange: It begins past the end of the file.

    Example:
        >>> parse_range("bytes=2-4", 10), parse_range("bytes=-3", 10), parse_range("bytes=8-", 10)
        (range(2, 5), range(7, 10), range(8, 10))
        >>> parse_range("bytes=0-1,4-5", 10) is None
        True
    """
    found = _RANGE.fullmatch(header or "")
    if found is None:
        return None
    first, last, suffix = found.groups()
    if suffix is not None:
        start, stop = max(0, size - int(suffix)), size
    else:
        start = int(first)
        stop = min(size, int(last) + 1) if last else size
        if last and int(last) < start:
            return None
    if start >= stop:
        raise UnsatisfiableRange(header)
    return range(start, stop)


@dataclass(frozen=True, slots=True)
class ServedFile:
    """What to answer to a request for a file.

    Attributes:
        status: 200, 206, 304 or 416.
        headers: All that concern the file.
        part: The bytes to send; `None` for no body.
    """

    status: int
    headers: dict[str, str]
    part: range | None


def answer_for(
    file: FileStat,
    *,
    range_header: str | None = None,
    if_range: str | None = None,
    if_none_match: str | None = None,
    inline: bool = False,
) -> ServedFile:
    """Return the status, headers and range for a request of a file.

    Args:
        file: The requested file.
        range_header: `Range` of the request.
        if_range: `If-Range`: the range is meant for this version alone.
        if_none_match: `If-None-Match`: versions that the client has.
        inline: Whether to show it, if possible, instead of saving it.
    """
    headers = headers_for(file, inline=inline)
    if if_none_match is not None and _names(if_none_match, headers["ETag"]):
        return ServedFile(304, headers, None)
    is_meant = if_range is None or if_range.strip() == headers["ETag"]
    try:
        part = parse_range(range_header, file.size) if is_meant else None
    except UnsatisfiableRange:
        beyond = {"Content-Range": f"bytes */{file.size}", "Content-Length": "0"}
        return ServedFile(416, {**headers, **beyond}, None)
    if part is None:
        whole = {"Content-Length": str(file.size)}
        return ServedFile(200, {**headers, **whole}, range(file.size))
    partial = {
        "Content-Range": f"bytes {part.start}-{part.stop - 1}/{file.size}",
        "Content-Length": str(part.stop - part.start),
    }
    return ServedFile(206, {**headers, **partial}, part)


def _names(if_none_match: str, etag: str) -> bool:
    known = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return "*" in known or etag in known


def headers_for(file: FileStat, *, inline: bool = False) -> dict[str, str]:
    """Return the headers of a file, with which no browser runs it.

    Args:
        file: The file.
        inline: Whether to display it, if its kind is safe; other kinds are downloaded anyway.
    """
    shown = inline and file.media_type in _LOOKED_AT | _AS_TEXT
    return {
        "Content-Type": safe_media_type(file.media_type),
        "Content-Disposition": disposition(file.name, inline=shown),
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'self'; sandbox",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        # Users of a shared cache do not share access to the files.
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
        "ETag": f'"{_plain(file.etag)}"',
        "Last-Modified": format_datetime(file.modified, usegmt=True),
    }


def safe_media_type(media_type: str) -> str:
    """Return a media type with which no browser runs the content.

    Example:
        >>> (
        ...     safe_media_type("text/html"),
        ...     safe_media_type("text/markdown"),
        ...     safe_media_type("image/png"),
        ... )
        ('application/octet-stream', 'text/plain; charset=utf-8', 'image/png')
    """
    plain = media_type.partition(";")[0].strip().lower()
    if plain in _AS_TEXT:
        return "text/plain; charset=utf-8"
    if _RUNS.search(plain) and not plain.startswith(
        "application/vnd.openxmlformats-officedocument"
    ):
        return _OPAQUE
    return plain if re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", plain) else _OPAQUE


def disposition(name: str, *, inline: bool = False) -> str:
    r"""Write a `Content-Disposition` that no name can break out of (RFC 6266).

    Example:
        >>> disposition('Grüße "1".pdf')
        'attachment; filename="Gr__e _1_.pdf"; filename*=UTF-8\'\'Gr%C3%BC%C3%9Fe%20%221%22.pdf'
    """
    way = "inline" if inline else "attachment"
    ascii_name = "".join(sign if sign in _QUOTABLE else "_" for sign in name) or "file"
    encoded = quote(name.encode("utf-8", "replace"), safe="")
    return f"{way}; filename=\"{ascii_name}\"; filename*=UTF-8''{encoded}"


_QUOTABLE: Final = frozenset(
    " !#$&'()+,-.0123456789;=@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{}~"
)


def _plain(etag: str) -> str:
    return re.sub(r"[^\w.-]", "_", etag, flags=re.ASCII)
