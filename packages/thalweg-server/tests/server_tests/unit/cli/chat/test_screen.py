"""The terminal shows the expected rows after any drawing: checked in an emulated one."""

import io

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.cli.chat.lines import Kind, PrintedLine
from thalweg_server.cli.chat.rendering import STYLES, Renderer
from thalweg_server.cli.chat.screen import Screen

COLUMNS, ROWS = 40, 12


class Terminal:
    """A terminal that can be looked at."""

    def __init__(self) -> None:
        self.size = (COLUMNS, ROWS)
        self.out = io.StringIO()
        self.screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000, ratio=0.5)
        self.stream = pyte.Stream(self.screen)
        self.drawn = Screen(self.out, Renderer(colour=True), lambda: self.size)

    def shows(self) -> list[str]:
        """Return its rows, scrolled ones too, without the empty ones at the end."""
        self.stream.feed(self.out.getvalue().replace("\n", "\r\n"))
        self.out.seek(0)
        self.out.truncate()
        above = [
            "".join(row[column].data for column in range(COLUMNS))
            for row in self.screen.history.top
        ]
        rows = [row.rstrip() for row in [*above, *self.screen.display]]
        while rows and not rows[-1]:
            rows.pop()
        return rows


def test_what_changes_is_written_over_and_what_stays_stays() -> None:
    terminal = Terminal()
    terminal.drawn.show([PrintedLine("note", "begun")], [PrintedLine("tool", "… at work")], "1 s")
    assert terminal.shows() == ["begun", "… at work", "", "1 s"]
    terminal.drawn.show([], [PrintedLine("tool", "… at work")], "2 s")
    assert terminal.shows() == ["begun", "… at work", "", "2 s"]
    terminal.drawn.show([PrintedLine("tool", "✓ done")], [], "3 s")
    assert terminal.shows() == ["begun", "✓ done", "", "3 s"]
    terminal.drawn.show([])
    assert terminal.shows() == ["begun", "✓ done"]


def test_an_answer_is_set_apart_once() -> None:
    terminal = Terminal()
    terminal.drawn.show(
        [PrintedLine("tool", "✓ a"), PrintedLine("answer", "One."), PrintedLine("answer", "Two.")]
    )
    terminal.drawn.show([PrintedLine("answer", "Three."), PrintedLine("tool", "✓ b")])
    assert terminal.shows() == ["✓ a", "", "One.", "", "Two.", "", "Three.", "", "✓ b"]


def test_only_the_rows_that_changed_are_written_again() -> None:
    terminal = Terminal()
    lines = [PrintedLine("answer", "a\n\nb"), PrintedLine("tool", "… c")]
    terminal.drawn.show([], lines, "1 s")
    terminal.shows()
    terminal.drawn.show([], lines, "2 s")
    assert "2 s" in terminal.out.getvalue()
    assert "… c" not in terminal.out.getvalue()
    terminal.shows()
    terminal.drawn.show([], lines, "2 s")
    assert terminal.out.getvalue() == ""


def test_nothing_that_a_model_says_acts_on_the_terminal() -> None:
    terminal = Terminal()
    wicked = "\x1b[2J\x1b[31mred\x07 \x1b]0;title\x07 \x9b2J"
    kinds: list[Kind] = list(STYLES)
    terminal.drawn.show(
        [PrintedLine("note", "here"), *(PrintedLine(kind, wicked) for kind in kinds)]
    )
    written = terminal.out.getvalue()
    assert "\x1b[2J" not in written
    assert "\x07" not in written
    assert "\x1b]" not in written
    assert terminal.shows()[0] == "here"


def test_a_block_that_is_larger_than_the_terminal_shows_its_end() -> None:
    terminal = Terminal()
    text = "\n".join(["```", *(f"row {k}" for k in range(50))])
    terminal.drawn.show([], [PrintedLine("answer", text)], "1 s")
    shown = terminal.shows()
    assert len(shown) <= ROWS
    assert shown[-1] == "1 s"
    assert any("row 49" in row for row in shown)
    terminal.drawn.show([PrintedLine("answer", text + "\n```")])
    shown = terminal.shows()
    assert [row.strip() for row in shown if "row" in row] == [f"row {k}" for k in range(50)]


words = st.text(st.sampled_from("ab c鳥é\n*`#-1."), max_size=90)
lines = st.lists(
    st.builds(PrintedLine, st.sampled_from(list(STYLES)), words, st.integers(0, 2)), max_size=5
)
steps = st.lists(st.tuples(lines, lines, st.sampled_from(["", "1 s", "s " * 60])), max_size=8)


@given(steps)
def test_what_stays_reads_as_if_nothing_had_ever_changed_below_it(
    drawn: list[tuple[list[PrintedLine], list[PrintedLine], str]],
) -> None:
    """No row is lost, doubled or extra, regardless of the temporary rows in between."""
    terminal, plain = Terminal(), Terminal()
    for kept, now, status in drawn:
        terminal.drawn.show(kept, now, status)
        terminal.shows()
    terminal.drawn.show([])
    plain.drawn.show([line for kept, _, _ in drawn for line in kept])
    assert terminal.shows() == plain.shows()


@given(steps)
def test_what_is_shown_for_now_never_fills_more_than_the_terminal(
    drawn: list[tuple[list[PrintedLine], list[PrintedLine], str]],
) -> None:
    terminal = Terminal()
    for _, now, status in drawn:
        terminal.drawn.show([], now, status)
        assert len(terminal.shows()) <= ROWS


@pytest.mark.parametrize("columns", [1, 5, 12])
def test_a_terminal_may_be_as_narrow_as_it_likes(columns: int) -> None:
    terminal = Terminal()
    terminal.size = (columns, 3)
    terminal.drawn.show(
        [PrintedLine("answer", "# A *long* heading")], [PrintedLine("tool", "… x" * 20)], "12 s"
    )
    assert terminal.shows()


def test_fewer_rows_than_before_leave_none_behind() -> None:
    terminal = Terminal()
    tools = [PrintedLine("tool", f"… {name}") for name in "abc"]
    for count in (3, 1, 2, 0):
        terminal.drawn.show([], tools[:count])
        assert terminal.shows() == [tool.text for tool in tools[:count]]
    terminal.drawn.show([PrintedLine("note", "end")])
    assert terminal.shows() == ["end"]


def test_more_tools_than_rows_show_the_last_ones() -> None:
    terminal = Terminal()
    terminal.drawn.show([], [PrintedLine("tool", f"… {number}") for number in range(40)], "1 s")
    shown = terminal.shows()
    assert shown[-3:] == ["… 39", "", "1 s"]
    assert len(shown) < ROWS
    terminal.drawn.show([])
    assert terminal.shows() == []
