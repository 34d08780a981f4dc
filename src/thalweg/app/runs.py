"""Runs of one owner: asking an agent, and following what comes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from thalweg.api.events import Numbered
from thalweg.api.runs import NewRun, Run, Runs


class TenantRuns:
    """The runs of one owner."""

    async def start(self, thread: str, new: NewRun) -> Run:
        """Ask an agent; a thread that is not there is made.

        The same id a second time starts nothing and gives the run that there is.

        Raises:
            BusyError: Another run of the thread has not ended, and is not to be cancelled.
            ConfigError: There is no such model, or the id does not do.
        """
        raise NotImplementedError

    async def list(self, thread: str, *, limit: int = 50, before: str | None = None) -> Runs:
        """List runs of a thread, newest first.

        Raises:
            NoSuchThreadError: There is no such thread.
        """
        raise NotImplementedError

    async def get(self, thread: str, run: str) -> Run:
        """Give one run.

        Raises:
            NoSuchRunError: There is none.
        """
        raise NotImplementedError

    def follow(self, thread: str, run: str, after: int = 0) -> AsyncIterator[Numbered]:
        """Give a run's events behind a number, as they come, up to its end.

        Raises:
            NoSuchRunError: There is none; raised with the first event.
        """
        raise NotImplementedError

    async def wait(self, thread: str, run: str, timeout_s: float | None = None) -> Run:
        """Wait for a run to end.

        Returns:
            The run: one that has not ended where the time was over first.

        Raises:
            NoSuchRunError: There is none.
        """
        raise NotImplementedError

    async def cancel(self, thread: str, run: str) -> Run:
        """Ask a run to end; one that has ended stays as it is.

        Raises:
            NoSuchRunError: There is none.
        """
        raise NotImplementedError
