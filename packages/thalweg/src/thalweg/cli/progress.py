"""The progress that long commands show on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size

from thalweg.cli.printing import one_line

Advance = Callable[[str], None]
"""Reports that one more is done, and a text to show with the count."""


@contextmanager
def progress_bar(activity: str, total: int) -> Iterator[Advance]:
    """Show the progress of a command while it runs: a line on a terminal, and nothing elsewhere.

    Args:
        activity: The activity, in one word.
        total: Number of units to process.
    """
    is_shown, done = sys.stderr.isatty(), 0

    def write(text: str) -> None:
        if is_shown:
            sys.stderr.write(f"\r\x1b[K{one_line(text, get_terminal_size().columns - 1)}")
            sys.stderr.flush()

    def advance(description: str) -> None:
        nonlocal done
        done += 1
        write(f"{activity} {done:,} of {total:,}: {description}")

    write(f"{activity} {total:,} …")
    try:
        yield advance
    finally:
        write("")
