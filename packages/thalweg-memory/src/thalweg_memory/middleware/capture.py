"""What memory stores of a thread when a run ends: the user's messages and the final answers.

An agent with `ContextMiddleware` has a log with the position of each message, and with those of a
crashed run. Otherwise the state has all messages.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.runnables import RunnableConfig

from thalweg.archive.base import Archive, ThreadKey
from thalweg.archive.threads.journal import ThreadBranch, read_branch
from thalweg.archive.threads.thread_history import branch_at
from thalweg.context.request.messages import read_state
from thalweg.context.turn.graph_state import read_pointer_turn
from thalweg.context.turn.session_pool import SessionPool
from thalweg.engine.entries import Message
from thalweg.errors import ArchiveError, StorageError
from thalweg_memory.base import LearningSchedule
from thalweg_memory.facts.learning.capture import captured_turns, trust_after
from thalweg_memory.facts.values import Statement, Trust
from thalweg_memory.middleware.binding import BoundMemory

EARLIER_MESSAGES = 60
"""Number of log messages that are searched for turns before those of the state."""
FIRST_TURNS = 50
"""Turns of a thread in which the name of its owner is looked for."""
_log = logging.getLogger("thalweg.memory")


@dataclass(frozen=True, slots=True)
class Kept:
    """How far a thread was looked at, as an agent's state keeps it."""

    uid: str = ""
    """Of the last message of the state that was."""
    upto: int = 0
    """Length of the log at that time, if there is one."""
    trust: int = int(Trust.ASSISTANT)
    """Reliability of an answer that follows: content of tools is shown again later."""
    hidden: bool = False
    """Whether the messages since then must not be stored, by any later run either."""
    begun: int = 0
    """The memory's version when the run under way began."""


@dataclass(frozen=True, slots=True)
class UnreadMessages:
    """The messages of a thread since it was last read."""

    messages: Sequence[tuple[int, Message]]
    """With their positions; those below `since` only determine the reliability of answers."""
    since: int
    before: Trust
    """How far an answer before the first message could be trusted."""
    upto: int | None
    """Its end in the log; messages of a crashed run may follow. `None` without a log."""
    uid: str = ""
    """Of the last message of the state that it reaches to."""


def stretch(
    bound: BoundMemory,
    sessions: SessionPool | None,
    state: Mapping[str, Any],
    config: RunnableConfig,
    kept: Kept,
    *,
    is_over: bool,
) -> UnreadMessages:
    """Return the messages since the last time.

    Args:
        bound: The memory.
        sessions: Of the agent's `ContextMiddleware`, if it has one.
        state: The agent's.
        config: Of the run.
        kept: The state of the last time.
        is_over: Whether the run has ended. At its beginning, the user's newest message is skipped
            until the end, unless it may no longer be in the state by then.
    """
    messages = read_state(state["messages"])
    has_log = state.get("thalweg_turn") is not None
    if is_over or (has_log and sessions is None and not kept.hidden):
        end = len(messages)
    else:
        end = _newest_request(messages) if kept.hidden else _unanswered(messages)
    uid = messages[end - 1].uid if end else kept.uid
    logged = (
        _logged(bound, sessions, state, config, kept) if sessions is not None and has_log else None
    )
    if logged is not None:
        return replace(logged, uid=uid)
    first = min(end, _known(messages, kept.uid))
    return UnreadMessages(list(enumerate(messages))[first:end], 0, Trust(kept.trust), None, uid)


def _logged(
    bound: BoundMemory,
    sessions: SessionPool,
    state: Mapping[str, Any],
    config: RunnableConfig,
    kept: Kept,
) -> UnreadMessages | None:
    """Read the log's messages since the last time; `None` if it does not have this thread."""
    key, archive = sessions.key(config, state), sessions.archive
    try:
        line = _branch(archive, key, state)
    except ArchiveError:
        return None
    places = archive.positions(key, {kept.uid}).get(kept.uid, ())
    known_upto = max(kept.upto, *(place + 1 for place in places), 0)
    since = max(known_upto, bound.memory.store.captured(bound.memory.scope, bound.thread))
    is_known = 0 < since == known_upto
    before = Trust(kept.trust) if is_known else Trust.ASSISTANT
    there = line.after(since - 1) if is_known else line
    return UnreadMessages(list(read_branch(archive, key, there)), since, before, line.last + 1)


def earlier_messages(
    sessions: SessionPool | None,
    state: Mapping[str, Any],
    config: RunnableConfig,
    messages: Sequence[Message],
    turns: int,
) -> list[Message]:
    """Read messages before those of a state that has fewer turns; none without a log.

    Args:
        sessions: Of the agent's `ContextMiddleware`, if it has one.
        state: The agent's.
        config: Of the run.
        messages: Those of the state.
        turns: The number of turns that are needed.
    """
    if sessions is None or state.get("thalweg_turn") is None or not messages:
        return []
    if sum(one.is_request for one in messages) >= turns:
        return []
    key, archive = sessions.key(config, state), sessions.archive
    try:
        branch = _branch(archive, key, state)
        places = archive.positions(key, {messages[0].uid}).get(messages[0].uid, ())
        spans = branch.spans
        first = max((p for p in places if any(s.first <= p <= s.last for s in spans)), default=0)
        before = branch.before(first).after(first - EARLIER_MESSAGES - 1)
        return [message for _, message in read_branch(archive, key, before)] if first else []
    except (ArchiveError, StorageError):  # what the state has is enough
        return []


def _branch(archive: Archive, key: ThreadKey, state: Mapping[str, Any]) -> ThreadBranch:
    """Return the branch of the log that a state is on."""
    pointer = read_pointer_turn(state.get("thalweg_turn"), key, archive.identity)
    return branch_at(archive, key, pointer)


def _known(messages: Sequence[Message], uid: str) -> int:
    """Count the messages already read; any older than the last of them are not new."""
    if not uid:
        return 0
    found = (k for k, message in enumerate(messages, 1) if message.uid == uid)
    return next(found, _newest_request(messages))


def _newest_request(messages: Sequence[Message]) -> int:
    return max((k for k, message in enumerate(messages) if message.is_request), default=0)


def _unanswered(messages: Sequence[Message]) -> int:
    """Return the index of the first of the user's messages that are not yet answered."""
    answers = (k for k, one in enumerate(messages, 1) if one.role in {"assistant", "tool"})
    return max(answers, default=0)


def keep(bound: BoundMemory, unread: UnreadMessages, begun: int) -> tuple[Kept, bool]:
    """Store messages, and schedule the extraction of facts from them.

    Args:
        bound: The memory.
        unread: The messages.
        begun: The memory's version when their run began.

    Returns:
        The state for the next time, and whether anything was new.
    """
    now = bound.memory.clock()
    settings, store, scope = bound.settings, bound.memory.store, bound.memory.scope
    turns = captured_turns(
        unread.messages,
        thread=bound.thread,
        now=now,
        since=unread.since,
        before=unread.before,
        web_tools=settings.web_tools,
        owners=owners_of(bound),
        zone=settings.time_zone,
    )
    schedule = LearningSchedule(now, settings.debounce_seconds, settings.max_wait_seconds)
    new = store.capture(
        scope,
        bound.thread,
        _placed(turns, unread),
        upto=unread.upto,
        begun=begun,
        schedule=schedule,
    )
    if new:
        _log.debug(
            "thread %s: queued %d turns to learn from in %g s, at most %g s after the first",
            bound.thread,
            new,
            settings.debounce_seconds,
            settings.max_wait_seconds,
        )
    return pass_over(bound, unread), bool(new)


def owners_of(bound: BoundMemory) -> Sequence[str]:
    """Return the names of the memory's owner in a thread: as set, or the first one there was."""
    if bound.settings.owner_names:
        return bound.settings.owner_names
    known = bound.memory.store.turns(bound.memory.scope, bound.thread, 0, FIRST_TURNS)
    return [turn.author for turn in known if turn.author and turn.trust == Trust.USER][:1]


def pass_over(bound: BoundMemory, unread: UnreadMessages) -> Kept:
    """Mark messages as never to be stored."""
    web = bound.settings.web_tools
    trust = trust_after((message for _, message in unread.messages), unread.before, web)
    return Kept(unread.uid, unread.upto or 0, int(trust))


def _placed(turns: Sequence[Statement], unread: UnreadMessages) -> Sequence[Statement]:
    """Remove positions if there is no log: those in the state change when messages are removed."""
    return turns if unread.upto is not None else [replace(turn, position=-1) for turn in turns]
