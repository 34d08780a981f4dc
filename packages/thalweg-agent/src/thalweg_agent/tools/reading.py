"""A page of a file as `read_file` shows it: a status line, then only the file's text.

A page ends between lines if a whole one fits, else within a line. Its status line states where
the next page begins, so that the pages, joined, are the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thalweg_agent.backends.protocol import ReadResult
from thalweg_agent.prompts import prompt

READ_FILE_TRUNCATION_MSG = "\n\n" + prompt("read_cut").text


@dataclass(frozen=True, slots=True)
class FilePage:
    """Some lines of a file."""

    lines: tuple[str, ...]
    first: int
    """Number of the first line, from 1."""
    total: int | None
    """Lines of the file; `None` if the backend did not report them."""
    follows: bool
    """Whether more lines follow."""
    skipped: int = 0
    """Characters of the first line that precede the page."""
    line_chars: int | None = None
    """Length of the only line, if its end is omitted."""
    is_cut: bool = False
    """Whether the page is shorter than requested, because that is too much."""

    @property
    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self.lines)

    def render(self, notices: Sequence[str] = ()) -> str:
        """Render the page with its status line, and notices above it."""
        return "\n".join([*notices, f"@@ {' | '.join(self._status_parts())} @@", self.text])

    def _status_parts(self) -> list[str]:
        last = self.first + len(self.lines) - 1
        parts = [f"lines {self.first}-{last}" + (f" of {self.total}" if self.total else "")]
        if self.line_chars is not None:
            shown = len(self.lines[0])
            parts += ["truncated mid-line", f"{shown} of {self.line_chars} chars"]
            parts += [f"next offset {last - 1}", f"next char_offset {self.skipped + shown}"]
        elif self.follows:
            parts.append(f"next offset {last}")
        if self.skipped:
            parts.append(f"from char {self.skipped}")
        if self.is_cut and self.line_chars is None:
            parts.append("truncated due to size")
        return parts


def page_of(read: ReadResult, content: str, offset: int) -> FilePage:
    """Return the result of a backend's `read` as a page.

    A blank line at the end of a window is lost when its lines are joined: the window's numbers
    restore it. A result without a window is assumed to start at the requested offset.

    Args:
        read: The result.
        content: Its text.
        offset: The requested offset.
    """
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if read.start_line is None or read.end_line is None:
        return FilePage(tuple(lines or [""]), max(offset, 0) + 1, None, follows=False)
    lines += [""] * (read.end_line - read.start_line + 1 - len(lines))
    follows = read.next_offset is not None and read.total_lines != read.end_line
    return FilePage(tuple(lines), read.start_line, read.total_lines, follows=follows)


def from_char(page: FilePage, skipped: int) -> FilePage:
    """Drop the first characters of a page's first line."""
    first, *others = page.lines
    return replace(page, lines=(first[skipped:], *others), skipped=skipped)


def within(page: FilePage, chars: int) -> FilePage:
    """Cut a page to a number of characters: between lines if a whole one fits.

    Args:
        page: The page.
        chars: Most characters of the file; one is shown in any case.
    """
    chars = max(chars, 1)
    kept, used = 0, -1
    for line in page.lines:
        used += 1 + len(line)
        if used > chars:
            break
        kept += 1
    if kept == len(page.lines):
        return page
    if kept:
        return replace(page, lines=page.lines[:kept], follows=True)
    line = page.lines[0]
    whole = page.skipped + len(line)
    return replace(page, lines=(line[:chars],), follows=True, line_chars=whole)


def rendered(page: FilePage, file_path: str, most: int, notices: Sequence[str] = ()) -> str:
    """Render a page within a total number of characters.

    Args:
        page: The page.
        file_path: Path for the notice that more follows.
        most: The text has fewer characters than this.
        notices: Lines above the status line.
    """
    whole = page.render(notices)
    if len(whole) < most:
        return whole
    notices = [*notices, prompt("read_cut").render(file_path=file_path)]
    between = replace(page, follows=True, is_cut=True)
    cut = within(between, most - _overhead(between, notices))
    if cut.line_chars is not None:
        longest = replace(cut, lines=page.lines[:1], skipped=page.skipped)
        cut = within(between, most - _overhead(longest, notices))
    return cut.render(notices)


def _overhead(page: FilePage, notices: Sequence[str]) -> int:
    return len(page.render(notices)) - len(page.text)
