"""What one middleware works with: its archive, its policy, and the threads it has open."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from threading import Lock
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableConfig

from thalweg.archive import Archive, ThreadKey, default_place, open_archive
from thalweg.context.engine import Engine
from thalweg.context.settings import ContextPolicy
from thalweg.entries import Message
from thalweg.middleware.beside import Beside
from thalweg.middleware.ceilings import Ceilings
from thalweg.middleware.limits import DEFAULT_WINDOW, tariff_for
from thalweg.middleware.lineage import checkpointer, is_addressed, is_rewound
from thalweg.middleware.wording import Wording
from thalweg.threads.opening import left_by_hand, open_session
from thalweg.threads.session import Session
from thalweg.tokens import Counter, exact_counter

Owner = str | Callable[[RunnableConfig], str]
"""Whose threads, or how to tell from the config of a run."""

OPEN_THREADS = 32
"""Threads kept open in memory: the least recently used is opened again from the archive."""
_log = logging.getLogger("thalweg.threads")
_LOST = (
    "thread %r was left in turn %d, which the archive does not have (deleted, or another archive): "
    "it begins again with the %d messages of the state"
)
WITHOUT_ID = "without-id/"
"""Begins the name of a thread that nobody named."""


@dataclass(slots=True)
class OpenThread:
    """A thread that is open in this process, with what is known of its requests."""

    session: Session
    wording: Wording = field(default_factory=Wording)
    added: int = 0
    """Tokens that other middleware was last seen to add to a request."""
    _attached: dict[str, str] = field(default_factory=dict)

    def set_beside(self, beside: Beside) -> None:
        """Count what goes with a request, with what other middleware was seen to add."""
        window = self.session.engine.window
        window.set_beside("system", beside.system_tokens)
        window.set_beside("tools", beside.tools_tokens)
        window.set_beside("memory", self.added)

    def learn_beside(self, sent: int) -> None:
        """Count from now on what other middleware added to a request of so many tokens."""
        window = self.session.engine.window
        if sent:
            self.added = max(0, self.added + sent - window.tokens)
            window.set_beside("memory", self.added)

    def attach(self, beside: Beside) -> tuple[str, str]:
        """Keep system prompt and tools with the thread.

        Returns:
            The digest of each; empty where there is none.
        """
        session = self.session
        for text in {beside.system, beside.tools} - {"", *self._attached}:
            self._attached[text] = session.archive.attach(session.key, text)
        return self._attached.get(beside.system, ""), self._attached.get(beside.tools, "")

    def beside_changed(self, beside: Beside) -> bool:
        """Tell whether system prompt or tools are others than in the last request."""
        return self.attach(beside) != (self.session.page.system, self.session.page.tools)


class Desk:
    """The archive and the open threads of one middleware; safe to share between threads."""

    def __init__(
        self,
        policy: ContextPolicy,
        *,
        archive: Archive | str | PathLike[str] | None,
        owner: Owner,
        summarizer: BaseChatModel | str | None,
        state_tokens: int,
    ) -> None:
        self.policy = policy
        self.state_tokens = state_tokens
        self.count: Counter = exact_counter()
        self.ceilings: dict[str, Ceilings] = {}
        """What providers were heard to accept, less than was thought; by model."""
        self._owner = owner
        self._address = archive
        self._summarizer = summarizer
        self._archive: Archive | None = None
        self._open: OrderedDict[tuple[ThreadKey, int], OpenThread] = OrderedDict()
        self._lock = Lock()

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first needed.

        Raises:
            ConfigError: It cannot be opened.
        """
        with self._lock:
            if self._archive is None:
                self._archive = _archive_at(self._address)
            return self._archive

    def key(self, config: RunnableConfig, state: Any) -> ThreadKey:  # noqa: ANN401 (any agent's)
        """Name the thread of a run.

        A subagent runs inside a step of its parent's graph and has a thread of its own. A run
        without a `thread_id` is known by its first message: whoever passes the messages on to
        the next run goes on with that thread.
        """
        owner = self._owner if isinstance(self._owner, str) else self._owner(config)
        given = config.get("configurable", {})
        if thread := given.get("thread_id"):
            inside = str(given.get("checkpoint_ns", "")).rpartition("|")[0]
            return ThreadKey(owner, f"{thread}/{inside}" if inside else str(thread))
        first = state["messages"][0].id if state["messages"] else ""
        return ThreadKey(owner, f"{WITHOUT_ID}{first}")

    def releases(self, config: RunnableConfig) -> bool:
        """Tell whether messages may leave the state.

        A run whose state nobody keeps gives all of them back: its caller passes them on.
        """
        return (
            bool(config.get("configurable", {}).get("thread_id"))
            and checkpointer(config) is not None
        )

    def open(
        self,
        key: ThreadKey,
        mark: int | None,
        said: Sequence[Message],
        config: RunnableConfig,
    ) -> OpenThread:
        """Take a thread, to be its only user: one that is open here, or from the archive.

        What a person did to the thread since the state was left holds, unless the run was
        asked to start from an older checkpoint.

        Its engine has the budget and the prices of a model that nobody knows: whoever sends
        sets those of the model in use.
        """
        if mark is None and not self.releases(config):
            mark = len(self.archive.turns(key)) - 1
            mark = None if mark < 0 else mark
        with self._lock:
            found = None if mark is None else self._open.pop((key, mark), None)
        if mark is not None and not self.archive.turns(key, mark, mark):
            _log.warning(_LOST, key.thread, mark, len(said))
            mark = found = None
        by_hand = None if is_addressed(config) else left_by_hand(self.archive, key, mark)
        if found is not None and by_hand is None and found.session.knows(said):
            return found
        session = open_session(
            self.archive,
            key,
            mark,
            said,
            lambda name_span: Engine(
                budget=self.policy.budget(DEFAULT_WINDOW),
                policy=self.policy.policy(tariff_for("")),
                count=self.count,
                name_span=name_span,
            ),
            by_hand,
        )
        return OpenThread(session)

    def sync(
        self,
        session: Session,
        said: Sequence[Message],
        config: RunnableConfig,
        mark: int | None,
    ) -> None:
        """Bring a thread's log up to date with the messages of a state; see `Session.sync`.

        Raises:
            ConflictError: Another run appended in this very moment.
        """

        def joins() -> bool:
            rewound = is_rewound(config, mark)
            if rewound is not None:
                return not rewound
            has_company = not is_addressed(config) and session.has_company(time.time())
            return session.is_running or has_company

        session.sync(said, joins=joins)

    def put_back(self, opened: OpenThread) -> None:
        """Leave a thread open for whoever goes on from its turn."""
        session = opened.session
        if session.number is None:
            return
        with self._lock:
            self._open[session.key, session.number] = opened
            while len(self._open) > OPEN_THREADS:
                self._open.popitem(last=False)

    @property
    def summarizer(self) -> BaseChatModel | None:
        """The model that was named to write summaries; `None` for the agent's own."""
        named = self._summarizer or self.policy.model_name
        if isinstance(named, str):
            named = self._summarizer = init_chat_model(named)
        return named


def _archive_at(address: Archive | str | PathLike[str] | None) -> Archive:
    if address is None:
        place = default_place()
        place.parent.mkdir(parents=True, exist_ok=True)
        return open_archive(place)
    return open_archive(address) if isinstance(address, (str, PathLike)) else address
