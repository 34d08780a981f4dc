"""The progress of a long command."""

import io
import sys

import pytest

from thalweg.cli.progress import progress_bar


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_it_is_a_line_on_a_terminal_that_goes_and_nothing_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("importing", 1_200) as advance:
            advance("a.jsonl\x1b[31m of a long name")
        lines = stream.getvalue().split("\r\x1b[K")[1:]
        shown = ["importing 1,200 …", "importing 1 of 1,200: a.json…", ""]
        assert lines == (shown if stream.isatty() else [])
