"""Kinds of files: what their names end in, how their content begins, whether text is in them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from thalweg.uploads.names import split_ending

_OFFICE = "application/vnd.openxmlformats-officedocument"
_ODF = "application/vnd.oasis.opendocument"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        family: What its content is told by: `text`, or one of `CONTENTS`.
        media_type: As HTTP names it.
        title: As a person names it.
        converts: Text can be made of it by the extra `documents`.
    """

    family: str
    media_type: str
    title: str
    converts: bool = False


def _kinds() -> dict[str, Kind]:
    table: dict[str, Kind] = {}
    for endings, family, media_type, title, converts in _TABLE:
        for ending in endings.split():
            table[ending] = Kind(family, media_type, title, converts)
    return table


_RUN: Final = (
    "exe dll com scr pif cpl msi msix lnk sys bat cmd ps1 vbs vbe wsf wsh hta jar apk ipa dmg pkg "
    "deb rpm appimage app so dylib class pyc o elf bin reg docm xlsm pptm dotm xlam"
)
_SOURCE: Final = (
    "py pyi js mjs cjs ts tsx jsx css scss java kt go rs c h cc cpp hpp cs rb php swift scala sh "
    "bash zsh pl r jl lua ex exs erl hs ml clj dart vue svelte tf proto graphql gradle cmake"
)

_TABLE: Final = (
    ("pdf", "pdf", "application/pdf", "PDF", True),
    ("docx", "docx", f"{_OFFICE}.wordprocessingml.document", "Word", True),
    ("xlsx", "xlsx", f"{_OFFICE}.spreadsheetml.sheet", "Excel", True),
    ("pptx", "pptx", f"{_OFFICE}.presentationml.presentation", "PowerPoint", True),
    ("odt", "odt", f"{_ODF}.text", "OpenDocument text", True),
    ("ods", "ods", f"{_ODF}.spreadsheet", "OpenDocument spreadsheet", True),
    ("odp", "odp", f"{_ODF}.presentation", "OpenDocument presentation", False),
    ("epub", "epub", "application/epub+zip", "EPUB", True),
    ("doc", "doc", "application/msword", "Word 97", True),
    ("xls", "xls", "application/vnd.ms-excel", "Excel 97", True),
    ("ppt", "ppt", "application/vnd.ms-powerpoint", "PowerPoint 97", True),
    ("msg", "msg", "application/vnd.ms-outlook", "Outlook message", True),
    ("rtf", "rtf", "application/rtf", "RTF", True),
    ("eml", "text", "message/rfc822", "e-mail", True),
    ("html htm xhtml", "text", "text/html", "HTML", True),
    ("csv", "text", "text/csv", "CSV", True),
    ("tsv", "text", "text/tab-separated-values", "TSV", True),
    ("md markdown", "text", "text/markdown", "Markdown", False),
    ("json ipynb geojson", "text", "application/json", "JSON", False),
    ("jsonl ndjson", "text", "application/x-ndjson", "JSON lines", False),
    ("xml", "text", "application/xml", "XML", False),
    ("yaml yml", "text", "application/yaml", "YAML", False),
    ("svg", "text", "image/svg+xml", "SVG", False),
    ("txt text log rst tex bib ini cfg conf toml srt vtt diff patch sql", "text", "text/plain",
     "text", False),
    (_SOURCE, "text", "text/plain", "source code", False),
    ("png", "png", "image/png", "PNG", False),
    ("jpg jpeg", "jpeg", "image/jpeg", "JPEG", False),
    ("gif", "gif", "image/gif", "GIF", False),
    ("webp", "webp", "image/webp", "WebP", False),
    ("bmp", "bmp", "image/bmp", "BMP", False),
    ("tif tiff", "tiff", "image/tiff", "TIFF", False),
    ("heic heif", "heif", "image/heic", "HEIC", False),
    ("avif", "heif", "image/avif", "AVIF", False),
    ("mp4 m4v", "mp4", "video/mp4", "MP4", False),
    ("m4a", "mp4", "audio/mp4", "MPEG-4 audio", False),
    ("mov", "mp4", "video/quicktime", "QuickTime", False),
    ("webm", "matroska", "video/webm", "WebM", False),
    ("mkv", "matroska", "video/x-matroska", "Matroska", False),
    ("mp3", "mp3", "audio/mpeg", "MP3", False),
    ("wav", "wav", "audio/wav", "WAV", False),
    ("ogg oga opus", "ogg", "audio/ogg", "Ogg", False),
    ("flac", "flac", "audio/flac", "FLAC", False),
    ("zip", "zip", "application/zip", "ZIP", False),
    ("parquet", "parquet", "application/vnd.apache.parquet", "Parquet", False),
    ("sqlite sqlite3 db", "sqlite", "application/vnd.sqlite3", "SQLite", False),
)  # fmt: skip

KINDS: Final = _kinds()
"""By the ending of a name, in small letters and without a dot."""

UNKNOWN: Final = Kind("binary", "application/octet-stream", "file")
PLAIN: Final = Kind("text", "text/plain", "text")

PACKED: Final = frozenset({"docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "zip"})
"""Families that are ZIP archives."""

RUNS: Final = frozenset(_RUN.split())
"""Endings of what a system would run, or what carries macros."""


def ending_of(name: str) -> str:
    """Give a name's ending as `KINDS` has it; empty where there is none.

    Example:
        >>> ending_of("Report.PDF"), ending_of("Makefile")
        ('pdf', '')
    """
    return split_ending(name)[1][1:].lower()


def kind_by_name(name: str) -> Kind:
    """Say what a file is, by its name alone."""
    return KINDS.get(ending_of(name), UNKNOWN)


Test = Callable[[bytes], bool]


def _begins(*signatures: bytes) -> Test:
    return lambda content: content.startswith(signatures)


def _riff(kind: bytes) -> Test:
    return lambda content: content[:4] == b"RIFF" and content[8:12] == kind


def _brand(*brands: bytes) -> Test:
    """ISO media: a box `ftyp` first, which names its brands."""

    def test(content: bytes) -> bool:
        size = int.from_bytes(content[:4], "big")
        named = content[8 : min(size, 256)]
        return content[4:8] == b"ftyp" and any(brand in named for brand in brands)

    return test


def _ole(*names: str) -> Test:
    """An OLE file with one of these streams: its directory has their names in UTF-16."""
    wanted = [name.encode("utf-16-le") for name in names]
    return lambda content: content.startswith(_OLE) and any(name in content for name in wanted)


def _mp3(content: bytes) -> bool:
    # Eleven bits of a frame's beginning, and layer III.
    return content[:3] == b"ID3" or (
        content[:1] == b"\xff" and len(content) > 1 and content[1] & 0xE6 == _LAYER_III
    )


def _bmp(content: bytes) -> bool:
    return (
        content[:2] == b"BM" and content[6:10] == bytes(4) and content[14:15] in b"\x0c\x28\x6c\x7c"
    )


_LAYER_III = 0xE2
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEIF = (b"heic", b"heix", b"mif1", b"msf1", b"heim", b"hevc", b"avif", b"avis")

RUNNABLE: Final = re.compile(
    rb"MZ|\x7fELF|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]"
    rb"|\0asm|dex\n0|L\0\0\0\x01\x14\x02\0|!<arch>\n|\xed\xab\xee\xdb"
)
"""How programs begin: Windows, Linux, Java, macOS, WebAssembly, Android; links and packages."""

CONTENTS: Final[tuple[tuple[str, Test], ...]] = (
    ("pdf", _begins(b"%PDF-")),
    ("png", _begins(b"\x89PNG\r\n\x1a\n")),
    ("jpeg", _begins(b"\xff\xd8\xff")),
    ("gif", _begins(b"GIF87a", b"GIF89a")),
    ("webp", _riff(b"WEBP")),
    ("wav", _riff(b"WAVE")),
    ("tiff", _begins(b"II*\0", b"MM\0*")),
    ("bmp", _bmp),
    ("heif", _brand(*_HEIF)),
    ("mp4", _brand(b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42", b"avc1", b"M4V ",
                   b"M4A ", b"qt  ", b"dash", b"MSNV")),
    ("matroska", _begins(b"\x1a\x45\xdf\xa3")),
    ("ogg", _begins(b"OggS")),
    ("flac", _begins(b"fLaC")),
    ("rtf", _begins(b"{\\rtf")),
    ("parquet", lambda content: content.startswith(b"PAR1") and content.endswith(b"PAR1")),
    ("sqlite", _begins(b"SQLite format 3\0")),
    ("doc", _ole("WordDocument")),
    ("xls", _ole("Workbook", "Book")),
    ("ppt", _ole("PowerPoint Document")),
    ("msg", _ole("__properties_version1.0")),
    ("ole", _begins(_OLE)),
    ("archive", _begins(b"PK\x03\x04", b"PK\x05\x06")),
    ("packed", _begins(b"\x1f\x8b", b"BZh", b"\xfd7zXZ\0", b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07",
                       b"\x28\xb5\x2f\xfd")),
    ("mp3", _mp3),
)  # fmt: skip
"""Families by content, the surest first. `archive` is looked into, to say which of `PACKED`."""


def sniffed(content: bytes) -> str:
    r"""Name the family of a content: of `CONTENTS`, `program`, `text` or `binary`.

    Example:
        >>> sniffed(b"%PDF-1.7\n"), sniffed("grüß".encode()), sniffed(b"MZ\x90\0"), sniffed(b"\0\1")
        ('pdf', 'text', 'program', 'binary')
    """
    if RUNNABLE.match(content) and not is_text(content):
        return "program"
    for family, test in CONTENTS:
        if test(content):
            return family
    return "text" if is_text(content) else "binary"


def is_text(content: bytes) -> bool:
    r"""Whether a content is text, in UTF-8, UTF-16 with its mark, or a code of one byte.

    Example:
        >>> is_text("ü\n".encode("latin-1")), is_text(b"a\0b"), is_text("ü".encode("utf-16"))
        (True, False, True)
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return "\0" not in content.decode("utf-16")
        except UnicodeDecodeError:
            return False
    # Escape is how terminals are coloured in logs; a form feed parts pages.
    return content.translate(None, _CONTROLS) == content


_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\x0c\x1b\x08")) + b"\x7f"
