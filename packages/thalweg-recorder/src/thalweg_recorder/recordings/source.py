"""A recorded file, parsed: its text, its lines, and their JSON values.

Two rules: a byte that cannot be decoded and a line that is no JSON are kept and noted, never
dropped; only a line feed ends a line, so a message may contain any other separator.
"""

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from thalweg.engine.wires.base import Note
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import BEGIN, ResumePoint

JsonObject = dict[str, Any]
Unpack = Callable[[Path, bytes], bytes]
"""Returns the text of a file in a container of its format; any other bytes unchanged."""

SEEN_CHARS = 80
"""Characters of a file that an error shows."""
NOTED_CHARS = 200
"""Characters of a line that a note shows."""
_CHUNK_BYTES = 1 << 20
DEEPEST = 200
"""Deepest nesting of JSON: far below what Python can serialize, far above what agents write."""

_GZIP = b"\x1f\x8b"
_BOMS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_SUFFIXES = {".gz", ".jsonl", ".json", ".traj", ".eval", ".orig", ".txt", ".md"}
_EXPORTING = "Exporting session: "
"""The first line of `opencode export`, on stderr: some redirect both to a file."""


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line, or the rest of one, that is no JSON."""

    line: int
    text: str


RecordedRow = tuple[int, Any]
"""A value, JSON or a `BrokenLine`, after the number of the line it begins on."""


@dataclass(frozen=True)
class RecordedFile:
    """A recorded file, parsed into JSON values if it has any."""

    name: str
    text: str
    document: Any
    """The JSON value of the whole text; `None` if it is not one."""
    lines: tuple[RecordedRow, ...]
    """The text as JSON Lines; empty for a document that spans several lines."""
    file_notes: tuple[Note, ...] = ()
    """Irregularities of the file as a whole."""
    line_notes: tuple[Note, ...] = ()
    """Irregularities of its JSON, which do not concern a format that is text."""
    path: Path | None = None
    """The file, also of a session inside it."""
    resumed: ResumePoint = BEGIN
    """From where it was read."""
    before: Any = field(default_factory=hashlib.sha256)
    """SHA-256 of the bytes before, a hash object."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """All irregularities."""
        return self.file_notes + self.line_notes

    @cached_property
    def objects(self) -> tuple[JsonObject, ...]:
        """The JSON objects among the lines."""
        return tuple(value for _, value in self.lines if isinstance(value, dict))


def open_source(path: Path, unpackers: Iterable[Unpack] = ()) -> RecordedFile:
    """Read and parse a file, compressed or not.

    Args:
        path: The file.
        unpackers: Called in turn with the path and the result of the one before.

    Raises:
        RecordingError: It is missing, no file, unreadable or empty.
    """
    data = _bytes(path)
    notes: list[Note] = []
    if data.startswith(_GZIP):
        data, complete = _decompress(path, data)
        if not complete:
            notes.append(Note(-1, "truncated_gzip", "the compressed file breaks off early"))
    for unpack in unpackers:
        data = unpack(path, data)
    source = take_apart(_bare_name(path.name), _decode(data, notes), notes, path=str(path))
    return replace(source, path=path)


def open_rest(path: Path, point: ResumePoint) -> RecordedFile:
    """Read and parse the rows of a growing log from a point on, except for an open last one.

    Returns:
        Rows with their lines in the whole log.

    Raises:
        RecordingError: A byte changed that was read before, or a row is irregular.
    """
    before, left = hashlib.sha256(), point.offset
    with path.open("rb") as file:
        while chunk := file.read(min(left, _CHUNK_BYTES)):
            before.update(chunk)
            left -= len(chunk)
        data = file.read()
    read = before.copy()
    read.update(data[: point.size - point.offset])
    notes: list[Note] = []
    text = _decode(data, notes)
    source = without_open_line(take_apart(_bare_name(path.name), text, notes, path=str(path)))
    if read.hexdigest() != point.digest or source.notes:
        raise RecordingError(str(path), "was rewritten, or is irregular", "read it whole")
    lines = tuple((point.line + line, value) for line, value in source.lines)
    return replace(source, lines=lines, path=path, resumed=point, before=before)


def find_place(point: ResumePoint, source: RecordedFile) -> ResumePoint:
    """Add to a point in a file the numbers of bytes before it and of whole rows, with a digest."""
    text = source.text[: source.text.rfind("\n") + 1].encode()
    rows = text.split(b"\n")[: point.line - source.resumed.line]
    begin, digest = source.resumed.offset, source.before.copy()
    digest.update(text)
    return replace(
        point,
        offset=begin + sum(len(row) + 1 for row in rows),
        size=begin + len(text),
        digest=digest.hexdigest(),
    )


def without_open_line(source: RecordedFile) -> RecordedFile:
    """Drop a last line that is no JSON and has no line feed: it is still being written."""
    last, value = source.lines[-1] if source.lines else (-1, None)
    if source.text.endswith("\n") or not isinstance(value, BrokenLine):
        return source
    notes = tuple(note for note in source.line_notes if note.line != last)
    return replace(source, lines=source.lines[:-1], line_notes=notes)


def take_apart(name: str, text: str, notes: Sequence[Note] = (), *, path: str = "") -> RecordedFile:
    """Parse a text as one JSON document, or else as JSON Lines.

    Raises:
        RecordingError: The text is empty.
    """
    line_notes: list[Note] = []
    if not text.strip("\0 \t\r\n"):
        raise RecordingError(path or name, "the file is empty", "record a thread first")
    document = _document(text)
    is_one = document is not None and "\n" in text.strip()
    lines = () if is_one else tuple(_lines(text, line_notes))
    return RecordedFile(name, text, document, lines, tuple(notes), tuple(line_notes))


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise RecordingError(str(path), "is a folder", "search it with find_recordings")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RecordingError(str(path), "there is no such file", "check the path") from error
    except (OSError, ValueError) as error:
        problem = f"cannot be read ({error})"
        raise RecordingError(str(path), problem, "check its permissions") from error


def _decompress(path: Path, data: bytes) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    complete = True
    while data.startswith(_GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            pieces.append(member.decompress(data))
            pieces.append(member.flush())
        except zlib.error as error:
            if not any(pieces):
                problem = f"is no whole gzip file ({error})"
                raise RecordingError(str(path), problem, "compress it again") from error
            return b"".join(pieces), False
        complete = member.eof
        data = member.unused_data
    return b"".join(pieces), complete


def _decode(data: bytes, notes: list[Note]) -> str:
    encoding = "utf-8"
    for mark, named in _BOMS:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], named
            break
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start)
        text = data.decode(encoding, "replace")
        count = text.count("\ufffd") - data.count("\ufffd".encode(encoding))
        detail = f"{count} stretches of bytes that are not {encoding} were replaced by U+FFFD"
        notes.append(Note(line, "invalid_unicode", detail))
        return text


def _bare_name(name: str) -> str:
    bare = Path(name)
    while bare.suffix in _SUFFIXES and bare.stem:
        bare = Path(bare.stem)
    return str(bare)


def _document(text: str) -> Any:  # noqa: ANN401 (any JSON value)
    line, _, rest = text.partition("\n")
    text = rest if line.startswith(_EXPORTING) else text
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if _is_too_deep(text, document) else document


def _lines(text: str, notes: list[Note]) -> Iterator[RecordedRow]:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        bare = line.strip(" \t\r\0")
        if len(bare) < len(line.strip(" \t\r")):
            notes.append(Note(number, "nul", "zero bytes, as after a crash; skipped"))
        if bare:
            last = number == len(lines) - 1
            yield from _values(number, bare, notes, "truncated_line" if last else "broken_json")


def _values(number: int, line: str, notes: list[Note], if_broken: str) -> Iterator[RecordedRow]:
    """Yield the JSON values on one line: usually one, several if lines were glued together."""
    decoder = json.JSONDecoder()
    at = found = 0
    while at < len(line):
        begin = at
        try:
            value, at = decoder.raw_decode(line, at)
        except (ValueError, RecursionError):
            notes.append(Note(number, if_broken, f"no JSON: {line[at : at + NOTED_CHARS]}"))
            yield number, BrokenLine(number, line[at:])
            break
        if _is_too_deep(line, value):
            notes.append(Note(number, "nested_too_deeply", line[begin : begin + NOTED_CHARS]))
            yield number, BrokenLine(number, line[begin:])
            break
        found += 1
        yield number, value
        while at < len(line) and line[at] in " \t\r,\0":
            at += 1
    if found > 1:
        notes.append(Note(number, "glued_json", f"{found} JSON values are on one line"))


def _is_too_deep(text: str, value: object) -> bool:
    """Return whether a value is nested more deeply than `DEEPEST`."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, list | dict)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True
