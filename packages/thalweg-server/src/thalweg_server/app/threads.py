"""Threads of one owner: messages, decisions, and manual operations.

A branch of a thread is a new thread with a copy of its messages up to a turn, word for word.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, ParamSpec
from uuid import uuid4

from thalweg.archive import Archive, Logged, ThreadKey
from thalweg.archive.threads import (
    LoggedMessage,
    OperationResult,
    context_at,
    export,
    history,
    next_context,
    pin,
    rewind,
    turns,
    undo,
    unpin,
)
from thalweg.archive.threads.finding import newest_import, own_threads
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page, count_turns
from thalweg.archive.threads.thread_history import newest_messages
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader
from thalweg.errors import BusyError, ConfigError, NoSuchThreadError
from thalweg_memory import Scope
from thalweg_server.api.threads import (
    Branch,
    Context,
    DeletedThread,
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
from thalweg_server.app.finding import (
    Finder,
    FoundThread,
    ThreadFilter,
    check_writable,
    recorded_by,
)
from thalweg_server.app.memory import memory_of
from thalweg_server.app.registry import ThreadRow
from thalweg_server.app.retention import completed_elsewhere, deletion_of
from thalweg_server.app.runs import now_ms
from thalweg_server.app.views import (
    context_view,
    item_view,
    paths,
    thread_view,
    todos_view,
    turn_view,
)
from thalweg_server.runs.base import AGE, RunKey

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from thalweg_server.app.parts import AppParts

P = ParamSpec("P")
MOST_FILES = 1_000
"""Files that a state lists."""
_LEFT_WITHOUT_ERASURE = (
    "memory: what was learned from it; delete with memory=forget",
    "databases: deleted rows until SQLite or PostgreSQL overwrites them; the same erases them",
)
_LEFT_WITH_ITS_AGENT = (
    "the session's log, which its agent keeps: the next `thalweg record import` reads it again; "
    "`thalweg record forget` prevents that"
)
_TIMES_END = 2**63
"""No time has a larger number; databases fail over larger ones."""


def copy_log(archive: Archive, target: ThreadKey, messages: Sequence[LoggedMessage]) -> None:
    """Write messages into a new thread, word for word.

    Its journal has one record, an import, from which the next run continues.

    Raises:
        ConflictError: The thread is not new.
    """
    reader = Reader(exact_counter())
    entries = [reader.read(one.message) for one in messages]
    logged = [Logged(e.message, e.answers.brief if e.answers else "") for e in entries]
    if logged:
        line = ThreadBranch.of(range(len(logged)))
        page = TurnRecord(kind="import", at=time.time(), length=len(logged), line=line)
        append_page(archive, target, page, length=0, log=logged)


class TenantThreads:
    """The threads of one owner.

    Raises (all that name a thread):
        NoSuchThreadError: There is none.

    Raises (`delete`, and all changes by hand):
        BusyError: A run of the thread has not ended.
    """

    def __init__(self, owner: str, parts: "AppParts") -> None:
        self._owner = owner
        self._parts = parts
        self._finder = Finder(owner, parts.archive, parts.registry)

    # -- which there are -------------------------------------------------------------------

    async def list(self, *, limit: int = 50, before: str | None = None, q: str = "") -> Threads:
        """List threads, the one that was used last first.

        Args:
            limit: How many at most.
            before: `Threads.before` of the stretch before this one.
            q: Words that the title or the messages have.

        Raises:
            ConfigError: `before` is none of ours.
        """
        found, cursor = await self.find(ThreadFilter(q), limit, before)
        return Threads(items=tuple([await self.shown(one.row) for one in found]), before=cursor)

    async def find(
        self, only: ThreadFilter, limit: int, before: str | None
    ) -> tuple[Sequence[FoundThread], str | None]:
        """Return the threads of a filter, and the cursor of those after them; see `list`."""
        after = None if before is None else _read_cursor(before)
        found = await asyncio.to_thread(self._finder.find, only, limit + 1, after)
        return found[:limit], _cursor(found[limit - 1].row) if len(found) > limit else None

    async def origins(self) -> set[tuple[str, str]]:
        """Return the agents of the threads with their projects; see `Finder.origins`."""
        return await asyncio.to_thread(self._finder.origins)

    async def create(self, new: NewThread) -> Thread:
        """Make a thread.

        Raises:
            ThreadExistsError: There is one with that id.
        """
        thread = new.id or uuid4().hex
        await asyncio.to_thread(self._finder.adopt)
        row = await asyncio.to_thread(
            self._parts.registry.create, self._owner, thread, new.title, now_ms()
        )
        return await self.shown(row)

    async def get(self, thread: str) -> Thread:
        """Return one thread."""
        return await self.shown(await asyncio.to_thread(self._finder.get, thread))

    async def update(self, thread: str, change: ThreadChange) -> Thread:
        """Change a thread's title."""
        await self.check_writable(thread)
        rename = self._parts.registry.rename
        row = await asyncio.to_thread(rename, self._owner, thread, change.title)
        if row is None:
            raise NoSuchThreadError(thread)
        return await self.shown(row)

    async def delete(self, thread: str, *, forget: bool = False) -> DeletedThread:
        """Delete a thread: log, checkpoints, runs and files.

        Args:
            thread: The thread's id.
            forget: Whether facts learned from it are deleted, too, and its bytes are erased from
                the files of the databases.

        Returns:
            What may remain, and where.
        """
        await self._key(thread)
        chore = deletion_of(self._owner, thread, forget=forget)
        async with completed_elsewhere(self._parts, chore):
            return await self.delete_now(thread, forget=forget)

    async def delete_now(self, thread: str, *, forget: bool = False) -> DeletedThread:
        """Delete a thread as `delete` does, inside a job that is repeated after a crash."""
        key, parts = await self._key(thread), self._parts
        is_recorded = bool(await asyncio.to_thread(recorded_by, parts.archive, key))
        left = await self.remove(thread, forget=forget)
        await parts.prune()
        if forget:  # the job names the thread
            age = RunKey(self._owner, thread, AGE).job
            await parts.journal.change_queue(parts.journal.jobs.cancel(age))
        left += await parts.erasure.erase() if forget else _LEFT_WITHOUT_ERASURE
        left += (_LEFT_WITH_ITS_AGENT,) if is_recorded else ()
        return DeletedThread(thread=thread, forgotten=forget, left=left)

    async def remove(self, thread: str, *, forget: bool = False) -> tuple[str, ...]:
        """Delete the rows and files of a thread, of which some may be gone; return copies left.

        Large texts that no other thread has remain until `Archive.prune`.
        """
        parts = self._parts
        await parts.journal.delete(self._owner, thread)  # first: it knows of runs under way
        await parts.checkpoints.of(self._owner).adelete_thread(thread)
        return await asyncio.to_thread(self._delete, thread, forget=forget)

    def _delete(self, thread: str, *, forget: bool) -> tuple[str, ...]:
        parts, left = self._parts, tuple[str, ...]()
        if forget:
            left = self._forget(thread)
        parts.places.forget(self._owner, thread)
        for one in own_threads(parts.archive, self._owner, thread):
            parts.archive.delete(ThreadKey(self._owner, one))
        parts.registry.delete(self._owner, thread)
        return left

    def _forget(self, thread: str) -> tuple[str, ...]:
        """Forget what any memory of the owner learned from a thread: agents may have their own."""
        parts, shared = self._parts, Scope(self._owner)
        others = [one for one in parts.memories.scopes(self._owner) if one != shared]
        receipts = [memory_of(one, parts).forget(threads=[thread]) for one in (shared, *others)]
        return tuple(dict.fromkeys(left for one in receipts for left in one.left))

    # -- what is in them -------------------------------------------------------------------

    async def state(self, thread: str) -> State:
        """Return the state of a thread: its plan, its files, its pending questions."""
        shown = await self.get(thread)
        snapshot = await self._snapshot(thread)
        files = self._parts.places.backend(self._owner, thread)
        listed = await asyncio.to_thread(files.files, MOST_FILES)
        if snapshot is None:
            return State(thread=shown, files=paths(listed))
        from thalweg_server.app.performing.steps import (  # noqa: PLC0415 (LangChain: seconds)
            questions_of,
        )

        return State(
            thread=shown,
            todos=todos_view(snapshot.values.get("todos")),
            files=paths(listed),
            questions=questions_of(snapshot),
            next=snapshot.next,
        )

    async def history(
        self,
        thread: str,
        *,
        limit: int = 100,
        before: int | None = None,
        abandoned: bool = False,
    ) -> History:
        """Return the newest messages, oldest first.

        Args:
            thread: The thread's id.
            limit: How many at most.
            before: Only messages before this position; `History.before` of a newer page.
            abandoned: Whether messages abandoned by a rewind are included.
        """
        key = await self._key(thread)
        messages, has_more = await asyncio.to_thread(
            newest_messages, self._parts.archive, key, limit, before=before, abandoned=abandoned
        )
        return History(
            items=tuple(map(item_view, messages)),
            before=messages[0].position if has_more and messages else None,
        )

    async def turns(self, thread: str, *, edits_only: bool = False) -> Turns:
        """List turns, and the other records between them, with the decisions of each."""
        key = await self._key(thread)
        taken = await asyncio.to_thread(turns, self._parts.archive, key)
        shown = (turn_view(one) for one in taken if one.page.edits or not edits_only)
        return Turns(items=tuple(shown))

    async def context(
        self,
        thread: str,
        turn: int | None = None,
        *,
        next: bool = False,  # noqa: A002 (its name in the API)
    ) -> Context:
        """Rebuild the request of a turn, exactly as it was sent; by default the newest request.

        Args:
            thread: The thread.
            turn: Number of the turn, from 1.
            next: Whether to return what the next request begins with instead.

        Raises:
            ArchiveError: The thread has no such turn, or nothing was sent yet.
            ConfigError: A turn and the next request are named at once.
        """
        key, archive = await self._key(thread), self._parts.archive
        if not next:
            return context_view(await asyncio.to_thread(context_at, archive, key, turn))
        if turn is not None:
            problem = "`turn` names a request that was sent"
            raise ConfigError("next", problem, "pass one of the two")
        return context_view(await asyncio.to_thread(next_context, archive, key))

    async def export(self, thread: str) -> AsyncIterator[str]:
        """Write a whole thread as lines of JSON, as `thalweg thread export` does.

        Raises:
            NoSuchThreadError: There is none; raised with the first line.
        """
        key = await self._key(thread)
        lines = await asyncio.to_thread(export, self._parts.archive, key)
        while (line := await asyncio.to_thread(next, lines, None)) is not None:
            yield line

    # -- changes by hand -------------------------------------------------------------------

    async def compact(self, thread: str) -> Done:
        """Compact what can be compacted now, with a model's summary if configured.

        Raises:
            ArchiveError: It has no messages yet.
        """
        from thalweg_server.app.compacting import compacted  # noqa: PLC0415 (LangChain: seconds)

        return await self._by_hand(thread, compacted, self._parts.settings())

    async def rewind(self, thread: str, to: Rewind) -> Done:
        """Restore the thread's state at the request of a turn; the next run continues there.

        Raises:
            ArchiveError: The thread has no such turn.
        """
        return await self._by_hand(thread, rewind, to.turn)

    async def undo(self, thread: str, turn: int | None = None) -> Done:
        """Undo a compaction, the newest by itself.

        Raises:
            ArchiveError: There is nothing to undo.
        """
        return await self._by_hand(thread, undo, turn)

    async def branch(self, thread: str, branch: Branch) -> Thread:
        """Create a thread from the beginning of another.

        It has the messages but not the files, which belong to the other thread.

        Raises:
            ThreadExistsError: There is one with the new id.
            ArchiveError: The thread has no such turn.
        """
        key = await self._resting(thread)
        row = await asyncio.to_thread(self._finder.get, thread)
        archive = self._parts.archive
        messages = await asyncio.to_thread(history, archive, key, branch.turn)
        new = await self.create(NewThread(id=branch.id, title=branch.title or row.title))
        await asyncio.to_thread(copy_log, archive, ThreadKey(self._owner, new.id), messages)
        return await self.get(new.id)

    async def pin(self, thread: str, words: Pinned) -> Done:
        """Keep words of the user verbatim in every context.

        Raises:
            PinError: The words are not there.
        """
        return await self._by_hand(thread, pin, words.position, words.quote)

    async def unpin(self, thread: str, words: Pinned) -> Done:
        """Let go of words that were pinned.

        Raises:
            PinError: They are not pinned.
        """
        return await self._by_hand(thread, unpin, words.position, words.quote)

    async def _by_hand(
        self,
        thread: str,
        do: Callable[Concatenate[Archive, ThreadKey, P], OperationResult],
        *given: P.args,
        **named: P.kwargs,
    ) -> Done:
        await self.check_writable(thread)
        key = await self._resting(thread)
        done = await asyncio.to_thread(do, self._parts.archive, key, *given, **named)
        return Done.model_validate(done, from_attributes=True)

    # -- shared by the operations above --------------------------------------------------------

    async def check_writable(self, thread: str) -> None:
        """Refuse to change a thread that is an imported session; one that is missing is none.

        Raises:
            RecordedThreadError: It is one.
        """
        key = ThreadKey(self._owner, thread)
        await asyncio.to_thread(check_writable, self._parts.archive, key)

    async def _key(self, thread: str) -> ThreadKey:
        await asyncio.to_thread(self._finder.get, thread)
        return ThreadKey(self._owner, thread)

    async def _resting(self, thread: str) -> ThreadKey:
        """Name a thread that no run is at work in.

        Raises:
            BusyError: One is.
        """
        key = await self._key(thread)
        if (run := await self._under_way(thread)) is not None:
            raise BusyError(thread, run)
        return key

    async def _under_way(self, thread: str) -> str | None:
        unended = await self._parts.journal.unended(self._owner, thread)
        return unended[0].key.run if unended else None

    async def shown(self, row: ThreadRow) -> Thread:
        """Return a thread of the registry with its counts and its run."""
        key, archive = ThreadKey(self._owner, row.thread), self._parts.archive
        length, calls = await asyncio.to_thread(_counts, archive, key)
        agent = await asyncio.to_thread(recorded_by, archive, key)
        run = await self._under_way(row.thread)
        return thread_view(row, messages=length, model_calls=calls, run=run, recorded_by=agent)

    async def _snapshot(self, thread: str) -> "StateSnapshot | None":
        """Return the state of a thread's agent; `None` if none has run in it."""
        saver = self._parts.checkpoints.of(self._owner)
        if await saver.aget_tuple({"configurable": {"thread_id": thread}}) is None:
            return None
        agents = await self._parts.agents()
        agent = await agents.of(self._parts.settings())
        graph = agent.copy({"checkpointer": saver})
        return await graph.aget_state({"configurable": {"thread_id": thread, "owner": self._owner}})


def _cursor(row: ThreadRow) -> str:
    return base64.urlsafe_b64encode(f"{row.updated}:{row.thread}".encode()).decode().rstrip("=")


def _read_cursor(given: str) -> ThreadRow:
    try:
        decoded = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)).decode()
        updated, _, thread = decoded.partition(":")
        row = ThreadRow(thread, "", 0, int(updated))
    except (binascii.Error, UnicodeDecodeError, ValueError):
        row = None
    if row is None or not 0 <= row.updated < _TIMES_END:
        fix = "pass the `before` of the last list"
        raise ConfigError("before", "it is not a value of this gateway", fix)
    return row


def _counts(archive: Archive, key: ThreadKey) -> tuple[int, int]:
    """Count the messages and the model calls of a thread, recorded ones included."""
    imported = newest_import(archive, key)
    session = {} if imported is None else imported.session
    # Older imports stored one sum; newer ones, a sum for each model.
    recorded = sum(one.get("calls", 0) for one in session.get("usage", (session,)))
    return archive.length(key), recorded + count_turns(archive, key)
