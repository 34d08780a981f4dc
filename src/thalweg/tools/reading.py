"""A page of a file as `read_file` shows it: a status line, and below it nothing but the file.

A page ends between lines where one fits, and within a line where none does. Its status line says
where the next one begins, so that the pages, put together, are the file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thalweg.backends.protocol import ReadResult
from thalweg.prompts import prompt

READ_FILE_TRUNCATION_MSG = "\n\n" + prompt("read_cut").text


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines of a file."""

    lines: tuple[str, ...]
    first: int
    """Number of the first line, from 1."""
    total: int | None
    """Lines of the file; `None` when nobody knows."""
    follows: bool
    """There are lines after these."""
    skipped: int = 0
    """Characters of the first line that are left out before it."""
    line_chars: int | None = None
    """Characters the only line has, when its end is left out."""
    is_cut: bool = False
    """Less is shown than was asked for, since it is too much."""

    @property
    def text(self) -> str:
        """The lines."""
        return "\n".join(self.lines)

    def render(self, notices: Sequence[str] = ()) -> str:
        """Write the page with its status line, and notices above that."""
        return "\n".join([*notices, f"@@ {' | '.join(self._told())} @@", self.text])

    def _told(self) -> list[str]:
        last = self.first + len(self.lines) - 1
        told = [f"lines {self.first}-{last}" + (f" of {self.total}" if self.total else "")]
        if self.line_chars is not None:
            shown = len(self.lines[0])
            told += ["truncated mid-line", f"{shown} of {self.line_chars} chars"]
            told += [f"next offset {last - 1}", f"next char_offset {self.skipped + shown}"]
        elif self.follows:
            told.append(f"next offset {last}")
        if self.skipped:
            told.append(f"from char {self.skipped}")
        if self.is_cut and self.line_chars is None:
            told.append("truncated due to size")
        return told


def page_of(read: ReadResult, content: str, offset: int) -> Page:
    """Take what a backend read as a page.

    A blank line at the end of a window is lost when its lines are joined: the window says how
    many there are. A backend that says nothing of its window has read what it was asked for.

    Args:
        read: The window.
        content: Its text.
        offset: As it was asked for.
    """
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if read.start_line is None or read.end_line is None:
        return Page(tuple(lines or [""]), max(offset, 0) + 1, None, follows=False)
    lines += [""] * (read.end_line - read.start_line + 1 - len(lines))
    follows = read.next_offset is not None and read.total_lines != read.end_line
    return Page(tuple(lines), read.start_line, read.total_lines, follows=follows)


def from_char(page: Page, skipped: int) -> Page:
    """Leave out the beginning of a page's first line."""
    first, *others = page.lines
    return replace(page, lines=(first[skipped:], *others), skipped=skipped)


def within(page: Page, chars: int) -> Page:
    """Cut a page to a number of characters: between lines if a whole one fits.

    Args:
        page: What was read.
        chars: Characters of the file at most; one is shown in any case.
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


def rendered(page: Page, file_path: str, most: int, notices: Sequence[str] = ()) -> str:
    """Write a page in a number of characters, all told.

    Args:
        page: What was read.
        file_path: Where, for the notice that there was more.
        most: Characters that are too many.
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


def _overhead(page: Page, notices: Sequence[str]) -> int:
    return len(page.render(notices)) - len(page.text)
