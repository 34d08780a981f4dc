"""The account of one contestant under one tariff: requests in, calls, costs and losses out."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile

from thalweg.engine.edits import Fold, forecast_of, main_reason
from thalweg.engine.entries import Entry
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.savings import ASK_TOKENS, ChargedRequest, RequestChanges, Savings
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_text, speaker
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.bill import Bill
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing
from thalweg_recorder.replay.faults import Faults
from thalweg_recorder.replay.harm import Miss, TurnSteps
from thalweg_recorder.replay.questions import goals_missing, hidden
from thalweg_recorder.replay.results import NeedleRecall, OutlineLine, ReplayedCall, ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms

LAYOUT_TOKENS = 64
"""Tokens by which a request may differ from one sent whole although no message changed.

Notes replace missing messages.
"""
HEAD_CHARS = 100
"""Beginning of a message that an outline shows."""


@dataclass(slots=True)
class Account:
    """The accounting of one contestant's requests under one tariff.

    Its cost and its requests are of messages. The bill has the recorded agent's own system prompt
    and tools, too, if the log states usage: they precede the messages of every request, also of a
    summary that is requested on the live thread, and a second cache has them, under our policies
    with the lifetime that our middleware asks for. A contestant's own
    overhead tokens are in neither; `overhead` has their number.
    """

    subject: ReplaySubject
    terms: TariffTerms
    policy: str
    budget: Budget
    count: Counter = field(default_factory=exact_counter)
    cache: PrefixCache = field(init=False)
    billed: PrefixCache = field(init=False)
    """The same cache, with the recorded agent's overhead before the messages."""
    savings: Savings = field(init=False)
    calls: list[ReplayedCall] = field(default_factory=list)
    outlines: list[list[OutlineLine]] = field(default_factory=list)
    summaries: list[Summarizing] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    """Positions of the messages that a summarizer was shown word for word."""
    misses: list[Miss] = field(default_factory=list)
    step_cost: float = 0.0
    """Cost of the steps to removed content, and of what they brought while it remained."""
    faults: Faults = field(init=False)
    compactions: int = 0
    overhead: int = 0
    """Maximum overhead tokens that the contestant sent in a request."""
    _whole: AbstractSet[int] = frozenset()
    """Positions that the last request showed word for word."""
    _freed: int = 0
    """Tokens that the changes in the ledger of savings freed."""

    def __post_init__(self) -> None:
        self.cache = PrefixCache(self.terms.tariff)
        self.billed = PrefixCache(self.terms.tariff)
        self.savings = Savings(self.budget.window)
        self.faults = Faults(self.subject, self.terms.tariff)

    def take(
        self, position: int, request: PeerRequest, contestant: Contestant, steps: TurnSteps
    ) -> None:
        """Account for the request that the assistant message at a position answered.

        Args:
            position: Of the assistant message.
            request: The request.
            contestant: Who made it.
            steps: What content that it no longer shows costs at this turn.
        """
        cold = position in self.terms.cold
        items = request.items
        self.summaries += request.summaries
        self.read.update(*(summary.read for summary in request.summaries))
        self.overhead = max(self.overhead, request.overhead)
        self.compactions += _compactions(request)
        charge = billed = self.cache.send(items, cold=cold)
        if self.terms.overhead:
            billed = self.billed.send(items, cold=cold, overhead=self.terms.overhead)
        is_ours, lifetime_costs = self.policy.startswith("thalweg"), self.terms.lifetime_costs
        before = self.step_cost
        sent = self._enter(position, request, charge)
        self._outline(items, contestant, rewritten=charge.broke_at >= 0)
        dropped = self._whole - request.whole
        self._whole = request.whole
        self.faults.take(position, request, contestant, tokens=charge.tokens, dropped=dropped)
        self._pay_for(steps, sent, items)
        calls = sum(miss.calls for miss in steps.misses)
        self.calls.append(
            ReplayedCall(
                turn=len(self.calls) + 1,
                position=position,
                tokens=charge.tokens,
                cached=charge.cached,
                written=charge.written,
                cost=charge.cost,
                cold=cold,
                broke_at=charge.broke_at,
                edits=request.edits,
                steps=calls,
                outline=len(self.outlines) - 1,
                length=len(items),
                problems=request.problems,
                bill=Bill(
                    input=self.terms.factor * charge.cost
                    + (billed.cost - charge.cost)
                    + is_ours * lifetime_costs.get(position, 0.0),
                    output=self.terms.output(position),
                    summaries=sum(map(self._billed_summary, request.summaries), 0.0),
                    steps=self.terms.factor * (self.step_cost - before)
                    + calls * self.terms.overhead * self.terms.tariff.prices(billed.tokens).read,
                ),
            )
        )

    def _enter(self, position: int, request: PeerRequest, charge: RequestCharge) -> ChargedRequest:
        """Enter a call in the ledger of savings, with the changes made for it."""
        whole, before = self.terms.whole[position], self.calls[-1] if self.calls else None
        grown = before.tokens if before else 0
        broke = charge.broke_at
        sent = ChargedRequest(
            tariff=self.terms.tariff,
            tokens=charge.tokens,
            cached=charge.cached,
            written=charge.written,
            same=grown if broke < 0 else sum(item.tokens for item in request.items[:broke]),
            is_cold=position in self.terms.cold,
        )
        freed = whole.tokens - charge.tokens - self._freed
        if not (request.edits or abs(freed) > LAYOUT_TOKENS or broke >= 0 > whole.broke_at):
            self.savings.call(sent)
            return sent
        self._freed += freed
        came = range(before.position if before else 0, position)
        named = main_reason(request.edits) if request.edits else _unnamed(broke)
        change = RequestChanges(
            turn=len(self.calls) + 1,
            reason=named,
            freed=freed,
            took=(self._whole - request.whole) | set(came) - request.whole,
            summary_cost=sum(map(self._summarizing, request.summaries)),
            forecast=forecast_of(request.edits),
        )
        self.savings.call(sent, change)
        return sent

    def _outline(
        self, items: Sequence[WindowItem], contestant: Contestant, *, rewritten: bool
    ) -> None:
        """Keep the longest request of each stretch between rewrites: it begins with the others."""
        if rewritten or not self.outlines:
            self.outlines.append([])
        seen = self.outlines[-1]
        seen.extend(_line(item, contestant) for item in items[len(seen) :])

    def _pay_for(self, steps: TurnSteps, sent: ChargedRequest, items: Sequence[WindowItem]) -> None:
        """Add what earlier steps brought to the cost of this request, and the steps of its turn."""
        read, full = sent.rates(sent.tokens)
        for source, fetched in steps.present.items():
            at = _tokens_before(items, fetched.turn)
            is_cached = sent.is_found and sent.held(sent.same) > 0 and at <= sent.same
            self._pay(source, fetched.tokens * (read if is_cached else full))
        context: float = sent.tokens + sum(fetched.tokens for fetched in steps.present.values())
        for miss in steps.misses:
            for _ in range(miss.calls):
                added = miss.tokens / miss.calls
                price = sent.step_price(context=context, arguments=ASK_TOKENS, added=added)
                self._pay(miss.use.source, price)
                context += ASK_TOKENS + added
        self.misses += steps.misses

    def _pay(self, source: int, price: float) -> None:
        self.step_cost += price
        self.savings.fetch(source, price)

    def _summarizing(self, summary: Summarizing) -> float:
        usage = Usage(summary.tokens, summary.cached, summary.written, summary.output)
        return units_of(usage, self.terms.tariff)

    def _billed_summary(self, summary: Summarizing) -> float:
        """Price a summary; one that is requested on the live thread has the overhead as well."""
        price = self.terms.factor * self._summarizing(summary)
        if not summary.cached + summary.written:
            return price
        is_cold, prices = not summary.cached, self.terms.tariff.prices(summary.tokens)
        return price + self.terms.overhead * (prices.write if is_cold else prices.read)

    def close(self, final: PeerRequest, contestant: Contestant) -> ReplayRun:
        """Sum up, with the request that the thread's next call would be.

        That request is not paid for: it is what recall and goals are looked for in.
        """
        recording, questions = self.subject.recording, self.subject.questions
        entries = self.subject.entries
        missing = goals_missing(questions.goals, final.items)
        spent = sum(map(self._summarizing, self.summaries), 0.0)
        cost = sum(call.cost for call in self.calls) + spent
        gone = hidden(final.items, entries)
        evicted = hidden(final.items, entries, reasoning=False)
        self.read.update(*(summary.read for summary in final.summaries))
        return ReplayRun(
            trajectory=recording.name,
            policy=self.policy,
            window=self.budget.window,
            tariff=self.terms.tariff.name,
            limit=self.budget.limit,
            usd_per_million=self.terms.tariff.usd_per_million,
            messages=len(recording.messages),
            calls=tuple(self.calls),
            outlines=tuple(map(tuple, self.outlines)),
            compactions=self.compactions,
            summaries=len(self.summaries),
            summary_input_tokens=sum(summary.tokens for summary in self.summaries),
            summary_output_tokens=sum(summary.output for summary in self.summaries),
            overhead_tokens=self.overhead,
            cost=cost,
            cost_unmanaged=self.terms.cost_unmanaged,
            is_whole=self.terms.is_whole,
            bill_unmanaged=self.terms.bill_unmanaged,
            priced_by=self.terms.priced_by,
            misses=tuple(self.misses),
            cost_with_steps=cost + self.step_cost,
            faults_recoverable=self.faults.count - self.faults.lost,
            faults_lost=self.faults.lost,
            cost_with_faults=cost + self.faults.cost,
            savings=tuple(self.savings.lines()),
            cost_beyond=self.savings.beyond,
            recall=self._recall(final.items, contestant),
            goals_verbatim=len(questions.goals) - len(missing),
            goals_lost=len(missing),
            goals_missing=tuple(goal.quote for goal in missing),
            evicted_tokens=_tokens(evicted),
            unread_evicted_tokens=_tokens(e for e in evicted if e.position not in self.read),
            unrecoverable_bytes=sum(e.size_bytes for e in gone if not contestant.holds(e.position)),
            notes=tuple(f"line {note.line + 1}: {note.text}" for note in recording.notes),
        )

    def _recall(self, items: Sequence[WindowItem], contestant: Contestant) -> NeedleRecall:
        """Look for each needle: in the context, then by one recall with its words."""
        context = "\n".join(as_text(item.message) for item in items)
        inline = search = lost = tokens = 0
        for needle in self.subject.questions.needles:
            if needle.answer in context:
                inline += 1
                continue
            recalled = contestant.recall(needle.question)
            tokens += self.count(recalled)
            if needle.answer in recalled:
                search += 1
            else:
                lost += 1
        return NeedleRecall(inline, search, lost, tokens)


def _compactions(request: PeerRequest) -> int:
    """Count the compactions for a request; a contestant without edits has one per summary."""
    folds = sum(isinstance(edit, Fold) for edit in request.edits)
    return max(folds, len(request.summaries))


def _unnamed(broke_at: int) -> str:
    """Return why a request differs, if the contestant does not."""
    return "arrived too large" if broke_at < 0 else "a trigger of the policy"


def _tokens_before(items: Sequence[WindowItem], position: int) -> int:
    """Return the tokens of a request before the message at a position."""
    earlier = takewhile(lambda item: item.position < position, items)
    return sum(item.tokens for item in earlier)


def _tokens(entries: Iterable[Entry]) -> int:
    return sum(entry.tokens for entry in entries)


def _line(item: WindowItem, contestant: Contestant) -> OutlineLine:
    how, handle = contestant.shown(item)
    head = " ".join(item.message.text[: 2 * HEAD_CHARS].split())[:HEAD_CHARS]
    calls = ", ".join(f"{call.name}(…)" for call in item.message.calls)
    return OutlineLine(
        item.position, speaker(item.message), item.tokens, how, head or calls, handle
    )
