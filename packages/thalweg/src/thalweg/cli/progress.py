"""The progress that long commands show on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[str], None]
"""Reports that one more is done, and a text to show with the bar."""


@contextmanager
def progress_bar(activity: str, total: int) -> Iterator[Advance]:
    """Show the progress of a command while it runs: a bar on a terminal, and nothing elsewhere.

    Without rich, a line at the beginning replaces the bar.

    Args:
        activity: The activity, in one word.
        total: Number of units to process.
    """
    try:
        from rich import progress  # noqa: PLC0415 (optional)
        from rich.console import Console  # noqa: PLC0415 (optional)
    except ModuleNotFoundError:
        if sys.stderr.isatty():
            sys.stderr.write(f"{activity} {total:,} …\n")
        yield lambda _: None
        return
    console = Console(stderr=True)
    with progress.Progress(
        progress.SpinnerColumn("line"),
        progress.TextColumn(activity),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.description}", markup=False),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda description: bar.update(task, advance=1, description=description)
