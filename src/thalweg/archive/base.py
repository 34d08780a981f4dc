"""What an archive is: an append-only log per thread, and every way to read it back.

Two rules: nothing a compaction does deletes or rewrites a message; a handle is given out
only after what it names is durable.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import NewType, Protocol, Self

from thalweg.entries import Message

Handle = NewType("Handle", str)
"""Sixteen letters and digits that name a span of one thread. Unguessable; alone it opens
nothing: it resolves only for the owner and thread it was made for. `HANDLE#12` names the
message at position 12 inside the span, `HANDLE#12-15` those from 12 to 15."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """Whose thread, and which. Every call to an archive is bound to one."""

    owner: str
    thread: str


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `first` to `last` of a thread, both included, from 0."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A message on its way into the log, with what search should know beside its text."""

    message: Message
    about: str = ""
    """Of a tool result: the call it answers, on one line. Found by search, never read back."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What was decided before one model call: the journal that the archive keeps beside a log."""

    body: str
    """JSON of whoever drives the thread; the archive does not look into it."""
    state: bytes = b""
    """What it takes to go on from this turn without reading the log from its beginning; empty
    on most turns."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a handle gave: a bounded piece of text and where it stands in the whole."""

    text: str
    start: int
    """Character at which `text` begins in the whole."""
    total_chars: int
    """Of the whole; -1 for an outline, whose messages were not all read."""
    total_lines: int
    """Of the whole; an outline has one for each message of its span."""
    next: str = ""
    """How to read on, in words for the model; empty at the end."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One hit of a search."""

    position: int
    speaker: str
    text: str
    """The words around the hit, verbatim."""
    start: int
    """Character at which `text` begins in the message's text (`transcript.as_text`)."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class ThreadPassage:
    """One hit of a search over several threads."""

    thread: str
    passage: Passage


class Archive(Protocol):
    """The log of every thread.

    Calls block; each is atomic and durable when it returns. A key that was never written to
    is an empty thread. Safe to share between threads of one process, and between processes.
    """

    @property
    def identity(self) -> str:
        """Letters and digits that no other archive has; the same whenever it is opened."""
        ...

    @property
    def outlives_process(self) -> bool:
        """Whether what was appended can be read after the process has ended."""
        ...

    def append(
        self, key: ThreadKey, messages: Sequence[Logged], *, expected: int | None = None
    ) -> int:
        """Append to the log, all or nothing.

        Args:
            key: The thread.
            messages: Oldest first.
            expected: Length of the log the writer has seen; `None` appends to any.

        Returns:
            The new length of the log.

        Raises:
            ConflictError: The log is not `expected` long.
        """
        ...

    def length(self, key: ThreadKey) -> int:
        """Count the messages in the log."""
        ...

    def messages(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[Message]:
        """Read messages back, equal to what was appended (origins apart), `last` included."""
        ...

    def positions(self, key: ThreadKey, uids: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Find messages by their ids (`Message.uid`).

        Returns:
            The positions of each id that is in the log, ascending. An empty id is no id.
        """
        ...

    def add_turn(
        self, key: ThreadKey, turn: Turn, *, length: int, log: Sequence[Logged] = ()
    ) -> int:
        """Append a turn to the thread's journal, and what was said to its log, all or nothing.

        Args:
            key: The thread.
            turn: What was decided.
            length: Length of the log that the writer has seen.
            log: What is appended to it, oldest first; the turn was decided on this, too.

        Returns:
            The turn's number, from 0.

        Raises:
            ConflictError: The log is not `length` long any more.
        """
        ...

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """Read the bodies of turns back, `last` included."""
        ...

    def turn_count(self, key: ThreadKey) -> int:
        """Count the turns in the journal."""
        ...

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """Read the state of one turn; empty where there is none."""
        ...

    def attach(self, key: ThreadKey, *texts: str) -> list[str]:
        """Keep texts that belong to a thread and are in no message (a system prompt), at once.

        Returns:
            The SHA-256 of each as 64 hex digits; the same text is stored once.
        """
        ...

    def attachment(self, key: ThreadKey, digest: str) -> str:
        """Read a text back that was attached to this thread.

        Raises:
            HandleError: No such text was.
        """
        ...

    def add_summary(self, key: ThreadKey, source: str, text: str) -> bool:
        """Keep what a model wrote of some messages of a thread, until the thread is deleted.

        Args:
            key: The thread.
            source: A digest of those messages, as hex digits. The first text of a source stays.
            text: What was written.

        Returns:
            Whether the thread is there: one that was deleted meanwhile is not begun again.
        """
        ...

    def summary(self, key: ThreadKey, source: str) -> str:
        """Read what `add_summary` kept; empty where there is nothing."""
        ...

    def handle(self, key: ThreadKey, span: Span) -> Handle:
        """Name a span durably, and hold it against pruning.

        The same span of the same thread always has the same handle in one archive.

        Raises:
            RangeError: The span is not in the log.
        """
        ...

    def handles(self, key: ThreadKey) -> dict[Handle, Span]:
        """List the handles that are held."""
        ...

    def release(self, key: ThreadKey, handles: Sequence[Handle]) -> None:
        """Let go of handles that no live view shows any more. Unknown ones are ignored."""
        ...

    def span(self, key: ThreadKey, handle: str) -> Span:
        """Resolve a handle (`HANDLE`, `HANDLE#position` or `HANDLE#first-last`).

        Raises:
            HandleError: It names nothing in this thread of this owner.
        """
        ...

    def read(
        self,
        key: ThreadKey,
        handle: str,
        *,
        lines: tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
        path: str = "",
        max_chars: int = 8_000,
    ) -> Reading:
        """Read what a handle names, bounded.

        A span of one message reads as that message's text, to the byte; a longer one as a
        transcript (`transcript.as_transcript`). A transcript that is longer than `max_chars`
        and of which no range was asked gives an outline instead (`transcript.as_outline`), as
        many lines as fit; only the messages shown are fetched.

        Args:
            key: The thread.
            handle: `HANDLE`, `HANDLE#position` or `HANDLE#first-last`.
            lines: First and last line, from 1, both included.
            chars: Start and end character, from 0, end excluded.
            path: A JSONPath (RFC 9535) into a text that is JSON; what it finds is read.
            max_chars: At most so many characters come back; `Reading.next` says how to go on.

        Raises:
            HandleError: The handle names nothing here.
            RangeError: Two kinds of range at once, a range outside the text, a path that is
                wrong or finds nothing, or a text that is not JSON.
        """
        ...

    def search(
        self,
        key: ThreadKey,
        query: str,
        *,
        within: Sequence[Span] | None = None,
        max_tokens: int = 2_000,
    ) -> list[Passage]:
        """Find passages by words (any language), best first, packed into a token budget.

        Args:
            key: The thread.
            query: A question or some words; nothing in it is syntax.
            within: Look only in these spans; `None` means the whole log.
            max_tokens: Bound on `render_passages` of the result.
        """
        ...

    def search_threads(
        self,
        owner: str,
        query: str,
        *,
        threads: Collection[str] | None = None,
        max_tokens: int = 2_000,
    ) -> list[ThreadPassage]:
        """Find passages in the threads of an owner, best first, packed into a token budget.

        Args:
            owner: Whose threads.
            query: A question or some words; nothing in it is syntax.
            threads: Look only in these; `None` means all.
            max_tokens: Bound on `render_passages` of the result.
        """
        ...

    def threads(self, owner: str) -> list[str]:
        """List an owner's threads, oldest first."""
        ...

    def delete(self, key: ThreadKey) -> None:
        """Delete a thread at its owner's wish: log, handles, index. Blobs go with `prune`."""
        ...

    def prune(self) -> int:
        """Delete blobs that no log refers to and give the space back.

        Returns:
            Bytes freed.
        """
        ...

    def close(self) -> None:
        """Release what the archive holds open. Closing twice is fine."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the archive."""
        ...


def render_passages(passages: Sequence[Passage]) -> str:
    """Write passages as the model reads them: position, speaker and call, then the words.

    Example:
        >>> print(render_passages([Passage(3, "tool ls", "README.md", 0, "ls {}")]))
        #3 tool ls · ls {}
        README.md
    """
    return "\n\n".join(
        f"#{p.position} {p.speaker}{f' · {p.about}' if p.about else ''}\n{p.text}" for p in passages
    )
