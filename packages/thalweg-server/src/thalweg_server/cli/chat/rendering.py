"""How lines look: each becomes rows that fit a terminal."""

from collections.abc import Iterator
from typing import ClassVar

from rich.color import ColorSystem
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Heading, Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from thalweg.engine.transcript import printable
from thalweg_server.cli.chat.lines import Kind, PrintedLine

STYLES: dict[Kind, str] = {
    "answer": "",
    "thinking": "dim italic",
    "tool": "cyan",
    "failure": "yellow",
    "subagent": "magenta",
    "context": "blue",
    "memory": "green",
    "note": "dim",
    "error": "bold red",
}
_MARKS: dict[Kind, str] = {"context": "≈ ", "memory": "• ", "error": "error: "}
_THEME = Theme({"markdown.code": "bold cyan", "markdown.code_block": "", "markdown.h1": "bold"})
_NARROWEST = 20


class Renderer:
    """Makes rows of lines, for one width."""

    def __init__(self, *, colour: bool) -> None:
        """Prepare it.

        Args:
            colour: Whether the terminal shows colours.
        """
        self._colours = ColorSystem.STANDARD if colour else None
        self._console = Console(force_terminal=True, legacy_windows=False, theme=_THEME)

    def rows(self, line: PrintedLine, width: int) -> list[str]:
        """Write a line for good: it takes as many rows as it needs."""
        if line.kind == "answer":
            answer = _Markdown(printable(line.text), hyperlinks=False, code_theme="ansi_dark")
            return [*_trimmed(list(self._rendered(answer, width))), ""]
        text = Text(_MARKS.get(line.kind, "") + printable(line.text), STYLES[line.kind])
        return list(self._rendered(Padding(text, (0, 0, 0, 2 * line.depth)), width))

    def row(self, line: PrintedLine, width: int) -> str:
        """Write a line for now: it takes one row, and is cut where that is too short."""
        text = Text("  " * line.depth + printable(line.text), STYLES[line.kind], no_wrap=True)
        text.truncate(width, overflow="ellipsis")
        return next(iter(self._rendered(text, width)), "")

    def tail(self, text: str, width: int, height: int) -> list[str]:
        """Write the end of a block that is not finished, in so many rows at most."""
        seen = printable(_end_of(text, width, height))
        answer = _Markdown(seen, hyperlinks=False, code_theme="ansi_dark")
        rows = _trimmed(list(self._rendered(answer, width)))
        return rows[-height:] if height > 0 else []

    def _rendered(self, what: RenderableType, width: int) -> Iterator[str]:
        options = self._console.options.update(width=max(_NARROWEST, width), height=None)
        for segments in self._console.render_lines(what, options, pad=False):
            row = "".join(
                style.render(text, color_system=self._colours) if style else text
                for text, style, _ in segments
            )
            yield row.rstrip()


def _end_of(text: str, width: int, height: int) -> str:
    """Return the source of the last rows of a block: a long one is drawn many times a second."""
    lines = text.split("\n")
    first = lines[0][:width]
    opening = [first] if first.lstrip().startswith(("```", "~~~")) else []
    last = [line[-2 * width * height :] for line in lines[-2 * height :]]
    return text if len(lines) <= len(last) and last == lines else "\n".join([*opening, *last])


def _trimmed(rows: list[str]) -> list[str]:
    """Remove empty rows at both ends: one row separates blocks in every case."""
    full = [k for k, row in enumerate(rows) if Text.from_ansi(row).plain.strip()]
    return rows[full[0] : full[-1] + 1] if full else []


class _LeadingHeading(Heading):
    """A heading where reading begins, and not in the middle."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console, options
        text = self.text
        text.justify = "left"
        yield text


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeadingHeading}
