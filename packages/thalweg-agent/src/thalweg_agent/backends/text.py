r"""Lines of a text: windows, line numbers, and exact replacement.

A line ends in `\n`, `\r\n` or `\r` and in nothing else, here and in every search, so that the
number of a line is the same everywhere.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from io import StringIO, TextIOWrapper
from itertools import accumulate
from typing import BinaryIO, Final, TextIO, overload

from thalweg_agent.backends.file_data import file_data_to_string, update_file_data, with_content
from thalweg_agent.backends.protocol import FileData, ReadResult

EMPTY_CONTENT_WARNING: Final = "System reminder: File exists but has empty contents"
"""What `read_file` returns for an empty file."""
EMPTY_OLD_STRING_ERROR: Final = (
    "Error: old_string cannot be empty. Provide the exact text to replace."
)
"""Result of an edit without `old_string`."""
MAX_LINE_LENGTH: Final = 5000
"""Characters of a row; a longer line continues in rows of its own."""
TOOL_RESULT_TOKEN_LIMIT: Final = 20000
"""Tokens, estimated at four characters each, above which a result is truncated."""
TRUNCATION_GUIDANCE: Final = "... [results truncated, try being more specific with your parameters]"
"""The line that ends a truncated result."""
TRUNCATION_MARKER_TEMPLATE: Final = "... [{omitted_lines} lines truncated] ..."
"""The line that replaces those omitted from a preview."""

WHOLE_BYTES: Final = 1 << 24
"""Bytes of a text above which a backend on a disk reads a window instead of the whole file."""
MAX_TEXT_BYTES: Final = 1 << 26
"""Bytes of a text above which it is not edited: an edit takes several times as much memory."""

_CHARS_PER_TOKEN = 4


def lines_of(text: str) -> list[str]:
    r"""Cut a text into lines, each with the end it has.

    Example:
        >>> lines_of("one\r\ntwo\x0cstill two\nlast")
        ['one\r\n', 'two\x0cstill two\n', 'last']
    """
    return list(StringIO(text, newline=""))


def with_plain_ends(text: str) -> str:
    r"""End every line in `\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def normalize_read_bounds(offset: int, limit: int) -> tuple[int, int]:
    """Raise a negative offset or limit of a window to zero.

    The results are always integers: they may be inserted in a script.
    """
    return max(int(offset), 0), max(int(limit), 0)


def slice_read_response(file_data: FileData, offset: int, limit: int) -> ReadResult:
    r"""Return a window of a file's lines, with `\n` as line endings, and its position.

    A file of blanks is returned whole, without a position. A window past the end is an error.
    """
    content = file_data_to_string(file_data)
    offset, limit = normalize_read_bounds(offset, limit)
    if not content.strip():
        return ReadResult(file_data=with_content(file_data, content))
    if limit == 0:
        return ReadResult(file_data=with_content(file_data, ""), no_lines_requested=True)
    lines = lines_of(content)
    if offset >= len(lines):
        return ReadResult(error=f"Line offset {offset} exceeds file length ({len(lines)} lines)")
    end = min(offset + limit, len(lines))
    window = with_plain_ends("".join(lines[offset:end]))
    return ReadResult(
        file_data=with_content(file_data, window),
        total_lines=len(lines),
        start_line=offset + 1,
        end_line=end,
        next_offset=end if end < len(lines) else None,
    )


def read_window(file: BinaryIO, offset: int, limit: int) -> ReadResult:
    """Return a window of a file that is too large to be read whole, without counting its lines.

    The window has about `WHOLE_BYTES` characters at most, and as many of a longer line.

    Raises:
        UnicodeDecodeError: A line of the window, or before it, is not UTF-8.
    """
    offset, limit = normalize_read_bounds(offset, limit)
    window: list[str] = []
    number = chars = 0
    with TextIOWrapper(file, "utf-8", newline="") as text:
        for number, line in enumerate(_beginnings(text), 1):
            chars += len(line) if number > offset else 0
            if number > offset + limit or (window and chars >= WHOLE_BYTES):
                break
            if number > offset:
                window.append(line)
    end = offset + len(window)
    if not window and limit:
        return ReadResult(error=f"Line offset {offset} exceeds file length ({number} lines)")
    file_data = FileData(content=with_plain_ends("".join(window)), encoding="utf-8")
    if not window:
        return ReadResult(file_data=file_data, no_lines_requested=True)
    more = end if number > end else None
    total = None if more else end
    return ReadResult(None, file_data, total, offset + 1, end, more)


def _beginnings(text: TextIO) -> Iterator[str]:
    """Yield the lines of a text, of a longer one its first `WHOLE_BYTES` characters."""
    while line := text.readline(WHOLE_BYTES):
        yield line
        while line and not line.endswith(("\n", "\r")):
            line = text.readline(WHOLE_BYTES)


def check_empty_content(content: str) -> str | None:
    """Return the text to show for a file of nothing but blanks, else `None`."""
    return None if content.strip() else EMPTY_CONTENT_WARNING


def format_content_with_line_numbers(content: str | list[str], start_line: int = 1) -> str:
    r"""Return lines with their numbers before them, two spaces apart.

    A line of more than `MAX_LINE_LENGTH` characters continues in rows `5.1`, `5.2`, …

    Example:
        >>> print(format_content_with_line_numbers("a\nb\nc", start_line=9))
         9  a
        10  b
        11  c
    """
    rows = [
        (f"{number}.{part}" if part else f"{number}", line[start : start + MAX_LINE_LENGTH])
        for number, line in enumerate(_rows(content), start_line)
        for part, start in enumerate(range(0, len(line) or 1, MAX_LINE_LENGTH))
    ]
    width = max((len(marker) for marker, _ in rows), default=0)
    return "\n".join(f"{marker:>{width}}  {line}" for marker, line in rows)


def _rows(content: str | list[str]) -> list[str]:
    if not isinstance(content, str):
        return content
    *rows, last = content.split("\n")
    return [*rows, last] if last else rows


@overload
def truncate_if_too_long(result: list[str]) -> list[str]: ...
@overload
def truncate_if_too_long(result: str) -> str: ...
def truncate_if_too_long(result: list[str] | str) -> list[str] | str:
    """Truncate a tool's result to about `TOOL_RESULT_TOKEN_LIMIT` tokens, with a note at its end.

    A list is measured in its printed form.
    """
    limit = TOOL_RESULT_TOKEN_LIMIT * _CHARS_PER_TOKEN
    if isinstance(result, str):
        if len(result) <= limit:
            return result
        return f"{result[: limit - len(TRUNCATION_GUIDANCE) - 1]}\n{TRUNCATION_GUIDANCE}"
    room = limit - len(repr(TRUNCATION_GUIDANCE)) - 2
    sizes = accumulate(len(repr(item)) + 2 for item in result)
    kept = sum(1 for size in sizes if size <= room)
    return result if kept == len(result) else [*result[:kept], TRUNCATION_GUIDANCE]


def perform_string_replacement(
    content: str,
    old_string: str,
    new_string: str,
    replace_all: bool = False,  # noqa: FBT001, FBT002  # the peers' signature
) -> tuple[str, int] | str:
    """Replace an exact text, which must be there once unless all are meant.

    Returns:
        The new content and the number of places, or else the words of an error.

    Example:
        >>> perform_string_replacement("a b a", "b", "c")
        ('a c a', 1)
    """
    if problem := _unmatched(content, old_string, replace_all=replace_all):
        return problem
    return content.replace(old_string, new_string), content.count(old_string)


def _unmatched(content: str, old_string: str, *, replace_all: bool) -> str | None:
    if not old_string:
        return EMPTY_OLD_STRING_ERROR
    found = content.count(old_string)
    if found == 0:
        return _absent(content, old_string)
    if found > 1 and not replace_all:
        return (
            f"Error: String '{old_string}' appears {found} times in file. "
            "Use replace_all=True to replace all instances, or provide a more specific string "
            "with surrounding context."
        )
    return None


def _absent(content: str, old_string: str) -> str:
    # Models end a last line that has no end; to guess for them could change the wrong place.
    bare = old_string.removesuffix("\n")
    if bare in {"", old_string} or not content.endswith(bare):
        return f"Error: String not found in file: '{old_string}'"
    found = content.count(bare)
    if found == 1:
        return (
            "Error: old_string ends with a newline, but the file does not end with a newline. "
            "Retry with the trailing newline removed from old_string (and from new_string if it "
            "also ends with a newline)."
        )
    return (
        "Error: old_string ends with a newline, but the file does not end with a newline. "
        f"With the trailing newline removed, old_string would appear {found} times in the file. "
        "Retry with the trailing newline removed and add surrounding context so the match is "
        "unique."
    )


def edit_file_data(
    file_data: FileData, old_string: str, new_string: str, *, replace_all: bool = False
) -> tuple[FileData, int] | str:
    """Replace in a file as `edit_text` does; an error for one that is no text."""
    if file_data.get("encoding") == "base64":
        return "Error: Cannot edit binary files with text replacements."
    content = file_data_to_string(file_data)
    edited = edit_text(content, old_string, new_string, replace_all=replace_all)
    if isinstance(edited, str):
        return edited
    return update_file_data(file_data, edited[0]), edited[1]


def edit_text(
    content: str, old_string: str, new_string: str, *, replace_all: bool = False
) -> tuple[str, int] | str:
    r"""Replace like `perform_string_replacement`, for any line endings.

    A model sees every line with `\n` at its end. Its `\n` matches any end of a line here, the new
    text gets the end of the line in which it is put, and the rest is unchanged to the byte.

    Example:
        >>> edit_text("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2")
        ('1\r\n2\r\nthree\r\n', 1)
    """
    old, new = with_plain_ends(old_string), with_plain_ends(new_string)
    if "\r" not in content:
        return perform_string_replacement(content, old, new, replace_all)
    if problem := _unmatched(with_plain_ends(content), old, replace_all=replace_all):
        return problem
    searched = _END.pattern.join(re.escape(part) for part in old.split("\n"))
    ends = [(end.start(), end[0]) for end in _END.finditer(content)]

    def replacement(match: re.Match[str]) -> str:
        at = bisect_left(ends, (match.start(), ""))
        return new.replace("\n", ends[at if at < len(ends) else 0][1])

    return re.subn(searched, replacement, content)


_END: Final = re.compile(r"(?:\r\n|\r(?!\n)|(?<!\r)\n)")
"""One end of a line; no part of `\r\n` is one."""
