"""Whose memory a run works with, and what is stored of a thread when the run ends.

Turns are the user's messages and the final answers: whole messages, none cut. An agent with
`ContextMiddleware` has a log with the position of each message, and with those of a crashed run.
Otherwise the state has all messages. Insertions of the harness, tool calls and tool results are no
turns; but the messages before an answer decide how far the answer is to be trusted.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from os import PathLike
from typing import Any, Literal, cast, get_args

from langchain_core.runnables import RunnableConfig

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import ThreadBranch, read_branch
from thalweg.archive.threads.thread_history import branch_at
from thalweg.context.arguments import AgentName, Owner, as_owner
from thalweg.context.request.messages import read_state
from thalweg.context.turn.threads import (
    SessionPool,
    is_subagent,
    owner_of,
    read_pointer_turn,
    thread_name,
)
from thalweg.engine.entries import Message
from thalweg.errors import ArchiveError, ConfigError, StorageError
from thalweg.redaction.secrets import redact
from thalweg_memory.facts.gates import own_words, without_markers
from thalweg_memory.facts.settings import WEB_TOOLS, MemorySettings, checked_zone
from thalweg_memory.facts.values import Mode, Scope, Statement, Trust
from thalweg_memory.handle import Memory, attach_document, open_memory
from thalweg_memory.store.records import LearningSchedule
from thalweg_memory.store.tables import MemoryStore

MODES: tuple[Mode, ...] = get_args(Mode)
"""The later, the less is done."""
KEPT = "_memory_kept"
"""Key in an agent's state of `Kept`."""
SETTING, ZONE = "memory", "time_zone"
"""Where in the `configurable` of a run's config its mode and its time zone are set."""

Given = MemoryStore | Memory | str | PathLike[str]


@dataclass(frozen=True, slots=True)
class BoundMemory:
    """A memory as one run may use it."""

    memory: Memory
    thread: str
    mode: Mode
    is_subagent: bool
    """Whether its thread is talked to by an agent, not by the user."""

    @property
    def tells(self) -> bool:
        """Whether memory may be shown."""
        return self.mode in {"on", "read_only"} and bool(self.thread)

    @property
    def is_before_conversation(self) -> bool:
        """Whether memory is shown in the system prompt, or in a system message after it."""
        return self.settings.placement != "tail"

    @property
    def writes(self) -> bool:
        """Whether messages may be stored."""
        may = self.mode == "on" and not self.settings.read_only
        return may and not self.is_subagent and bool(self.thread)

    @property
    def settings(self) -> MemorySettings:
        """The memory's settings."""
        return self.memory.settings


class MemoryBinding:
    """The configured memory, to bind for each run.

    Raises:
        ConfigError: It is no memory, or cannot be opened.
    """

    def __init__(
        self, given: Given, *, owner: Owner, agent: AgentName, settings: MemorySettings | None
    ) -> None:
        self._owner, self._agent = as_owner(owner), agent
        self._memory = given if isinstance(given, Memory) else None
        self.owns_store = isinstance(given, (str, PathLike))
        if isinstance(given, Memory):
            if settings is not None:
                problem = "the memory that was passed has its own settings"
                raise ConfigError("settings", problem, "set them there, or pass its store")
            self.settings, self.store = given.settings, given.store
            return
        self.settings = settings or MemorySettings()
        self.store = open_memory(given) if isinstance(given, (str, PathLike)) else _as_store(given)
        if self.owns_store:
            self.store.close_when_collected()
        attach_document(self.store, self.settings)

    def requested_mode(self, config: RunnableConfig) -> Mode:
        """Return the memory mode of the settings and a run's config.

        Raises:
            ConfigError: The config names no such mode.
        """
        mode = _mode_of(config)
        return mode if self.settings.enabled else "off"

    def of(self, config: RunnableConfig, state: Any) -> BoundMemory:  # noqa: ANN401 (any agent's)
        """Bind it for a run.

        Raises:
            ConfigError: The config names no such mode or time zone, or no owner.
        """
        name = thread_name(config, state) or ""
        memory = self._memory or Memory(self.store, self._scope(config), settings=self.settings)
        zone = _zone_of(config)
        if zone:
            settings = memory.settings.model_copy(update={"time_zone": zone})
            memory = Memory(
                memory.store,
                memory.scope,
                settings=settings,
                count=memory.count,
                clock=memory.clock,
            )
        set_to = memory.store.mode(memory.scope, name)
        requested = self.requested_mode(config)
        mode = requested if MODES.index(requested) >= MODES.index(set_to) else set_to
        return BoundMemory(memory, name, mode, is_subagent(config))

    def _scope(self, config: RunnableConfig) -> Scope:
        agent = self._agent if isinstance(self._agent, str) else self._agent(config)
        return Scope(owner_of(self._owner, config), agent)

    def close(self) -> None:
        """Close the resources opened here; an object that was passed belongs to its owner."""
        if self.owns_store:
            self.store.close()


def _as_store(given: object) -> MemoryStore:
    if all(hasattr(given, name) for name in ("capture", "commit", "find", "forget")):
        return cast("MemoryStore", given)
    fix = "pass a Memory, a store of open_memory, or an address"
    raise ConfigError("memory", f"it is of type {type(given).__name__}", fix)


def _zone_of(config: RunnableConfig) -> str:
    named: object = config.get("configurable", {}).get(ZONE, "")
    try:
        return checked_zone(str(named))
    except ValueError as error:
        raise ConfigError(ZONE, f"a run's config names {named!r}", str(error)) from error


def _mode_of(config: RunnableConfig) -> Mode:
    named: object = config.get("configurable", {}).get(SETTING, MODES[0])
    for mode in MODES:
        if named == mode:
            return mode
    problem = f"a run's config names {named!r}"
    raise ConfigError(SETTING, problem, f"use {', '.join(MODES)}")


OWN_TOOLS = frozenset(
    {"remember", "recall_memory", "forget_memory", "write_todos", "compact_conversation"}
)
"""Tools of the harness whose results hold nobody's words but the user's, the agent's and its own:
what may be recalled is of such trust."""
_MEMORY = re.compile(
    r"<(?P<tag>(?:[\w-]+_)?memor(?:y|ies))(?:\s[^<>]*)?>.*?(?:</(?P=tag)\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
"""A block of memory that was put into a text; one that nothing closes extends to the end."""


def captured_turns(
    messages: Iterable[tuple[int, Message]],
    *,
    thread: str,
    now: str,
    since: int = 0,
    before: Trust = Trust.ASSISTANT,
    web_tools: Sequence[str] = WEB_TOOLS,
    owners: Sequence[str] = (),
    zone: str = "",
) -> list[Statement]:
    """Take the turns out of a stretch of a thread.

    Taken in pieces or at once, a thread yields the same turns, if each piece is passed the trust
    after the one before it (`trust_after`), or begins with the messages before it.

    Args:
        messages: With their positions in the log, oldest first.
        thread: The thread's id.
        now: The time of a message that has none.
        since: Messages below this position only decide how far answers are to be trusted.
        before: The trust that an answer before the first message would have had.
        web_tools: Names of tools whose results are of trust `WEB`; `*` matches anything.
        owners: Names of the memory's owner. Without any, the first name in the thread is the
            owner's. A user's message of another name is another person's: it is told with that
            name, and no fact of the owner's rests on it.
        zone: The owner's time zone, an IANA name; empty for UTC.

    Returns:
        Turns with `seq` 0: the store numbers them.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> said = [(0, Message("user", (Text("I live in Oslo."),), uid="m1"))]
        >>> [(t.text, t.trust.name) for t in captured_turns(said, thread="t", now="")]
        [('I live in Oslo.', 'USER')]
    """
    turns: list[Statement] = []
    trust, names, owners = before, _Names(), [*owners]
    for position, message in messages:
        trust = min(trust, names.trust_of(message, web_tools))
        role = _role(message)
        if role == "user" and message.name and not owners:
            owners = [message.name]
        if role is None or position < since:
            continue
        is_own = role == "user" and (not message.name or message.name in owners)
        text = redact(own_words(without_memory(message.text))).strip()
        if not without_markers(text).strip():
            continue
        turns.append(
            Statement(
                thread=thread,
                seq=0,
                role=role,
                text=text,
                said_at=message.at or now,
                trust=Trust.USER if is_own else min(trust, Trust.ASSISTANT),
                author=message.name,
                position=position,
                uid=message.uid or _digest(thread, position, message),
                zone=zone,
            )
        )
    return turns


def trust_after(
    messages: Iterable[Message],
    before: Trust = Trust.ASSISTANT,
    web_tools: Sequence[str] = WEB_TOOLS,
) -> Trust:
    """Return how far an answer after some messages could be trusted.

    A page that was read once can be repeated in any later run, so trust never rises again
    within a thread.
    """
    names = _Names()
    return min((before, *(names.trust_of(message, web_tools) for message in messages)))


class _Names(dict[str, str]):
    """Names of the tools that were called, by the ids of the calls: a result may have none."""

    def trust_of(self, message: Message, web_tools: Sequence[str]) -> Trust:
        """Return how far a message lowers the trust of text written after it.

        A result whose tool is unknown may be from anywhere.
        """
        self.update((call.id, call.name) for call in message.calls)
        if message.role != "tool":
            return Trust.ASSISTANT
        name = (message.name or self.get(message.answers, "")).casefold()
        if name in OWN_TOOLS:
            return Trust.ASSISTANT
        is_web = not name or any(fnmatchcase(name, pattern.casefold()) for pattern in web_tools)
        return Trust.WEB if is_web else Trust.TOOL


def _role(message: Message) -> Literal["user", "assistant"] | None:
    """Return whose turn a message is; `None` if it is no turn."""
    if message.kind != "said" or '"lc_source"' in message.extra:
        return None
    if message.role == "user":
        return "user"
    if message.role == "assistant" and not message.calls:
        return "assistant"
    return None


def without_memory(text: str) -> str:
    """Remove blocks of memory from a text: recalled memory is never learned as a user's statement.

    Example:
        >>> without_memory("<memory>likes tea</memory>What do I like?")
        'What do I like?'
    """
    return _MEMORY.sub("", text)


def _digest(thread: str, position: int, message: Message) -> str:
    """Name a message that has no id of its own."""
    named = json.dumps([thread, position, message.role, message.text])
    return hashlib.sha256(named.encode()).hexdigest()[:32]


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
    owner: str = ""
    """Name of the first user who wrote in the thread; stored, as that message may be deleted."""


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
    owner: str = ""
    """Name of the first user who wrote in the thread, from earlier messages; empty if none did."""


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
    messages, owner = read_state(state["messages"]), kept.owner or _first_author(bound)
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
        return replace(logged, uid=uid, owner=owner)
    first, before = min(end, _known(messages, kept.uid)), Trust(kept.trust)
    return UnreadMessages(list(enumerate(messages))[first:end], 0, before, None, uid, owner)


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
    settings, store, scope = bound.settings, bound.memory.store, bound.memory.scope
    schedule = LearningSchedule(
        bound.memory.clock(), settings.debounce_seconds, settings.max_wait_seconds
    )
    new = store.capture(
        scope,
        bound.thread,
        turns_of(bound, unread, unread.since),
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


def turns_of(bound: BoundMemory, unread: UnreadMessages, since: int = 0) -> Sequence[Statement]:
    """Return the turns among messages; see `captured_turns`."""
    turns = captured_turns(
        unread.messages,
        thread=bound.thread,
        now=bound.memory.clock(),
        since=since,
        before=unread.before,
        web_tools=bound.settings.web_tools,
        owners=bound.settings.owner_names or [unread.owner] * bool(unread.owner),
        zone=bound.settings.time_zone,
    )
    # Positions in the state change when messages are removed.
    return turns if unread.upto is not None else [replace(turn, position=-1) for turn in turns]


def _first_author(bound: BoundMemory) -> str:
    """Return the name of the first user in the stored part of a thread; empty if there is none."""
    known = bound.memory.store.turns(bound.memory.scope, bound.thread, 0, FIRST_TURNS)
    return next((turn.author for turn in known if turn.author and turn.trust == Trust.USER), "")


def pass_over(bound: BoundMemory, unread: UnreadMessages) -> Kept:
    """Mark messages as never to be stored."""
    web = bound.settings.web_tools
    trust = trust_after((message for _, message in unread.messages), unread.before, web)
    names = (one.name for _, one in unread.messages if one.name and _role(one) == "user")
    owner = unread.owner or next(names, "")
    return Kept(unread.uid, unread.upto or 0, int(trust), owner=owner)
