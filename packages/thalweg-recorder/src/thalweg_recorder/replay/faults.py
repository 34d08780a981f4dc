"""The former measure of uses of removed content, next to that of `harm` until all figures have it.

A *fault* is a use of a tool result that the request no longer shows; the agent's own words and
edits are none. Each is priced as one more turn that fetches the content, which adds nothing to
later requests.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.tariff import Tariff
from thalweg_recorder.replay.contestant import Contestant, PeerRequest
from thalweg_recorder.replay.questions import RECALL_TOKENS
from thalweg_recorder.replay.subject import ReplaySubject
from thalweg_recorder.replay.uses import LaterUse


def uses_of_results(subject: ReplaySubject) -> dict[int, list[LaterUse]]:
    """Return the uses of tool results, edits aside, by the position of the turn that uses them."""
    entries = subject.entries
    found = {
        turn: [u for u in uses if u.way != "edits" and entries[u.source].message.role == "tool"]
        for turn, uses in subject.uses.items()
    }
    return {turn: uses for turn, uses in found.items() if uses}


@dataclass(slots=True)
class Faults:
    """Counts and prices the faults of one contestant under one tariff."""

    subject: ReplaySubject
    tariff: Tariff
    cost: float = 0.0
    count: int = 0
    lost: int = 0
    uses: Mapping[int, Sequence[LaterUse]] = field(init=False)
    _fetched: dict[int, int] = field(default_factory=dict)
    """Tool results that a fault brought back, and the turn that fetched each."""

    def __post_init__(self) -> None:
        self.uses = uses_of_results(self.subject)

    def take(
        self,
        position: int,
        request: PeerRequest,
        contestant: Contestant,
        *,
        tokens: int,
        dropped: AbstractSet[int],
    ) -> None:
        """Count a turn's uses of content that the request no longer shows, and price them."""
        self._forget(position, dropped)
        whole = request.whole
        uses = self.uses.get(position, ())
        other = "\n".join(i.message.text for i in request.items if i.position not in whole and uses)
        for use in uses:
            if use.source in self._fetched or any(p in whole for p in use.occurrences):
                continue
            if use.text and use.text in other:
                continue
            self._fetched[use.source] = position
            self.count += 1
            self.cost += self._price(use, contestant, tokens)

    def _forget(self, now: int, dropped: AbstractSet[int]) -> None:
        """Drop fetched content when the messages around it are removed from the context."""
        for source, turn in [*self._fetched.items()] if dropped else ():
            after = (p for p in range(turn + 1, now) if self.subject.entries[p].answers)
            if next(after, turn) in dropped:
                del self._fetched[source]

    def _price(self, use: LaterUse, contestant: Contestant, tokens: int) -> float:
        size = self.subject.entries[use.source].tokens
        if contestant.holds(use.source):
            size = min(size, RECALL_TOKENS)
        else:
            self.lost += 1
        prices = self.tariff.prices(tokens)
        fetch_cost = prices.write * (ASK_TOKENS + size) + prices.output * ASK_TOKENS
        return prices.read * tokens + fetch_cost
