"""Errors of a store of memories, and of the memory document."""

from thalweg.errors.base import ThalwegError


class MemoryStoreError(ThalwegError):
    """A memory cannot do what was asked; nothing was changed."""

    code = "memory"


class NoSuchFactError(MemoryStoreError):
    """No fact of this memory has that id.

    A fact that never existed, one that was forgotten and one of another scope raise the same error.

    Attributes:
        fact: The id as passed.
    """

    code = "memory.no_such_fact"

    def __init__(self, fact: str) -> None:
        super().__init__(fact)
        self.fact = fact

    def __str__(self) -> str:
        return f"no fact {self.fact!r} in this memory; copy an id from the list"


class NoSuchOperationError(MemoryStoreError):
    """No commit of this memory has that number, or its changes were forgotten.

    Attributes:
        operation: The number as passed.
    """

    code = "memory.no_such_operation"

    def __init__(self, operation: int) -> None:
        super().__init__(operation)
        self.operation = operation

    def __str__(self) -> str:
        return (
            f"no change {self.operation} in this memory that can be undone; "
            "copy a number from the history"
        )


class FactRefusedError(MemoryStoreError):
    """The content is not allowed in memory.

    Attributes:
        content: The beginning of it.
        problem: What is wrong with it, and how to correct it.
    """

    code = "memory.refused"

    def __init__(self, content: str, problem: str) -> None:
        super().__init__(content[:200], problem)
        self.content = content[:200]
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.content[:80]!r} cannot be remembered: {self.problem}"


class DocumentError(MemoryStoreError):
    """A memory document is invalid; the memory did not change.

    Attributes:
        where: The file and the place in it (`memory.json: facts[3].confidence`).
        problem: What is wrong there.
        mend: What to write instead.
    """

    code = "memory.document"

    def __init__(self, where: str, problem: str, mend: str) -> None:
        super().__init__(where, problem, mend)
        self.where = where
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}; {self.mend}"


class StaleWriteError(MemoryStoreError):
    """Someone else changed the memory first: read it again, and decide again.

    Attributes:
        problem: What was changed.
    """

    code = "memory.stale_write"

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return f"the memory changed in the meantime: {self.problem}; read it and try again"


class MemoryOffError(MemoryStoreError):
    """Memory is off or read-only here.

    Attributes:
        where: What is off: the setting or the thread.
        mend: How to turn it on.
    """

    code = "memory.off"

    def __init__(self, where: str, mend: str) -> None:
        super().__init__(where, mend)
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        return f"memory rejects this: {self.where}; {self.mend}"
