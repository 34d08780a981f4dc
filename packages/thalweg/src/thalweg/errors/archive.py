"""Errors of an archive: references, ranges, conflicts and its medium."""

from thalweg.errors.base import ThalwegError


class ArchiveError(ThalwegError):
    """The archive cannot perform the request; nothing was changed."""

    code = "archive"


class EmptyThreadError(ArchiveError):
    """A thread has no turns yet: nothing was sent.

    Attributes:
        thread: Its id.
    """

    code = "thread.empty"

    def __init__(self, thread: str) -> None:
        super().__init__(thread)
        self.thread = thread

    def __str__(self) -> str:
        return f"thread {self.thread!r} has no turns: nothing was sent yet"


class HandleError(ArchiveError):
    """A reference resolves to nothing that this reader may read.

    A reference that never existed, one that was pruned and one of another thread or owner raise the
    same error, so that guessing reveals nothing.
    """

    code = "archive.handle"
    sentence = "no handle {handle!r} in this thread; copy it from the context"

    handle: str
    """The reference as passed."""


class RangeError(ArchiveError):
    """A handle is good, the range asked of it is not."""

    code = "archive.range"
    sentence = "{handle}: {problem}"

    handle: str
    """The handle that was read."""
    problem: str
    """Which range was asked for and what there is."""


class ConflictError(ArchiveError):
    """Someone else appended to the thread first; read on from `found` and try again."""

    code = "archive.conflict"
    sentence = (
        "thread {thread!r} has {found} messages, not {expected}: "
        "another writer appended first; read them and append again"
    )

    thread: str
    """The thread that was appended to."""
    expected: int
    """Length of the log the writer had seen."""
    found: int
    """Length of the log as it is."""


class LostThreadError(ArchiveError):
    """A state's older messages are in an archive that is not the one in use."""

    code = "archive.lost_thread"

    thread: str
    """The thread."""
    messages: int
    """Messages that the state holds."""
    released: int
    """Older messages that it does not hold; -1 where that was not counted."""

    def __str__(self) -> str:
        older = "older messages" if self.released < 0 else f"{self.released} older messages"
        return (
            f"thread {self.thread!r}: {older} are in another archive; this one has no journal of "
            f"the thread. Name that archive (archive=…) or restore it; an earlier version kept it "
            f"in the checkpointer's database: archive= names that, too. Or "
            f"continue with the {self.messages} messages of the state alone: "
            'update_state(config, {"thalweg_turn": ""}, as_node="model")'
        )


class DeletedThreadError(ArchiveError):
    """A thread was deleted while a run of it was in progress; the run ends, nothing is stored."""

    code = "archive.deleted_thread"
    sentence = (
        "thread {thread!r} was deleted while this run was in progress: nothing of the run is "
        "stored; begin a new run"
    )

    thread: str
    """The thread."""


class StorageError(ArchiveError):
    """The medium under the archive failed; nothing was changed."""

    code = "archive.storage"
    sentence = "{place}: {problem}; {fix}"

    place: str
    """The file's path as passed."""
    problem: str
    """The medium's error."""
    fix: str
    """What to do about it."""
