"""Options of `thread show` that do not belong together are refused before an archive is opened."""

import pytest

from thalweg.cli.thread import thread
from thalweg.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("handle-1 --turn 0", "--turn: it has no effect with HANDLE; leave it out"),
        ("handle-1 --next", "--next: it has no effect with HANDLE; leave it out"),
        ("handle-1 --context", "--context: it has no effect with HANDLE; leave it out"),
        ("handle-1 --messages", "--messages: it has no effect with HANDLE; leave it out"),
        ("--messages --lines 1-2", "--lines: it has no effect with --messages; leave it out"),
        ("--messages --next", "--next: it has no effect with --messages; leave it out"),
        ("--messages --context", "--context: it has no effect with --messages; leave it out"),
        ("--next --turn 2", "--turn: it has no effect with --next; leave it out"),
        ("--lines 1-2", "--lines: it needs HANDLE; pass HANDLE, too, or leave it out"),
        ("--turn 2 --chars 0-9", "--chars: it needs HANDLE; pass HANDLE, too, or leave it out"),
        ("--path $.a", "--path: it needs HANDLE; pass HANDLE, too, or leave it out"),
        ("--abandoned", "--abandoned: it needs --messages; pass --messages, too, or leave it out"),
    ],
)
def test_an_option_that_does_not_belong_to_what_is_shown_is_refused(
    options: str, error: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        thread(["show", "t1", *options.split(), "--archive", "none.db"], prog_name="thalweg thread")
    assert str(raised.value) == error


@pytest.mark.parametrize(
    "options",
    [
        "handle-1 --lines 1-2",
        "--messages --turn 2 --abandoned",
        "--next --context",
        "--turn 2 --context",
        "",
    ],
)
def test_options_that_belong_together_are_taken(options: str) -> None:
    with pytest.raises(ConfigError, match="there is no archive"):
        thread(["show", "t1", *options.split(), "--archive", "none.db"], prog_name="thalweg thread")
