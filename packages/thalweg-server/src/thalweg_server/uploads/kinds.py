"""Kinds of files: what their names end in, how their content begins, whether text is in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from thalweg.engine.data_files import keys_by_word, read_table, unique_words
from thalweg_server.uploads.names import split_ending


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        family: How its content is recognized: `text`, or as `sniffed` names it.
        media_type: The media type in HTTP.
        title: The name for a person.
        converts: The extra `documents` can extract its text.
    """

    family: str
    media_type: str
    title: str
    converts: bool = False


_TABLE: Final = read_table(__package__, "kinds.toml")

KINDS: Final = keys_by_word(
    (Kind(**row), endings.split())
    for endings, row in ((row.pop("endings"), row) for row in _TABLE["kinds"])
)
"""By the ending of a name, in small letters and without a dot."""

UNKNOWN: Final = Kind("binary", "application/octet-stream", "file")
PLAIN: Final = Kind("text", "text/plain", "text")

PACKED: Final = frozenset({"docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "zip"})
"""Families that are ZIP archives."""

RUNS: Final = frozenset(unique_words(_TABLE["runs"].split()))
"""Endings of files that a system would run, or that carry macros."""


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


def _names(table: str, encoding: str) -> list[tuple[str, list[bytes]]]:
    rows: Mapping[str, list[str]] = _TABLE[table]
    return [(family, [name.encode(encoding) for name in names]) for family, names in rows.items()]


RUNNABLE: Final = re.compile(
    rb"MZ|\x7fELF|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe|\xce\xfa\xed\xfe|\xfe\xed\xfa[\xce\xcf]"
    rb"|\0asm|dex\n0|L\0\0\0\x01\x14\x02\0|!<arch>\n|\xed\xab\xee\xdb"
)
"""How programs begin: Windows, Linux, Java, macOS, WebAssembly, Android; links and packages."""

_CONTENTS: Final = {
    family: re.compile(pattern.encode(), re.DOTALL)
    for family, pattern in _TABLE["contents"].items()
}
_BRANDS: Final = _names("brands", "ascii")
_STREAMS: Final = _names("streams", "utf-16-le")


def sniffed(content: bytes) -> str:
    r"""Name the family of a content: of `kinds.toml`, `parquet`, `program`, `text` or `binary`.

    Example:
        >>> sniffed(b"%PDF-1.7\n"), sniffed("grüß".encode()), sniffed(b"MZ\x90\0"), sniffed(b"\0\1")
        ('pdf', 'text', 'program', 'binary')
    """
    if RUNNABLE.match(content) and not is_text(content):
        return "program"
    return next(_families(content), None) or ("text" if is_text(content) else "binary")


def _families(content: bytes) -> Iterator[str]:
    if content[4:8] == b"ftyp":
        box = content[8 : min(int.from_bytes(content[:4], "big"), 256)]
        yield from (family for family, names in _BRANDS if any(name in box for name in names))
    if _CONTENTS["ole"].match(content):
        yield from (family for family, names in _STREAMS if any(name in content for name in names))
    if content.startswith(b"PAR1") and content.endswith(b"PAR1"):
        yield "parquet"
    yield from (family for family, begins in _CONTENTS.items() if begins.match(content))


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
