"""The remote script of `BaseSandbox`: sent to a sandbox as text, it prints lines of JSON.

Two rules: it needs only Python 3.8 and its standard library; it prints only records, up to the
maximum in its arguments.
"""

from __future__ import annotations

import base64
import bisect
import contextlib
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import TextIO
from unicodedata import normalize

COUNTED_BYTES = 1 << 24
"""In a larger file, lines after the requested ones are not counted, and long lines are cut."""
MAX_TEXT_BYTES = 1 << 26
"""A larger file is neither edited nor searched: that takes several times its size of memory."""
MAX_ENTRIES = 10_000
SECONDS = {"glob": 5.0, "grep": 15.0}
NOT_BELOW_THE_ROOT = ("proc", "sys", "dev")
"""Folders of `/` that have no end and no files of anybody."""


def main(arguments: list[str]) -> None:
    """Run a task: its name, then its arguments, each after a dot as base64."""
    name, *coded = arguments
    given = [base64.b64decode(each[1:]).decode("utf-8", "surrogateescape") for each in coded]
    if not given[0].isascii():
        given[0] = on_disk("/", given[0])
    tasks: dict[str, Callable[..., object]] = {
        "locate": lambda path: emit(path=path),
        "ls": list_folder,
        "read": read_file,
        "edit": edit_file,
        "edit_with": edit_with_files,
        "glob": find_files,
        "grep": find_lines,
    }
    try:
        tasks[name](*given)
    except (FileNotFoundError, NotADirectoryError) as error:
        if name not in {"ls", "glob"}:
            emit(error="file_not_found")
        else:
            is_there = isinstance(error, NotADirectoryError) and os.path.exists(given[0])
            emit(error="not_a_directory" if is_there else "path_not_found")
    except PermissionError:
        emit(error="permission_denied")
    except OSError as error:
        emit(error=f"{type(error).__name__}: {error.strerror}")


def on_disk(folder: str, path: str) -> str:
    """Return a path below a folder, with each name spelled as on disk.

    A name that does not exist is replaced by the only entry that is equal to it with composed
    letters (NFC), and U+FFFD for a backslash and for bytes that are not valid UTF-8.
    """
    for name in filter(None, path.split("/")):
        found = [name]
        if not os.path.lexists(os.path.join(folder, name)):
            with contextlib.suppress(OSError):
                found = [n for n in os.listdir(folder) if composed(n) == composed(name)]
        folder = os.path.join(folder, found[0] if len(found) == 1 else name)
    return folder


def composed(path: str) -> str:
    """Return the key by which two spellings of a path are compared: as displayed, in NFC."""
    return normalize("NFC", shown(path))


def shown(path: str) -> str:
    """Return a path with U+FFFD for backslashes and for bytes that are not valid UTF-8."""
    raw = path.encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "replace").replace("\\", "\ufffd")


def emit(**record: object) -> int:
    """Print a record, and return its length."""
    return sys.stdout.write(json.dumps(record) + "\n")


def list_folder(path: str) -> None:
    """Print the entries of a folder."""
    for count, name in enumerate(sorted(os.listdir(path)), 1):
        if count > MAX_ENTRIES:
            emit(warning="truncated")
            return
        emit_entry(os.path.join(path, name))


def emit_entry(path: str) -> int:
    """Print a file or a folder; nothing if it was deleted meanwhile."""
    try:
        found = os.stat(path)
    except OSError:
        return 0
    changed = datetime.fromtimestamp(found.st_mtime, timezone.utc).isoformat()
    is_dir = stat.S_ISDIR(found.st_mode)
    size = 0 if is_dir else found.st_size
    end = "/" if is_dir else ""
    return emit(path=path + end, is_dir=is_dir, size=size, modified_at=changed)


def read_file(path: str, kind: str, offset: str, limit: str, room: str) -> None:
    """Print a window of a text, or the bytes of any other file."""
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        emit(error="not_a_file")
    elif kind != "text":
        emit_bytes(path, found.st_size, int(room))
    else:
        try:
            emit_window(path, found.st_size, int(offset), int(limit), int(room))
        except UnicodeDecodeError:
            emit_bytes(path, found.st_size, int(room))


def emit_bytes(path: str, size: int, room: int) -> None:
    """Print a whole file as base64, if it fits."""
    if size > room:
        emit(error=f"Binary file exceeds maximum preview size of {room} bytes")
        return
    with open(path, "rb") as file:
        emit(encoding="base64", content=base64.b64encode(file.read()).decode())


def emit_window(path: str, size: int, offset: int, limit: int, room: int) -> None:
    """Print some lines, their position, and the number of lines if it is cheap to count."""
    window: list[str] = []
    number = 0
    is_blank = True
    is_counted = True
    with open(path, encoding="utf-8", newline="") as file:
        for number, line in enumerate(beginnings(file), 1):
            is_blank = is_blank and not line.strip()
            if offset < number <= offset + limit and room > 0:
                room -= len(line.encode())
                if room >= 0 or not window:
                    window.append(line)
            if number > offset + max(limit, 0) and size > COUNTED_BYTES:
                is_counted = False
                break
    if is_blank and is_counted:
        emit(encoding="utf-8", content=whole(path) if size <= COUNTED_BYTES else "")
    elif limit <= 0:
        emit(encoding="utf-8", content="", no_lines_requested=True)
    elif not window:
        emit(error=f"Line offset {offset} exceeds file length ({number} lines)")
    else:
        content = "".join(window)
        is_cut = room < 0 and len(window) == 1
        if is_cut:
            content = content.encode()[:room].decode("utf-8", "ignore")
            if size > COUNTED_BYTES:
                # For `is_cut` the caller would download the whole file.
                content += "\n\n[Line truncated; read the rest with a command, such as `cut -c`.]"
                is_cut = False
        end = offset + len(window)
        emit(
            encoding="utf-8",
            content=content.replace("\r\n", "\n").replace("\r", "\n"),
            is_cut=is_cut,
            total_lines=number if is_counted else None,
            start_line=offset + 1,
            end_line=end,
            next_offset=end if not is_counted or end < number else None,
        )


def beginnings(file: TextIO) -> Iterator[str]:
    """Yield the lines of a text, each cut after `COUNTED_BYTES` characters."""
    while line := file.readline(COUNTED_BYTES):
        yield line
        while line and not line.endswith(("\n", "\r")):
            line = file.readline(COUNTED_BYTES)


def whole(path: str) -> str:
    """Read a text to the byte."""
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def edit_with_files(path: str, old_path: str, new_path: str, everywhere: str) -> None:
    """Edit with texts that were too long for arguments; delete the files that contain them."""
    try:
        old, new = whole(old_path), whole(new_path)
    finally:
        for uploaded in (old_path, new_path):
            with contextlib.suppress(OSError):
                os.remove(uploaded)
        folder = os.path.dirname(old_path)
        if os.path.basename(folder) == ".thalweg":
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    edit_file(path, old, new, everywhere)


def edit_file(path: str, old: str, new: str, everywhere: str) -> None:
    """Replace a text in a file under a lock."""
    path = os.path.realpath(path)
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_TEXT_BYTES:
        emit(error="File too large" if stat.S_ISREG(found.st_mode) else "not_a_file")
        return
    with alone():
        try:
            edited, count = edit(whole(path), old, new, everywhere=everywhere == "all")
        except UnicodeDecodeError:
            emit(error="not_a_text_file")
            return
        if edited is None:
            emit(error=refusal(path, old, count), count=count)
            return
        put(path, edited)
    emit(count=count)


def edit(text: str, old: str, new: str, *, everywhere: bool) -> tuple[str | None, int]:
    r"""Replace a text in which `\n` matches any line ending, with the ending of the line there."""
    ends = re.compile(r"\r\n|\r(?!\n)|(?<!\r)\n")
    searched = re.compile(f"(?:{ends.pattern})".join(map(re.escape, ends.split(old))))
    count = len(searched.findall(text))
    if count == 0 or (count > 1 and not everywhere):
        return None, count
    found = [(end.start(), end.group()) for end in ends.finditer(text)]

    def put_in(match: re.Match[str]) -> str:
        at = bisect.bisect_left(found, (match.start(), ""))
        end = found[at if at < len(found) else 0][1] if found else "\n"
        return ends.sub(lambda _: end, new)

    return searched.sub(put_in, text), count


def refusal(path: str, old: str, count: int) -> str:
    """Return why a text was not replaced."""
    if count:
        return "multiple_occurrences"
    if old.endswith("\n") and old != "\n" and whole(path).endswith(old[:-1]):
        return "no_newline_at_end"
    return "string_not_found"


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Have no other edit at work: two that read the same text would undo each other."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(ImportError, OSError):
            import fcntl  # noqa: PLC0415  # not everywhere

            place = os.path.join(tempfile.gettempdir(), ".thalweg-edits")
            flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
            lock = os.open(place, flags, 0o666)
            held.callback(os.close, lock)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def put(path: str, text: str) -> None:
    """Write a file atomically, so that no reader sees half of it."""
    try:
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".thalweg-")
    except OSError:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.remove(temporary)
        raise


def find_files(path: str, included: str) -> None:
    """Print the files below a folder whose paths match."""
    if path and not os.path.isdir(path):
        os.stat(path)
        return
    search = FolderWalk(path or os.getcwd(), included, "", SECONDS["glob"])
    found: list[str] = []
    for file in search.files():
        if len(found) == MAX_ENTRIES:
            search.is_cut = True
            break
        found.append(file)
    for file in sorted(found):
        emit_entry(file)
    search.emit_warnings()


def find_lines(
    path: str, pattern: str, included: str, excluded: str, max_count: str, room: str
) -> None:
    """Print the lines that contain a text, of text files."""
    search = FolderWalk(path or os.getcwd(), included, excluded, SECONDS["grep"])
    left = int(max_count) if max_count else -1
    free = int(room)
    for file in search.files():
        for number, line in lines_with(file, pattern):
            if left == 0 or free <= 0:
                emit(warning="truncated")
                return
            left -= 1
            free -= emit(path=file, line=number, text=line[:free])
    search.emit_warnings()


def lines_with(path: str, pattern: str) -> Iterator[tuple[int, str]]:
    """Find lines in a file; in one that is no text, none."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_TEXT_BYTES + 1)
    except OSError:
        return
    if len(content) > MAX_TEXT_BYTES:
        emit(skipped=path)
        return
    if pattern.encode("utf-8", "surrogateescape") not in content or b"\0" in content:
        return
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    for number, line in enumerate(text, 1):
        if pattern in line.rstrip("\r\n"):
            yield number, line.rstrip("\r\n")


class FolderWalk:
    """A walk through a folder, in order, within its time."""

    def __init__(self, path: str, included: str, excluded: str, seconds: float) -> None:
        self.path = path
        self.real = os.path.realpath(path)
        self.excluded = set(excluded.split("\0")) - {""}
        self.deadline = time.monotonic() + seconds
        self.is_cut = False
        self.unreadable: list[OSError] = []
        filters = json.loads(included or '[false, ".*"]')
        self.names: bool = filters[0]
        self.regexes = [re.compile(regex, re.DOTALL) for regex in filters[1:]]

    def files(self) -> Iterator[str]:
        """Yield the regular files that are meant; links lead no further than the folder."""
        if not os.path.isdir(self.path):
            name = os.path.basename(self.path)
            if self.means(name) and os.path.isfile(self.path):
                yield self.path
            return
        for folder, folders, names in os.walk(self.path, onerror=self.unreadable.append):
            if self.real == os.sep and folder == self.path:
                folders[:] = [name for name in folders if name not in NOT_BELOW_THE_ROOT]
            folders[:] = sorted(name for name in folders if name not in self.excluded)
            for name in sorted(names):
                if time.monotonic() > self.deadline:
                    self.is_cut = True
                    return
                file = os.path.join(folder, name)
                if self.means(os.path.relpath(file, self.path)) and self.is_inside(file):
                    yield file

    def means(self, relative: str) -> bool:
        """Whether a path is asked for."""
        tested = relative.rsplit("/", 1)[-1] if self.names else relative
        return any(regex.fullmatch(tested) for regex in self.regexes)

    def is_inside(self, file: str) -> bool:
        """Return whether it is a regular file of this folder, also through a link."""
        real = os.path.realpath(file)
        return real.startswith(self.real.rstrip("/") + "/") and os.path.isfile(real)

    def emit_warnings(self) -> None:
        """Print why the result may be incomplete."""
        if self.unreadable:
            emit(warning="walk_errors", count=len(self.unreadable))
        if self.is_cut:
            emit(warning="truncated")
