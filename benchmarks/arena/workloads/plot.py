"""What a thread comes back to: details that the agent uses again, facts that are asked for."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from math import log
from random import Random

from benchmarks.arena.workloads.phrases import WorkloadFact
from benchmarks.arena.workloads.writing import Writer

USED_AFTER, USED_SPREAD = 5.0, 1.6
"""Turns from a detail to its use: the median, and the deviation of the logarithm. With the paths
that searches show and later turns read, half of all uses come within about nine turns and a
tenth after more than sixty-five, as recorded."""
USED_AGAIN = 0.15
"""Share of uses that are followed by one more."""
PLANTED = 0.2
"""Share of results with a detail that is used later."""
FACTS = 28
"""Facts that are asked for."""
SAID_WITHIN = 0.27
"""Share of the turns in which they are stated."""
_DETAILS = (
    "<AREA>_<NOUN>_<NOUN>_<n2>",
    "<NOUN>_<NOUN>_MODE_<n2>",
    "<hex>",
    "LED-<n5>",
    "src/legacy/rev_<n5>.py",
)
"""Details that the agent uses again: names that cannot be guessed."""


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A stated fact: a question for it in other words, and the answer."""

    question: str
    answer: str


@dataclass(slots=True)
class Scenario:
    """Details and facts of one thread."""

    writer: Writer
    dice: Random
    turns: int
    """How many the thread will have."""
    _due: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Details to be used, by turn."""
    _facts: deque[tuple[int, WorkloadFact]] = field(default_factory=deque)
    """Facts still to be stated, each from some turn on."""

    def __post_init__(self) -> None:
        dice, known = self.dice, self.writer.phrases.facts
        facts = [*known, *dice.sample(known, k=max(0, FACTS - len(known)))]
        dice.shuffle(facts)
        # Requests are few: facts for one come first, so that each is stated in time.
        facts.sort(key=lambda fact: fact.medium != "said")
        last = SAID_WITHIN * self.turns
        self._facts.extend((int(last * k / len(facts)), fact) for k, fact in enumerate(facts))

    def fact(self, medium: str, turn: int) -> tuple[str, StatedFact] | None:
        """Return a fact that is due in such a place, with its sentence.

        A fact that has waited long is stated in any place.
        """
        late = 0.03 * self.turns
        for begin, fact in self._facts:
            if begin > turn or begin > SAID_WITHIN * self.turns:
                return None
            fits = fact.medium == medium or (
                turn - begin > late and "said" not in {medium, fact.medium}
            )
            if fits:
                self._facts.remove((begin, fact))
                says, asks, answer = self.writer.state(fact)
                return says, StatedFact(asks, answer)
        return None

    def plant(self, lines: list[str], medium: str, turn: int) -> list[StatedFact]:
        """Put a fact and a detail into the lines of a result, where it is their time."""
        dice, asked = self.dice, list[StatedFact]()
        if found := self.fact(medium, turn):
            lines.insert(dice.randrange(len(lines) + 1), found[0])
            asked.append(found[1])
        if dice.random() < PLANTED:
            detail = self.writer.unique(dice.choice(_DETAILS))
            line = self.writer.pick(self.writer.phrases.talk.plants, detail=detail)
            lines.insert(dice.randrange(len(lines) + 1), line)
            self._use_after(detail, turn)
        return asked

    def due(self, turn: int) -> list[str]:
        """Return the details that the agent uses in a turn."""
        details = self._due.pop(turn, [])
        for detail in details:
            if self.dice.random() < USED_AGAIN:
                self._use_after(detail, turn)
        return details

    def _use_after(self, detail: str, turn: int) -> None:
        distance = self.dice.lognormvariate(log(USED_AFTER), USED_SPREAD)
        self._due[turn + max(1, round(distance))].append(detail)
