"""The threads of an agent's runs: names, checkpoint pointers, and the threads that are open.

No caller can choose a name that joins another owner's thread.

A state may reach another thread or another archive: checkpoints are copied, a run may have another
owner, an agent may be recreated with another archive. So a checkpoint pointer names the journal of
its turn, and how many messages are in the archive's log and no longer in the state.

A log that is longer than its state has one of two reasons. Another run was faster: its messages
belong to the thread. Or a person went back to an older checkpoint: later messages are not part of
the branch. Checkpoints distinguish the two, since LangGraph records the source of each.
"""

import asyncio
import hashlib
import json
import logging
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from errno import EACCES
from functools import lru_cache, partial
from operator import attrgetter
from os import PathLike
from threading import Lock
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config

from thalweg.archive import Archive, ThreadKey, default_place
from thalweg.archive.base import SUBAGENT_SEPARATOR, Extent, escape_thread_id
from thalweg.archive.paths import open_autoclosing
from thalweg.archive.threads.session import (
    ThreadSession,
    copied_turn,
    manual_operations_since,
    open_session,
)
from thalweg.context.arguments import (
    KeptState,
    Owner,
    as_kept_state,
    as_owner,
    as_policy,
    as_summarizer,
    short_value,
)
from thalweg.context.message_counter import TokenCounter, as_message_counter
from thalweg.context.request.cache_marks import CacheMarker
from thalweg.context.request.last_check import Ceilings, LastCheck, Overhead, digest_of
from thalweg.context.request.messages import (
    MessageWriter,
    ParsedMessages,
    TargetModel,
    read_state,
    stored_binding,
)
from thalweg.context.request.models import DEFAULT_WINDOW, KnownModel
from thalweg.context.turn.effects import LOOP
from thalweg.context.turn.summaries import SummaryJobs
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite_files import MEMORY
from thalweg.engine.compaction.provider_edits import ProviderClearing
from thalweg.engine.edits import PendingSummary
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, message_to_json, stored_form
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg.errors import ConfigError, ConflictError, LostThreadError


@dataclass(frozen=True, slots=True)
class CheckpointPointer:
    """The checkpoint pointer that a state holds."""

    thread: str
    """Digest of the owner and the thread."""
    archive: str
    """`Archive.identity` of the archive that has the journal; empty in an older mark."""
    turn: int
    """Place of the turn's record in the journal."""
    released: int | None
    """Number of messages that were removed from the state and are in the archive alone; `None` in a
    pointer of a version that did not count them."""

    def is_of(self, key: ThreadKey) -> bool:
        """Return whether a state is of this thread and owner, in any archive."""
        return self.thread == _thread_digest(key)


def write_pointer(key: ThreadKey, turn: int, *, archive: str = "", released: int = 0) -> str:
    """Return the checkpoint pointer to a turn of a thread.

    Args:
        key: The thread.
        turn: Place of the turn's record in the journal.
        archive: `Archive.identity` of the archive that has the journal.
        released: Messages of the thread that the state does not hold any more.

    Example:
        >>> key = ThreadKey("ada", "t1")
        >>> pointer = write_pointer(key, 12, archive="a1", released=3)
        >>> (
        ...     read_pointer_turn(pointer, key, "a1"),
        ...     read_pointer_turn(pointer, ThreadKey("bob", "t1"), "a1"),
        ... )
        (12, None)
        >>> parse_pointer(pointer).released
        3
    """
    return f"{_thread_digest(key)}:{archive}:{turn}:{released}"


def read_pointer_turn(pointer: object, key: ThreadKey, archive: str = "") -> int | None:
    """Return the turn of a checkpoint pointer; `None` for another thread or without a pointer."""
    parsed = parse_pointer(pointer) if isinstance(pointer, str) else None
    if parsed is None or not parsed.is_of(key):
        return None
    is_same_archive = parsed.released is None or parsed.archive == archive
    return parsed.turn if is_same_archive else None


@lru_cache(maxsize=1024)
def parse_pointer(pointer: str) -> CheckpointPointer | None:
    """Parse a checkpoint pointer of any thread; return `None` if it is invalid."""
    match pointer.split(":"):
        case (thread, archive, turn, released) if turn.isdecimal() and released.isdecimal():
            return CheckpointPointer(thread, archive, int(turn), int(released))
        case (thread, turn) if turn.isdecimal():
            return CheckpointPointer(thread, "", int(turn), None)
        case _:
            return None


@lru_cache(maxsize=1024)
def _thread_digest(key: ThreadKey) -> str:
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:12]


def owner_of(owner: Owner, config: RunnableConfig) -> str:
    """Return the owner of a run.

    Raises:
        ConfigError: The function for it returned no name.
    """
    if isinstance(owner, str):
        return owner
    name: object = owner(config)
    if isinstance(name, str) and name:
        return name
    problem = f"the function's value for this run is {short_value(name)}"
    raise ConfigError("owner", problem, "let it return a non-empty str")


_TOOLS = "tools"
"""The node of an agent that runs its tools."""


def thread_name(config: RunnableConfig, state: Any) -> str | None:  # noqa: ANN401 (any agent's)
    """Return the name of the thread of a run.

    A subagent runs inside a step of its parent's graph and has a thread of its own. If the caller
    passes the messages to every run (there is no `thread_id`, or the agent is a node of a graph
    that keeps them), the thread is identified by its first message: the same messages continue that
    thread.

    Returns:
        `None` if there is no message.
    """
    thread = config.get("configurable", {}).get("thread_id")
    parent_step = _parent_step(config)
    escaped_id = "" if thread is None else escape_thread_id(str(thread))
    if thread is not None and not (parent_step and is_node(config)):
        return f"{escaped_id}{SUBAGENT_SEPARATOR}{parent_step}" if parent_step else escaped_id
    if not state["messages"]:
        return None
    (first,) = read_state(state["messages"][:1])
    if thread is None:
        return f"{SUBAGENT_SEPARATOR}without-id:{_message_digest(first)}"
    steps = [
        step if step.startswith(f"{_TOOLS}:") else step.partition(":")[0]
        for step in parent_step.split("|")
    ]
    return f"{escaped_id}{SUBAGENT_SEPARATOR}{'|'.join(steps)}:{_message_digest(first)}"


def child_name(config: RunnableConfig) -> str | None:
    """Name the thread of a subagent that the tool call of this config runs; see `thread_name`.

    Returns:
        `None` if the call's own thread has no name: the child's first message names it.
    """
    configurable = config.get("configurable", {})
    thread, parent_step = configurable.get("thread_id"), configurable.get("checkpoint_ns")
    if thread is None or not parent_step:
        return None
    return f"{escape_thread_id(str(thread))}{SUBAGENT_SEPARATOR}{parent_step}"


def is_node(config: RunnableConfig) -> bool:
    """Return whether an agent is a node of a graph that passes all messages to every run.

    Its own state is then empty at each run: LangGraph stores it under the id of the step. A
    subagent that a tool calls is no node, nor is one with its own checkpoints
    (`checkpointer=True`), which has no id of a step.
    """
    if not (parent_step := _parent_step(config)):
        return False
    steps = [step.partition(":")[0] for step in parent_step.split("|") if ":" in step]
    return bool(steps) and steps[-1] != _TOOLS


def is_subagent(config: RunnableConfig) -> bool:
    """Return whether an agent was called by another agent's tool, and not by the user."""
    return bool(_parent_step(config)) and not is_node(config)


def _parent_step(config: RunnableConfig) -> str:
    """Return the step of a parent's graph in which an agent runs; empty for none."""
    return str(config.get("configurable", {}).get("checkpoint_ns", "")).rpartition("|")[0]


def _message_digest(message: Message) -> str:
    """Return a digest of a message's id and content, the same after a checkpointer stored it."""
    message = stored_form(message)
    identity = Message(message.role, message.parts, answers=message.answers, uid=message.uid)
    return hashlib.sha256(message_to_json(identity).encode()).hexdigest()[:32]


MANUAL_SOURCES = ("update", "fork")
"""Sources of checkpoints that a person made."""
NEWEST_CHECKPOINT = ""
"""Placeholder for the id of a thread's newest checkpoint."""
WAIT_S, MAX_WAITS = 0.02, 25
"""A step may already run while its checkpoint is still being written: how often to read again."""


def checkpointer(config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer of a run; `None` if it has none."""
    saver = config.get("configurable", {}).get("__pregel_checkpointer")
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_state(config: RunnableConfig) -> bool:
    """Return whether a checkpointer stores the state of a run until the next one.

    If none does, or the agent is a node of a graph that passes all messages to every run, the
    messages come from the caller, which also receives those that the run returns.
    """
    has_thread_id = config.get("configurable", {}).get("thread_id") is not None
    return has_thread_id and checkpointer(config) is not None and not is_node(config)


def has_checkpoint_id(config: RunnableConfig) -> bool:
    """Return whether a run was asked to start from a certain checkpoint."""
    return "checkpoint_id" in (config.get("metadata") or {})


def is_rewound(config: RunnableConfig, pointer: str | None) -> bool | None:
    """Return whether a model is called with a state that a manual operation made.

    Args:
        config: Of the model's step.
        pointer: The checkpoint pointer of the state: manual operations before it do not count.

    Returns:
        `None` if unknown: there is no checkpoint, or not yet.
    """
    configurable = config.get("configurable", {})
    saver, namespace = checkpointer(config), _parent_step(config)
    checkpoint_id = configurable.get("checkpoint_map", {}).get(namespace)
    if saver is None or checkpoint_id is None:
        return None
    if configurable.get("__pregel_durability") == "exit":  # its own checkpoint comes at its end
        if has_checkpoint_id(config):
            return None
        checkpoint_id = NEWEST_CHECKPOINT
    try:
        return _is_manual(
            saver, config, pointer, (str(configurable.get("thread_id")), namespace, checkpoint_id)
        )
    except _UnreadableError:
        return None


def _is_manual(
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    pointer: str | None,
    address: tuple[str, str, str],
) -> bool | None:
    thread, namespace, checkpoint_id = address
    checkpoint = _find_checkpoint(saver, thread, namespace, checkpoint_id)
    if checkpoint is None and checkpoint_id and has_checkpoint_id(config):
        return None
    if checkpoint is None and checkpoint_id:  # not written yet: what a person wrote before it is
        checkpoint = _find_checkpoint(saver, thread, namespace, NEWEST_CHECKPOINT)
    while checkpoint and checkpoint.checkpoint["channel_values"].get("thalweg_turn") == pointer:
        source = checkpoint.metadata.get("source")
        if source in MANUAL_SOURCES or (has_checkpoint_id(config) and source == "input"):
            return True
        checkpoint = (
            _read_checkpoint(saver, checkpoint.parent_config) if checkpoint.parent_config else None
        )
    return False


def _find_checkpoint(
    saver: BaseCheckpointSaver[Any], thread: str, namespace: str, checkpoint_id: str
) -> CheckpointTuple | None:
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    checkpoint_config: RunnableConfig = {
        "configurable": {**configurable, "checkpoint_id": checkpoint_id}
        if checkpoint_id
        else configurable
    }
    for _ in range(MAX_WAITS if checkpoint_id else 1):
        if checkpoint := _read_checkpoint(saver, checkpoint_config):
            return checkpoint
        time.sleep(WAIT_S)
    return None


def _read_checkpoint(
    saver: BaseCheckpointSaver[Any], checkpoint_config: RunnableConfig
) -> CheckpointTuple | None:
    """Read a checkpoint; if a saver is only async, on the event loop of the run.

    Raises:
        _UnreadableError: There is no event loop.
    """
    try:
        return saver.get_tuple(checkpoint_config)
    except (NotImplementedError, asyncio.InvalidStateError) as error:
        loop = LOOP.get()
        if loop is None:
            raise _UnreadableError from error
    return asyncio.run_coroutine_threadsafe(saver.aget_tuple(checkpoint_config), loop).result()


class _UnreadableError(Exception):
    """A saver cannot be read from here."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """The state of an agent in one step of a run, and the thread that it continues."""

    key: ThreadKey
    config: RunnableConfig
    pointer: str | None
    """The checkpoint pointer of the state; `None` before the first turn."""
    messages: list[Message]
    """The messages of the state, oldest first."""
    keeps_state: bool
    """See `keeps_state`."""


@dataclass(slots=True)
class OpenThread:
    """A thread that is open in this process, with the measurements of its requests."""

    session: ThreadSession
    writer: MessageWriter = field(default_factory=MessageWriter)
    cache_marker: CacheMarker = field(default_factory=CacheMarker)
    last_check: LastCheck = field(default_factory=LastCheck)
    clearing: ProviderClearing = field(default_factory=ProviderClearing)
    """The results that the provider clears from its requests."""
    unseen: tuple[int, int] = (0, 0)
    """Tokens of the view that the provider ignores, and of media in them: what precedes its own
    compaction."""
    added: int = 0
    """Tokens that other middleware added to the last measured request."""
    pending: PendingSummary | None = None
    """The last seen pending summary of its compaction."""
    extent: Extent | None = None
    """The sizes of the thread as they were read when it was acquired; `None` after `sync`."""
    overhead: Overhead | None = None
    """The overhead of its last request, which the window counts."""
    target: tuple[KnownModel, Mapping[str, Any], TargetModel] | None = None
    """The last target model, with the model and the settings that it follows from."""

    def __post_init__(self) -> None:
        self.writer.requested_model = self.session.answers.model

    @property
    def mark(self) -> str:
        """The checkpoint pointer for the state; empty before the first turn."""
        session = self.session
        if session.number is None:
            return ""
        identity, released = session.archive.identity, session.page.released
        return write_pointer(session.key, session.number, archive=identity, released=released)

    def refers(self, *, edits_on_server: bool) -> bool:
        """Return whether a request of the thread has references, or needs the tool without one."""
        window = self.session.engine.window
        if window.fold is not None or window.rewrites or edits_on_server:
            return True
        entries = window.entries.values()
        return self.last_check.refers or any(map(attrgetter("is_fetched"), entries))

    def has_record(self, policy: ContextPolicy) -> bool:
        """Return whether the first message of the conversation is the record of a compaction."""
        return policy.summary_role == "user" and self.session.engine.window.fold is not None

    def set_overhead(self, overhead: Overhead) -> None:
        """Count the overhead tokens of a request, with what other middleware added before."""
        if overhead is self.overhead:
            return
        self.overhead, window = overhead, self.session.engine.window
        window.set_overhead("system", overhead.system_tokens)
        window.set_overhead("tools", overhead.tools_tokens)
        window.set_overhead("added", self.added)
        self.session.engine.prefixes.rebase(f"{overhead.system}\n{overhead.tools}")

    def learn_overhead(self, sent_tokens: int) -> None:
        """Count from now on what other middleware added to a request of so many tokens."""
        window = self.session.engine.window
        if sent_tokens and sent_tokens != window.tokens:
            self.added = max(0, self.added + sent_tokens - window.tokens)
            window.set_overhead("added", self.added)

    def attachments(self, overhead: Overhead, tariff: Tariff) -> tuple[tuple[str, ...], list[str]]:
        """Return the attachments of the next turn: system prompt, tools and prices.

        Returns:
            The digest of each, empty if there is none; and the texts that the last turn had not.
        """
        page, (tariff_json, tariff_digest) = self.session.page, _tariff_text(tariff)
        digests = (*overhead.digests, tariff_digest)
        known_digests = {"", page.system, page.tools, page.tariff}
        texts = zip(digests, (overhead.system, overhead.tools, tariff_json), strict=True)
        return digests, [text for digest, text in texts if digest not in known_digests]

    def overhead_changed(self, overhead: Overhead) -> bool:
        """Return whether the system prompt or the tools differ from those of the last request."""
        return overhead.digests != (self.session.page.system, self.session.page.tools)


@lru_cache(maxsize=64)
def _tariff_text(tariff: Tariff) -> tuple[str, str]:
    """Return prices as JSON, with the digest."""
    tariff_json = tariff.model_dump_json()
    return tariff_json, digest_of(tariff_json)


OPEN_THREADS, RUNNING_THREADS = 256, 1_024
"""Maximum open threads without a run, and with one: the least recently used is opened again from
the archive. An interrupted run may keep its thread open, up to the second limit."""
_log = logging.getLogger("thalweg.threads")
_FOREIGN = (
    "the state of thread %r (owner %r) belongs to another thread or owner: "
    "it begins here with the %d messages of the state"
)
_ADOPTED = (
    "thread %r: its log is not in this archive (%s), which another machine or a container may have "
    "had: the thread continues with the %d messages of its state; name an archive that lasts "
    "(archive=…)"
)
_UNWRITABLE = (
    "%s cannot be written (%s): threads are archived in memory; name an archive (archive=…)"
)
_PASSED_ARCHIVE = ""
"""Key of the archive that was passed, or of `default_place` if none was."""
SPARE_DIVISOR = 4
"""A state that keeps a number of messages is cut when it has a fourth more, so that many are
removed at once and not a few with every run."""


class SessionPool:
    """The archive and the open threads of one middleware; safe to share between threads."""

    def __init__(
        self,
        policy: ContextPolicy | Mapping[str, object] | None,
        *,
        archive: Archive | str | PathLike[str] | None,
        owner: Owner,
        summarizer: BaseChatModel | str | None,
        state: KeptState,
        token_counter: TokenCounter | None = None,
    ) -> None:
        self.policy = as_policy(policy)
        self.edits_on_server = self.policy.edits_on_server
        self.allowed_share = self.policy.allowed_share
        self.state = as_kept_state(state)
        self.count: Counter = as_message_counter(token_counter)
        self.ceilings: dict[str, Ceilings] = {}
        """Learned limits of providers, below the expected windows; by model."""
        self.toolless: set[str] = set()
        """Models whose servers refuse tools."""
        self.binding: set[str] = set()
        """Models whose providers bind signed reasoning to the prefix that precedes it."""
        self.alternating: set[str] = set()
        """Models that have refused two answers in a row."""
        self.assumed: set[str] = set()
        """Models whose assumed windows and prices were reported."""
        self.overheads: dict[Counter, Overhead] = {}
        """The overhead of the last request, by the counter of its model."""
        self.price = lru_cache(maxsize=64)(self.policy.pricing.of)
        self.budget = lru_cache(maxsize=64)(self.policy.budget)
        self.summarizer = as_summarizer(summarizer, self.policy)
        """The model that was named to write summaries; `None` for the agent's own."""
        self.jobs = SummaryJobs()
        """Summaries that are written in the background of runs."""
        self._owner = as_owner(owner)
        self._address = archive
        self._archives: dict[str, Archive] = {}
        """`_PASSED_ARCHIVE` or `MEMORY`, in the order of their opening."""
        self._adopted: set[ThreadKey] = set()
        """Threads already reported as having their log in another archive."""
        self._open: OrderedDict[tuple[ThreadKey, int], OpenThread] = OrderedDict()
        self._running: OrderedDict[tuple[ThreadKey, int], OpenThread] = OrderedDict()
        """Open threads without a run, and with one."""
        self._parsed_states: OrderedDict[ThreadKey, ParsedMessages] = OrderedDict()
        self._lock = Lock()

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first needed.

        It is the one that was passed. If none was, it is in memory if the state is in memory,
        too: one in a file would continue the thread of that name of an earlier process. With
        any other checkpointer it is `default_place`, or in memory if that cannot be written.

        Raises:
            ConfigError: It cannot be opened.
            StorageError: Another process holds it, or its server cannot be reached.
        """
        place = self._archive_key()
        with self._lock:
            if place not in self._archives:
                self._archives[place] = self._open_archive(place)
            return self._archives[place]

    def _archive_key(self) -> str:
        """Return the key of the archive for the run around.

        Outside of a run it is the newest that is open, those in memory last.
        """
        if self._address is not None:
            return _PASSED_ARCHIVE
        try:
            saver = checkpointer(get_config())
        except RuntimeError:
            return MEMORY if [*self._archives] == [MEMORY] else _PASSED_ARCHIVE
        return MEMORY if saver is None or isinstance(saver, InMemorySaver) else _PASSED_ARCHIVE

    def _open_archive(self, archive_key: str) -> Archive:
        if archive_key == MEMORY:
            return open_autoclosing(MEMORY)
        if self._address is None:
            return _open_default()
        if isinstance(self._address, (str, PathLike)):
            return open_autoclosing(self._address)
        return self._address

    def key(self, config: RunnableConfig, state: Any) -> ThreadKey:  # noqa: ANN401 (any agent's)
        """Name the thread of a run; see `thread_name`. Without any message it is a new one."""
        owner = owner_of(self._owner, config)
        name = thread_name(config, state)
        return ThreadKey(owner, f"{SUBAGENT_SEPARATOR}{uuid4().hex}" if name is None else name)

    def run(self, config: RunnableConfig, state: Any) -> AgentRun:  # noqa: ANN401 (any agent's)
        """Read the state of a run."""
        key, pointer = self.key(config, state), state.get("thalweg_turn")
        return AgentRun(
            key,
            config,
            pointer if isinstance(pointer, str) else None,
            self._read(key, state["messages"]),
            keeps_state(config),
        )

    def _read(self, key: ThreadKey, messages: Sequence[BaseMessage]) -> list[Message]:
        """Read the messages of a thread's state; those of its last state are not read again."""
        with self._lock:
            old_parsed = self._parsed_states.pop(key, ParsedMessages())
        parsed = old_parsed.of(messages)
        with self._lock:
            self._parsed_states[key] = parsed
            while len(self._parsed_states) > OPEN_THREADS:
                self._parsed_states.popitem(last=False)
        return parsed.messages

    def release(self, session: ThreadSession, run: AgentRun) -> list[str]:
        """Return the messages to remove from a state at the end of a run.

        Returns:
            Ids of the messages to remove.
        """
        if not run.keeps_state:
            return []
        is_durable = self._address is not None and session.archive.outlives_process
        if self.state == "whole" or not is_durable:
            return session.release(None)
        if isinstance(self.state, int):
            return session.release(self.state, spare=self.state // SPARE_DIVISOR)
        return session.release(1)

    def open(self, run: AgentRun, model: str = "") -> OpenThread:
        """Acquire the thread of a run exclusively: as it is open in this process, or is archived.

        Manual operations on the thread since the checkpoint of the state are applied, unless the
        run starts from an older checkpoint by request.

        Its engine has the budget and the prices of an unknown model: the sender sets those of the
        model in use. Images count as with `model`, if the thread is not open yet.
        """
        archive, key, messages = self.archive, run.key, run.messages
        turn = read_pointer_turn(run.pointer, key, archive.identity)
        extent = archive.extent(key)
        if run.pointer is None and extent.turns:
            turn = copied_turn(archive, key, messages) if run.keeps_state else extent.turns - 1
        with self._lock:
            pooled = None if turn is None else self._pool(key, turn).pop((key, turn), None)
        if turn is not None and pooled is None and not archive.turns(key, turn, turn):
            turn = None
        if turn is None and run.pointer:
            self._adopt(archive, key, run.pointer, len(messages))
        ignores_manual = (turn is None and run.keeps_state) or has_checkpoint_id(run.config)
        is_newest = extent.turns == (0 if turn is None else turn + 1)
        manual = None
        if not ignores_manual and not is_newest:
            manual = manual_operations_since(archive, key, turn)
        is_same_archive = pooled is not None and pooled.session.archive is archive
        if (
            pooled is not None
            and is_same_archive
            and manual is None
            and pooled.session.knows(messages)
        ):
            pooled.extent = extent
            return pooled
        make_engine, starts_at_state = partial(self._engine, model), self.state != "run"
        session = open_session(
            archive,
            key,
            turn,
            messages,
            make_engine,
            manual,
            starts_at_state=starts_at_state,
            generation=extent.generation,
        )
        return OpenThread(session, extent=None if manual else extent)

    def _engine(self, model: str, name_span: Callable[[int, int], str]) -> Engine:
        return Engine(
            budget=self.budget(DEFAULT_WINDOW),
            policy=self.policy.policy(UNKNOWN_TARIFF),
            count=self.count,
            name_span=name_span,
            model=model,
            recall=self.policy.tool_names.recall,
            bond_in=stored_binding,
        )

    def _adopt(self, archive: Archive, key: ThreadKey, pointer: str, messages: int) -> None:
        """Take a state as the whole thread, if it is: this archive does not know its mark.

        Raises:
            LostThreadError: A part of the thread is in another archive alone.
        """
        parsed = parse_pointer(pointer)
        if parsed is None or parsed.released != 0:
            released = None if parsed is None else parsed.released
            raise LostThreadError(key.thread, messages, -1 if released is None else released)
        if not parsed.is_of(key):
            _log.warning(_FOREIGN, key.thread, key.owner, messages)
        elif archive.outlives_process and key not in self._adopted:
            self._adopted.add(key)
            _log.warning(_ADOPTED, key.thread, archive.identity, messages)

    def sync(self, opened: OpenThread, run: AgentRun) -> None:
        """Bring a thread's log up to date with the messages of a state; see `ThreadSession.sync`.

        Messages that others appended cannot belong to a thread whose messages all come from
        outside, nor to one that begins with a state of another thread. Nor do they belong to a
        state without a checkpoint pointer: that begins a branch, and earlier messages of the log
        are of checkpoints that were deleted, or of a run that began at the same time.

        Raises:
            ConflictError: Another run appended in this very moment.
            DeletedThreadError: The thread was deleted since the last turn of this run.
        """
        session = opened.session

        def others_belong() -> bool:
            is_same_archive = (
                read_pointer_turn(run.pointer, session.key, session.archive.identity) is not None
            )
            if not is_same_archive or not run.keeps_state:
                return False
            is_state_rewound = is_rewound(run.config, run.pointer)
            return session.is_running if is_state_rewound is None else not is_state_rewound

        try:
            session.sync(run.messages, others_belong=others_belong, extent=opened.extent)
        except ConflictError:
            if session.is_running and run.keeps_state:
                session.check_exists()
            raise
        finally:
            opened.extent = None

    def check_exists(self, state: Any, config: RunnableConfig) -> None:  # noqa: ANN401 (any agent's)
        """Check within a run that its thread was not deleted since its last turn.

        Otherwise its next checkpoint would bring the messages of the thread back.

        Raises:
            DeletedThreadError: It was deleted.
        """
        pointer = state.get("thalweg_turn")
        if pointer is None or not keeps_state(config):
            return
        key = self.key(config, state)
        turn = read_pointer_turn(pointer, key, self.archive.identity)
        with self._lock:
            opened = None if turn is None else self._pool(key, turn).get((key, turn))
        if opened is not None:
            opened.session.check_exists()

    def put_back(self, opened: OpenThread) -> None:
        """Return a thread to the pool, open for the caller that continues from its turn."""
        session = opened.session
        if session.number is None:
            return
        is_running = session.is_running
        pool, limit = (self._running, RUNNING_THREADS) if is_running else (self._open, OPEN_THREADS)
        with self._lock:
            pool[session.key, session.number] = opened
            while len(pool) > limit:
                (key, _), evicted = pool.popitem(last=False)
                has_id = not key.thread.startswith(SUBAGENT_SEPARATOR)
                others = (other for other, _ in (*self._open, *self._running))
                is_last = not has_id and key not in others
                if is_last and evicted.session.archive is self._archives.get(MEMORY):
                    evicted.session.archive.delete(key)  # its caller has all of it

    def _pool(self, key: ThreadKey, turn: int) -> OrderedDict[tuple[ThreadKey, int], OpenThread]:
        return self._running if (key, turn) in self._running else self._open

    def close(self) -> None:
        """Close the archive if it was opened here; one that was passed belongs to its owner."""
        self.jobs.close()
        with self._lock:
            self._open.clear()
            self._running.clear()
            self._parsed_states.clear()
            if self._address is None or isinstance(self._address, (str, PathLike)):
                for archive in self._archives.values():
                    archive.close()


def _open_default() -> Archive:
    """Open the archive in `default_place`; one in memory, with a warning, if it is not writable."""
    place = default_place()
    try:
        make_private_folder(place.parent)
        if not all(os.access(path, os.W_OK) for path in (place.parent, place) if path.exists()):
            raise PermissionError(EACCES, os.strerror(EACCES))
    except OSError as error:
        _log.warning(_UNWRITABLE, place, error.strerror)
        return open_autoclosing(MEMORY)
    return open_autoclosing(place)
