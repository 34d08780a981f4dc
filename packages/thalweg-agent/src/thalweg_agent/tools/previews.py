"""The reference that replaces a text in the context: its path, its beginning and its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg_agent.backends.text import (
    TRUNCATION_MARKER_TEMPLATE,
    format_content_with_line_numbers,
    lines_of,
)
from thalweg_agent.prompts import prompt

PREVIEW_LINE_CHAR_LIMIT = 1000
"""Most characters of one line of a preview."""

_ID_CHARS = 32


@dataclass(frozen=True, slots=True)
class ContentPreview:
    """Some lines of a text, with flags for the omitted parts.

    Omissions are flags, not parsed from the text: a text may contain a line similar to a marker.
    """

    text: str
    lines_omitted: bool
    """Whether lines in the middle are omitted."""
    lines_clipped: bool
    """Whether ends of lines are omitted."""

    def note(self, subject: str = "result") -> str:
        """Render an introduction to the preview that explains its omissions."""
        begin = prompt("preview_ends" if self.lines_omitted else "preview_whole")
        caveats: list[str] = []
        if self.lines_omitted:
            marker = TRUNCATION_MARKER_TEMPLATE.format(omitted_lines="N")
            caveats.append(prompt("preview_omitted").render(marker=marker))
        if self.lines_clipped:
            caveats.append(prompt("preview_clipped").render(chars=PREVIEW_LINE_CHAR_LIMIT))
        suffix = f" ({'; '.join(caveats)})" if caveats else ""
        return f"{begin.render(subject=subject)}{suffix}:"


def preview_of(text: str, *, head_lines: int = 5, tail_lines: int = 5) -> ContentPreview:
    r"""Return the first and last lines of a text, with line numbers.

    Example:
        >>> print(preview_of("a\nb\nc\nd", head_lines=1, tail_lines=1).text)
        1  a
        ... [2 lines truncated] ...
        4  d
    """
    lines = [line.rstrip("\r\n") for line in lines_of(text)]
    omitted = len(lines) - head_lines - tail_lines
    if omitted <= 0:
        return ContentPreview(_rows(lines, 1), lines_omitted=False, lines_clipped=_long(lines))
    head, tail = lines[:head_lines], lines[len(lines) - tail_lines :]
    marker = TRUNCATION_MARKER_TEMPLATE.format(omitted_lines=omitted)
    rows = [_rows(head, 1), marker, _rows(tail, len(lines) - tail_lines + 1) if tail else ""]
    shown = "\n".join(filter(None, rows))
    return ContentPreview(shown, lines_omitted=True, lines_clipped=_long([*head, *tail]))


def _rows(lines: Sequence[str], first: int) -> str:
    clipped = [line[:PREVIEW_LINE_CHAR_LIMIT] for line in lines]
    return format_content_with_line_numbers(clipped, start_line=first)


def _long(lines: Sequence[str]) -> bool:
    return any(len(line) > PREVIEW_LINE_CHAR_LIMIT for line in lines)


def result_stub(tool_call_id: str, file_path: str, preview: ContentPreview) -> str:
    """Render the reference that replaces a tool's result."""
    long = len(tool_call_id) > _ID_CHARS
    return prompt("too_large_result").render(
        tool_call_id=f"{tool_call_id[:_ID_CHARS]}..." if long else tool_call_id,
        file_path=file_path,
        preview_note=preview.note(),
        content_sample=preview.text,
    )


def message_stub(file_path: str, preview: ContentPreview) -> str:
    """Render the reference that replaces a human's message."""
    return prompt("too_large_message").render(
        file_path=file_path, preview_note=preview.note("content"), content_sample=preview.text
    )
