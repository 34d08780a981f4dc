"""Errors of a store of memories, and of the memory document."""

from thalweg.errors.base import ThalwegError


class MemoryStoreError(ThalwegError):
    """A memory cannot perform the request; nothing was changed."""

    code = "memory"


class NoSuchFactError(MemoryStoreError):
    """No fact of this memory has that id.

    A fact that never existed, one that was forgotten and one of another scope raise the same error.
    """

    code = "memory.no_such_fact"
    sentence = "no fact {fact!r} in this memory; copy an id from the list"

    fact: str
    """The id as passed."""


class NoSuchOperationError(MemoryStoreError):
    """No commit of this memory has that number, or its changes were forgotten."""

    code = "memory.no_such_operation"
    sentence = (
        "no change {operation} in this memory that can be undone; copy a number from the history"
    )

    operation: int
    """The number as passed."""


class FactRefusedError(MemoryStoreError):
    """The content is not allowed in memory."""

    code = "memory.refused"

    content: str
    """The beginning of it."""
    problem: str
    """The problem with it, and how to correct it."""

    def __init__(self, content: str, problem: str) -> None:
        super().__init__(content[:200], problem)

    def __str__(self) -> str:
        return f"{self.content[:80]!r} cannot be remembered: {self.problem}"


class DocumentError(MemoryStoreError):
    """A memory document is invalid; the memory did not change."""

    code = "memory.document"
    sentence = "{where}: {problem}; {fix}"

    where: str
    """The file and the place in it (`memory.json: facts[3].confidence`)."""
    problem: str
    """The problem there."""
    fix: str
    """What to write instead."""


class StaleWriteError(MemoryStoreError):
    """Someone else changed the memory first: read it again, and decide again."""

    code = "memory.stale_write"
    sentence = "the memory changed in the meantime: {problem}; read it and try again"

    problem: str
    """The part that was changed."""


class MemoryOffError(MemoryStoreError):
    """Memory is off or read-only here."""

    code = "memory.off"
    sentence = "memory rejects this: {where}; {fix}"

    where: str
    """The setting or the thread that is off."""
    fix: str
    """How to turn it on."""
