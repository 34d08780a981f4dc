"""Drive the engine with an archive, as a run does, and keep every request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from core_tests.archives import archive_in_memory
from core_tests.property.strategies import Scenario
from thalweg.archive import Archive, Logged, Span, ThreadKey
from thalweg.engine.compaction.policy import Policy, RentOrBuy
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.tokens import Counter
from thalweg.engine.window.items import WindowItem
from thalweg.errors import WindowExceededError

KEY = ThreadKey("ada", "t1")


def quick_count(text: str) -> int:
    """Count a token for every four characters begun: cheap, and the same every time."""
    return (len(text) + 3) // 4


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was sent, and what led to it."""

    items: tuple[WindowItem, ...]
    edits: tuple[Edit, ...]
    """Made for this request."""
    epoch: int
    arrived: int
    """How many messages of the thread had come."""
    problems: tuple[str, ...]

    @property
    def messages(self) -> list[Message]:
        """What a wire would write."""
        return [item.message for item in self.items]

    @property
    def tokens(self) -> int:
        """Tokens of the whole request."""
        return sum(item.tokens for item in self.items)


@dataclass(slots=True)
class Drive:
    """One thread under way."""

    scenario: Scenario
    count: Counter = quick_count
    archive: Archive = field(default_factory=lambda: archive_in_memory(b"x"))
    policy: Policy | None = None
    engine: Engine = field(init=False)
    entries: list[Entry] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    stopped: WindowExceededError | None = None
    """Why the run ended before the thread did."""
    logged: int = 0

    def __post_init__(self) -> None:
        self.engine = Engine(
            budget=self.scenario.budget,
            policy=self.policy or RentOrBuy(TARIFFS[self.scenario.tariff]),
            count=self.count,
            name_span=lambda first, last: self.archive.handle(KEY, Span(first, last)),
            read_back=lambda position: self.archive.messages(KEY, position, position)[0],
        )

    def run(self, before: Callable[["Drive"], object] | None = None) -> "Drive":
        """Drive the thread to its end, or to the first request that cannot be made.

        Args:
            before: Called before each request, when everything is logged.
        """
        scenario = self.scenario
        for position, message in enumerate((*scenario.messages, None)):
            if message is None or message.role == "assistant" or position in scenario.extra:
                self.log()
                if before:
                    before(self)
                if not self.ask(cold=position in scenario.cold):
                    return self
            if message is not None:
                self.entries.append(self.engine.receive(message))
        return self

    def log(self) -> None:
        """Put what came since the last call into the archive."""
        new = self.entries[self.logged :]
        logged = [Logged(e.message, e.answers.brief if e.answers else "") for e in new]
        self.logged = self.archive.append(KEY, logged, expected=self.logged)

    def ask(self, *, cold: bool = False) -> bool:
        """Make one request; return whether it could be made."""
        done = len(self.engine.history)
        try:
            items = self.engine.prepare(cold=cold)
        except WindowExceededError as error:
            self.stopped = error
            return False
        self.requests.append(
            Request(
                tuple(items),
                tuple(self.engine.history[done:]),
                self.engine.window.epoch,
                len(self.entries),
                self.engine.problems,
            )
        )
        return True


def drive(scenario: Scenario, count: Counter = quick_count) -> Drive:
    """Drive a scenario to its end."""
    return Drive(scenario, count).run()


def edits_of(requests: Sequence[Request]) -> list[Edit]:
    """List every edit of a run, in order."""
    return [edit for request in requests for edit in request.edits]
