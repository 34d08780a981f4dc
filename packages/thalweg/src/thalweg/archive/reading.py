"""Read a bounded piece of a text: by lines, by characters, by JSONPath, by outline."""

import json
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from thalweg.archive.base import Reading, Span
from thalweg.engine.entries import Message
from thalweg.engine.prompts import prompt
from thalweg.engine.transcript import as_outline, as_transcript
from thalweg.errors import RangeError

if TYPE_CHECKING:
    from jsonpath import JSONPathEnvironment

MAX_PATH_CHARS = 1_000
MAX_DESCENTS = 2
"""Most `..` in one path: each may visit the whole text once for every node found so far."""
MAX_NODES = 10_000
"""Most nodes of one path that are read."""


def read_piece(
    handle: str,
    text: str,
    *,
    lines: tuple[int, int] | None = None,
    chars: tuple[int, int] | None = None,
    path: str = "",
    max_chars: int = 8_000,
) -> Reading:
    r"""Return a piece of a text, at most `max_chars` long.

    Args:
        handle: Name of the text, for errors.
        text: The whole.
        lines: As for `Archive.read`.
        chars: As for `Archive.read`.
        path: As for `Archive.read`.
        max_chars: Most characters to return.

    Raises:
        RangeError: As for `Archive.read`.

    Example:
        >>> read_piece("h", "one\ntwo\nthree", lines=(2, 2)).text
        'two'
        >>> read_piece("h", '{"a": [1, 2]}', path="$.a[1]").text
        '2'
    """
    if sum((lines is not None, chars is not None, bool(path))) > 1:
        raise RangeError(handle, "lines, chars and path are mutually exclusive; pass one of them")
    if max_chars < 1:
        raise RangeError(handle, f"max_chars is {max_chars}; pass at least 1")
    if path:
        return _path_reading(_read_path(handle, text, path), max_chars)
    start, end = _char_range(handle, text, lines, chars)
    stop = min(end, start + max_chars)
    next_hint = ""
    if stop < len(text):
        range_end = end if stop < end else len(text)
        next_hint = (
            f"characters {start}-{stop} of {len(text)} are shown; "
            f"read on with chars [{stop}, {min(range_end, stop + max_chars)}]"
        )
    return Reading(text[start:stop], start, len(text), _count_lines(text), next_hint)


def read_numbered(
    handle: str, span: Span, messages: Iterable[tuple[int, Message]], *, max_chars: int
) -> Reading:
    """Return several messages: as a transcript if that fits, otherwise as a page of an outline.

    Args:
        handle: Name of the span.
        span: Positions of the first and last message; some in between may be missing.
        messages: With their positions, oldest first; consumed up to one more than the page shows.
        max_chars: Most characters to return.

    Raises:
        RangeError: `max_chars` is less than 1.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> long = [Message("user", (Text(text),)) for text in ("one", "two", "x" * 400)]
        >>> print(read_numbered("h", Span(0, 2), enumerate(long), max_chars=60).text)
        #0 user (3 characters): one
        #1 user (3 characters): two
    """
    transcripts: list[str] = []
    outline_rows: list[str] = []
    transcript_chars = outline_chars = last_listed = -1
    for position, message in messages:
        outline_row, transcript = (
            as_outline([message], position),
            as_transcript([message], position),
        )
        transcript_chars += len(transcript) + 1 + bool(transcripts)
        outline_chars += len(outline_row) + 1
        if outline_chars <= max_chars or not outline_rows:
            outline_rows.append(outline_row)
            last_listed = position
        if transcript_chars <= max_chars:
            transcripts.append(transcript)
        elif outline_chars > max_chars:
            break
    if transcript_chars <= max_chars or max_chars < 1:
        return read_piece(handle, "\n\n".join(transcripts), max_chars=max_chars)
    outline_text = "\n".join(outline_rows)[:max_chars]
    next_hint = _how_to_read_on(handle.partition("#")[0], span, last_listed)
    return Reading(outline_text, 0, -1, span.last - span.first + 1, next_hint)


def _how_to_read_on(handle: str, span: Span, last_listed: int) -> str:
    outline_hint = prompt("outline").render(
        handle=handle, listed=f"{span.first}-{last_listed}", span=f"{span.first}-{span.last}"
    )
    if last_listed == span.last:
        return outline_hint
    return outline_hint + prompt("outline_on").render(
        handle=handle, span=f"{last_listed + 1}-{span.last}"
    )


def _path_reading(selected: str, max_chars: int) -> Reading:
    next_hint = ""
    if len(selected) > max_chars:
        next_hint = (
            f"the first {max_chars} of {len(selected)} characters are shown; "
            "read on with a narrower path, such as a slice [10:20]"
        )
    return Reading(selected[:max_chars], 0, len(selected), _count_lines(selected), next_hint)


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _char_range(
    handle: str, text: str, lines: tuple[int, int] | None, chars: tuple[int, int] | None
) -> tuple[int, int]:
    if lines is not None:
        first, last = lines
        total = _count_lines(text)
        if not 1 <= first <= min(last, max(total, 1)):
            raise RangeError(
                handle, f"lines {first}-{last} are out of range; it has lines 1-{total}"
            )
        start = _line_start(text, first, 0)
        end = _line_start(text, last - first + 2, start) - 1 if last < total else len(text)
        return start, end
    if chars is not None:
        start, end = chars
        if not 0 <= start < end or start > max(len(text) - 1, 0):
            raise RangeError(
                handle, f"chars {start}-{end} are out of range; it has characters 0-{len(text)}"
            )
        return start, min(end, len(text))
    return 0, len(text)


def _line_start(text: str, line: int, start: int) -> int:
    """Return the index at which the `line`-th line begins, counted from 1 at `start`."""
    for _ in range(line - 1):
        start = text.index("\n", start) + 1
    return start


def _read_path(handle: str, text: str, path: str) -> str:
    if len(path) > MAX_PATH_CHARS or path.count("..") > MAX_DESCENTS:
        raise RangeError(
            handle,
            f"the path has {len(path)} characters and {path.count('..')} descents; "
            f"at most {MAX_PATH_CHARS} and {MAX_DESCENTS} are read",
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise RangeError(handle, "the text is not JSON; read it by lines or chars") from None
    from jsonpath import JSONPathError  # noqa: PLC0415 (0.1 s, and few ask for a path)

    try:
        values = [node.value for node in islice(_jsonpath().finditer(path, document), MAX_NODES)]
    except (JSONPathError, RecursionError, ValueError) as error:
        problem = error.args[0] if error.args else type(error).__name__
        raise RangeError(handle, f"the path {path!r} is wrong: {problem}") from None
    if not values:
        raise RangeError(handle, f"the path {path!r} matches nothing")
    return "\n".join(map(_as_text, values)) if len(values) > 1 else _as_text(values[0], alone=True)


def _jsonpath() -> "JSONPathEnvironment":
    """Return an evaluator without regular expressions, since a bad one cannot be interrupted."""
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 (as above)

    environment = JSONPathEnvironment(strict=True)
    for name in ("match", "search"):
        environment.function_extensions.pop(name, None)
    return environment


def _as_text(value: object, *, alone: bool = False) -> str:
    return value if alone and isinstance(value, str) else json.dumps(value, ensure_ascii=False)
