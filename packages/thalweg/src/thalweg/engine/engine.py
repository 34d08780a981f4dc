"""The engine of one thread: receives messages, returns the next request."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from thalweg.engine.compaction.hard_limit import exceeds_limit
from thalweg.engine.compaction.plan import join_summary, plan_fold
from thalweg.engine.compaction.planning_context import NameSpan, PlanningContext
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.compaction.rewrites import drop_reasoning, evict
from thalweg.engine.edits import Edit, Fold, Pin, Reason, Unpin
from thalweg.engine.entries import RECALL, Entry, Message, ToolUse
from thalweg.engine.snapshot import EngineSnapshot, with_returned
from thalweg.engine.summaries.summary import Summary
from thalweg.engine.tokens import Calibration, Counter, count_json, counter_for
from thalweg.engine.window.binding import (
    Prefixes,
    ReasoningBinding,
    bond_before,
    plan_strip,
    unbound_positions,
)
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem, check, is_signed
from thalweg.engine.window.reading import Reader
from thalweg.engine.window.window import Window
from thalweg.errors import PinError


@dataclass(slots=True)
class Engine:
    """Keeps one thread inside its budget.

    The caller logs what `receive` accepted before it calls `prepare`, so everything that an edit
    removes from the view can be read by its reference.
    """

    budget: Budget
    policy: Policy
    count: Counter
    name_span: NameSpan
    tools: Sequence[Mapping[str, object]] = ()
    """Schemas of the tools that are sent with every request: they are counted, never changed."""
    calibration: Calibration = field(default_factory=Calibration)
    """Ratio of the provider's token counts to ours; `observe` updates it."""
    model: str = ""
    """The model of the requests, as `provider:name`, which decides how images count. If empty,
    they count as for the most expensive model."""
    recall: str = RECALL
    """The name of the tool that reads removed content."""
    turn: int = 0
    """Model calls prepared so far."""
    history: list[Edit] = field(default_factory=list)
    """Every edit committed, in order."""
    binds: bool = False
    """Whether the model binds signed reasoning to its prefix; see `binding`."""
    read_back: Callable[[int], Message] | None = None
    """Returns a compacted message of the thread by its position; without it, none is shown again.
    """
    bond_in: Callable[[int, Message], ReasoningBinding | None] = lambda _, __: None
    """Returns the stored bond of the reasoning of an answer at a position."""
    bonds: dict[int, ReasoningBinding] = field(default_factory=dict)
    """Bonds by the position of live answers."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    window: Window = field(init=False)
    reader: Reader = field(init=False)
    _base_counter: Counter = field(init=False)
    """The counter that was passed; `count` is that of the model's vocabulary."""
    _used_ids: tuple[str, ...] = ()
    _waiting_calls: tuple[tuple[str, ToolUse], ...] = ()
    """State of the reader after the last fold; see `Reader.narrow` and `Reader.waiting`."""
    _calibrated: tuple[Budget, Calibration, Budget] | None = None
    """A budget, the calibration, and the budget in our tokens."""
    _is_new: bool = True
    """Whether a message was received since the last request."""
    _verified_prefix: tuple[int, str, int] = (-1, "", 0)
    """Epoch, base and number of the items whose reasoning has been verified."""

    def __post_init__(self) -> None:
        self._base_counter = self.count
        self.count = counter_for(self._base_counter, self.model)
        self.window = Window(self.count, model=self.model)
        self.window.set_overhead("tools", sum(count_json(tool, self.count) for tool in self.tools))
        self.reader = Reader(self.count, model=self.model, recall=self.recall)

    def speak_to(self, model: str) -> None:
        """Set the model of the next requests, and count again what counts differently for it."""
        if model == self.model:
            return
        self.model = self.reader.model = model
        self.count = self.reader.count = counter_for(self._base_counter, model)
        self.window.speak_to(model, self.count)

    def receive(self, message: Message, position: int | None = None) -> Entry:
        """Add the thread's next message.

        Args:
            message: The message.
            position: Its position, if a rewind abandoned messages of the log before it; by default
                the next one.
        """
        self.reader.position = self.reader.position if position is None else position
        entry = self.reader.read(message)
        self._store_binding(entry, is_answer=not self._is_new)
        self.window.add(entry)
        self._is_new = True
        return entry

    def prepare(self, *, cold: bool = False) -> Sequence[WindowItem]:
        """Build the next request: plan and apply edits, and return the items to send.

        Called again before another message was received (the provider failed), it returns the same
        request, unless `observe` has found that request too large.

        Args:
            cold: Whether a cache miss is expected anyway (a pause longer than the cache lives,
                another model): then a rewrite costs nothing extra.

        Returns:
            The items, in order. The list belongs to the engine: read it, don't keep it.

        Raises:
            WindowExceededError: What must be kept is larger than the window.
        """
        for _ in self.steps(cold=cold):
            pass
        return self.window.items

    def steps(
        self, *, cold: bool = False, is_requested: bool = False, repairs: Sequence[Edit] = ()
    ) -> Generator[Sequence[Edit], Sequence[Edit] | None]:
        """Prepare step by step: each batch of edits is yielded before it is committed.

        Args:
            cold: As for `prepare`.
            is_requested: Whether a compaction was requested, independent of its savings.
            repairs: Edits of the content that the provider refused; they come first.

        Yields:
            Edits about to be committed. A value sent back is committed instead; `None` commits
            them unchanged. Stopping in between does not change the engine.

        Raises:
            WindowExceededError: As for `prepare`.
        """
        self.window.settle()
        must_prepare = self._is_new or is_requested or repairs
        if (
            not must_prepare
            and not exceeds_limit(self.planning_context())
            and not self._unbound_positions()
        ):
            return
        self.turn += 1
        batches = chain(
            [repairs],
            self._strip_batches(),
            self._requested_compaction() if is_requested else (),
            self.policy.prepare(self.planning_context(), cold=cold),
            self._strip_batches(),
        )
        for edits in filter(None, batches):
            replacement = yield edits
            self._commit(edits if replacement is None else replacement)
        self._is_new = False
        self._note_sent()

    def joined(
        self,
        fold: Fold,
        summary: Summary,
        summary_usage: tuple[int, int],
        *,
        first: int | None = None,
        last: int | None = None,
    ) -> Fold:
        """Return a fold that `steps` is about to commit, with a summary; see `join_summary`."""
        return join_summary(
            self.planning_context(), fold, summary, summary_usage, first=first, last=last
        )

    def plan_record_rerender(self, reason: Reason) -> Fold | None:
        """Plan to render the current structured summary again; `None` if there is none."""
        fold, context = self.window.fold, self.planning_context()
        if fold is None:
            return None
        record_tokens, widest_tokens = fold.rooms or (context.budget.record(context.fixed), None)
        tail_tokens = self.window.tokens
        return plan_fold(
            context,
            tail_tokens=tail_tokens,
            record_tokens=record_tokens,
            widest_tokens=widest_tokens,
            reason=reason,
        )

    def _requested_compaction(self) -> Iterator[Sequence[Edit]]:
        context = self.planning_context()
        tail_tokens = context.budget.tail(context.fixed)
        record_tokens = context.budget.record(context.fixed)
        fold = plan_fold(
            context, tail_tokens=tail_tokens, record_tokens=record_tokens, reason="asked for"
        )
        if fold is not None and fold.freed > 0:
            yield (fold, *drop_reasoning(context, fold.last))

    def _store_binding(self, entry: Entry, *, is_answer: bool) -> None:
        """Store the bond of an answer's reasoning."""
        if not is_signed(entry.message):
            return
        bond = self.bond_in(entry.position, entry.message)
        if bond is None and is_answer and self.binds:
            bond = self.bond()
        if bond is not None:
            self.bonds[entry.position] = bond

    def bond(self, added_messages: Sequence[Message] = ()) -> ReasoningBinding:
        """Return the bond of the answer to the last request; call it before `receive`.

        Args:
            added_messages: Messages that others added at the end of the request.
        """
        return bond_before(self.window, self.prefixes, len(self.window.items), added_messages)

    def refuse_reasoning(self) -> Sequence[Edit]:
        """Handle a provider's refusal of reasoning as bound to another conversation.

        Returns:
            Edits that repair the request: they strip reasoning that is not in its original place,
            or all of it if all seems to be, since something else then changed the request.
        """
        self.binds, self._verified_prefix = True, (-1, "", 0)
        signed = (item.position for item in self.window.items if is_signed(item.message))
        positions = self._unbound_positions() or [*signed]
        return [plan_strip(self.window, positions, self.turn)] if positions else []

    def _unbound_positions(self) -> list[int]:
        """Return the positions of reasoning that this model would refuse."""
        if not self.binds:
            return []
        window = self.window
        epoch, base, verified_count = self._verified_prefix
        first = verified_count if (epoch, base) == (window.epoch, self.prefixes.base) else 0
        return unbound_positions(window, self.prefixes, self.bonds, first)

    def _strip_batches(self) -> Iterator[Sequence[Edit]]:
        if positions := self._unbound_positions():
            yield (plan_strip(self.window, positions, self.turn),)

    @property
    def calibrated_budget(self) -> Budget:
        """The budget in our tokens."""
        budget, calibration, calibrated = self._calibrated or (None, None, self.budget)
        if budget is not self.budget or calibration != self.calibration:
            calibrated = self.budget.calibrated(self.calibration)
            self._calibrated = self.budget, self.calibration, calibrated
        return calibrated

    def planning_context(self) -> PlanningContext:
        """Return the planning context for the current window."""
        self.window.settle()
        budget = self.calibrated_budget
        read_back = None if self.binds else self.read_back  # their reasoning would be refused
        return PlanningContext(
            self.window, budget, self.name_span, self.turn, self.binds, read_back
        )

    def _commit(self, edits: Sequence[Edit]) -> None:
        for edit in edits:
            if isinstance(edit, Fold):
                self._bring_back(edit)
        self.window.apply(edits)
        self.history.extend(edits)
        if any(isinstance(edit, Fold) for edit in edits):
            live_entries = self.window.entries.values()
            self._waiting_calls = self.reader.waiting(self.window.record.last, live_entries)
            self._used_ids = self.reader.forget_dead_ids(live_entries)
            self.bonds = {p: bond for p, bond in self.bonds.items() if p in self.window.entries}

    def _bring_back(self, fold: Fold) -> None:
        """Make the messages live that a fold keeps and an earlier one had removed."""
        window, read_back = self.window, self.read_back
        returned = {p for p in fold.kept if p not in window.entries}
        if not returned or read_back is None:
            return
        messages = {p: entry.message for p, entry in window.entries.items()}
        messages |= {p: read_back(p) for p in returned}
        next_position = self.reader.position
        self.reader = Reader(self.count, model=self.model, recall=self.recall)
        self.reader.resume(self._used_ids, self._waiting_calls)
        window.entries = {p: self._read_at(p, messages[p]) for p in sorted(messages)}
        self.reader.position = next_position
        window.record = with_returned(window.record, returned)

    def _read_at(self, position: int, message: Message) -> Entry:
        self.reader.position = position
        return self.reader.read(message)

    def standing(self) -> EngineSnapshot:
        """Return the snapshot from which, with the live messages, `resume` continues."""
        window = self.window
        return EngineSnapshot(
            fold=window.fold,
            record=window.record,
            pins=window.pins,
            rewrites=tuple(window.rewrites.values()),
            systems=window.systems,
            used=self._used_ids,
            waiting=self._waiting_calls,
            stripped=tuple(sorted(window.stripped)),
        )

    def resume(self, snapshot: EngineSnapshot, live: Iterable[tuple[int, Message]]) -> None:
        """Continue from another engine's snapshot. This engine must be new.

        Args:
            snapshot: Snapshot of the last compaction, with the pins and rewrites since then.
            live: The messages that are not compacted, with their positions, oldest first.
        """
        self._used_ids, self._waiting_calls = snapshot.used, snapshot.waiting
        self.reader.resume(snapshot.used, snapshot.waiting)
        entries: list[Entry] = []
        for position, message in live:
            entries.append(self._read_at(position, message))
            self._store_binding(entries[-1], is_answer=False)
        self.window.resume(snapshot, entries)

    def observe(self, reported: int) -> None:
        """Calibrate by the input tokens that the provider reports for the last request."""
        ledger = self.window.ledger
        self.calibration = self.calibration.observe(
            estimated=ledger.total,
            reported=reported,
            slack=ledger.slack,
            media=ledger.media_tokens,
        )

    def pin(self, position: int, quote: str) -> None:
        """Keep a user's words verbatim in every context, until they are unpinned.

        Raises:
            PinError: No available request at that position contains the words.
        """
        entry = self.window.entries.get(position)
        folded_texts = (
            request.text for request in self.window.record.requests if request.position == position
        )
        text = entry.message.text if entry and entry.is_request else next(folded_texts, "")
        if not quote or quote not in text:
            raise PinError(position, quote)
        self._commit_pin(Pin, position, quote)
        if entry is not None:
            self._excerpt_again(entry, quote)
        self._rewrite_record(quote)

    def unpin(self, position: int, quote: str) -> None:
        """Release pinned words. Other words are ignored."""
        self._commit_pin(Unpin, position, quote)

    def _commit_pin(self, kind: type[Pin] | type[Unpin], position: int, quote: str) -> None:
        edit = kind(
            reason="asked for",
            turn=self.turn,
            tokens_before=0,
            tokens_after=0,
            position=position,
            quote=quote,
        )
        self._commit([edit])

    def _excerpt_again(self, entry: Entry, quote: str) -> None:
        """Shorten a request again if its excerpt lacks words that were just pinned."""
        context = self.planning_context()
        if entry.position in self.window.rewrites and quote not in context.shown(entry).text:
            tokens = context.shown_tokens(entry) + self.count(quote)
            self._commit([evict(context, entry, tokens, "asked for")])

    def _rewrite_record(self, quote: str) -> None:
        """Render the structured summary again if it lacks words that were just pinned."""
        context, fold = self.planning_context(), self.window.fold
        if fold is None or any(quote in item.message.text for item in self.window.items):
            return
        record_tokens = context.budget.record(context.fixed)
        rerendered = plan_fold(
            context, tail_tokens=self.window.tokens, record_tokens=record_tokens, reason="asked for"
        )
        if rerendered is not None:
            self._commit([rerendered])

    @property
    def problems(self) -> tuple[str, ...]:
        """Defects of the last request; empty if every provider accepts it."""
        return check(item.message for item in self.window.items)

    def _note_sent(self) -> None:
        """Note the items that are sent, and bind the reasoning among those added to them."""
        epoch, sent_count = self.window.epoch, len(self.window.items)
        self.window.sent = sent_count
        if self.binds:
            self._bind_unknown(self._verified_prefix[2] if epoch == self._verified_prefix[0] else 0)
        self._verified_prefix = (epoch, self.prefixes.base, sent_count)

    def _bind_unknown(self, first: int) -> None:
        """Bind reasoning that came from elsewhere to its current prefix."""
        items = self.window.items
        for k in range(first, len(items)):
            position = items[k].position
            if is_signed(items[k].message) and position not in self.bonds:
                self.bonds[position] = bond_before(self.window, self.prefixes, k)
