"""The ledger of a thread, drawn up from its journal: numbers worked out by hand."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from core_tests.archives import archive_in_memory
from core_tests.unit.archive.threads.driver import KEY
from thalweg.archive import Archive, Logged
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord
from thalweg.archive.threads.savings import BranchSavings, compute_savings
from thalweg.archive.threads.thread_history import LoggedMessage, Taken
from thalweg.engine.edits import Edit, Evict, Fold
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.pricing.savings import Forecast, Saving
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter, measure

PRICES = Tariff(name="by hand", read=0.1, write=1.25, minimum=1)
ANSWER = LoggedMessage(-1, Message("assistant", (Text("Done."),)))


def fold(before: int, after: int, *, last: int = 9, forecast: Forecast | None = None) -> Fold:
    """Fold some messages."""
    return Fold(
        reason="re-reading it has cost as much as dropping it",
        turn=0,
        tokens_before=before,
        tokens_after=after,
        last=last,
        kept=(),
        record="r",
        forecast=forecast,
    )


def evict(before: int, after: int, position: int) -> Evict:
    """Bound a message that arrived too large."""
    return Evict(
        reason="arrived too large",
        turn=0,
        tokens_before=before,
        tokens_after=after,
        position=position,
        parts=(),
    )


class Journal:
    """Turns made by hand, one after the other."""

    def __init__(self, archive: Archive | None = None) -> None:
        self.archive = archive or archive_in_memory()
        [self.tariff] = self.archive.attach(KEY, PRICES.model_dump_json())
        self.turns: list[Taken] = []

    def call(
        self,
        tokens: int,
        same: int,
        *edits: Edit,
        cold: bool = False,
        usage: Usage | None = None,
        answer: LoggedMessage | None = ANSWER,
        spent: Usage | None = None,
        tariff: str | None = None,
    ) -> None:
        """Take a turn."""
        number = len(self.turns)
        page = TurnRecord(
            kind="call",
            at=0.0,
            parent=number - 1 if number else None,
            length=0,
            line=ThreadBranch(),
            calls=number + 1,
            window=1_000_000,
            tokens={"history": tokens},
            tariff=self.tariff if tariff is None else tariff,
            same=same,
            is_cold=cold,
            edits=edits,
            spent=spent,
        )
        self.turns.append(Taken(number, page, usage, is_current=True, answer=answer))

    def saved(self) -> BranchSavings:
        """Draw up the ledger."""
        return compute_savings(self.archive, KEY, self.turns)

    def line(self) -> Saving:
        """Draw up a ledger of one line."""
        (line,) = self.saved().lines.values()
        return line


def folded(*, calls: int = 5) -> Journal:
    """Fold 8,000 of 10,000 tokens in the second turn; 500 come before, 1,000 are rewritten."""
    journal = Journal()
    journal.call(9_500, 0)
    journal.call(2_000, 500, fold(8_500, 500))
    for _ in range(calls - 2):
        journal.call(2_000, 2_000)
    return journal


def test_a_fold_saves_reading_what_it_freed_and_costs_writing_what_it_moved() -> None:
    """Of 2,000 tokens 500 are old, 500 new, so 1,000 are written that were cached."""
    line = folded().line()

    assert line.rewriting == pytest.approx((1.25 - 0.1) * 1_000)
    assert line.saved == pytest.approx(4 * 0.1 * 8_000)
    assert line.realised == pytest.approx(3_200 - 1_150)
    assert line.calls == 4


def test_what_nobody_forecast_is_foreseen_from_the_facts() -> None:
    """As many more calls as there were: two, the second being this one."""
    forecast = folded().line().forecast

    assert forecast.price == pytest.approx(1_150)
    assert forecast.saving == pytest.approx(800)
    assert forecast.calls == 2


def test_a_forecast_that_was_made_stands() -> None:
    """The code that decided the fold had more information."""
    journal, expected = folded(), Forecast(price=5.0, saving=7.0, calls=9)
    page = replace(journal.turns[1].page, edits=(fold(8_500, 500, forecast=expected),))
    journal.turns[1] = replace(journal.turns[1], page=page)

    assert journal.line().forecast == expected


def test_a_cold_cache_makes_rewriting_free_and_what_was_freed_dear() -> None:
    """Everything is written again anyway, and would have been."""
    journal = folded(calls=2)
    journal.turns[1] = replace(journal.turns[1], page=replace(journal.turns[1].page, is_cold=True))
    journal.call(2_000, 2_000, cold=True)
    line = journal.line()

    assert line.rewriting == 0
    assert line.saved == pytest.approx(2 * 1.25 * 8_000)


def test_what_the_provider_reports_counts_more_than_what_was_thought() -> None:
    """It counts twice as many tokens, and kept a cache that was thought to be cold."""
    journal = folded(calls=2)
    usage = Usage(input=4_000, cached=4_000, written=0, output=1)
    journal.call(2_000, 2_000, cold=True, usage=usage)
    line = journal.line()

    assert line.saved == pytest.approx(0.1 * 8_000 + 2 * 0.1 * 8_000)


def test_a_fold_that_was_thought_to_be_free_is_charged_where_the_cache_had_lived_on() -> None:
    """The provider found what comes before the first change, so it had the rest as well."""
    journal = Journal()
    journal.call(9_500, 0)
    usage = Usage(input=2_000, cached=500, written=1_500)
    journal.call(2_000, 500, fold(8_500, 500), cold=True, usage=usage)

    assert journal.line().rewriting == pytest.approx((1.25 - 0.1) * 1_000)


def test_a_cache_that_was_lost_unseen_is_told_by_the_provider() -> None:
    """It reports that nothing was found where all should have been: that call was dear."""
    journal = folded(calls=2)
    journal.call(2_000, 2_000, usage=Usage(input=2_000, cached=2_000))
    journal.call(2_000, 2_000, usage=Usage(input=2_000, written=2_000))

    assert journal.line().saved == pytest.approx((0.1 + 0.1 + 1.25) * 8_000)


def test_a_provider_that_reports_no_cache_is_not_taken_for_one_without() -> None:
    """Most local servers report nothing of it; the lifetime of the cache decides."""
    journal = folded(calls=2)
    journal.call(2_000, 2_000, usage=Usage(input=2_000))

    assert journal.line().saved == pytest.approx(2 * 0.1 * 8_000)


def test_a_summary_is_charged_to_its_fold() -> None:
    """Read from the cache and at full price, and written by the model."""
    journal = folded()
    spent = Usage(calls=1, input=3_000, cached=2_000, output=100)
    page = replace(journal.turns[1].page, spent=spent)
    journal.turns[1] = replace(journal.turns[1], page=page)

    assert journal.line().summary_cost == pytest.approx(1_000 + 200 + 500)


def test_folds_are_accounted_for_one_by_one() -> None:
    """What the first freed would still be there had the second not been made."""
    journal = folded(calls=3)
    journal.call(1_000, 500, fold(1_500, 500, last=19))
    journal.call(1_000, 1_000)
    first, second = journal.saved().lines.values()

    assert first.saved == pytest.approx(4 * 0.1 * 8_000)
    assert second.saved == pytest.approx(2 * 0.1 * 1_000)
    assert second.rewriting == pytest.approx((1.25 - 0.1) * 500)
    assert [*journal.saved().lines] == [1, 3]


def test_what_is_bounded_on_arrival_was_never_written() -> None:
    """It saves the dearer price once, and costs nothing."""
    journal = Journal()
    journal.call(1_000, 0)
    journal.call(1_100, 1_000, evict(5_000, 100, position=3))
    journal.call(1_100, 1_100)
    line = journal.line()

    assert line.rewriting == 0
    assert line.saved == pytest.approx((1.25 + 0.1) * 4_900)


def test_a_call_that_was_not_answered_is_not_charged() -> None:
    """The request was refused; what was decided for it is kept, and the next one is charged."""
    journal = Journal()
    journal.call(9_500, 0)
    journal.call(2_000, 500, fold(8_500, 500), answer=None)
    journal.call(1_500, 2_000, evict(600, 100, position=12))
    line = journal.line()

    assert [*journal.saved().lines] == [1]
    assert line.calls == 1
    assert line.freed == 8_500
    assert line.rewriting == pytest.approx((1.25 - 0.1) * 500)


def test_a_turn_from_before_prices_were_kept_is_passed_over() -> None:
    """Its cost is not recorded."""
    journal = Journal()
    journal.call(9_500, 0, tariff="")
    journal.call(2_000, 0, fold(8_500, 500), tariff="")

    assert journal.saved() == BranchSavings({})


def test_a_rewound_fold_is_in_no_line() -> None:
    """It is not on the way to the current thread."""
    journal = folded(calls=3)
    journal.call(9_900, 9_500)
    page = replace(journal.turns[3].page, parent=0)
    journal.turns[3] = replace(journal.turns[3], page=page)

    assert journal.saved() == BranchSavings({}, course={0: 0, 3: 0})


RECALLED = "found " * 100


def recalling(**arguments: str) -> Journal:
    """Fold twice, then recall something of what was folded."""
    archive = archive_in_memory()
    call = Message("assistant", (ToolCall("c1", "recall", json.dumps(arguments)),))
    result = Message("tool", (Text(f"#3 user\n{RECALLED}"),), answers="c1", name="recall")
    archive.append(KEY, [Logged(message) for message in (call, result)])
    journal = Journal(archive)
    journal.call(9_500, 0)
    journal.call(2_000, 500, fold(8_500, 500))
    journal.call(1_000, 500, fold(1_500, 500, last=19), answer=LoggedMessage(0, call))
    journal.call(1_200, 1_000)
    journal.call(1_200, 1_200)
    return journal


@pytest.mark.parametrize(
    ("arguments", "which"),
    [
        ({"handle": "abcdefghijklmnop#12"}, 1),
        ({"handle": "abcdefghijklmnop#4-15"}, 0),
        ({"query": "what was found"}, 0),
    ],
)
def test_fetching_back_is_charged_to_the_fold_that_took_it(
    arguments: dict[str, str], which: int
) -> None:
    """The handle names a message, or else what was found does."""
    lines: Sequence[Saving] = [*recalling(**arguments).saved().lines.values()]

    assert lines[which].fetched > 0
    assert lines[1 - which].fetched == 0


def test_what_was_fetched_back_is_read_again_with_every_call() -> None:
    """One more turn for it, and from then on that much less is saved."""
    journal = recalling(handle="abcdefghijklmnop#4")
    line, _ = journal.saved().lines.values()
    count = exact_counter()
    call, result = (measure(m, count).tokens for m in journal.archive.messages(KEY, 0, 1))

    assert line.saved == pytest.approx(0.1 * (4 * 8_000 - call - result))
    read = 0.1 * (1_200 - call - result)
    assert line.fetched == pytest.approx(read + 1.25 * (call + result) + 5 * call)


def test_every_known_tariff_is_read_back_as_it_was() -> None:
    """The ledger prices a turn as it was decided, regardless of later changes to the tables."""
    for tariff in TARIFFS.values():
        assert Tariff.model_validate_json(tariff.model_dump_json()) == tariff
