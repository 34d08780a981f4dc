"""Inspection of a ZIP archive (also an Office file) without writing its content anywhere.

The sizes that an archive declares are compared with its real content.
"""

import stat
import struct
import zlib
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from thalweg.errors import PathError, UploadRefusedError
from thalweg_agent.backends.paths import validate_path
from thalweg_server.uploads.policy import UploadPolicy

_SURELY_SMALL: Final = 1 << 20
_STEP: Final = 1 << 16
_HEADER: Final = struct.Struct("<4s5H3L2H")
_ENCRYPTED: Final = 1
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
                _refuse_lie(name, content, entry)
            mimetype = b""
            if "mimetype" in names and archive.getinfo("mimetype").file_size < _STEP:
                mimetype = archive.read("mimetype").strip()
    except (
        BadZipFile,
        struct.error,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        OSError,
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


def _refuse_lie(name: str, content: bytes, entry: ZipInfo) -> None:
    """Unpack an entry, discard it, and refuse one larger than the archive declares."""
    if entry.flag_bits & _ENCRYPTED:
        message = "it is encrypted"
        raise BadZipFile(message)
    if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        message = f"packed by method {entry.compress_type}"
        raise BadZipFile(message)
    start = entry.header_offset
    header = _HEADER.unpack(content[start : start + _HEADER.size])
    start += _HEADER.size + header[-2] + header[-1]
    packed = memoryview(content)[start : start + entry.compress_size]
    is_plain = entry.compress_type == ZIP_STORED
    size = len(packed) if is_plain else _inflated(packed, entry.file_size)
    if header[0] != b"PK\x03\x04" or size != entry.file_size:
        problem = f"it declares an entry of {entry.file_size:,} bytes, which is wrong"
        raise UploadRefusedError(name, problem, "send an archive written by a standard program")


def _inflated(packed: memoryview, most: int) -> int:
    """Count the bytes of a packed entry, and stop counting beyond `most`."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    size, pending = 0, bytes(packed)
    while pending and not inflate.eof and size <= most:
        size += len(inflate.decompress(pending, _STEP))
        pending = inflate.unconsumed_tail
    while not inflate.eof and size <= most and (more := inflate.decompress(b"", _STEP)):
        size += len(more)
    return size
