"""Validation of uploads: a file's name and content must be of one kind, which is allowed.

An archive (also an Office file) is inspected without writing its content anywhere: the sizes that
it declares are compared with its real content.
"""

import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pydantic import Field, PositiveFloat, PositiveInt

from thalweg.engine.data_files import keys_by_word, read_table, unique_words
from thalweg.engine.sections import SettingsSection
from thalweg.errors import PathError, UploadRefusedError
from thalweg_agent.backends.paths import validate_path
from thalweg_server.uploads.names import split_ending

_MIB = 1 << 20
_SURELY_SMALL: Final = 1 << 20
_STEP: Final = 1 << 16
_UNLIMITED: Final = 1 << 62
_BY_PART: Final = (
    ("word/document.xml", "docx"),
    ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xlsb"),
    ("ppt/presentation.xml", "pptx"),
)
_BY_MIMETYPE: Final = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/epub+zip": "epub",
}


class UploadPolicy(SettingsSection):
    """What uploads of one thread may be."""

    max_file_bytes: PositiveInt = 20 * _MIB
    """Bytes of one file."""
    max_files: PositiveInt = 100
    """Files of one thread that were sent and not deleted."""
    max_thread_bytes: PositiveInt = 500 * _MIB
    """Bytes of all files of one thread, the agent's own among them."""
    allowed: tuple[str, ...] = ()
    """Allowed endings (`pdf`, `md`); all supported ones by default."""
    max_expanded_bytes: PositiveInt = 256 * _MIB
    """Bytes that an archive, or an Office file, may unpack to."""
    max_expansion: PositiveInt = 200
    """Maximum ratio of unpacked to packed size, above a mebibyte."""
    max_entries: PositiveInt = 10_000
    """Files inside of one archive."""
    convert: bool = True
    """Whether the text of documents is extracted to a file next to them."""
    convert_timeout_s: PositiveFloat = 60.0
    """Seconds after which a conversion is killed."""
    convert_memory_bytes: int = Field(default=1_024 * _MIB, ge=256 * _MIB)
    """Memory of a conversion in addition to the library's own, if the platform can limit it."""
    max_text_bytes: PositiveInt = 10 * _MIB
    """Maximum bytes of text of one document; a longer text is truncated with a note."""
    conversions: PositiveInt = 2
    """How many run at once in a process; others wait."""


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


_DESCRIPTIONS: Final = {
    "program": "a program",
    "macros": "an Office file with macros",
    "binary": "bytes of an unknown type",
    "packed": "an archive of another kind than ZIP",
    "ole": "an Office file of an unknown kind",
    "xlsb": "a binary Excel file",
    "text": "text",
}


def admitted(name: str, content: bytes, policy: UploadPolicy) -> Kind:
    """Return the kind of a file.

    Args:
        name: As `safe_name` returns it.
        content: The whole file.
        policy: The allowed kinds and sizes.

    Raises:
        UploadRefusedError: It is not allowed; the error has the reason, and the allowed kinds.
    """
    if not content:
        raise UploadRefusedError(name, "it is empty", "send a file that is not empty")
    if len(content) > policy.max_file_bytes:
        problem = f"it is larger than {policy.max_file_bytes:,} bytes"
        raise UploadRefusedError(name, problem, "send a smaller file, or parts of it")
    ending = ending_of(name)
    if ending in RUNS:
        problem = f"files with the ending .{ending} are programs, or contain some"
        raise UploadRefusedError(name, problem, what_may(policy))
    if policy.allowed and ending not in _allowed(policy):
        problem = (
            f"files with the ending .{ending} are not accepted"
            if ending
            else "it has no file extension"
        )
        raise UploadRefusedError(name, problem, what_may(policy))
    family = sniffed(content)
    if family == "archive":
        family = archive_family(name, content, policy)
    kind = KINDS.get(ending)
    if kind is None and family == "text":
        return PLAIN
    if kind is None or not _agree(kind, family):
        raise UploadRefusedError(name, _mismatch(ending, kind, family), what_may(policy))
    return kind


def what_may(policy: UploadPolicy) -> str:
    """Return a description of the allowed files."""
    if policy.allowed:
        return "accepted endings: " + ", ".join(f".{one}" for one in sorted(policy.allowed))
    return (
        "supported are PDF, Word, Excel, PowerPoint, OpenDocument, EPUB, e-mail, HTML, "
        "CSV, text and source code, images, audio, video, ZIP, Parquet and SQLite"
    )


def _allowed(policy: UploadPolicy) -> set[str]:
    return {ending.lower().removeprefix(".") for ending in policy.allowed}


def _agree(kind: Kind, family: str) -> bool:
    # A ZIP may hold anything, the parts of an Office file among it.
    return kind.family == family or (kind.family == "zip" and family in PACKED)


def _mismatch(ending: str, kind: Kind | None, family: str) -> str:
    content = _DESCRIPTIONS.get(family, f"{family.upper()}")
    if kind is None:
        name = f"ends in .{ending}" if ending else "has no ending"
        return f"its name {name}, its content is {content}"
    return f"its name says {kind.title}, its content is {content}"


def archive_family(name: str, content: bytes, policy: UploadPolicy) -> str:
    """Inspect an archive and return its kind: `docx`, `odt`, …, or `zip`.

    Args:
        name: For the error.
        content: The whole archive; at most `policy.max_expanded_bytes` of it are unpacked, and
            discarded.
        policy: The limits of its content.

    Raises:
        UploadRefusedError: It is damaged, unpacks to more than the limit or than it declares,
            contains macros or Java programs, or has names outside of its folder.
    """
    try:
        with ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            _refuse_bomb(name, entries, policy)
            names = {entry.filename for entry in entries}
            _refuse_names(name, entries)
            for entry in entries:
                _refuse_lie(name, archive, entry)
            mimetype = b""
            if "mimetype" in names and archive.getinfo("mimetype").file_size < _STEP:
                mimetype = archive.read("mimetype").strip()
    except (
        BadZipFile,
        struct.error,
        zlib.error,
        EOFError,
        RuntimeError,
        OSError,
        ValueError,
    ) as bad:
        problem = f"it is a damaged or encrypted archive ({str(bad)[:80]})"
        raise UploadRefusedError(name, problem, "send one that can be opened") from None
    return _family(names, mimetype)


def _family(names: set[str], mimetype: bytes) -> str:
    if "META-INF/MANIFEST.MF" in names or "AndroidManifest.xml" in names:
        return "program"
    if mimetype in _BY_MIMETYPE:
        return _BY_MIMETYPE[mimetype]
    if "[Content_Types].xml" in names:
        for part, family in _BY_PART:
            if part in names:
                has_macros = any(one.endswith("vbaProject.bin") for one in names)
                return "macros" if has_macros else family
    return "zip"


def _refuse_bomb(name: str, entries: list[ZipInfo], policy: UploadPolicy) -> None:
    if len(entries) > policy.max_entries:
        problem = f"there are {len(entries):,} files in it"
        raise UploadRefusedError(name, problem, f"the limit is {policy.max_entries:,}")
    expanded = sum(entry.file_size for entry in entries)
    if expanded > policy.max_expanded_bytes:
        problem = f"it unpacks to {expanded:,} bytes"
        raise UploadRefusedError(name, problem, f"the limit is {policy.max_expanded_bytes:,}")
    for entry in entries:
        packed = max(1, entry.compress_size)
        if entry.file_size > max(_SURELY_SMALL, packed * policy.max_expansion):
            problem = f"its content grows {entry.file_size // packed:,}-fold when unpacked"
            raise UploadRefusedError(name, problem, f"the limit is {policy.max_expansion}-fold")


def _refuse_names(name: str, entries: list[ZipInfo]) -> None:
    for entry in entries:
        is_link = stat.S_ISLNK(entry.external_attr >> 16)
        try:
            validate_path(entry.filename)
            climbs = entry.orig_filename.startswith(("/", "\\")) or "\0" in entry.orig_filename
        except PathError:
            climbs = True
        if is_link or climbs:
            problem = (
                f"it has an entry that would be written outside its folder: {entry.filename[:60]!r}"
            )
            raise UploadRefusedError(name, problem, "pack it again without such entries")


def _refuse_lie(name: str, archive: ZipFile, entry: ZipInfo) -> None:
    """Unpack an entry, discard it, and refuse one that is not as large as the archive declares.

    The library would stop at the declared size. It compares names, flags and checksum, too.
    """
    if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:  # others unpack without a limit
        message = f"packed by method {entry.compress_type}"
        raise BadZipFile(message)
    declared, size = entry.file_size, 0
    entry.file_size = _UNLIMITED
    with archive.open(entry) as content:
        while size <= declared and (part := content.read(_STEP)):
            size += len(part)
    entry.file_size = declared
    if size != declared:
        problem = f"it declares an entry of {declared:,} bytes, which is wrong"
        raise UploadRefusedError(name, problem, "send an archive written by a standard program")
