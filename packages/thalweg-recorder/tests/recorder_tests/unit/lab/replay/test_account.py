"""The totals of requests, from any sender."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

import pytest

from recorder_tests.unit.lab.replay.threads import FLAT, answered, asked, entries_of, said
from thalweg.engine.entries import Entry, Message
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.contestant import Contestant, PeerRequest, Summarizing
from thalweg_recorder.replay.fleet import drive
from thalweg_recorder.replay.questions import ASK_TOKENS, Goal, NeedleQuestion, Questions
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import subject_of, terms_of

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
    assert run.to_json()["prefix_breaks"] == run.to_json()["compactions"] == 0


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

    assert run.to_json()["prefix_breaks"] == run.to_json()["compactions"] == 1
    assert [call.broke_at for call in run.calls] == [-1, -1, -1, 0, -1, -1]


LATE = (ALL, ALL, range(3, 12))
"""Forgets the list of files before it is used."""


def test_a_use_of_what_is_gone_is_fetched_where_it_can_be() -> None:
    """One more turn, and what it brings; elsewhere it is lost."""
    (lost,) = settled(ByHand(LATE), FLAT)
    (kept,) = settled(ByHand(LATE, kept=range(3)), FLAT)
    call = next(call for call in lost.calls if call.faults)
    size = entries_of(THREAD)[2].tokens

    assert (lost.faults_recoverable, lost.faults_lost) == (0, 1)
    assert (kept.faults_recoverable, kept.faults_lost) == (1, 0)
    fetched = FLAT.read * call.tokens + FLAT.write * (ASK_TOKENS + size) + FLAT.output * ASK_TOKENS
    assert kept.cost_with_faults - kept.cost == pytest.approx(fetched)


def test_what_was_fetched_stays_until_what_came_after_it_leaves() -> None:
    """Then the next use is another fault."""
    (stays,) = settled(ByHand((*LATE, LATE[-1], {6, *range(7, 12)})), FLAT)
    (leaves,) = settled(ByHand((*LATE, LATE[-1], range(7, 12))), FLAT)

    assert [call.faults for call in stays.calls] == [0, 0, 1, 0, 0, 0]
    assert [call.faults for call in leaves.calls] == [0, 0, 1, 0, 1, 0]


def test_needles_are_looked_for_in_the_context_and_in_what_one_search_brings() -> None:
    """Nothing else is searched: a contestant that cannot list more steps has none."""
    needles = (
        NeedleQuestion("Which file?", PATH, line=2),
        NeedleQuestion("How many?", "three", line=-1),
        NeedleQuestion("Which ibis?", "glossy", line=-1),
    )
    goals = (Goal("Count the birds", "goal", 0), Goal("Counted.", "goal", 11))
    questions = Questions(needles, goals)
    (run,) = settled(ByHand((ALL, range(4, 5)), brings=PATH), FLAT, questions=questions)

    assert (run.recall.inline, run.recall.search, run.recall.lost) == (1, 1, 1)
    assert run.recall.steps == (-1,)
    assert (run.goals_verbatim, run.goals_lost) == (0, 2)
