"""Threads of one owner: messages, decisions, and manual operations.

A branch of a thread is a new thread with a copy of its messages up to a turn, word for word.
"""

import asyncio
import base64
import binascii
import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Concatenate, ParamSpec, assert_never
from uuid import uuid4

from thalweg.archive import Archive, Logged, ThreadKey
from thalweg.archive.threads import (
    LoggedMessage,
    OperationResult,
    Taken,
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
from thalweg.archive.threads import TurnContext as Sent
from thalweg.archive.threads.finding import newest_import
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page, count_turns
from thalweg.archive.threads.thread_history import newest_messages
from thalweg.engine.additions import AdditionSize
from thalweg.engine.edits import Edit as Decided
from thalweg.engine.edits import Elide, Evict, Fold, Pin, Strip, Supersede, Unpin
from thalweg.engine.entries import Media, Thinking
from thalweg.engine.entries import Message as EntryMessage
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.reading import Reader
from thalweg.errors import BusyError, ConfigError, NoSuchThreadError
from thalweg_server.api.threads import (
    AdditionView,
    Branch,
    Context,
    Done,
    Edit,
    History,
    HistoryItem,
    Message,
    NewThread,
    Pinned,
    Rewind,
    State,
    Thread,
    ThreadChange,
    Threads,
    Todo,
    ToolCall,
    Turn,
    Turns,
)
from thalweg_server.app.deletion import ThreadRemoval
from thalweg_server.app.registry import (
    FoundThread,
    ThreadFilter,
    ThreadRow,
    check_writable,
    moment,
    recorded_by,
)
from thalweg_server.runs.base import now_ms

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot


P = ParamSpec("P")
MOST_FILES = 1_000
"""Files that a state lists."""
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


class TenantThreads(ThreadRemoval):
    """The threads of one owner.

    Raises (all that name a thread):
        NoSuchThreadError: There is none.

    Raises (`delete`, and all changes by hand):
        BusyError: A run of the thread has not ended.
    """

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

    # -- what is in them -------------------------------------------------------------------

    async def state(self, thread: str) -> State:
        """Return the state of a thread: its plan, its files, its pending questions."""
        shown = await self.get(thread)
        snapshot = await self._snapshot(thread)
        files = self._parts.places.backend(self._owner, thread)
        listed = await asyncio.to_thread(files.files, MOST_FILES)
        paths = tuple(sorted(file.path for file in listed))
        if snapshot is None:
            return State(thread=shown, files=paths)
        from thalweg_server.app.graph_execution import (  # noqa: PLC0415 (LangChain: seconds)
            questions_of,
        )

        return State(
            thread=shown,
            todos=todos_view(snapshot.values.get("todos")),
            files=paths,
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
        from thalweg_server.app.performing import compacted  # noqa: PLC0415 (LangChain: seconds)

        return await self._by_hand(thread, compacted, self._parts)

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
        await self.touch(thread)
        return Done.model_validate(done, from_attributes=True)

    # -- shared by the operations above --------------------------------------------------------

    async def check_writable(self, thread: str) -> None:
        """Refuse to change a thread that is an imported session; one that is missing is none.

        Raises:
            RecordedThreadError: It is one.
        """
        key = ThreadKey(self._owner, thread)
        await asyncio.to_thread(check_writable, self._parts.archive, key)

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
        return Thread(
            id=row.thread,
            title=row.title,
            created=moment(row.created),
            updated=moment(row.updated),
            messages=length,
            model_calls=calls,
            run=run,
            recorded_by=agent,
        )

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


def message_view(message: EntryMessage) -> Message:
    """Show a message as people read it."""
    return Message(
        id=message.uid,
        role=message.role,
        text=message.text,
        thinking="\n".join(part.text for part in message.parts if isinstance(part, Thinking)),
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.name, arguments=call.arguments) for call in message.calls
        ),
        answers=message.answers,
        name=message.name,
        is_error=message.is_error,
        media=sum(isinstance(part, Media) for part in message.parts),
    )


def item_view(logged: LoggedMessage) -> HistoryItem:
    """Show a message at its place."""
    return HistoryItem(
        position=logged.position,
        message=message_view(logged.message),
        is_abandoned=logged.is_abandoned,
    )


def turn_view(taken: Taken) -> Turn:
    """Return the API's view of a turn, or another record, with its decisions."""
    page, usage = taken.page, taken.usage
    return Turn(
        turn=taken.turn,
        at=datetime.fromtimestamp(page.at, UTC),
        kind=page.kind,
        model=page.model,
        edits=tuple(map(edit_view, page.edits)),
        tokens=sum(page.tokens.values()),
        limit=page.limit,
        sections=dict(page.tokens),
        input_tokens=usage.input if usage else None,
        cached_tokens=usage.cached if usage else None,
        output_tokens=usage.output if usage else None,
        is_current=taken.is_current,
        note=page.note,
    )


def edit_view(edit: Decided) -> Edit:
    """Show one decision."""
    match edit:
        case Fold():
            summary = edit.summary is not None
            return _edit("fold", edit, edit.last, kept=list(edit.kept), has_summary=summary)
        case Evict() | Elide() | Supersede():
            return _edit(type(edit).__name__.lower(), edit, edit.position)
        case Strip():
            return _edit("strip", edit, edit.positions[-1], positions=list(edit.positions))
        case Pin():
            return _edit("pin", edit, edit.position, quote=edit.quote)
        case Unpin():
            return _edit("unpin", edit, edit.position, quote=edit.quote)
        case _:
            assert_never(edit)


def _edit(kind: str, edit: Decided, position: int, **detail: object) -> Edit:
    return Edit.model_validate(
        {
            "kind": kind,
            "reason": edit.reason,
            "tokens_before": edit.tokens_before,
            "tokens_after": edit.tokens_after,
            "position": position,
            "detail": detail,
        }
    )


def context_view(sent: Sent) -> Context:
    """Show the request of a turn, or what the next one begins with."""
    page = sent.page
    return Context(
        turn=sent.turn,
        at=datetime.fromtimestamp(page.at, UTC),
        model=page.model,
        system=sent.system.text if sent.system else "",
        messages=tuple(map(message_view, sent.messages)),
        tools=sent.tools,
        sections=dict(sent.tokens),
        additions=tuple(map(addition_view, sent.additions)),
        tokens=sum(sent.tokens.values()),
        limit=page.limit,
        window=page.window,
    )


def addition_view(one: AdditionSize) -> AdditionView:
    """Show one part of a request that is no message."""
    position = one.position if one.position >= 0 else None
    return AdditionView(part=one.part, tokens=one.tokens, about=one.about, position=position)


def todos_view(given: object) -> tuple[Todo, ...]:
    """Return a plan; items in an unknown format are dropped."""
    todos = given if isinstance(given, list) else []
    return tuple(
        Todo(content=str(todo["content"]), status=todo["status"])
        for todo in todos
        if isinstance(todo, dict) and {"content", "status"} <= todo.keys()
    )
