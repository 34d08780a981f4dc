"""Threads of one owner: what was said, what was decided, and changes by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator

from thalweg.api.threads import (
    Branch,
    Context,
    Done,
    History,
    NewThread,
    Pinned,
    Rewind,
    State,
    Thread,
    ThreadChange,
    Threads,
    Turns,
)


class TenantThreads:
    """The threads of one owner."""

    async def list(self, *, limit: int = 50, before: str | None = None, q: str = "") -> Threads:
        """List threads, the one that was used last first.

        Args:
            limit: How many at most.
            before: `Threads.before` of the stretch before this one.
            q: Words that the title or the messages have.
        """
        raise NotImplementedError

    async def create(self, new: NewThread) -> Thread:
        """Make a thread.

        Raises:
            ThreadExistsError: There is one with that id.
        """
        raise NotImplementedError

    async def get(self, thread: str) -> Thread:
        """Give one thread.

        Raises:
            NoSuchThreadError: There is none.
        """
        raise NotImplementedError

    async def update(self, thread: str, change: ThreadChange) -> Thread:
        """Change a thread's title.

        Raises:
            NoSuchThreadError: There is none.
        """
        raise NotImplementedError

    async def delete(self, thread: str, *, forget: bool = False) -> None:
        """Delete a thread: log, checkpoints, runs and files.

        Args:
            thread: Which.
            forget: Whether memory forgets what it learned from it, too.

        Raises:
            NoSuchThreadError: There is none.
            BusyError: A run of it has not ended.
        """
        raise NotImplementedError

    async def state(self, thread: str) -> State:
        """Tell where a thread stands: its plan, its files, what it waits for.

        Raises:
            NoSuchThreadError: There is none.
        """
        raise NotImplementedError

    async def history(
        self,
        thread: str,
        *,
        limit: int = 100,
        before: int | None = None,
        abandoned: bool = False,
    ) -> History:
        """Give the newest messages, oldest first.

        Args:
            thread: Which.
            limit: How many at most.
            before: Position to stay before; `History.before` of a newer stretch.
            abandoned: Whether messages that a rewind left behind are told, too.

        Raises:
            NoSuchThreadError: There is none.
        """
        raise NotImplementedError

    async def turns(self, thread: str, *, edits_only: bool = False) -> Turns:
        """List turns with what was decided in each and why.

        Raises:
            NoSuchThreadError: There is none.
        """
        raise NotImplementedError

    async def context(self, thread: str, turn: int | None = None) -> Context:
        """Make the request of a turn again, exactly as it was sent; the newest by itself.

        Raises:
            NoSuchThreadError: There is none.
            ArchiveError: The thread has no such turn.
        """
        raise NotImplementedError

    async def compact(self, thread: str) -> Done:
        """Fold what can be folded now, with a model's summary where that is set.

        Raises:
            NoSuchThreadError: There is none.
            BusyError: A run of it has not ended.
        """
        raise NotImplementedError

    async def rewind(self, thread: str, to: Rewind) -> Done:
        """Go back to how the thread stood when a turn was asked; the next run goes on from there.

        Raises:
            NoSuchThreadError: There is none.
            BusyError: A run of it has not ended.
            ArchiveError: The thread has no such turn.
        """
        raise NotImplementedError

    async def undo(self, thread: str, turn: int | None = None) -> Done:
        """Undo a compaction, the newest by itself.

        Raises:
            NoSuchThreadError: There is none.
            BusyError: A run of it has not ended.
            ArchiveError: There is nothing to undo.
        """
        raise NotImplementedError

    async def branch(self, thread: str, branch: Branch) -> Thread:
        """Make a thread of the beginning of another.

        Raises:
            NoSuchThreadError: There is none to branch.
            ThreadExistsError: There is one with the new id.
            ArchiveError: The thread has no such turn.
        """
        raise NotImplementedError

    async def pin(self, thread: str, words: Pinned) -> Done:
        """Keep words of the user verbatim in every context.

        Raises:
            NoSuchThreadError: There is none.
            PinError: The words are not there.
        """
        raise NotImplementedError

    async def unpin(self, thread: str, words: Pinned) -> Done:
        """Let go of words that were pinned.

        Raises:
            NoSuchThreadError: There is none.
            PinError: They are not pinned.
        """
        raise NotImplementedError

    def export(self, thread: str) -> AsyncIterator[str]:
        """Write a whole thread as lines of JSON, as `thalweg thread export` does.

        Raises:
            NoSuchThreadError: There is none; raised with the first line.
        """
        raise NotImplementedError
