"""Our engine in a replay: what its summaries cost, and what they are of."""

from recorder_tests.unit.lab.replay.threads import FLAT, answered, asked, replayed, said
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message
from thalweg.engine.pricing.tariff import Tariff
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.summaries import SUMMARY_TOKENS

WINDOW = 20_000
NEVER_CACHED = Tariff(name="never", read=4.0, write=1.0, minimum=1)


def thread(turns: int = 60, words: int = 400) -> list[Message]:
    """Make a thread of turns with a result of so many words each."""
    messages = [said("user", "Count the birds of the delta.")]
    for turn in range(turns):
        messages.append(asked(f"c{turn}", "count", place=f"bank {turn}"))
        messages.append(answered(f"c{turn}", "count", f"bank {turn}:" + " owl" * words))
    return [*messages, said("assistant", "Counted.")]


def folds(run: ReplayRun) -> list[Fold]:
    """List the folds of a run."""
    return [edit for call in run.calls for edit in call.edits if isinstance(edit, Fold)]


def test_each_fold_is_summarized_and_the_summary_stands_in_the_record() -> None:
    """So that requests are as large as a user's are."""
    run = replayed(thread(120), "thalweg", WINDOW, tariff=FLAT)
    made = folds(run)

    assert len(made) > 1
    assert run.summaries == len(made)
    assert run.summary_output_tokens == SUMMARY_TOKENS * len(made)
    assert all("stand-in for line 1 of a summary of #" in fold.record for fold in made)
    assert all(fold.tokens_after > SUMMARY_TOKENS for fold in made)


def test_nothing_of_it_leaves_unread() -> None:
    """Each message that was folded, a model was shown."""
    run = replayed(thread(), "thalweg-careful", WINDOW, tariff=FLAT)

    assert run.evicted_tokens > 10_000
    assert run.unread_evicted_tokens == 0


def test_a_summary_on_the_cached_prefix_costs_the_price_of_the_cache() -> None:
    """The live request is read again; without a cache the originals are shown apart."""
    cached = replayed(thread(), "thalweg@0.6", WINDOW, tariff=FLAT)
    apart = replayed(thread(), "thalweg@0.6", WINDOW, tariff=NEVER_CACHED)
    one, other = folds(cached)[0], folds(apart)[0]
    calls = sum(call.cost for call in cached.calls)
    spent = cached.cost - calls - cached.summary_output_tokens * FLAT.output

    assert one.turn == other.turn
    assert one.summary_input > other.summary_input
    assert spent < 0.2 * cached.summary_input_tokens


def test_a_record_alone_costs_no_summary() -> None:
    """A record alone costs no summary and drops messages unread."""
    run = replayed(thread(120), "thalweg-record", WINDOW, tariff=FLAT)

    assert len(folds(run)) > 1
    assert run.summaries == run.summary_input_tokens == run.summary_output_tokens == 0
    assert run.unread_evicted_tokens == run.evicted_tokens > 10_000


def test_a_result_that_was_bounded_when_it_came_is_read_only_apart() -> None:
    """A summary request after the live one reads the bounded result, like every other request."""
    large = "\n".join(f"row {n}: some owls" for n in range(4_000))
    first = [asked("l", "list", path="."), answered("l", "list", large)]
    messages = [said("user", "Count."), *first, *thread()[1:]]
    cached = replayed(messages, "thalweg@0.6", WINDOW, tariff=FLAT)
    apart = replayed(messages, "thalweg@0.6", WINDOW, tariff=NEVER_CACHED)

    assert cached.unread_evicted_tokens > 5_000
    assert apart.unread_evicted_tokens == 0
    assert cached.unrecoverable_bytes == apart.unrecoverable_bytes == 0


def test_a_fold_of_little_waits_for_the_next_one_with_its_summary() -> None:
    """Then it is caught up on."""
    run = replayed(thread(60, words=20), "thalweg@0.5", 3_000, tariff=FLAT)
    made = folds(run)

    assert 0 < run.summaries < len(made)
    assert any(fold.summary_first is not None for fold in made if fold.summary)
