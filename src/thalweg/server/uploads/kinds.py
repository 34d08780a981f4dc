"""Kinds of files: what their names end in, how their content begins, whether text is in them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from thalweg.engine.data_files import by_word, distinct, read_table
from thalweg.server.uploads.names import split_ending


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        family: How its content is recognized: `text`, or one of `CONTENTS`.
        media_type: The media type in HTTP.
        title: The name for a person.
        converts: The extra `documents` can extract its text.
    """

    family: str
    media_type: str
    title: str
    converts: bool = False


_TABLE: Final = read_table(__package__, "kinds.toml")

KINDS: Final = by_word(
    (Kind(**row), endings.split())
    for endings, row in ((row.pop("endings"), row) for row in _TABLE["kinds"])
)
"""By the ending of a name, in small letters and without a dot."""

UNKNOWN: Final = Kind("binary", "application/octet-stream", "file")
PLAIN: Final = Kind("text", "text/plain", "text")

PACKED: Final = frozenset({"docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "zip"})
"""Families that are ZIP archives."""

RUNS: Final = frozenset(distinct(_TABLE["runs"].split()))
"""Endings of what a system would run, or what carries macros."""


def ending_of(name: str) -> str:
    """Return a name's ending as in `KINDS`; empty if there is none.

    Example:
        >>> ending_of("Report.PDF"), ending_of("Makefile")
        ('pdf', '')
    """
    return split_ending(name)[1][1:].lower()


def kind_by_name(name: str) -> Kind:
    """Return the kind of a file by its name alone."""
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
"""Families by content, the most specific first. An `archive` is inspected for its kind in
`PACKED`."""


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
