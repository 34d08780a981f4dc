"""What one middleware works with: its archive, its policy, and the threads it has open."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config

from thalweg.archive import Archive, ThreadKey, default_place, open_archive
from thalweg.archive.threads.journal import TurnRecord, read_page
from thalweg.archive.threads.opening import left_by_hand, open_session
from thalweg.archive.threads.session import LIVE_S, ThreadSession
from thalweg.database.private_files import make_private_folder
from thalweg.database.sqlite_files import MEMORY
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.matching import UNKNOWN
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter
from thalweg.errors import LostThreadError, StorageError
from thalweg.middleware.arguments import (
    KeptState,
    Owner,
    as_counter,
    as_kept,
    as_owner,
    as_policy,
    as_summarizer,
    owner_of,
)
from thalweg.middleware.request.learned_limits import Ceilings
from thalweg.middleware.request.message_adaptation import bond_in
from thalweg.middleware.request.message_writer import ParsedMessages
from thalweg.middleware.request.model_limits import DEFAULT_WINDOW
from thalweg.middleware.turn.checkpoint_pointer import parse_mark, read_mark
from thalweg.middleware.turn.deleted_threads import erase_deleted, record_deletions
from thalweg.middleware.turn.lineage import (
    checkpointer,
    is_addressed,
    is_rewound,
    keeps_state,
    was_left,
)
from thalweg.middleware.turn.open_thread import OpenThread
from thalweg.middleware.turn.saver_database import saver_address
from thalweg.middleware.turn.summary_jobs import SummaryJobs
from thalweg.middleware.turn.thread_names import INSIDE, is_nobodys, thread_name

OPEN_THREADS = 256
"""Threads kept open in memory: the least recently used is opened again from the archive."""
SETTLING_S = 1.0
"""A checkpoint is kept at the latest so long after its run was ended in the journal."""
_log = logging.getLogger("thalweg.threads")
_FOREIGN = (
    "the state of thread %r (owner %r) belongs to another thread or owner: "
    "it begins here with the %d messages of the state"
)
_ADOPTED = "thread %r continues in this archive with the %d messages of its state: all there are"
_DELETED = "thread %r: its checkpoints were deleted, and so is its log of %d messages"
_NOT_ERASED = "threads that were deleted in the checkpointer are not erased yet: %s"
_DEFAULT = ""
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
        self.policy = as_policy(policy)
        self.state = as_kept(state)
        self.count: Counter = as_counter(token_counter)
        self.ceilings: dict[str, Ceilings] = {}
        """Learned limits of providers, below the expected windows; by model."""
        self.binding: set[str] = set()
        """Models whose providers bind signed reasoning to the prefix that precedes it."""
        self.assumed: set[str] = set()
        """Models of which it was reported what is assumed of their windows and prices."""
        self.summarizer = as_summarizer(summarizer, self.policy)
        """The model that was named to write summaries; `None` for the agent's own."""
        self.jobs = SummaryJobs()
        """Summaries that are written in the background of runs."""
        self._owner = as_owner(owner)
        self._address = archive
        self._archives: dict[str, Archive] = {}
        """By address, in the order of their opening."""
        self._addresses: WeakKeyDictionary[BaseCheckpointSaver[Any], str] = WeakKeyDictionary()
        """Of the databases of savers that were seen."""
        self._open: OrderedDict[tuple[ThreadKey, int], OpenThread] = OrderedDict()
        self._readings: OrderedDict[ThreadKey, ParsedMessages] = OrderedDict()
        self._lock = Lock()

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first needed.

        Where none was named, a thread's log lasts as long as its state. It is in the database of
        a `SqliteSaver` or a `PostgresSaver`; in `default_place` with another saver; and in memory
        where the state is, too: one in a file would go on with the thread of that name of an
        earlier process.

        Raises:
            ConfigError: It cannot be opened.
            StorageError: Another process holds it, or its server cannot be reached.
        """
        place = self._place()  # before the lock: an event loop may have to answer
        with self._lock:
            if place not in self._archives:
                self._archives[place] = self._opened(place)
            return self._archives[place]

    def _place(self) -> str:
        """Return the address of the archive for the run around.

        Outside of a run it is the newest that is open, those in memory last.
        """
        if self._address is not None:
            return _DEFAULT
        try:
            saver = checkpointer(get_config())
        except RuntimeError:
            lasting = [place for place in self._archives if place != MEMORY]
            return next(reversed(lasting or [*self._archives]), _DEFAULT)
        if saver is None or isinstance(saver, InMemorySaver):
            return MEMORY
        if (known := self._addresses.get(saver)) is not None:
            return known
        if (place := saver_address(saver)) is None:
            return _DEFAULT
        self._addresses[saver] = place
        return place

    def _opened(self, place: str) -> Archive:
        if place != _DEFAULT:
            archive = open_archive(place, is_shared=True)
            if place != MEMORY:
                record_deletions(archive)
            return archive
        if self._address is None:
            make_private_folder(default_place().parent)
            return open_archive(default_place())
        if isinstance(self._address, (str, PathLike)):
            return open_archive(self._address)
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

    def erase_deleted(self, archive: Archive) -> None:
        """Erase the logs of threads that were deleted in the checkpointer of an archive's file.

        Where that fails, the next run tries again.
        """
        if archive.outlives_process and self._shares_saver(archive):
            try:
                erase_deleted(archive)
            except StorageError as error:
                _log.warning(_NOT_ERASED, error)

    def release(self, session: ThreadSession, config: RunnableConfig) -> list[str]:
        """Return the messages to remove from a state at the end of a run.

        Returns:
            Ids of the messages to remove.
        """
        if not keeps_state(config):
            return []
        if self.state == "whole" or not self._lasts(session.archive):
            return session.release(None)
        if isinstance(self.state, int):
            return session.release(self.state, spare=self.state // SPARE)
        return session.release(1)

    def _lasts(self, archive: Archive) -> bool:
        """Return whether an archive lasts as long as the states that it would complete."""
        is_chosen = self._address is not None or self._shares_saver(archive)
        return is_chosen and archive.outlives_process

    def _shares_saver(self, archive: Archive) -> bool:
        """Return whether an archive is in the database of a saver, because none was named."""
        return self._address is None and archive is not self._archives.get(_DEFAULT)

    def open(
        self,
        key: ThreadKey,
        mark: str | None,
        said: Sequence[Message],
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
        if mark is None and not keeps:
            turn = _newest_turn(archive, key)
        with self._lock:
            found = None if turn is None else self._open.pop((key, turn), None)
        if turn is not None and found is None and not archive.turns(key, turn, turn):
            turn = None
        if turn is None and mark:
            self._adopt(key, mark, len(said))
        if mark is None and keeps and self._was_deleted(archive, key, said, config):
            _log.info(_DELETED, key.thread, archive.length(key))
            archive.delete(key)
            archive.prune()
        passes_hands = (turn is None and keeps) or is_addressed(config)
        by_hand = None if passes_hands else left_by_hand(archive, key, turn)
        is_here = found is not None and found.session.archive is archive
        if found is not None and is_here and by_hand is None and found.session.knows(said):
            return found
        session = open_session(
            archive,
            key,
            turn,
            said,
            partial(self._engine, model),
            by_hand,
            cuts=self.state != "run",
        )
        return OpenThread(session)

    def _engine(self, model: str, name_span: Callable[[int, int], str]) -> Engine:
        return Engine(
            budget=self.policy.budget(DEFAULT_WINDOW),
            policy=self.policy.policy(UNKNOWN),
            count=self.count,
            name_span=name_span,
            model=model,
            bond_in=bond_in,
        )

    def _was_deleted(
        self, archive: Archive, key: ThreadKey, said: Sequence[Message], config: RunnableConfig
    ) -> bool:
        """Return whether a log is of a thread whose checkpoints were deleted.

        Where log and checkpoints share a database, one deletion is for both. The state has
        neither a mark nor a message of the log, and no run is or was just now under way.
        """
        newest = archive.turn_count(key) - 1
        if newest < 0 or not self._shares_saver(archive) or is_addressed(config):
            return False
        page = read_page(archive, key, newest)
        is_live = page.kind == "call" and time.time() - page.at < LIVE_S
        if is_live or self._just_ended(key, newest, page):
            return False
        is_known = any(archive.positions(key, {message.uid for message in said}).values())
        return not is_known and not was_left(config)

    def _adopt(self, key: ThreadKey, mark: str, messages: int) -> None:
        """Take a state as the whole thread, if it is: this archive does not know its mark.

        Raises:
            LostThreadError: A part of the thread is in another archive alone.
        """
        parsed = parse_mark(mark)
        if parsed is None or parsed.released != 0:
            released = None if parsed is None else parsed.released
            raise LostThreadError(key.thread, messages, -1 if released is None else released)
        if parsed.is_of(key):
            _log.info(_ADOPTED, key.thread, messages)
        else:
            _log.warning(_FOREIGN, key.thread, key.owner, messages)

    def sync(
        self,
        session: ThreadSession,
        said: Sequence[Message],
        config: RunnableConfig,
        mark: str | None,
    ) -> None:
        """Bring a thread's log up to date with the messages of a state; see `ThreadSession.sync`.

        What others appended cannot belong to a thread whose messages all come from outside,
        nor to one that begins with a state of another thread. A state without a mark begins a
        thread: what the log has from before was deleted with its checkpoints, unless another
        run is under way or there is no journal.

        Raises:
            ConflictError: Another run appended in this very moment.
        """
        keeps = keeps_state(config)
        is_foreign = (
            mark is not None and read_mark(mark, session.key, session.archive.identity) is None
        )

        def joins() -> bool:
            if is_foreign or not keeps:
                return False
            has_company = not is_addressed(config) and session.has_company(time.time())
            if mark is None and not session.is_running:
                return has_company or self._is_begun(session) or was_left(config)
            rewound = is_rewound(config, mark)
            if rewound is not None:
                return not rewound
            return session.is_running or has_company

        session.sync(said, joins=joins)

    def _is_begun(self, session: ThreadSession) -> bool:
        """Return whether a state without a checkpoint pointer is of the thread in the log.

        It is if there is no journal (a branch, an import), or if another process has just ended a
        run whose checkpoint is not yet visible.
        """
        newest = session.newest_later()
        return newest is None or self._just_ended(session.key, *newest)

    def _just_ended(self, key: ThreadKey, number: int, page: TurnRecord) -> bool:
        """Return whether another process entered a turn whose checkpoint may be on its way."""
        with self._lock:
            is_ours = (key, number) in self._open
        return not is_ours and time.time() - page.at < SETTLING_S

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
