"""One thread's engine: messages in, the next request out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from thalweg.context.budget import Budget
from thalweg.context.edits import Edit, Pin, Unpin
from thalweg.context.plan import plan_fold
from thalweg.context.policy import Policy
from thalweg.context.reading import Reader
from thalweg.context.scene import NameSpan, Scene
from thalweg.context.squeeze import excess
from thalweg.context.validity import STRICT, Dialect, Gate
from thalweg.context.window import Item, Window
from thalweg.entries import Entry, Message
from thalweg.errors import PinError
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
    turn: int = 0
    """Model calls prepared so far."""
    history: list[Edit] = field(default_factory=list)
    """Every edit committed, in order."""
    problems: tuple[str, ...] = ()
    """What the validity gate found in the last request; empty when a provider takes it."""
    window: Window = field(init=False)
    reader: Reader = field(init=False)
    _gate: Gate = field(init=False)
    _checked: int = 0
    _epoch: int = 0
    _is_new: bool = True
    """Whether anything was received since the last request."""

    def __post_init__(self) -> None:
        self.window = Window(self.count)
        self.window.set_beside("tools", sum(count_json(tool, self.count) for tool in self.tools))
        self.reader = Reader(self.count)
        self._gate = Gate(self.dialect)

    def receive(self, message: Message) -> Entry:
        """Take in the thread's next message."""
        entry = self.reader.read(message)
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
        self.window.settle()
        if not self._is_new and not excess(self._scene()):
            return self.window.items
        self.turn += 1
        for edits in self.policy.prepare(self._scene(), cold=cold):
            self._commit(edits)
        self._is_new = False
        self._check()
        return self.window.items

    def _scene(self) -> Scene:
        budget = self.budget.calibrated(self.calibration)
        return Scene(self.window, budget, self.name_span, self.turn)

    def _commit(self, edits: Sequence[Edit]) -> None:
        self.window.apply(edits)
        self.history.extend(edits)

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

    def _rewrite_record(self, quote: str) -> None:
        """Write the record again when words just pinned are folded and not in it."""
        scene, fold = self._scene(), self.window.fold
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
        self._checked = self.window.sent = len(items)
        self.problems = self._gate.verdict()
