"""One thread's engine: messages in, the next request out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from thalweg.context.budget import Budget
from thalweg.context.edits import Edit
from thalweg.context.plan import NameSpan, Scene
from thalweg.context.policy import Policy
from thalweg.context.reading import Reader
from thalweg.context.validity import Gate
from thalweg.context.window import Item, Window
from thalweg.entries import Entry, Message
from thalweg.tokens import Calibration, Counter


@dataclass(slots=True)
class Engine:
    """Keep one thread inside its budget.

    The caller logs a message before it gives it to `receive`, so whatever an edit takes out
    of the view can be read back by its handle.
    """

    budget: Budget
    policy: Policy
    count: Counter
    name_span: NameSpan
    calibration: Calibration = field(default_factory=Calibration)
    """How the provider's counts relate to ours; `observe` keeps it."""
    turn: int = 0
    """Model calls prepared so far."""
    history: list[Edit] = field(default_factory=list)
    """Every edit committed, in order: with the log, all that a view is made from."""
    problems: tuple[str, ...] = ()
    """What the validity gate found in the last request; empty when a provider takes it."""
    window: Window = field(init=False)
    reader: Reader = field(init=False)
    _gate: Gate = field(default_factory=Gate)
    _checked: int = 0
    _epoch: int = 0

    def __post_init__(self) -> None:
        self.window = Window(self.count)
        self.reader = Reader(self.count)

    def receive(self, message: Message) -> Entry:
        """Take in the thread's next message."""
        entry = self.reader.read(message)
        self.window.add(entry)
        return entry

    def prepare(self, *, cold: bool = False) -> Sequence[Item]:
        """Make the next request: plan, apply, and hand out the items to send.

        Args:
            cold: Whether the provider has forgotten the prefix anyway (a pause longer than
                its cache lives, another model): then a rewrite costs nothing extra.

        Returns:
            The items, in order. The list is the engine's own: read it, don't keep it.

        Raises:
            WindowExceededError: What must stay is larger than the window.
        """
        self.turn += 1
        self.window.settle()
        budget = self.budget.calibrated(self.calibration)
        scene = Scene(self.window, budget, self.name_span, self.turn)
        for edits in self.policy.prepare(scene, cold=cold):
            self.window.apply(edits)
            self.history.extend(edits)
        self._check()
        return self.window.items

    def observe(self, reported: int) -> None:
        """Learn from the input tokens that the provider reports for the last request."""
        self.calibration = self.calibration.observe(estimated=self.window.tokens, reported=reported)

    def _check(self) -> None:
        """Run the gate over what is new since the last request, or over all after a rewrite."""
        items, epoch = self.window.items, self.window.epoch
        if epoch != self._epoch:
            self._gate, self._checked, self._epoch = Gate(), 0, epoch
        self._gate.feed(item.message for item in items[self._checked :])
        self._checked = self.window.sent = len(items)
        self.problems = self._gate.verdict()
