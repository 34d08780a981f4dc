"""The progress of a long command, with and without rich."""

import io
import sys

import pytest

from thalweg.cli.progress import progress_bar


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


@pytest.mark.parametrize(
    ("stream", "line"), [(Terminal(), "importing 1,200 …\n"), (io.StringIO(), "")]
)
def test_without_rich_it_is_a_line_on_a_terminal(
    stream: io.StringIO, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("importing", 1_200) as advance:
        advance("a.jsonl")
    assert stream.getvalue() == line


def test_with_rich_it_is_a_bar_on_a_terminal_and_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for stream, is_shown in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("importing", 2) as advance:
            advance("a.jsonl")
        assert ("importing" in stream.getvalue()) is is_shown
