"""What one middleware works with: its archive, its policy, and the threads it has open."""

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from errno import EACCES
from functools import partial
from os import PathLike
from threading import Lock
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config

from thalweg.archive import Archive, ThreadKey, default_place
from thalweg.archive.base import INSIDE
from thalweg.archive.paths import open_autoclosing
from thalweg.archive.threads.opening import copied_turn, left_by_hand, open_session
from thalweg.archive.threads.session import ThreadSession
from thalweg.context.arguments import (
    KeptState,
    Owner,
    as_counter,
    as_kept,
    as_owner,
    as_policy,
    as_summarizer,
    owner_of,
)
from thalweg.context.request.learned_limits import Ceilings
from thalweg.context.request.message_adaptation import bond_in
from thalweg.context.request.message_writer import ParsedMessages
from thalweg.context.request.model_limits import DEFAULT_WINDOW
from thalweg.context.turn.checkpoint_pointer import parse_mark, read_mark
from thalweg.context.turn.lineage import checkpointer, is_addressed, is_rewound, keeps_state
from thalweg.context.turn.open_thread import OpenThread
from thalweg.context.turn.summary_jobs import SummaryJobs
from thalweg.context.turn.thread_names import is_nobodys, thread_name
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite_files import MEMORY
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.matching import UNKNOWN
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg.errors import ConflictError, LostThreadError

OPEN_THREADS = 256
"""Threads kept open in memory: the least recently used is opened again from the archive."""
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
_NAMED = ""
"""Key of the archive that was passed, or of `default_place` if none was."""
SPARE = 4
"""A state that keeps a number of messages is cut when it has a fourth more, so that many are
removed at once and not a few with every run."""


def _newest_turn(archive: Archive, key: ThreadKey) -> int | None:
    number = archive.turn_count(key) - 1
    return None if number < 0 else number


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
        token_counter: Counter | None = None,
    ) -> None:
        self._renewed = partial(
            SessionPool,
            policy,
            archive=archive,
            owner=owner,
            summarizer=summarizer,
            state=state,
            token_counter=token_counter,
        )
        self.policy = as_policy(policy)
        self.state = as_kept(state)
        self.count: Counter = as_counter(token_counter)
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
        self.summarizer = as_summarizer(summarizer, self.policy)
        """The model that was named to write summaries; `None` for the agent's own."""
        self.jobs = SummaryJobs()
        """Summaries that are written in the background of runs."""
        self._owner = as_owner(owner)
        self._address = archive
        self._archives: dict[str, Archive] = {}
        """`_NAMED` or `MEMORY`, in the order of their opening."""
        self._adopted: set[ThreadKey] = set()
        """Threads of which it was reported that their log is elsewhere."""
        self._open: OrderedDict[tuple[ThreadKey, int], OpenThread] = OrderedDict()
        self._readings: OrderedDict[ThreadKey, ParsedMessages] = OrderedDict()
        self._lock = Lock()

    def renewed(self) -> "SessionPool":
        """Return a new pool of the same settings; an archive that was passed is shared."""
        return self._renewed()

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
        place = self._place()
        with self._lock:
            if place not in self._archives:
                self._archives[place] = self._opened(place)
            return self._archives[place]

    def _place(self) -> str:
        """Return the key of the archive for the run around.

        Outside of a run it is the newest that is open, those in memory last.
        """
        if self._address is not None:
            return _NAMED
        try:
            saver = checkpointer(get_config())
        except RuntimeError:
            return MEMORY if [*self._archives] == [MEMORY] else _NAMED
        return MEMORY if saver is None or isinstance(saver, InMemorySaver) else _NAMED

    def _opened(self, place: str) -> Archive:
        if place == MEMORY:
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
        return ThreadKey(owner, f"{INSIDE}{uuid4().hex}" if name is None else name)

    def read(self, key: ThreadKey, messages: Sequence[BaseMessage]) -> list[Message]:
        """Read the messages of a thread's state; those of its last state are not read again."""
        with self._lock:
            known = self._readings.pop(key, ParsedMessages())
        reading = known.of(messages)
        with self._lock:
            self._readings[key] = reading
            while len(self._readings) > OPEN_THREADS:
                self._readings.popitem(last=False)
        return reading.messages

    def release(self, session: ThreadSession, config: RunnableConfig) -> list[str]:
        """Return the messages to remove from a state at the end of a run.

        Returns:
            Ids of the messages to remove.
        """
        if not keeps_state(config):
            return []
        lasts = self._address is not None and session.archive.outlives_process
        if self.state == "whole" or not lasts:
            return session.release(None)
        if isinstance(self.state, int):
            return session.release(self.state, spare=self.state // SPARE)
        return session.release(1)

    def open(
        self,
        key: ThreadKey,
        mark: str | None,
        messages: Sequence[Message],
        config: RunnableConfig,
        model: str = "",
    ) -> OpenThread:
        """Acquire a thread exclusively: one that is open in this process, or from the archive.

        Manual operations on the thread since the checkpoint of the state are applied, unless the
        run starts from an older checkpoint by request.

        Its engine has the budget and the prices of an unknown model: the sender sets those of the
        model in use. Images count as with `model`, if the thread is not open yet.
        """
        archive, keeps = self.archive, keeps_state(config)
        turn = read_mark(mark, key, archive.identity)
        if mark is None:
            turn = copied_turn(archive, key, messages) if keeps else _newest_turn(archive, key)
        with self._lock:
            found = None if turn is None else self._open.pop((key, turn), None)
        if turn is not None and found is None and not archive.turns(key, turn, turn):
            turn = None
        if turn is None and mark:
            self._adopt(archive, key, mark, len(messages))
        passes_hands = (turn is None and keeps) or is_addressed(config)
        by_hand = None if passes_hands else left_by_hand(archive, key, turn)
        is_here = found is not None and found.session.archive is archive
        if found is not None and is_here and by_hand is None and found.session.knows(messages):
            return found
        make, cuts = partial(self._engine, model), self.state != "run"
        return OpenThread(open_session(archive, key, turn, messages, make, by_hand, cuts=cuts))

    def _engine(self, model: str, name_span: Callable[[int, int], str]) -> Engine:
        return Engine(
            budget=self.policy.budget(DEFAULT_WINDOW),
            policy=self.policy.policy(UNKNOWN),
            count=self.count,
            name_span=name_span,
            model=model,
            recall=self.policy.tool_names.recall,
            bond_in=bond_in,
        )

    def _adopt(self, archive: Archive, key: ThreadKey, mark: str, messages: int) -> None:
        """Take a state as the whole thread, if it is: this archive does not know its mark.

        Raises:
            LostThreadError: A part of the thread is in another archive alone.
        """
        parsed = parse_mark(mark)
        if parsed is None or parsed.released != 0:
            released = None if parsed is None else parsed.released
            raise LostThreadError(key.thread, messages, -1 if released is None else released)
        if not parsed.is_of(key):
            _log.warning(_FOREIGN, key.thread, key.owner, messages)
        elif archive.outlives_process and key not in self._adopted:
            self._adopted.add(key)
            _log.warning(_ADOPTED, key.thread, archive.identity, messages)

    def sync(
        self,
        session: ThreadSession,
        messages: Sequence[Message],
        config: RunnableConfig,
        mark: str | None,
    ) -> None:
        """Bring a thread's log up to date with the messages of a state; see `ThreadSession.sync`.

        Messages that others appended cannot belong to a thread whose messages all come from
        outside, nor to one that begins with a state of another thread. Nor do they belong to a
        state without a checkpoint pointer: that begins a branch, and earlier messages of the log
        are of checkpoints that were deleted, or of a run that began at the same time.

        Raises:
            ConflictError: Another run appended in this very moment.
            DeletedThreadError: The thread was deleted since the last turn of this run.
        """

        def joins() -> bool:
            is_here = read_mark(mark, session.key, session.archive.identity) is not None
            if not is_here or not keeps_state(config):
                return False
            rewound = is_rewound(config, mark)
            return session.is_running if rewound is None else not rewound

        try:
            session.sync(messages, joins=joins)
        except ConflictError:
            if session.is_running and keeps_state(config):
                session.check_exists()
            raise

    def check_exists(self, state: Any, config: RunnableConfig) -> None:  # noqa: ANN401 (any agent's)
        """Check within a run that its thread was not deleted since its last turn.

        Otherwise its next checkpoint would bring the messages of the thread back.

        Raises:
            DeletedThreadError: It was deleted.
        """
        mark = state.get("thalweg_turn")
        if mark is None or not keeps_state(config):
            return
        key = self.key(config, state)
        turn = read_mark(mark, key, self.archive.identity)
        with self._lock:
            opened = None if turn is None else self._open.get((key, turn))
        if opened is not None:
            opened.session.check_exists()

    def put_back(self, opened: OpenThread) -> None:
        """Return a thread to the pool, open for the caller that continues from its turn."""
        session = opened.session
        if session.number is None:
            return
        with self._lock:
            self._open[session.key, session.number] = opened
            while len(self._open) > OPEN_THREADS:
                (key, _), closed = self._open.popitem(last=False)
                is_last = is_nobodys(key) and all(other != key for other, _ in self._open)
                if is_last and closed.session.archive is self._archives.get(MEMORY):
                    closed.session.archive.delete(key)  # its caller has all of it

    def close(self) -> None:
        """Close the archive if it was opened here; one that was passed belongs to its owner."""
        self.jobs.close()
        with self._lock:
            self._open.clear()
            self._readings.clear()
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
