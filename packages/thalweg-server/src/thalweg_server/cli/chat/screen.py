"""Drawing on a terminal: permanent rows are written once, changing rows are overwritten below them.

Every change is one write. A row that is as it was is not written again, and a terminal that
supports synchronized updates shows the whole change at once: nothing flickers.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.cells import cell_len
from rich.text import Text

from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.rendering import Renderer

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_REST, _CLEAR = "\x1b[K", "\x1b[J"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_LEAST_ROWS = 3
Size = Callable[[], tuple[int, int]]


class Screen:
    r"""A terminal that text is added to, with some rows at its end that change.

    Example:
        >>> import io
        >>> out = io.StringIO()
        >>> screen = Screen(out, Renderer(colour=False), lambda: (40, 10))
        >>> screen.show([PrintedLine("note", "hello")])
        >>> out.getvalue()
        'hello\n'
    """

    def __init__(self, out: TextIO, renderer: Renderer, size: Size) -> None:
        """Prepare it.

        Args:
            out: The terminal.
            renderer: Makes rows of lines.
            size: Returns the terminal's current columns and rows.
        """
        self._out = out
        self._renderer = renderer
        self._size = size
        self._is_apart = True
        self._below: list[str] = []
        """Rows that are shown and may change; the cursor is after the last of them."""

    @property
    def width(self) -> int:
        """Columns for text; the last one is not used, as terminals differ in it."""
        return max(1, self._size()[0] - 1)

    def show(
        self, lines: Sequence[PrintedLine], now: Sequence[PrintedLine] = (), status: str = ""
    ) -> None:
        """Add permanent lines, and replace the changing rows below them.

        Args:
            lines: The permanent lines.
            now: The rows shown until the next call.
            status: The last one of these rows.
        """
        width = self.width
        kept = self._kept_rows(lines, width)
        below = self._rows_of(now, status, width)
        written = self._change(kept, below)
        if written:
            self._out.write(written)
            self._out.flush()

    def _kept_rows(self, lines: Sequence[PrintedLine], width: int) -> list[str]:
        """Return permanent lines as rows, with an empty row before an answer."""
        rows: list[str] = []
        for line in lines:
            if line.kind == "answer" and not self._is_apart:
                rows.append("")
            rows += self._renderer.rows(line, width)
            self._is_apart = line.kind == "answer"
        return rows

    def begin(self) -> None:
        """Note that other output was written since, such as a person's input."""
        self._is_apart = False

    def _rows_of(self, now: Sequence[PrintedLine], status: str, width: int) -> list[str]:
        height = max(_LEAST_ROWS, self._size()[1] - 1)
        rows = [self._renderer.row(line, width) for line in now if line.kind != "answer"]
        last = ["", self._renderer.row(PrintedLine("note", status), width)] if status else []
        answers = [line.text for line in now if line.kind == "answer"]
        room = height - len(rows) - len(last) - 1
        tails = [row for text in answers for row in self._renderer.tail(text, width, room)]
        gap = [""] if tails and not self._is_apart else []
        return [*gap, *tails, *rows, *last][-height:]

    def _change(self, kept: list[str], below: list[str]) -> str:
        """Write what turns the rows that are shown into those that are to be."""
        old, self._below = self._below, below
        if not kept and below == old:
            return ""
        # The last row is always written again: the cursor has to stand behind it.
        pairs = enumerate(zip(old, below, strict=False))
        same = next((number for number, (row, other) in pairs if row != other), len(old))
        same = 0 if kept or not below else min(same, len(below) - 1)
        if not old and not below:
            return "".join(f"{row}\n" for row in kept)
        # Rows are written over and their rests cleared: a terminal without synchronized updates
        # never shows an empty one, and tmux does not take it for a screen to keep.
        text = "".join(f"{row}{_REST}\n" for row in kept)
        text += "\n".join(f"{row}{_REST}" for row in below[same:])
        up = self._rows_taken(old[same:])
        back = "\n" if old and not up else (f"\x1b[{up - 1}A" if up > 1 else "") + "\r"
        end = _CLEAR if text or up > 1 else _REST
        return f"{_BEGIN}{_HIDE if below else _SHOW}{back}{text}{end}{_END}"

    def _rows_taken(self, rows: Sequence[str]) -> int:
        """Count the rows that a terminal shows of them, which may have become narrower."""
        columns = max(1, self._size()[0])
        lengths = (cell_len(Text.from_ansi(row).plain) for row in rows)
        return sum(max(1, -(-length // columns)) for length in lengths)


def terminal_size() -> tuple[int, int]:
    """Return the columns and rows of this terminal."""
    size = shutil.get_terminal_size((80, 24))
    return size.columns, size.lines


def has_colours() -> bool:
    """Whether this terminal shows colours: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in {None, "", "dumb"}


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Suppress the echo of typed text; it is kept for the next prompt."""
    try:
        import termios  # noqa: PLC0415 (of POSIX alone)
    except ImportError:
        yield
        return
    try:
        file = sys.stdin.fileno()
        before = termios.tcgetattr(file)
    except (OSError, ValueError, termios.error):
        yield
        return
    quiet = termios.tcgetattr(file)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(file, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        with suppress(OSError, termios.error):
            termios.tcsetattr(file, termios.TCSADRAIN, before)
