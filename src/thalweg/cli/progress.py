"""The bar that long commands show on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

Advance = Callable[[str], None]
"""Reports that one more is done, and a text to show with the bar."""


@contextmanager
def progress_bar(doing: str, total: int) -> Iterator[Advance]:
    """Show how far a command is, while it lasts, on a terminal.

    Args:
        doing: What it does, in a word.
        total: How many there are to do.
    """
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn("line"),
        TextColumn(doing),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=total)
        yield lambda shown: progress.update(task, advance=1, description=shown)
