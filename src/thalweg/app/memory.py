"""What is remembered of one owner, and every change of it by hand."""

from __future__ import annotations

from typing import Any, Literal

from thalweg.api.memory import (
    Commit,
    Commits,
    FactChange,
    Facts,
    FactView,
    Forget,
    Forgotten,
    MemoryDocument,
    NewFact,
    Recall,
    Review,
)
from thalweg.facts.values import Mode, Status


class TenantMemory:
    """The memory of one owner.

    Raises (all that change something):
        MemoryOffError: Memory is off or read-only.
    """

    async def document(self) -> MemoryDocument:
        """Give what is remembered, in DeerFlow's shape."""
        raise NotImplementedError

    async def reload(self) -> MemoryDocument:
        """Take in what was edited in the document by hand (`storage: json`).

        Raises:
            DocumentError: The document cannot be read; nothing was changed.
        """
        raise NotImplementedError

    async def config(self) -> dict[str, Any]:
        """Give the settings of memory, DeerFlow's keys at the top level."""
        raise NotImplementedError

    async def status(self) -> dict[str, Any]:
        """Give settings and document at once: `{config, data}`."""
        raise NotImplementedError

    async def clear(self) -> Commit | None:
        """Take out everything; it can be undone. `None` where there was nothing."""
        raise NotImplementedError

    async def export(self, shape: Literal["seeds", "full"] = "seeds") -> dict[str, Any]:
        """Write the memory as a document."""
        raise NotImplementedError

    async def import_(self, document: dict[str, Any]) -> Commit | None:
        """Take a document in; `None` where it tells nothing new.

        Raises:
            DocumentError: It cannot be read; nothing was changed.
        """
        raise NotImplementedError

    async def facts(self, status: Status | None = None) -> Facts:
        """List facts of a status, newest first; those that hold where none is given."""
        raise NotImplementedError

    async def add(self, new: NewFact) -> FactView:
        """Remember a statement on the user's own word.

        Raises:
            FactRefusedError: It may not be remembered.
        """
        raise NotImplementedError

    async def fact(self, id_: str) -> FactView:
        """Give one fact, whatever its status, with its evidence.

        Raises:
            NoSuchFactError: There is none.
        """
        raise NotImplementedError

    async def edit(self, id_: str, change: FactChange) -> FactView:
        """Edit a fact; what it said before stays in the history.

        Raises:
            NoSuchFactError: There is none.
            FactRefusedError: The new content may not be remembered.
        """
        raise NotImplementedError

    async def delete(self, id_: str) -> Commit:
        """Take a fact out; it can be undone.

        Raises:
            NoSuchFactError: There is none.
        """
        raise NotImplementedError

    async def review(self, id_: str, review: Review) -> FactView:
        """Accept or reject a fact that waits for the user's word.

        Raises:
            NoSuchFactError: No such fact waits.
        """
        raise NotImplementedError

    async def search(self, q: str) -> Recall:
        """Tell what a run about these words would be told."""
        raise NotImplementedError

    async def explain(self, q: str) -> Recall:
        """Tell of all that was looked at why it would be told or not."""
        raise NotImplementedError

    async def history(self, limit: int = 50) -> Commits:
        """List changes, newest first."""
        raise NotImplementedError

    async def undo(self, operation: int) -> Commit:
        """Put back what one change replaced.

        Raises:
            NoSuchOperationError: There is none.
        """
        raise NotImplementedError

    async def forget(self, what: Forget) -> Forgotten:
        """Delete for good; works where memory is off, too.

        Raises:
            ConfigError: Nothing is named.
            NoSuchFactError: A fact that is named is not there.
        """
        raise NotImplementedError

    async def set_mode(self, thread: str, mode: Mode) -> Mode:
        """Say what memory does with a thread: `on`, `read_only`, `incognito` or `off`."""
        raise NotImplementedError
