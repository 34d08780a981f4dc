"""The results of a replay: one run per recording and policy, call by call."""

from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.edits import Edit
from thalweg.engine.pricing.savings import Saving
from thalweg.engine.pricing.tariff import PER_MILLION
from thalweg_recorder.replay.bill import Bill, PriceSource
from thalweg_recorder.replay.harm import LOST, Miss


@dataclass(frozen=True, slots=True)
class OutlineLine:
    """One message of a request, as an outline shows it."""

    position: int
    """In the log; -1 for a record, a note or a placeholder."""
    speaker: str
    tokens: int
    shown: str
    """`whole`, or the name of the edit that shows something else, or `record` or `note`."""
    head: str
    """The beginning of the text sent, on one line."""
    handle: str = ""
    """The reference that reads the whole, if a shortened form is shown and contains it."""


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """One model call, as it would have been sent."""

    turn: int
    position: int
    """Of the assistant message that answered it."""
    tokens: int
    cached: int
    written: int
    cost: float
    """Of its input alone, without the recorded agent's system prompt and tools."""
    cold: bool
    """Whether the cache had expired since the call before."""
    broke_at: int
    """Index of the first message that differs from the request before; -1 when none does."""
    edits: tuple[Edit, ...] = ()
    """Made for this call."""
    steps: int = 0
    """More calls that its turn needs for content that this request no longer shows."""
    outline: int = 0
    """Which of `ReplayRun.outlines` this request is the beginning of."""
    length: int = 0
    """How many messages it had."""
    problems: tuple[str, ...] = ()
    """Why a provider would reject it."""
    bill: Bill = field(default_factory=Bill)


@dataclass(frozen=True, slots=True)
class NeedleRecall:
    """What became of the needles of a recording."""

    inline: int = 0
    """In the final context."""
    search: int = 0
    """Not inline, but in one recall by the question's own words."""
    lost: int = 0
    """Neither."""
    search_tokens: int = 0
    """Tokens of all recalls together."""

    @property
    def total(self) -> int:
        """Number of needles."""
        return self.inline + self.search + self.lost

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `thalweg replay --json` prints."""
        searched = self.search + self.lost
        return {
            "inline": self.inline,
            "search": self.search,
            "lost": self.lost,
            "search_tokens": round(self.search_tokens / searched) if searched else 0,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRun:
    """One recording under one policy."""

    trajectory: str
    """Name of the recording, unique among the runs of a replay."""
    title: str = ""
    """The subject of the recorded session."""
    project: str = ""
    """The folder that the recorded agent worked in."""
    started_at: str = ""
    """ISO 8601, or empty."""
    policy: str
    window: int
    tariff: str
    limit: int
    """Tokens a request may fill: the window minus the tokens kept free for the answer."""
    messages: int
    calls: tuple[ReplayedCall, ...]
    outlines: tuple[tuple[OutlineLine, ...], ...] = field(repr=False)
    """The longest request of each stretch between rewrites: every call's request is the
    beginning of one of them."""
    usd_per_million: float | None = None
    """Dollars for a million units of `cost`; `None` if the tariff is not in dollars."""
    compactions: int
    """How often a summary replaced older messages."""
    summaries: int
    """Calls of a summarizer."""
    summary_input_tokens: int = 0
    summary_output_tokens: int = 0
    overhead_tokens: int
    """Tokens that the policy's own prompt and tools add to a request; in no cost."""
    cost: float
    """Of the input of all calls and of their summaries; see `bill`."""
    cost_unmanaged: float
    """`cost`, if every call is sent whole."""
    is_whole: bool = False
    """Whether the log states usage, so that `bill` leaves nothing out."""
    bill_unmanaged: float
    """The total of `bill`, if every call is sent whole."""
    priced_by: PriceSource = "chosen"
    logged_bill: float = 0.0
    """Of `recorded`: the usage in the log at list prices. Its `bill` is an estimate of the same in
    the simulated cache, from the requests before any compaction, which every policy sends whole."""
    is_simulated: bool = True
    """Whether `bill` is in the simulated cache; not where a log begins with a compaction."""
    understated_answers: int = 0
    """Of `recorded`: answers of which the log states less than half of the output tokens."""
    unlogged_tokens: int = 0
    """The tokens of their texts, reasoning and calls, less those that the log states."""
    misses: tuple[Miss, ...] = field(default=(), repr=False)
    """Uses of content that a request no longer showed whole."""
    cost_with_steps: float
    """`cost`, with the steps to have that content again, and what they add to later requests."""
    faults_recoverable: int = 0
    faults_lost: int = 0
    cost_with_faults: float
    """The former measure, see `thalweg_recorder.replay.faults`."""
    savings: tuple[Saving, ...] = ()
    """The expected and the actual savings of each change."""
    cost_beyond: float = 0.0
    """How much of `cost_unmanaged` is for tokens over the window: no request could hold them."""
    recall: NeedleRecall = NeedleRecall()
    goals_verbatim: int
    goals_lost: int
    goals_missing: tuple[str, ...] = ()
    """Quotes of the goals that are lost, in the order of the recording."""
    evicted_tokens: int
    """Of the messages that the final context does not show whole, reasoning aside."""
    unread_evicted_tokens: int = 0
    """Of them, those that no summarizer was shown whole."""
    unrecoverable_bytes: int
    notes: tuple[str, ...] = ()
    """Anomalies of the recording."""

    @property
    def steps_needed(self) -> int:
        """Number of calls to have removed content again, at every use of it."""
        return sum(miss.steps for miss in self.misses if miss.steps != LOST)

    @property
    def steps_lost(self) -> int:
        """Number of uses of removed content that no call brings."""
        return sum(miss.steps == LOST for miss in self.misses)

    @property
    def bill(self) -> Bill:
        """The bill of all calls."""
        return sum((call.bill for call in self.calls), Bill())

    @property
    def changes(self) -> int:
        """Number of calls before which content that was already sent is changed."""
        return sum(map(_is_change, self.calls))

    @property
    def peak_tokens(self) -> int:
        """Tokens of the messages of the largest request."""
        return max((call.tokens for call in self.calls), default=0)

    @property
    def calls_over_window(self) -> int:
        """Number of requests that exceed the window."""
        return sum(call.tokens > self.window for call in self.calls)

    @property
    def invalid_requests(self) -> int:
        """Number of requests that a provider rejects for their form."""
        return sum(bool(call.problems) for call in self.calls)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `thalweg replay --json` prints."""
        return {
            "trajectory": self.trajectory,
            "title": self.title,
            "project": self.project,
            "started_at": self.started_at,
            "policy": self.policy,
            "tariff": self.tariff,
            "window": self.window,
            "messages": self.messages,
            **self._calls_to_json(),
            "summaries": self.summaries,
            "summary_input_tokens": self.summary_input_tokens,
            "summary_output_tokens": self.summary_output_tokens,
            "beside_tokens": self.overhead_tokens,
            "cost": round(self.cost, 1),
            "cost_unmanaged": round(self.cost_unmanaged, 1),
            "steps": {
                "uses": len(self.misses),
                "needed": self.steps_needed,
                "lost": self.steps_lost,
            },
            "cost_with_steps": round(self.cost_with_steps, 1),
            "faults": {"recoverable": self.faults_recoverable, "lost": self.faults_lost},
            "cost_with_faults": round(self.cost_with_faults, 1),
            "bill": self._bill_to_json(),
            "usd_per_million": self.usd_per_million,
            "saved": round(sum((line.realised for line in self.savings), 0.0), 1),
            "cost_beyond_window": round(self.cost_beyond, 1),
            "savings": [line.to_json() for line in self.savings],
            "recall": self.recall.to_json(),
            "goals": {"verbatim": self.goals_verbatim, "lost": self.goals_lost},
            "evicted_tokens": self.evicted_tokens,
            "unread_evicted_tokens": self.unread_evicted_tokens,
            "unrecoverable_bytes": self.unrecoverable_bytes,
        }

    def _calls_to_json(self) -> dict[str, Any]:
        calls = self.calls
        edits = [edit for call in calls for edit in call.edits]
        kinds = ("Evict", "Elide", "Supersede", "Fold")
        return {
            "calls": len(calls),
            "compactions": self.compactions,
            "changes": self.changes,
            "edits": {k.lower(): sum(type(e).__name__ == k for e in edits) for k in kinds},
            "peak_tokens": self.peak_tokens,
            "over_window": self.calls_over_window,
            "invalid_requests": self.invalid_requests,
            "input_tokens": sum(call.tokens for call in calls),
            "cached_tokens": sum(call.cached for call in calls),
            "written_tokens": sum(call.written for call in calls),
            "prefix_breaks": sum(call.broke_at >= 0 for call in calls),
        }

    def _bill_to_json(self) -> dict[str, Any]:
        bill, usd = self.bill, self.usd_per_million
        costs = {
            "input": bill.input,
            "output": bill.output,
            "summaries": bill.summaries,
            "steps": bill.steps,
            "total": bill.total,
            "unmanaged": self.bill_unmanaged,
            "logged": self.logged_bill,
        }
        unit = "USD" if usd else "uncached input tokens"
        in_unit = {
            k: round(v * usd / PER_MILLION, 6) if usd else round(v, 1) for k, v in costs.items()
        }
        return {"unit": unit, "prices": self.priced_by, "whole": self.is_whole, **in_unit}


def _is_change(call: ReplayedCall) -> bool:
    """Whether a call changes content sent before (bounding an arrival does not)."""
    return call.broke_at >= 0 or any(e.reason != "arrived too large" for e in call.edits)
