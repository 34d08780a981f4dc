"""One thread's engine: messages in, the next request out."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg.context.binding import (
    Bond,
    Prefixes,
    bond_before,
    is_signed,
    plan_strip,
    unbound,
)
from thalweg.context.budget import Budget
from thalweg.context.edits import Edit, Fold, Pin, Reason, Unpin
from thalweg.context.plan import join_summary, plan_fold, plan_tail
from thalweg.context.policy import Policy
from thalweg.context.reading import Reader
from thalweg.context.rewrites import evict
from thalweg.context.scene import NameSpan, Scene
from thalweg.context.squeeze import excess
from thalweg.context.standing import Standing
from thalweg.context.validity import STRICT, Dialect, Gate
from thalweg.context.window import Item, Window
from thalweg.entries import Entry, Message, ToolUse
from thalweg.errors import PinError
from thalweg.summaries.summary import Summary
from thalweg.tokens import Calibration, Counter, count_json


@dataclass(slots=True)
class Engine:
    """Keep one thread inside its budget.

    The caller logs what `receive` took in before it calls `prepare`, so whatever an edit takes
    out of the view can be read back by its handle.
    """

    budget: Budget
    policy: Policy
    count: Counter
    name_span: NameSpan
    tools: Sequence[Mapping[str, object]] = ()
    """Schemas of the tools that go with every request: they are counted, never changed."""
    dialect: Dialect = STRICT
    """What the gate demands; the default is what every provider takes."""
    calibration: Calibration = field(default_factory=Calibration)
    """How the provider's counts relate to ours; `observe` keeps it."""
    model: str = ""
    """Who the requests are for, as `provider:name`: images count as they do there. When it is
    not told, they count as where they cost most."""
    turn: int = 0
    """Model calls prepared so far."""
    history: list[Edit] = field(default_factory=list)
    """Every edit committed, in order."""
    problems: tuple[str, ...] = ()
    """What the validity gate found in the last request; empty when a provider takes it."""
    binds: bool = False
    """Whether the model binds signed reasoning to what was sent before it; see `binding`."""
    bond_in: Callable[[Message], Bond | None] = lambda _: None
    """Reads what an answer's reasoning is bound to, where the message itself keeps that."""
    bonds: dict[int, Bond] = field(default_factory=dict)
    """By position of the live answers."""
    prefixes: Prefixes = field(default_factory=Prefixes)
    window: Window = field(init=False)
    reader: Reader = field(init=False)
    _gate: Gate = field(init=False)
    _checked: int = 0
    _epoch: int = 0
    _used: tuple[str, ...] = ()
    _waiting: tuple[tuple[str, ToolUse], ...] = ()
    """What the last fold left of the reader; see `Reader.narrow` and `Reader.waiting`."""
    _is_new: bool = True
    """Whether anything was received since the last request."""
    _bound: tuple[int, str, int] = (-1, "", 0)
    """Epoch, base and number of the items whose reasoning is known to stand where it may."""

    def __post_init__(self) -> None:
        self.window = Window(self.count, model=self.model)
        self.window.set_beside("tools", sum(count_json(tool, self.count) for tool in self.tools))
        self.reader = Reader(self.count, model=self.model)
        self._gate = Gate(self.dialect)

    def speak_to(self, model: str) -> None:
        """Say who the requests are for from now on; the images that are there count anew."""
        self.model = self.reader.model = model
        self.window.price_images(model)

    def receive(self, message: Message, at: int | None = None) -> Entry:
        """Take in the thread's next message.

        Args:
            message: What was said.
            at: Its position, where the log has messages between that are not of this thread
                of talk any more (a rewind); the next one when it is not given.
        """
        self.reader.position = self.reader.position if at is None else at
        entry = self.reader.read(message)
        self._bind(entry, answers=not self._is_new)
        self.window.add(entry)
        self._is_new = True
        return entry

    def prepare(self, *, cold: bool = False) -> Sequence[Item]:
        """Make the next request: plan, apply, and hand out the items to send.

        Asked again before anything new was received (the provider failed), it gives the same
        request, unless what `observe` learned since makes that one too large.

        Args:
            cold: Whether the provider has forgotten the prefix anyway (a pause longer than
                its cache lives, another model): then a rewrite costs nothing extra.

        Returns:
            The items, in order. The list is the engine's own: read it, don't keep it. What the
            gate thinks of it is in `problems`.

        Raises:
            WindowExceededError: What must stay is larger than the window.
        """
        for _ in self.steps(cold=cold):
            pass
        return self.window.items

    def steps(
        self, *, cold: bool = False, asked: bool = False, repairs: Sequence[Edit] = ()
    ) -> Generator[Sequence[Edit], Sequence[Edit] | None]:
        """Prepare step by step: each batch of edits comes out before it is committed.

        Args:
            cold: As for `prepare`.
            asked: Whether someone asked to fold what can be folded, whatever it saves.
            repairs: Edits of what the provider refused; they come first.

        Yields:
            Edits about to be committed. What is sent back is committed instead; `None` commits
            them as they are. Whoever stops in between leaves the engine as it was.

        Raises:
            WindowExceededError: As for `prepare`.
        """
        self.window.settle()
        is_news = self._is_new or asked or repairs
        if not is_news and not excess(self.scene()) and not self._unbound():
            return
        self.turn += 1
        yield from self._committed([repairs])
        yield from self._committed(self._strips())
        if asked:
            yield from self._committed(self._asked())
        yield from self._committed(self.policy.prepare(self.scene(), cold=cold))
        yield from self._committed(self._strips())
        self._is_new = False
        self._check()

    def joined(
        self,
        fold: Fold,
        summary: Summary,
        spent: tuple[int, int],
        *,
        first: int | None = None,
        last: int | None = None,
    ) -> Fold:
        """See `join_summary`: for a fold that `steps` is about to commit."""
        return join_summary(self.scene(), fold, summary, spent, first=first, last=last)

    def record_again(self, reason: Reason) -> Fold | None:
        """Plan to write the record that stands again; `None` where there is none."""
        fold, scene = self.window.fold, self.scene()
        if fold is None:
            return None
        record, widest = fold.rooms or (scene.budget.record(scene.fixed), None)
        tail = self.window.tokens
        return plan_fold(scene, tail=tail, record=record, widest=widest, reason=reason)

    def _committed(
        self, batches: Iterable[Sequence[Edit]]
    ) -> Generator[Sequence[Edit], Sequence[Edit] | None]:
        for edits in batches:
            if edits:
                better = yield edits
                self._commit(edits if better is None else better)

    def _asked(self) -> Iterator[Sequence[Edit]]:
        scene = self.scene()
        tail, room = scene.budget.tail(scene.fixed), scene.budget.record(scene.fixed)
        fold = plan_fold(scene, tail=tail, record=room, reason="asked for")
        if fold is not None and fold.freed > 0:
            yield (fold, *plan_tail(scene, fold.last))

    def _bind(self, entry: Entry, *, answers: bool) -> None:
        """Keep what an answer's reasoning is bound to."""
        if not is_signed(entry.message):
            return
        bond = self.bond_in(entry.message) or (self.bond() if answers and self.binds else None)
        if bond is not None:
            self.bonds[entry.position] = bond

    def bond(self, behind: Sequence[Message] = ()) -> Bond:
        """Return what the answer to the last request is bound to; ask before it is received.

        Args:
            behind: Messages that others added at the end of the request.
        """
        return bond_before(self.window, self.prefixes, len(self.window.items), behind)

    def refuse_reasoning(self) -> Sequence[Edit]:
        """Take in that the provider refused reasoning as bound to another conversation.

        Returns:
            Edits that repair the request: they strip what does not stand where it was produced,
            or, where all of it seems to, all; something else changed the request on its way.
        """
        self.binds, self._bound = True, (-1, "", 0)
        signed = (item.position for item in self.window.items if is_signed(item.message))
        positions = self._unbound() or [*signed]
        return [plan_strip(self.window, positions, self.turn)] if positions else []

    def _unbound(self) -> list[int]:
        """List the positions of reasoning that this model would refuse."""
        if not self.binds:
            return []
        window = self.window
        epoch, base, known = self._bound
        first = known if (epoch, base) == (window.epoch, self.prefixes.base) else 0
        return unbound(window, self.prefixes, self.bonds, first)

    def _strips(self) -> Iterator[Sequence[Edit]]:
        if positions := self._unbound():
            yield (plan_strip(self.window, positions, self.turn),)

    def scene(self) -> Scene:
        """Return what a decision may look at, as the window stands."""
        self.window.settle()
        budget = self.budget.calibrated(self.calibration)
        return Scene(self.window, budget, self.name_span, self.turn, self.binds)

    def _commit(self, edits: Sequence[Edit]) -> None:
        self.window.apply(edits)
        self.history.extend(edits)
        if any(isinstance(edit, Fold) for edit in edits):
            live = self.window.entries.values()
            self._waiting = self.reader.waiting(self.window.record.last, live)
            self._used = self.reader.narrow(live)
            self.bonds = {p: bond for p, bond in self.bonds.items() if p in self.window.entries}

    def standing(self) -> Standing:
        """Tell what it takes, beside the live messages, to go on from here; see `resume`."""
        window = self.window
        return Standing(
            fold=window.fold,
            record=window.record,
            pins=window.pins,
            rewrites=tuple(window.rewrites.values()),
            systems=window.systems,
            used=self._used,
            waiting=self._waiting,
            stripped=tuple(sorted(window.stripped)),
        )

    def resume(self, standing: Standing, live: Iterable[tuple[int, Message]]) -> None:
        """Go on where another engine stood. This one must be new.

        Args:
            standing: Of the last fold, with the pins and rewrites since then.
            live: The messages that are not folded, with their positions, oldest first.
        """
        self._used, self._waiting = standing.used, standing.waiting
        self.reader.resume(standing.used, standing.waiting)
        entries: list[Entry] = []
        for position, message in live:
            self.reader.position = position
            entries.append(self.reader.read(message))
            self._bind(entries[-1], answers=False)
        self.window.resume(standing, entries)

    def observe(self, reported: int) -> None:
        """Learn from the input tokens that the provider reports for the last request."""
        self.calibration = self.calibration.observe(estimated=self.window.tokens, reported=reported)

    def pin(self, position: int, quote: str) -> None:
        """Keep a user's words verbatim in every context, until they are unpinned.

        Raises:
            PinError: The words are not in a request at that position that is still known.
        """
        entry = self.window.entries.get(position)
        folded = (q.text for q in self.window.record.requests if q.position == position)
        text = entry.message.text if entry and entry.is_request else next(folded, "")
        if not quote or quote not in text:
            raise PinError(position, quote)
        self._commit_pin(Pin, position, quote)
        if entry is not None:
            self._excerpt_again(entry, quote)
        self._rewrite_record(quote)

    def unpin(self, position: int, quote: str) -> None:
        """Let go of words that were pinned. Unknown ones are ignored."""
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
        """Shorten a request again when words just pinned are left out of what is shown of it."""
        scene = self.scene()
        if entry.position in self.window.rewrites and quote not in scene.shown(entry).text:
            tokens = scene.shown_tokens(entry) + self.count(quote)
            self._commit([evict(scene, entry, tokens, "asked for")])

    def _rewrite_record(self, quote: str) -> None:
        """Write the record again when words just pinned are folded and not in it."""
        scene, fold = self.scene(), self.window.fold
        if fold is None or any(quote in item.message.text for item in self.window.items):
            return
        room = scene.budget.record(scene.fixed)
        again = plan_fold(scene, tail=self.window.tokens, record=room, reason="asked for")
        if again is not None:
            self._commit([again])

    def _check(self) -> None:
        """Run the gate over what is new since the last request, or over all after a rewrite."""
        items, epoch = self.window.items, self.window.epoch
        if epoch != self._epoch:
            self._gate, self._checked, self._epoch = Gate(self.dialect), 0, epoch
        self._gate.feed(item.message for item in items[self._checked :])
        first, self._checked = self._checked, len(items)
        self.window.sent = len(items)
        if self.binds:
            self._bind_unknown(first)
        self._bound = (self.window.epoch, self.prefixes.base, len(items))
        self.problems = self._gate.verdict()

    def _bind_unknown(self, first: int) -> None:
        """Bind reasoning that came from elsewhere to what it is shown behind from now on."""
        items = self.window.items
        for k in range(first, len(items)):
            position = items[k].position
            if is_signed(items[k].message) and position not in self.bonds:
                self.bonds[position] = bond_before(self.window, self.prefixes, k)
