"""The totals of requests, from any sender."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace

import pytest

from recorder_tests.unit.lab.replay.threads import FLAT, answered, asked, driven, entries_of, said
from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing
from thalweg_recorder.replay.fleet import drive
from thalweg_recorder.replay.harm import LOST
from thalweg_recorder.replay.questions import Goal, NeedleQuestion, Questions
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import subject_of, terms_of, waits_of

PATH = "/srv/delta/heron-4f9d2c1.csv"
THREAD = [
    said("user", "Count the birds of the delta."),
    asked("l", "list_files", path="."),
    answered("l", "list_files", PATH, line=2),
    asked("c", "count", place="bank"),
    answered("c", "count", "three"),
    asked("r", "read_file", path=PATH),
    answered("r", "read_file", "one heron"),
    asked("w", "wait"),
    answered("w", "wait", "waited"),
    asked("o", "open_file", path=PATH),
    answered("o", "open_file", "one heron"),
    said("assistant", "Counted."),
]
ANTHROPIC = TARIFFS["anthropic"]
DEAR = Tariff(name="dear", read=0.5, write=2.0, output=10.0, minimum=1)


@dataclass
class ByHand(Contestant):
    """Shows whole the positions that are set, from one request to the next."""

    views: Sequence[Container[int]]
    """Positions that each request shows; the last one for all that follow."""
    summaries: dict[int, Summarizing] = field(default_factory=dict)
    """Of the request of that number, from 0."""
    kept: range = range(0)
    brings: str = ""
    log: list[Message] = field(default_factory=list)
    asked: int = 0

    def receive(self, message: Message) -> None:
        """See `Contestant.receive`."""
        self.log.append(message)

    def request(self, *, cold: bool) -> PeerRequest:
        """See `Contestant.request`."""
        del cold
        positions = self.views[min(self.asked, len(self.views) - 1)]
        entries: list[Entry] = entries_of(self.log)
        items = [
            WindowItem(e.message, e.position, e.tokens) for e in entries if e.position in positions
        ]
        self.asked += 1
        made = self.summaries.get(self.asked - 1)
        return PeerRequest(
            items=items,
            whole=frozenset(item.position for item in items),
            overhead=100 * self.asked,
            summaries=(made,) if made else (),
        )

    def recall(self, question: str) -> str:
        """See `Contestant.recall`."""
        return f"{question} {self.brings}"

    def holds(self, position: int) -> bool:
        """See `Contestant.holds`."""
        return position in self.kept


ALL = range(len(THREAD))
FORGETS = (ALL, ALL, ALL, range(3, 12))
"""Drops the request and the first call before its fourth request."""


def settled(
    contestant: ByHand, *tariffs: Tariff, questions: Questions | None = None
) -> Sequence[ReplayRun]:
    """Drive a contestant and settle its accounts."""
    recording = Recording("by-hand", "by hand", tuple(THREAD))
    subject = subject_of(recording, questions or Questions())
    accounts = [
        Account(subject, terms_of(subject, tariff), "by-hand", Budget(window=8_000))
        for tariff in tariffs
    ]
    return drive(subject, contestant, accounts)


def test_who_sends_everything_costs_what_everything_costs() -> None:
    """And loses nothing."""
    (run,) = settled(ByHand([ALL]), FLAT)

    assert run.cost == run.cost_unmanaged == run.cost_with_faults
    assert (run.evicted_tokens, run.unrecoverable_bytes, run.faults_lost) == (0, 0, 0)
    assert run.to_json()["prefix_breaks"] == run.to_json()["changes"] == 0


def test_one_drive_is_charged_under_every_tariff() -> None:
    """The same requests, at other prices."""
    cheap, dear = settled(ByHand(FORGETS), FLAT, DEAR)

    assert [call.tokens for call in cheap.calls] == [call.tokens for call in dear.calls]
    assert (cheap.tariff, dear.tariff) == ("flat", "dear")
    assert dear.cost > cheap.cost


def test_what_a_contestant_sends_of_its_own_is_told_and_in_no_cost() -> None:
    """The most that it was."""
    (run,) = settled(ByHand([ALL]), FLAT)

    assert run.overhead_tokens == 600
    assert run.cost == run.cost_unmanaged


def test_a_summary_is_paid_for_by_where_its_input_stood() -> None:
    """Cached, written, and the rest at the plain price; then what was written."""
    made = Summarizing(tokens=1_000, cached=600, written=100, output=50, read=frozenset())
    (plain,) = settled(ByHand(FORGETS), DEAR)
    (paid,) = settled(ByHand(FORGETS, {3: made}), DEAR)

    assert paid.cost - plain.cost == pytest.approx(600 * 0.5 + 100 * 2.0 + 300 + 50 * 10.0)
    told = paid.to_json()
    assert (told["summaries"], told["summary_input_tokens"]) == (1, 1_000)


def test_a_bill_has_the_recorded_agents_overhead_in_every_call() -> None:
    """Written once and read later, also by a summary that is requested on the live thread."""
    size = sum(entry.tokens for entry in entries_of(THREAD[:1]))
    usage = Usage(5_000 + size, written=5_000 + size, output=70)
    log = (THREAD[0], replace(THREAD[1], usage=usage), *THREAD[2:])
    subject = subject_of(Recording("by-hand", "by hand", log), Questions())
    terms = terms_of(subject, FLAT)
    made = Summarizing(tokens=1_000, cached=600, written=100, output=50, read=frozenset())
    apart = Summarizing(tokens=1_000, output=50, read=frozenset())
    contestant = ByHand(FORGETS, {3: made, 4: apart})

    (run,) = drive(subject, contestant, [Account(subject, terms, "x", Budget(window=8_000))])

    overhead = 5_000 * FLAT.write + 5 * 5_000 * FLAT.read
    assert (terms.overhead, terms.factor) == (5_000, 1.0)
    assert run.bill.input == pytest.approx(sum(c.cost for c in run.calls) + overhead)
    assert run.bill.output == 70 * FLAT.output
    live, alone = 600 * 0.1 + 100 * 1.25 + 300 + 50 * 5.0, 1_000 + 50 * 5.0
    assert run.bill.summaries == pytest.approx(live + 5_000 * FLAT.read + alone)
    assert run.is_whole


def _paused(*minutes: int) -> Recording:
    """Return turns at some minutes, whose answers come at once, with 5,000 tokens before them."""
    log: list[Message] = []
    for minute in minutes:
        at = f"2026-11-30T{8 + minute // 60:02}:{minute % 60:02}:00Z"
        usage = None if log else Usage(5_000 + entries_of([said("user", "go")])[0].tokens)
        log += [replace(said("user", "go"), at=at)]
        log += [replace(said("assistant", "done"), at=at, usage=usage)]
    return Recording("paused", "by hand", tuple(log))


@pytest.mark.parametrize(
    ("minutes", "units"),
    [
        ((0, 4, 8), 0.0),
        ((0, 10), 2.0 - 1.25),
        ((0, 10, 20), 2.0 - 1.25 + 0.1 - 1.25),
        ((0, 10, 80), 2.0 - 1.25),
        ((0, 80, 160), 0.0),
    ],
)
def test_our_bill_has_the_lifetime_that_the_pauses_choose_for_system_prompt_and_tools(
    minutes: Sequence[int], units: float
) -> None:
    """An hour from the first pause on that only an hour outlives; no other bill has it."""
    subject = subject_of(_paused(*minutes), Questions())
    inputs: dict[str, float] = {}
    for policy in ("thalweg-careful", "peer:other"):
        account = Account(subject, terms_of(subject, ANTHROPIC), policy, Budget(window=8_000))
        inputs[policy] = drive(subject, ByHand([range(9)]), [account])[0].bill.input

    ours, other = inputs.values()
    assert ours - other == pytest.approx(5_000 * units)


@pytest.mark.parametrize("tariff", [FLAT, TARIFFS["anthropic-1h"], TARIFFS["openai-6"]])
def test_only_a_cache_with_both_lifetimes_has_one_chosen(tariff: Tariff) -> None:
    """Not one that lives an hour anyway, or for which no hour is requested."""
    terms = terms_of(subject_of(_paused(0, 40, 80), Questions()), tariff)

    assert not any(terms.lifetime_costs.values())


@pytest.mark.parametrize(("minimum", "is_stored"), [(5_000, True), (5_001, False)])
def test_a_stable_prefix_too_short_for_the_cache_costs_nothing_more(
    minimum: int, *, is_stored: bool
) -> None:
    """No mark stores it."""
    subject = subject_of(_paused(0, 10), Questions())
    tariff = ANTHROPIC.model_copy(update={"minimum": minimum})
    terms = terms_of(subject, tariff)

    assert any(terms.lifetime_costs.values()) == is_stored


def test_waits_are_those_between_answers_and_requests_with_known_times() -> None:
    """And never negative: clocks are set back."""
    one, two = _paused(0, 10).messages[:2], _paused(0, 10).messages[2:]

    assert [*waits_of([*one, *two]).values()] == [0.0, 600.0]
    assert [*waits_of([*two, *one]).values()] == [0.0, 0.0]
    assert [*waits_of([*one, replace(two[0], at="later"), two[1]]).values()] == [0.0, 0.0]


def test_without_usage_the_bill_is_the_cost_of_input() -> None:
    """With summaries and steps, and without anything that is only guessed."""
    (run,) = settled(ByHand(LATE, kept=range(3)), FLAT)

    assert not run.is_whole
    assert run.bill.total == pytest.approx(run.cost_with_steps)
    assert run.bill.steps > 0
    assert run.bill_unmanaged == run.cost_unmanaged


def test_a_summary_of_a_contestant_without_edits_is_a_compaction() -> None:
    made = Summarizing(tokens=10, output=1, read=frozenset())
    (run,) = settled(ByHand(FORGETS, {3: made}), FLAT)

    assert (run.compactions, run.changes) == (1, 1)


def test_what_left_unread_is_what_no_summarizer_was_shown() -> None:
    """Whether or not it can be read back."""
    sizes = [entry.tokens for entry in entries_of(THREAD)]
    made = Summarizing(tokens=10, output=1, read=frozenset({0, 2}))
    (run,) = settled(ByHand(FORGETS, {3: made}, kept=range(1)), FLAT)

    assert run.evicted_tokens == sum(sizes[:3])
    assert run.unread_evicted_tokens == sizes[1]
    assert run.unrecoverable_bytes == sum(e.size_bytes for e in entries_of(THREAD)[1:3])


def test_a_rewritten_beginning_is_a_break_of_the_prefix() -> None:
    """Once, when it happens."""
    (run,) = settled(ByHand(FORGETS), FLAT)

    assert run.to_json()["prefix_breaks"] == run.to_json()["changes"] == 1
    assert [call.broke_at for call in run.calls] == [-1, -1, -1, 0, -1, -1]


LATE = (ALL, ALL, range(3, 12))
"""Forgets the list of files before it is used."""


def test_a_former_fault_is_one_more_turn_that_leaves_nothing() -> None:
    """The former measure, next to the steps."""
    (lost,) = settled(ByHand(LATE), FLAT)
    (kept,) = settled(ByHand(LATE, kept=range(3)), FLAT)
    call = kept.calls[2]
    size = entries_of(THREAD)[2].tokens

    assert (lost.faults_recoverable, lost.faults_lost) == (0, 1)
    assert (kept.faults_recoverable, kept.faults_lost) == (1, 0)
    fetched = FLAT.read * call.tokens + FLAT.write * (ASK_TOKENS + size) + FLAT.output * ASK_TOKENS
    assert kept.cost_with_faults - kept.cost == pytest.approx(fetched)


def test_a_former_fault_is_repeated_when_what_came_after_it_leaves() -> None:
    """Until then the content is taken to be there."""
    (stays,) = settled(ByHand((*LATE, LATE[-1], {6, *range(7, 12)})), FLAT)
    (leaves,) = settled(ByHand((*LATE, LATE[-1], range(7, 12))), FLAT)

    assert stays.faults_lost == 1
    assert leaves.faults_lost == 2


def test_a_step_is_a_whole_call_and_what_it_brought_is_read_in_every_later_one() -> None:
    """Two steps: each reads the context so far; three later calls read what both added."""
    (run,) = settled(ByHand(LATE, kept=range(3)), FLAT)
    (miss,) = (miss for miss in run.misses if miss.steps)
    call, each = run.calls[2], ASK_TOKENS + miss.tokens / 2
    reads = 2 * FLAT.read * call.tokens + FLAT.read * each
    added = FLAT.write * 2 * each + FLAT.output * 2 * ASK_TOKENS
    later = 3 * FLAT.read * 2 * each

    assert (miss.use.turn, miss.use.source, miss.steps) == (5, 2, 2)
    assert [call.steps for call in run.calls] == [0, 0, 2, 0, 0, 0]
    assert run.cost_with_steps - run.cost == pytest.approx(reads + added + later)
    assert run.to_json()["steps"] == {"uses": len(run.misses), "needed": 2, "lost": 0}


@pytest.mark.parametrize(
    ("view", "calls"),
    [
        (range(3, 12), 3 * FLAT.read),
        (range(4, 12), 1 * FLAT.read + 1 * FLAT.write + 1 * FLAT.read),
        ({3, 4, 5, *range(7, 12)}, 1 * FLAT.read),
    ],
)
def test_what_steps_brought_is_written_again_or_leaves_as_its_neighbours_do(
    view: Container[int], calls: float
) -> None:
    """A change before it has it written again; a message after it that leaves takes it along."""
    (run,) = settled(ByHand((*LATE, LATE[-1], view), kept=range(3)), FLAT)
    (once,) = settled(ByHand((*LATE, LATE[-1], view), kept=range(3), brings=PATH), FLAT)
    first = next(miss for miss in run.misses if miss.steps)
    added = 2 * ASK_TOKENS + first.tokens
    steps = 2 * FLAT.read * run.calls[2].tokens + FLAT.read * added / 2
    steps += FLAT.write * added + FLAT.output * 2 * ASK_TOKENS

    assert run.cost_with_steps - run.cost == pytest.approx(steps + calls * added)
    assert next(miss.steps for miss in once.misses if miss.steps) == 1
    assert once.cost_with_steps < run.cost_with_steps


def test_content_that_nothing_brings_is_produced_again_by_one_call() -> None:
    """To lose everything is not cheaper than to keep it."""
    (run,) = settled(ByHand(LATE), FLAT)
    (miss,) = (miss for miss in run.misses if miss.steps)
    size = entries_of(THREAD)[2].tokens

    assert (miss.steps, miss.tokens, miss.calls) == (LOST, size, 1)
    assert run.to_json()["steps"] == {"uses": len(run.misses), "needed": 0, "lost": 1}
    assert run.cost_with_steps > run.cost


def test_steps_to_the_agents_own_words_are_paid_for_as_those_to_results() -> None:
    """They were free by the former measure."""
    mine = said("assistant", f"I keep it in {PATH}.")
    thread = [said("user", "Where?"), mine, said("user", "Go on."), said("assistant", PATH)]
    subject = subject_of(Recording("by-hand", "by hand", tuple(thread)), Questions())
    run = driven(subject, ByHand([{0, 2}], kept=range(3)))

    assert [(miss.use.kind, miss.steps) for miss in run.misses] == [("own words", 2)]
    assert run.cost_with_steps > run.cost_with_faults == run.cost


def test_the_ledger_of_savings_has_every_step() -> None:
    """At the change that removed the content."""
    (run,) = settled(ByHand(LATE, kept=range(3)), FLAT)

    paid = sum(line.fetched for line in run.savings)
    assert paid == pytest.approx(run.cost_with_steps - run.cost) != 0


def test_needles_are_looked_for_in_the_context_and_in_what_one_search_brings() -> None:
    """Nothing else is searched."""
    needles = (
        NeedleQuestion("Which file?", PATH, line=2),
        NeedleQuestion("How many?", "three", line=-1),
        NeedleQuestion("Which ibis?", "glossy", line=-1),
    )
    goals = (Goal("Count the birds", "goal", 0), Goal("Counted.", "goal", 11))
    questions = Questions(needles, goals)
    (run,) = settled(ByHand((ALL, range(4, 5)), brings=PATH), FLAT, questions=questions)

    assert (run.recall.inline, run.recall.search, run.recall.lost) == (1, 1, 1)
    assert (run.goals_verbatim, run.goals_lost) == (0, 2)
