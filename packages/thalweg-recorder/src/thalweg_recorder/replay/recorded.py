"""The policy `recorded`: the real requests, costs and compactions of the agent that wrote a log."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from thalweg.engine.entries import Message
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import RecordedCompaction
from thalweg_recorder.replay.questions import Goal
from thalweg_recorder.replay.results import ReplayedCall, ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, TariffTerms

RECORDED = "recorded"
"""Name of the policy."""


def recorded_run(subject: ReplaySubject, terms: TariffTerms, window: int) -> ReplayRun:
    """Return the calls of a log with their costs, and the content that its compactions removed.

    The bill is that of the usage in the log, in the simulated cache that every policy has, unless
    `is_simulated` is false; `logged_bill` is the same usage as it is. Cost and tokens of requests
    are of messages alone, in our count, as for every policy: without the overhead of `TariffTerms`,
    which `overhead_tokens` reports. The context after a compaction is the agent's own summary and
    later messages: a request of the user that neither contains is lost, and so is all text from
    before, unless the summary names the file of the session, which the agent can read.

    Raises:
        RecordingError: The log states no usage.
    """
    recording = subject.recording
    answers = [
        (p, m.usage) for p, m in enumerate(recording.messages) if m.usage and p in terms.paid
    ]
    if not answers:
        raise RecordingError(recording.name, "states no usage", "omit the policy for this log")
    starts = _starts(subject, recording.compactions)
    breaks = {bisect_right([p for p, _ in answers], start - 1) for start in starts}
    calls = tuple(
        _call(turn, position, _own_share(each, terms), terms, broke=turn in breaks)
        for turn, (position, each) in enumerate(answers)
    )
    start = starts[-1] if starts else 0
    newest = recording.compactions[-1] if starts else RecordedCompaction(line=-1)
    gone = subject.entries[:start]
    goals = subject.questions.goals
    lost = tuple(
        goal.quote for goal in goals if is_lost(goal, recording.messages[start:], newest.summary)
    )
    cost = sum(call.cost for call in calls)
    unlogged = [
        missing
        for position, usage in answers
        if (missing := subject.entries[position].tokens - usage.output) > usage.output
    ]
    return ReplayRun(
        trajectory=recording.name,
        policy=RECORDED,
        window=window,
        tariff=terms.tariff.name,
        limit=window,
        usd_per_million=terms.tariff.usd_per_million,
        messages=len(recording.messages),
        calls=calls,
        outlines=((),),
        compactions=len(recording.compactions),
        summaries=len(recording.compactions),
        overhead_tokens=terms.overhead,
        cost=cost,
        cost_unmanaged=terms.cost_unmanaged,
        is_whole=True,
        bill_unmanaged=terms.bill_unmanaged,
        priced_by=terms.priced_by,
        is_simulated=terms.simulated_share is not None,
        logged_bill=sum(terms.paid[position].total for position, _ in answers),
        understated_answers=len(unlogged),
        unlogged_tokens=sum(unlogged),
        cost_with_steps=cost,
        cost_with_faults=cost,
        goals_verbatim=len(goals) - len(lost),
        goals_lost=len(lost),
        goals_missing=lost,
        evicted_tokens=sum(entry.tokens for entry in gone),
        unrecoverable_bytes=0 if newest.transcript else sum(e.size_bytes for e in gone),
    )


def _starts(subject: ReplaySubject, compactions: Sequence[RecordedCompaction]) -> list[int]:
    """Return the position of the first message after each compaction, by their times."""
    times = [message.at for message in subject.recording.messages]
    latest = ""
    ordered = [latest := max(latest, at) for at in times]
    return [bisect_right(ordered, compaction.at) for compaction in compactions if compaction.at]


def _own_share(usage: Usage, terms: TariffTerms) -> Usage:
    """Return the tokens of a request's messages in our count, which is that of every policy.

    The overhead is subtracted from the tokens read, then from the tokens written.
    """
    read = min(terms.overhead, usage.cached)
    written = min(terms.overhead - read, usage.written)
    return Usage(
        round(max(0, usage.input - terms.overhead) / terms.factor),
        int((usage.cached - read) / terms.factor),
        int((usage.written - written) / terms.factor),
        usage.output,
    )


def _call(
    turn: int, position: int, usage: Usage, terms: TariffTerms, *, broke: bool
) -> ReplayedCall:
    plain = max(0, usage.input - usage.cached - usage.written)
    bill = terms.paid[position]
    return ReplayedCall(
        turn=turn + 1,
        position=position,
        tokens=usage.input,
        cached=usage.cached,
        written=usage.written,
        cost=terms.tariff.charge(usage.cached, usage.written, plain),
        cold=position in terms.cold,
        broke_at=0 if broke else -1,
        bill=replace(bill, input=(terms.simulated_share or 1.0) * bill.input),
    )


def is_lost(goal: Goal, later: Sequence[Message], summary: str) -> bool:
    """Return whether neither the messages after a compaction nor its summary have a request."""
    return goal.quote not in summary and not any(goal.quote in one.text for one in later)
