"""Errors of an archive: references, ranges, conflicts and its medium."""

from thalweg.errors.base import ThalwegError


class ArchiveError(ThalwegError):
    """The archive cannot do what was asked; nothing was changed."""

    code = "archive"


class HandleError(ArchiveError):
    """A reference resolves to nothing that this reader may read.

    A reference that never existed, one that was pruned and one of another thread or owner raise the
    same error, so that guessing reveals nothing.

    Attributes:
        handle: The reference as passed.
    """

    code = "archive.handle"

    def __init__(self, handle: str) -> None:
        super().__init__(handle)
        self.handle = handle

    def __str__(self) -> str:
        return f"no handle {self.handle!r} in this thread; copy it from the context"


class RangeError(ArchiveError):
    """A handle is good, the range asked of it is not.

    Attributes:
        handle: The handle that was read.
        problem: Which range was asked for and what there is.
    """

    code = "archive.range"

    def __init__(self, handle: str, problem: str) -> None:
        super().__init__(handle, problem)
        self.handle = handle
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.handle}: {self.problem}"


class ConflictError(ArchiveError):
    """Someone else appended to the thread first; read on from `found` and try again.

    Attributes:
        thread: The thread that was appended to.
        expected: Length of the log the writer had seen.
        found: Length of the log as it is.
    """

    code = "archive.conflict"

    def __init__(self, thread: str, expected: int, found: int) -> None:
        super().__init__(thread, expected, found)
        self.thread = thread
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return (
            f"thread {self.thread!r} has {self.found} messages, not {self.expected}: "
            "another writer appended first; read them and append again"
        )


class LostThreadError(ArchiveError):
    """A state's older messages are in an archive that is not the one in use.

    Attributes:
        thread: The thread.
        messages: Messages that the state holds.
        released: Older messages that it does not hold; -1 where that was not counted.
    """

    code = "archive.lost_thread"

    def __init__(self, thread: str, messages: int, released: int) -> None:
        super().__init__(thread, messages, released)
        self.thread = thread
        self.messages = messages
        self.released = released

    def __str__(self) -> str:
        older = "older messages" if self.released < 0 else f"{self.released} older messages"
        return (
            f"thread {self.thread!r}: {older} are in another archive; this one has no journal of "
            f"the thread. Name that archive (archive=…) or restore it, or continue with the "
            f"{self.messages} messages of the state alone: "
            'update_state(config, {"thalweg_turn": ""}, as_node="model")'
        )


class StorageError(ArchiveError):
    """The medium under the archive failed; nothing was changed.

    Attributes:
        place: The file's path as passed.
        problem: The medium's error.
        mend: What to do about it.
    """

    code = "archive.storage"

    def __init__(self, place: str, problem: str, mend: str) -> None:
        super().__init__(place, problem, mend)
        self.place = place
        self.problem = problem
        self.mend = mend

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}; {self.mend}"
