"""Cost of a trial at a tariff with a prefix cache, and of sending the whole history instead."""

from collections.abc import Iterable, Sequence

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter, measure
from thalweg.engine.window.items import WindowItem
from thalweg_evals.recorder import tokens_of
from thalweg_evals.sent_requests import as_message
from thalweg_evals.trace import Request, Trace, TracedMessage
from thalweg_recorder.replay.cache import PrefixCache


class Bill:
    """The cost of consecutive requests, in units of one uncached input token."""

    def __init__(self, tariff: Tariff) -> None:
        self.cost = 0.0
        self.cached = 0
        """Cached tokens among those sent."""
        self._tariff = tariff
        self._count = exact_counter()
        self._cache = PrefixCache(tariff)
        self._known: dict[int, tuple[TracedMessage, WindowItem, int]] = {}
        """By identity, which the tuple keeps alive: a message is measured once."""

    def add(
        self, messages: Sequence[TracedMessage], answer: TracedMessage | None, *, overhead: int
    ) -> None:
        """Add the cost of a request.

        Args:
            messages: The messages sent.
            answer: The answer.
            overhead: Overhead tokens before the messages: the tools.
        """
        items = [self._measured(message)[0] for message in messages]
        charge = self._cache.send(items, overhead=overhead)
        self.cost += charge.cost
        self.cached += charge.cached
        if answer is not None:
            written = self._measured(answer)[1]
            self.cost += written * self._tariff.prices(charge.tokens).output

    def overhead(self, request: Request) -> int:
        """Return the overhead tokens of a request."""
        return request.tokens - sum(self._measured(message)[1] for message in request.messages)

    def _measured(self, traced: TracedMessage) -> tuple[WindowItem, int]:
        """Return a message as an item, and its tokens in the unit of a request's."""
        if id(traced) not in self._known:
            message = as_message(traced)
            item = WindowItem(message, -1, measure(message, self._count).tokens)
            self._known[id(traced)] = traced, item, tokens_of(traced, self._count)
        return self._known[id(traced)][1:]


def spent(trace: Trace, tariff: Tariff) -> Bill:
    """Return the cost of all requests of a trace, by any sender."""
    bill = Bill(tariff)
    for one in trace.requests:
        bill.add(one.messages, one.answer, overhead=bill.overhead(one))
    return bill


def whole(trace: Trace, tariff: Tariff) -> Bill:
    """Return the cost of the same conversation with the whole history in each request.

    The window is ignored: it is the price without a harness, for a model that accepts it all.
    Overhead (instructions, tools) is included.
    """
    bill = Bill(tariff)
    for thread in dict.fromkeys(one.thread for one in trace.agents()):
        _charge_whole(bill, trace, trace.agents(thread))
    return bill


def _charge_whole(bill: Bill, trace: Trace, agents: Sequence[Request]) -> None:
    overhead = bill.overhead(agents[0])
    log = [message for message in agents[0].messages if message.role == "system"]
    results = _first_results(agents)
    turn = -1
    for one in agents:
        if one.turn != turn:
            turn = one.turn
            log.append(TracedMessage("user", trace.turns[turn].text))
        elif log[-1].calls:
            log += [results[call.id] for call in log[-1].calls if call.id in results]
        if one.answer is not None:
            bill.add(log, one.answer, overhead=overhead)
            log.append(one.answer)


def _first_results(agents: Iterable[Request]) -> dict[str, TracedMessage]:
    """Return each result as it was first shown, by the id of its call."""
    found: dict[str, TracedMessage] = {}
    for one in agents:
        for message in one.messages:
            if message.role == "tool":
                found.setdefault(message.answers, message)
    return found
