"""`EngineSlot`: the engine at an extension point of another agent framework.

The order of effects is that of `ContextMiddleware`: messages are appended to the log, edits are
planned, the turn is added to the journal, and only then is the request sent. If the archive
cannot be written, a request is sent without new edits, as long as it fits: the framework holds its
messages, and the next call logs them.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from threading import RLock
from typing import Any, Self

from thalweg.archive import (
    RECALL_TOOL,
    Archive,
    ThreadKey,
    default_place,
    recall,
)
from thalweg.archive.paths import open_autoclosing
from thalweg.archive.threads.journal import (
    MANUAL_KINDS,
    ThreadBranch,
    TurnRecord,
    read_branch,
    read_page,
)
from thalweg.archive.threads.session import (
    HeldState,
    Retry,
    StateDigest,
    ThreadSession,
    held_state,
    manual_operations_since,
    open_session,
)
from thalweg.context.arguments import as_counter, as_policy
from thalweg.context.request.last_check import count_text, tools_as_json
from thalweg.context.request.models import DEFAULT_WINDOW
from thalweg.context.request.refusals import Overflow, overflow_of
from thalweg.database.private_files import make_private_folder
from thalweg.engine.additions import with_instructions
from thalweg.engine.compaction.hard_limit import exceeds_limit
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, common_prefix_length
from thalweg.engine.pricing.matching import UNKNOWN_TARIFF
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter, first_calibration
from thalweg.engine.window.binding import binds_thinking
from thalweg.engine.window.model_windows import window_of_model
from thalweg.errors import ConflictError, StorageError, WindowExceededError
from thalweg_integrations.host_state import all_messages, shown_messages
from thalweg_integrations.size_limits import SizeLimits
from thalweg_integrations.view import digest, newest_form, repaired, shared_tokens

OPEN_THREADS = 64
"""Threads kept open in memory: the least recently used is opened again from the archive."""


ARGUMENTS = tuple(RECALL_TOOL["parameters"]["properties"])
"""The arguments of `recall` that a model may pass; others, which models make up, are ignored."""
_UNLOGGED = (
    "thread %s: messages are not logged yet, the next call logs them; until then only the "
    "framework has them: %s"
)
_log = logging.getLogger("thalweg.integrations")


@dataclass(frozen=True, slots=True)
class HostCall:
    """A model call that a framework is about to make, besides its messages."""

    model: str
    """The model as `provider:name`; the name alone if the provider is unknown."""
    wire: str
    """The wire that the request uses; an unregistered name gets the rules of every provider."""
    window: int | None = None
    """Tokens the model accepts; by default those of our table."""
    system: str = ""
    tools: Sequence[Mapping[str, object]] = ()
    """Schemas of the tools."""
    requested: bool = False
    """Whether a compaction was requested, independent of its savings."""

    @property
    def schemas(self) -> str:
        """The schemas of the tools as a JSON list; empty if there are none."""
        return tools_as_json(list(self.tools)) if self.tools else ""


Act = Callable[[ThreadSession, Sequence[Message]], list[Message]]
"""An operation on an open thread and the messages that the framework holds of it."""


class EngineSlot:
    """The archive and the open threads for one framework's extension point; safe to share.

    A framework passes all messages of a thread before each model call, or those that remain after
    the last view; it gets the view to send. No model writes summaries here: a compaction has
    the structured summary only.

    Args:
        policy: As for `ContextMiddleware`.
        archive: An archive, or an address for `open_archive`; by default `default_place`.
        owner: The owner of the threads.
        token_counter: Returns the tokens of a text, in place of the exact count of o200k.
    """

    def __init__(
        self,
        policy: ContextPolicy | Mapping[str, object] | None = None,
        *,
        archive: Archive | str | PathLike[str] | None = None,
        owner: str = "local",
        token_counter: Counter | None = None,
    ) -> None:
        self.policy = as_policy(policy).model_copy(update={"summarize": False})
        self.count: Counter = as_counter(token_counter)
        self.owner = owner
        self._address = archive
        self._archive: Archive | None = None
        self._open: OrderedDict[ThreadKey, ThreadSession] = OrderedDict()
        self._limits = SizeLimits()
        self._shown: dict[ThreadKey, tuple[list[Message], list[Message]]] = {}
        """A framework's messages at the last view of a thread, and that view."""
        self._replaced: dict[ThreadKey, tuple[list[Message], list[Message]]] = {}
        """A framework's messages when it asked for a view in their place, and that view."""
        self._turns: dict[ThreadKey, tuple[int, int]] = {}
        """The turn from which this slot continues a thread (its own, or the one it began from; -1
        before the first), and how many turns there were then."""
        self._lock = RLock()

    @property
    def archive(self) -> Archive:
        """The archive; opened when it is first needed.

        Raises:
            ConfigError: It cannot be opened.
        """
        with self._lock:
            if self._archive is None:
                if self._address is None:
                    make_private_folder(default_place().parent)
                given = default_place() if self._address is None else self._address
                if isinstance(given, (str, PathLike)):
                    given = open_autoclosing(given)
                self._archive = given
            return self._archive

    def close(self) -> None:
        """Close the archive if it was opened here; one that was passed belongs to the caller."""
        with self._lock:
            if self._archive is not None and self._archive is not self._address:
                self._archive.close()
            self._archive = None
            self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def view(self, thread: str, messages: Sequence[Message], call: HostCall) -> list[Message]:
        """Log a thread's messages, plan, and return the messages to send.

        Args:
            thread: The thread's id.
            messages: Its messages, oldest first: all of them, or the last view and later messages.
            call: The model call.

        Raises:
            WindowExceededError: The part that cannot be compacted exceeds the model's window.
            StorageError: The archive cannot be written, and the request does not fit without edits.
        """
        key = ThreadKey(self.owner, thread)
        with self._lock:
            session = self._open.get(key)
            if session is not None:
                self._shown[key] = [*session.held], shown_messages(session)
            try:
                return self._with(
                    key, messages, lambda opened, whole: self._planned(opened, whole, call)
                )
            except StorageError as error:
                view = self._unedited(key, messages, call)
                if view is None:
                    raise
                _log.error(_UNLOGGED, thread, error)
                return view

    def log(self, thread: str, messages: Sequence[Message]) -> bool:
        """Append a thread's messages to the log, at the end of a run.

        Messages that a model call has logged already are skipped.

        Returns:
            Whether they are in the archive; an error of it is logged.
        """
        key = ThreadKey(self.owner, thread)
        with self._lock:
            session = self._open.get(key)
            held = [] if session is None else session.held
            try:
                if common_prefix_length(held, messages) < len(messages):
                    self._with(key, messages, _end)
            except StorageError as error:
                _log.error(_UNLOGGED, thread, error)
                return False
        return True

    def remove(self, thread: str, messages: Sequence[Message]) -> None:
        """Continue a thread from fewer of its messages; the log keeps all.

        Raises:
            StorageError: The archive cannot be written.
        """
        self._with(ThreadKey(self.owner, thread), messages, _end)

    def observe(self, thread: str, model: str, reported: int) -> None:
        """Calibrate by the input tokens that the provider reports for the last request."""
        with self._lock:
            session = self._open.get(ThreadKey(self.owner, thread))
            if session is not None and reported > 0:
                session.engine.observe(reported)
                session.calibrations[model] = session.engine.calibration

    def refused(self, thread: str, error: BaseException | None = None) -> bool:
        """Learn from a provider's refusal of the last view; the next one is smaller.

        Args:
            thread: The thread.
            error: The provider's; `None` if it is only certain that the request was too large.

        Returns:
            Whether another attempt makes sense: not if the error is about anything else.
        """
        key = ThreadKey(self.owner, thread)
        overflow = Overflow("tokens") if error is None else overflow_of(error)
        with self._lock:
            session = self._open.get(key)
            if overflow is None or session is None:
                return False
            model = session.page.model
            self.observe(thread, model, overflow.counted or 0)
            return self._limits.refuse(key, model, session.engine, overflow, str(error or ""))

    def recall(self, thread: str, /, **arguments: object) -> str:
        """Return the result of a model's call of the tool `recall`, for any argument values."""
        key = ThreadKey(self.owner, thread)
        with self._lock:
            session = self._open.get(key)
            line = self._visible(key) if session is None else session.line
        known: Any = {name: arguments[name] for name in ARGUMENTS if name in arguments}
        return recall(self.archive, key, within=line.spans, count=self.count, **known)

    def messages(self, thread: str) -> list[Message]:
        """Return the visible messages of a thread from the log, compacted ones included."""
        key = ThreadKey(self.owner, thread)
        return [message for _, message in read_branch(self.archive, key, self._visible(key))]

    def _visible(self, key: ThreadKey) -> ThreadBranch:
        """Return the branch that a thread continues, manual operations included."""
        turn, turns = self._own_turn(key), self.archive.turn_count(key)
        turn = turns - 1 if turn is None or turn < 0 else turn
        return read_page(self.archive, key, turn).line if turns else ThreadBranch()

    def _own_turn(self, key: ThreadKey) -> int | None:
        """Return the turn from which this slot continues a thread; -1 before the first.

        Other processes continue their own. `None` if there is none, or a manual operation followed.
        """
        own, seen = self._turns.get(key, (None, 0))
        turns = self.archive.turn_count(key)
        if own is None or own >= turns:
            return None
        later = (read_page(self.archive, key, number).kind for number in range(seen, turns))
        return None if any(kind in MANUAL_KINDS for kind in later) else own

    def delete(self, thread: str) -> None:
        """Delete a thread: its messages, its journal and its references."""
        key = ThreadKey(self.owner, thread)
        with self._lock:
            self._close(key)
            self.archive.delete(key)
            self.archive.prune()

    def _close(self, key: ThreadKey) -> None:
        self._open.pop(key, None)
        self._shown.pop(key, None)
        self._turns.pop(key, None)
        self._replaced.pop(key, None)

    def _with(self, key: ThreadKey, messages: Sequence[Message], act: Act) -> list[Message]:
        tries = Retry()
        with self._lock:
            while True:
                try:
                    session, whole = self._synced(key, messages)
                    done = act(session, whole)
                except ConflictError as conflict:
                    tries.spend(conflict)
                    continue
                self._open[key] = session
                if session.number is not None:
                    self._turns[key] = session.number, session.number + 1
                while len(self._open) > OPEN_THREADS:
                    self._close(next(iter(self._open)))
                return done

    def _synced(
        self, key: ThreadKey, messages: Sequence[Message]
    ) -> tuple[ThreadSession, Sequence[Message]]:
        """Take a thread out of the pool or the archive, and bring its log up to date.

        Returns:
            The session, and all messages of the thread that the framework holds.
        """
        session, own = self._open.pop(key, None), self._own_turn(key)
        if own is None:  # kept for the next attempt: the log may have the messages of this one
            turns, newest = self.archive.turn_count(key), _newest(self.archive, key)
            session, own = None, -1 if newest is None else newest
            self._turns[key] = own, turns
        number, held = None if own < 0 else own, None
        if session is None:
            held = held_state(self.archive, key, number, messages)
            session = self._opened(key, number, held.messages, held)
        messages = all_messages(session, messages, self._replaced.get(key, ((), ())))
        if not session.knows(messages):
            fresh = held and replace(held, digest=StateDigest())
            session = self._opened(key, number, messages, fresh)
        session.sync(messages, others_belong=lambda: False)
        return session, messages

    def _opened(
        self,
        key: ThreadKey,
        number: int | None,
        messages: Sequence[Message],
        held: HeldState | None,
    ) -> ThreadSession:
        by_hand = manual_operations_since(self.archive, key, number)
        return open_session(self.archive, key, number, messages, self._engine, by_hand, held=held)

    def _engine(self, name_span: Callable[[int, int], str]) -> Engine:
        budget, policy = self.policy.budget(DEFAULT_WINDOW), self.policy.policy(UNKNOWN_TARIFF)
        return Engine(budget=budget, policy=policy, count=self.count, name_span=name_span)

    def _unedited(
        self, key: ThreadKey, incoming: Sequence[Message], call: HostCall
    ) -> list[Message] | None:
        """Return a valid request without new edits; `None` if none fits.

        That is the last view with what came since, or else all messages that the framework holds.
        """
        held, shown = self._shown.get(key, ([], []))
        continued = (
            [*shown, *incoming[len(held) :]]
            if common_prefix_length(held, incoming) == len(held)
            else incoming
        )
        for messages in (continued, incoming):
            engine = self._engine(lambda _first, _last: "")
            self._set_call(key, engine, call)
            for message in messages:
                engine.receive(message)
            if not exceeds_limit(engine.planning_context()):
                return repaired(engine, engine.window.items, call.wire)[0]
        return None

    def _planned(
        self, session: ThreadSession, messages: Sequence[Message], call: HostCall
    ) -> list[Message]:
        engine, before = session.engine, session.page
        tariff = self._tariff(call)
        texts = (call.system, call.schemas, tariff.model_dump_json())
        system, tools, prices = map(digest, texts)
        is_cold = (before.model, before.system, before.tools) != (call.model, system, tools) or (
            tariff.lifetime_s is not None and time.time() - before.at > tariff.lifetime_s
        )
        if any(one.message.role == "assistant" for one in session.unwritten):
            self._accept(session)
        engine.calibration = session.calibrations.get(call.model) or first_calibration(
            call.model, (item.message.text for item in reversed(engine.window.items))
        )
        self._set_call(session.key, engine, call)
        engine.window.settle()
        sent = list(engine.window.items)
        try:
            edits = [
                e
                for batch in engine.steps(cold=is_cold, is_requested=call.requested)
                for e in batch
            ]
        except WindowExceededError:
            session.write()
            raise
        view, repairs = repaired(engine, newest_form(session, messages), call.wire)
        known = {before.system, before.tools, before.tariff, ""}
        new = [t for t, d in zip(texts, (system, tools, prices), strict=True) if d not in known]
        overhead = engine.window.overhead.get("system", 0)
        page = TurnRecord(
            kind="call",
            at=time.time(),
            length=session.length,
            model=call.model,
            window=engine.budget.window,
            limit=engine.budget.limit,
            tokens={k: n for k, n in engine.window.ledger.tokens.items() if n},
            system=system,
            tools=tools,
            tariff=prices,
            same=0 if is_cold else shared_tokens(engine, sent),
            is_cold=is_cold,
            repairs=tuple(r for r in repairs if r.position >= before.length or is_cold),
            additions=tuple(with_instructions([], overhead)),
        )
        session.enter(page, edits, new)
        if call.requested:
            self._replaced[session.key] = [*session.held], view
        return view

    def _accept(self, session: ThreadSession) -> None:
        """Learn that the last request was answered, if it was a smaller attempt."""
        model, engine = session.page.model, session.engine
        calibration = session.calibrations.get(model, engine.calibration)
        tokens = calibration.upper(sum(session.page.tokens.values()))
        self._limits.accept(session.key, model, tokens, engine.budget.output)

    def _tariff(self, call: HostCall) -> Tariff:
        return self.policy.pricing.of(call.model.rpartition(":")[0], call.model).tariff

    def _set_call(self, key: ThreadKey, engine: Engine, call: HostCall) -> None:
        """Set the model, its limits, and the parts of a request besides its messages."""
        window = self.policy.window or call.window or window_of_model(call.model.rpartition(":")[2])
        budget = self.policy.budget(window or DEFAULT_WINDOW, model=call.model)
        engine.budget = self._limits.under(key, call.model, budget)
        engine.speak_to(call.model)
        engine.binds = binds_thinking(call.model)
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.tariff = self._tariff(call)
        system, tools = call.system, call.schemas
        engine.window.set_overhead("system", count_text(system, engine.count) if system else 0)
        engine.window.set_overhead("tools", count_text(tools, engine.count) if tools else 0)
        engine.prefixes.rebase(f"{system}\n{tools}")


def _newest(archive: Archive, key: ThreadKey) -> int | None:
    """Return the newest turn of a framework; manual operations may follow it."""
    numbers = range(archive.turn_count(key) - 1, -1, -1)
    return next((n for n in numbers if read_page(archive, key, n).kind not in MANUAL_KINDS), None)


def _end(session: ThreadSession, _: Sequence[Message]) -> list[Message]:
    if session.unwritten or session.page.kind != "end":
        session.enter_end()
    return []
