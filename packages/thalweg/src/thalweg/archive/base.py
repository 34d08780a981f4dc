"""The protocol of an archive: an append-only log per thread, and all ways to read it.

Two rules: a compaction never deletes or rewrites a message; a reference is returned only after its
messages are durable.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NewType, Protocol, Self

from thalweg.engine.entries import Message
from thalweg.errors import ThreadIdError

Handle = NewType("Handle", str)
"""Sixteen letters and digits that refer to a span of one thread. Unguessable, and no credential:
it resolves only for the owner and thread it was made for. `HANDLE#12` refers to the message at
position 12 inside the span, `HANDLE#12-15` to those from 12 to 15."""


SUBAGENT_SEPARATOR = "/~/"
"""Separates a thread's id from the path of a subagent in it; no name of a caller's contains it."""


@lru_cache(maxsize=1_024)
def escape_thread_id(thread: str) -> str:
    """Return the thread name of a caller's id; it does not contain `SUBAGENT_SEPARATOR`."""
    return thread.replace("/~", "/~~")


def caller_id(name: str) -> str:
    """Return the caller's id of a thread's name, or of a subagent's: what `thread_id` was.

    Example:
        >>> caller_id(escape_thread_id("a/~b") + SUBAGENT_SEPARATOR + "tools:1")
        'a/~b'
    """
    return name.partition(SUBAGENT_SEPARATOR)[0].replace("/~~", "/~")


ThreadId = NewType("ThreadId", str)
"""The id of a thread, as a caller chooses it (LangGraph's `thread_id`): `parse_thread_id` makes it.

It is also the name of the thread in an archive, which has further threads: those of subagents."""
MAX_ID_BYTES = 512
"""Of an id of a thread, as UTF-8: keys of PostgreSQL are bounded."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def parse_thread_id(given: str) -> ThreadId:
    """Return a text as the id of a thread.

    It may have letters of any script, spaces and punctuation, such as `:` and `/`. It is never the
    name of a file or of a folder.

    Raises:
        ThreadIdError: It is empty, has a control character, a lone surrogate or `/~`, or is longer
            than `MAX_ID_BYTES`.

    Example:
        >>> parse_thread_id("claude-code:8b1c3f")
        'claude-code:8b1c3f'
        >>> parse_thread_id("")
        Traceback (most recent call last):
        thalweg.errors.ThreadIdError: the thread id '' is empty; use at least one character
    """
    if not given:
        raise ThreadIdError(given, "is empty; use at least one character")
    if (wrong := _UNPRINTABLE.search(given)) is not None:
        raise ThreadIdError(given, f"has {wrong[0]!r}, which is no character of a text; omit it")
    if SUBAGENT_SEPARATOR[:2] in given:
        problem = (
            f"has {SUBAGENT_SEPARATOR[:2]!r}, which only names of subagents' threads have; omit it"
        )
        raise ThreadIdError(given, problem)
    if (size := len(given.encode())) > MAX_ID_BYTES:
        raise ThreadIdError(given, f"has {size:,} bytes; use at most {MAX_ID_BYTES}")
    return ThreadId(given)


def is_thread_id(name: str) -> bool:
    """Return whether a thread's name in an archive is an id; those of subagents are not."""
    try:
        parse_thread_id(name)
    except ThreadIdError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The owner and the name of a thread. Every call to an archive is bound to one."""

    owner: str
    thread: str


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `first` to `last` of a thread, both included, from 0."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Logged:
    """A message to append to the log, with additional text for search."""

    message: Message
    about: str = ""
    """In a tool result: the call it answers, on one line. Searched, never returned."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A row of the journal, which the archive stores next to a log."""

    body: str
    """JSON of the archive's caller; the archive does not parse it."""
    state: bytes = b""
    """The state to continue from this turn without reading the log from its beginning, or what is
    read of the newest records of all threads (`Archive.newest_states`); empty on most turns."""
    attachments: Sequence[str] = ()
    """Texts to store with the thread, as `Archive.attach` does."""


class Extent(NamedTuple):
    """The sizes of a thread."""

    generation: int = 0
    """Another one after the thread was deleted and began again; 0 if there is no thread."""
    length: int = 0
    """Messages in its log."""
    turns: int = 0
    """Records in its journal."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a reference: a bounded piece of text and its position in the whole."""

    text: str
    start: int
    """Index of the first character of `text` in the whole."""
    total_chars: int
    """Characters of the whole; -1 for an outline, since not all of its messages were read."""
    total_lines: int
    """Lines of the whole; an outline has one for each message of its span."""
    next: str = ""
    """Instructions for the model to read on; empty at the end."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One hit of a search."""

    position: int
    speaker: str
    text: str
    """The text around the hit, verbatim."""
    start: int
    """Index of the first character of `text` in the message's text (`transcript.as_text`)."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class ThreadPassage:
    """One hit of a search over several threads."""

    thread: str
    passage: Passage
    exchange: tuple[Passage, ...] = ()
    """Passages of the messages around it, in their order."""


class Archive(Protocol):
    """The log of every thread.

    Calls block; each is atomic and durable when it returns. A key that was never written to
    is an empty thread. Safe to share between threads of one process, and between processes.
    """

    @property
    def identity(self) -> str:
        """Letters and digits unique to this archive; the same whenever it is opened."""
        ...

    @property
    def outlives_process(self) -> bool:
        """Whether appended messages can be read after the process has ended."""
        return True

    def append(
        self,
        key: ThreadKey,
        messages: Sequence[Logged],
        *,
        expected: int | None = None,
        generation: int = 0,
    ) -> int:
        """Append to the log, all or nothing.

        Args:
            key: The thread.
            messages: Oldest first.
            expected: Length of the log the writer has seen; `None` appends to any.
            generation: As for `add_turn`.

        Returns:
            The new length of the log.

        Raises:
            ConflictError: The log is not `expected` long, or of another generation.
        """
        ...

    def extent(self, key: ThreadKey) -> Extent:
        """Return the generation of a thread, and the sizes of its log and of its journal."""
        ...

    def length(self, key: ThreadKey) -> int:
        """Return the number of messages in the log."""
        return self.extent(key).length

    def messages(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[Message]:
        """Return messages, equal to the appended ones (except for origins), `last` included."""
        ...

    def positions(self, key: ThreadKey, uids: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return the positions of messages by their ids (`Message.uid`).

        Returns:
            The positions of each id that is in the log, ascending. An empty id is ignored.
        """
        ...

    def add_turn(
        self,
        key: ThreadKey,
        turn: TurnRow,
        *,
        length: int,
        log: Sequence[Logged] = (),
        generation: int = 0,
        expected: int | None = None,
    ) -> int:
        """Append a record to the thread's journal, and messages to its log, all or nothing.

        Args:
            key: The thread.
            turn: The record.
            length: Length of the log that the writer has seen.
            log: Messages to append, oldest first; the record was decided on these, too.
            generation: Generation of the thread that the writer has seen; 0 for any.
            expected: Records of the journal that the writer has seen; `None` appends to any.

        Returns:
            The record's place in the journal, from 0.

        Raises:
            ConflictError: The log is not `length` long any more, the journal does not have
                `expected` records, or the thread was deleted.
        """
        ...

    def turns(self, key: ThreadKey, first: int = 0, last: int | None = None) -> list[str]:
        """Return the bodies of records of the journal, `last` included."""
        ...

    def turn_count(self, key: ThreadKey) -> int:
        """Return the number of records in the journal."""
        return self.extent(key).turns

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """Return the state of one record of the journal; empty if it has none."""
        ...

    def newest_states(self, owner: str) -> dict[str, bytes]:
        """Return the state of the newest record of each thread of an owner, by name."""
        ...

    def attach(self, key: ThreadKey, *texts: str) -> list[str]:
        """Store texts that belong to a thread and are in no message (a system prompt), together.

        Returns:
            The SHA-256 of each as 64 hex digits; the same text is stored once.
        """
        ...

    def attachment(self, key: ThreadKey, digest: str) -> str:
        """Return a text that was attached to this thread.

        Raises:
            HandleError: There is no such text.
        """
        ...

    def add_summary(self, key: ThreadKey, source: str, text: str) -> bool:
        """Store a model's summary of some messages of a thread, until the thread is deleted.

        Args:
            key: The thread.
            source: A digest of those messages, as hex digits. The first text of a source is kept.
            text: The summary.

        Returns:
            Whether the thread exists: one that was deleted in the meantime is not created again.
        """
        ...

    def summary(self, key: ThreadKey, source: str) -> str:
        """Return the text stored by `add_summary`; empty if there is none."""
        ...

    def handle(self, key: ThreadKey, span: Span) -> Handle:
        """Return a durable reference to a span, which protects it from pruning.

        The same span of the same thread always has the same reference in one archive.

        Raises:
            RangeError: The span is not in the log.
        """
        ...

    def handles(self, key: ThreadKey) -> dict[Handle, Span]:
        """Return the references that are held."""
        ...

    def release(self, key: ThreadKey, handles: Sequence[Handle]) -> None:
        """Release references that no live view shows any more. Others are ignored."""
        ...

    def span(self, key: ThreadKey, handle: str) -> Span:
        """Resolve a reference (`HANDLE`, `HANDLE#position` or `HANDLE#first-last`).

        Raises:
            HandleError: It refers to nothing in this thread of this owner.
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
        """Return the text of a reference, bounded.

        A span of one message reads as that message's text, to the byte; a longer one as a
        transcript (`transcript.as_transcript`). A transcript longer than `max_chars` without a
        requested range is replaced by an outline (`transcript.as_outline`), as many lines as fit;
        only the messages shown are fetched.

        Args:
            key: The thread.
            handle: `HANDLE`, `HANDLE#position` or `HANDLE#first-last`.
            lines: First and last line, from 1, both included.
            chars: Start and end character, from 0, end excluded.
            path: A JSONPath (RFC 9535) into a text that is JSON; selects the text to return.
            max_chars: Most characters to return; `Reading.next` states how to continue.

        Raises:
            HandleError: The reference does not exist here.
            RangeError: Two kinds of range at once, a range outside the text, a path that is
                invalid or matches nothing, or a text that is not JSON.
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
        """Return passages that match words (any language), best first, within a token budget.

        Args:
            key: The thread.
            query: A question or some words; it has no syntax.
            within: Search only in these spans; `None` means the whole log.
            max_tokens: Bound on `render_passages` of the result.
        """
        ...

    def search_threads(
        self,
        owner: str,
        query: str | Sequence[str],
        *,
        threads: Collection[str] | None = None,
        max_tokens: int = 2_000,
        exchanges: bool = False,
    ) -> list[ThreadPassage]:
        """Return passages in the threads of an owner, best first, within a token budget.

        Args:
            owner: Owner of the threads.
            query: A question or some words; it has no syntax. With several phrasings the hits
                of each are fused by their ranks; without `exchanges` they are one query.
            threads: Search only in these; `None` means all.
            max_tokens: Bound on `render_passages` of the result.
            exchanges: Return fewer hits, of different exchanges, with passages around each.
        """
        ...

    def find_threads(self, owner: str, query: str) -> list[ThreadPassage]:
        """Return the threads that have some words, best first, each with its best passage.

        A thread is left out if others have much more of the words; words that occur in many threads
        count little.

        Args:
            owner: Owner of the threads.
            query: A question or some words; it has no syntax.
        """
        ...

    def update_index(self, owner: str, threads: Collection[str] | None = None) -> None:
        """Index the messages appended since the last search; otherwise the next search does so.

        Args:
            owner: Owner of the threads.
            threads: Index only these; `None` means all.
        """
        ...

    def threads(self, owner: str) -> list[str]:
        """Return an owner's threads, oldest first."""
        ...

    def delete(self, key: ThreadKey) -> None:
        """Delete a thread: log, references, index. Its blobs are deleted by `prune`."""
        ...

    def prune(self) -> int:
        """Delete blobs that no log refers to and release the space.

        Returns:
            Bytes freed.
        """
        ...

    def erase(self) -> str:
        """Overwrite deleted content in the files of the archive; writers wait meanwhile.

        Returns:
            The data that may remain and its place, in one line without content; empty if none.
        """
        ...

    def close(self) -> None:
        """Release connections and files. Closing twice is safe."""
        ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the archive."""
        self.close()


def render_passages(passages: Sequence[Passage]) -> str:
    """Render passages for the model: position, speaker and call, then the text.

    Example:
        >>> print(render_passages([Passage(3, "tool ls", "README.md", 0, "ls {}")]))
        #3 tool ls · ls {}
        README.md
    """
    return "\n\n".join(
        f"#{p.position} {p.speaker}{f' · {p.about}' if p.about else ''}\n{p.text}" for p in passages
    )
