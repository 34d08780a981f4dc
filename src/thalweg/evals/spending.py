"""What a trial costs at a tariff with a prefix cache, and what the whole history would have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from thalweg.context.pricing import Tariff
from thalweg.context.window import Item
from thalweg.evals.recorder import tokens_of
from thalweg.evals.sent import as_message
from thalweg.evals.trace import Request, Said, Trace
from thalweg.replay.cache import PrefixCache
from thalweg.tokens import Counter, exact_counter, measure


@dataclass(slots=True)
class Bill:
    """What requests come to, one after the other, in units of one uncached input token."""

    tariff: Tariff
    input: float = 0.0
    output: float = 0.0
    tokens: int = 0
    """All that was sent."""
    cached: int = 0
    """Of them, found in the cache."""
    _count: Counter = field(default_factory=exact_counter, repr=False)
    _cache: PrefixCache = field(init=False, repr=False)
    _known: dict[int, tuple[Said, Item, int]] = field(default_factory=dict, repr=False)
    """By identity, which the tuple keeps alive: a message is measured once."""

    def __post_init__(self) -> None:
        self._cache = PrefixCache(self.tariff)

    @property
    def cost(self) -> float:
        """All of it."""
        return self.input + self.output

    def add(self, messages: Sequence[Said], answer: Said | None, *, beside: int) -> None:
        """Charge a request.

        Args:
            messages: What was sent.
            answer: What came back.
            beside: Tokens of what stood before the messages: the tools.
        """
        items = [self._measured(said)[0] for said in messages]
        charge = self._cache.send(items, beside=beside)
        self.input += charge.cost
        self.tokens += charge.tokens
        self.cached += charge.cached
        if answer is not None:
            written = self._measured(answer)[1]
            self.output += written * self.tariff.prices(charge.tokens).output

    def beside(self, request: Request) -> int:
        """Count what a request carries beside its messages."""
        return request.tokens - sum(self._measured(said)[1] for said in request.messages)

    def _measured(self, said: Said) -> tuple[Item, int]:
        """Give a message as an item, and its tokens as a request's are counted."""
        if id(said) not in self._known:
            message = as_message(said)
            item = Item(message, -1, measure(message, self._count).tokens)
            self._known[id(said)] = said, item, tokens_of(said, self._count)
        return self._known[id(said)][1:]


def spent(trace: Trace, tariff: Tariff) -> Bill:
    """Charge every request that was sent, whoever sent it."""
    bill = Bill(tariff)
    for one in trace.requests:
        bill.add(one.messages, one.answer, beside=bill.beside(one))
    return bill


def whole(trace: Trace, tariff: Tariff) -> Bill:
    """Charge the same conversation as if the whole history were sent each time.

    Whatever the window: it is what one without a harness would pay a model that takes it all.
    What the agent was given beside the conversation (instructions, tools) is in it, too.
    """
    bill = Bill(tariff)
    for thread in dict.fromkeys(one.thread for one in trace.agents()):
        _charge_whole(bill, trace, trace.agents(thread))
    return bill


def _charge_whole(bill: Bill, trace: Trace, agents: Sequence[Request]) -> None:
    beside = bill.beside(agents[0])
    log = [said for said in agents[0].messages if said.role == "system"]
    results = _first_results(agents)
    turn = -1
    for one in agents:
        if one.turn != turn:
            turn = one.turn
            log.append(Said("user", trace.turns[turn].text))
        elif log[-1].calls:
            log += [results[call.id] for call in log[-1].calls if call.id in results]
        if one.answer is not None:
            bill.add(log, one.answer, beside=beside)
            log.append(one.answer)


def _first_results(agents: Iterable[Request]) -> dict[str, Said]:
    """Give each result as it was first shown, by the id of its call."""
    found: dict[str, Said] = {}
    for one in agents:
        for said in one.messages:
            if said.role == "tool":
                found.setdefault(said.answers, said)
    return found
