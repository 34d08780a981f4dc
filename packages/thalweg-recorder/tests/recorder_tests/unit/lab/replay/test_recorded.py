"""The policy `recorded` reads what an agent paid for and compacted from its own log."""

from dataclasses import replace

import pytest

from thalweg.engine.entries import Message, Role, Text
from thalweg.engine.pricing.cost import cost_of_answers, units_of
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.window.budget import Budget
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import RecordedCompaction, Recording, SessionInfo
from thalweg_recorder.replay.bill import PriceSource
from thalweg_recorder.replay.fleet import replay_under
from thalweg_recorder.replay.questions import Questions, requests_of
from thalweg_recorder.replay.recorded import recorded_run
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import subject_of, terms_of


def said(role: Role, text: str, minute: int, usage: Usage | None = None) -> Message:
    """Make a message at a minute of one hour."""
    at = f"2026-01-23T15:{minute:02}:00Z"
    return Message(role, (Text(text),), at=at, usage=usage)


RECORDING = Recording(
    "s",
    "claude-code",
    (
        said("user", "Never push to the main branch, please.", 0),
        said("assistant", "Understood.", 1, Usage(20_010, cached=0, written=20_010)),
        said("user", "Rename the function parse to read.", 2),
        said("assistant", "Renamed it everywhere.", 3, Usage(20_030, cached=20_010, written=20)),
        said("user", "Run the tests of the parser now.", 10),
        said("assistant", "They pass.", 11, Usage(15_000, cached=12_000, written=3_000)),
    ),
    session=SessionInfo(id="1", project="/src/shop"),
    compactions=(
        RecordedCompaction(
            9, at="2026-01-23T15:05:00Z", summary="Asked: Rename the function parse to read."
        ),
    ),
)

PRICED = replace(
    RECORDING,
    messages=tuple(
        replace(message, usage=usage and replace(usage, output=400, model="claude-haiku-4-5"))
        for message in RECORDING.messages
        for usage in [message.usage]
    ),
)


def run_of(recording: Recording, priced_by: PriceSource = "chosen") -> ReplayRun:
    """Run the policy on a recording, with the requests of its user as goals."""
    subject = subject_of(recording, Questions(goals=requests_of(recording)))
    terms = terms_of(subject, TARIFFS["anthropic"], priced_by)
    return recorded_run(subject, terms, 200_000)


def test_the_cost_of_input_leaves_out_the_agents_own_prompt_and_tools() -> None:
    """They are in the bill, and their number of tokens is reported."""
    run = run_of(RECORDING)

    assert run.overhead_tokens == pytest.approx(20_000, abs=20)
    assert [call.tokens for call in run.calls][:2] == [
        20_010 - run.overhead_tokens,
        20_030 - run.overhead_tokens,
    ]
    assert all(call.cached + call.written <= call.tokens for call in run.calls)
    assert run.cost == sum(call.cost for call in run.calls)


def test_what_a_compaction_took_is_lost_unless_its_summary_has_it() -> None:
    """No transcript is named to the agent."""
    run = run_of(RECORDING)

    assert (run.goals_lost, run.goals_verbatim) == (1, 2)
    assert run.summaries == 1
    assert [call.broke_at for call in run.calls] == [-1, -1, 0]
    assert run.unrecoverable_bytes > 0


def test_without_a_compaction_nothing_is_lost() -> None:
    run = run_of(replace(RECORDING, compactions=()))

    assert (run.goals_lost, run.unrecoverable_bytes, run.summaries) == (0, 0, 0)


def test_a_log_without_usage_is_an_error_that_names_it() -> None:
    messages = tuple(replace(message, usage=None) for message in RECORDING.messages)

    with pytest.raises(RecordingError, match="s: states no usage"):
        run_of(replace(RECORDING, messages=messages))


def test_a_title_is_the_sessions_own_or_its_first_request() -> None:
    assert RECORDING.title == "Never push to the main branch, please."
    assert replace(RECORDING, session=SessionInfo(title="Parser")).title == "Parser"


def test_the_logged_bill_is_that_of_the_usage_in_the_log() -> None:
    """The usage of every answer: input, cache, output, at the prices of its own model."""
    usages = [message.usage for message in PRICED.messages if message.usage]
    run = run_of(PRICED, "model")

    assert run.is_whole
    assert run.usd_per_million is not None
    assert run.logged_bill * run.usd_per_million / 1e6 == pytest.approx(cost_of_answers(usages))
    assert run.bill.output > 0


def test_prices_that_the_caller_chose_are_those_of_every_answer() -> None:
    run = run_of(PRICED, "chosen")
    usages = [message.usage for message in PRICED.messages if message.usage]

    assert run.logged_bill == pytest.approx(sum(units_of(u, TARIFFS["anthropic"]) for u in usages))


def test_text_that_a_transcript_has_can_be_read_back() -> None:
    """Claude Code names the file of the session to its model."""
    (compaction,) = RECORDING.compactions
    named = replace(compaction, transcript="/home/ada/.claude/projects/x/1.jsonl")

    run = run_of(replace(RECORDING, compactions=(named,)))

    assert run.unrecoverable_bytes == 0
    assert run.evicted_tokens > 0
    assert run.goals_lost == 1


def test_every_policy_pays_for_the_overhead_and_the_answers() -> None:
    """Sending everything costs what was logged if the agent removed nothing and read its cache."""
    log = (
        said("user", "Never push to the main branch, please.", 0),
        said("assistant", "Understood.", 1, Usage(20_010, written=20_010, output=400)),
        said("user", "Rename the function parse to read.", 2),
        said("assistant", "Renamed.", 3, Usage(20_030, cached=20_010, written=20, output=300)),
        said("user", "Run the tests of the parser now.", 4),
        said("assistant", "They pass.", 5, Usage(20_050, cached=20_030, written=20, output=50)),
    )
    subject = subject_of(Recording("s", "claude-code", log), Questions())
    terms = terms_of(subject, TARIFFS["anthropic"])
    paid = recorded_run(subject, terms, 200_000)
    (none,) = replay_under(subject, "none", Budget(window=200_000), [terms])

    assert none.bill.output == pytest.approx(paid.bill.output, rel=0.01)
    assert none.bill.total == pytest.approx(none.bill_unmanaged)
    assert none.bill.total == pytest.approx(paid.bill.total, rel=0.01)
    assert none.bill.total > 10 * none.cost


def test_a_cache_miss_of_the_log_is_not_counted_as_a_saving() -> None:
    """The bill in the simulated cache is that of sending the same requests there."""
    log = (
        said("user", "Never push to the main branch, please.", 0),
        said("assistant", "Understood.", 1, Usage(20_010, written=20_010, output=400)),
        said("user", "Rename the function parse to read.", 2),
        said("assistant", "Renamed.", 3, Usage(20_030, written=20_030, output=300)),
    )
    subject = subject_of(Recording("s", "claude-code", log), Questions())
    terms = terms_of(subject, TARIFFS["anthropic"])
    paid = recorded_run(subject, terms, 200_000)

    assert paid.bill.total == pytest.approx(paid.bill_unmanaged)
    assert paid.bill.total < 0.7 * paid.logged_bill


def test_a_change_of_model_before_a_compaction_does_not_change_the_simulated_cache() -> None:
    """The ratio is of the same requests at the same prices; each answer keeps its own."""
    models = ("claude-haiku-4-5", "claude-opus-4-8", "claude-opus-4-8")
    names = iter(models)
    mixed = replace(
        PRICED,
        messages=tuple(
            replace(message, usage=usage and replace(usage, model=next(names)))
            for message in PRICED.messages
            for usage in [message.usage]
        ),
    )
    subject = subject_of(mixed, Questions())
    terms = terms_of(subject, TARIFFS["anthropic"], "model")
    same = terms_of(subject_of(PRICED, Questions()), TARIFFS["anthropic"], "model")

    assert terms.simulated_share == same.simulated_share
    assert [call.bill.output for call in recorded_run(subject, terms, 200_000).calls] == [
        bill.output for bill in terms.paid.values()
    ]


def test_a_log_that_begins_with_a_compaction_has_the_bill_of_its_usage() -> None:
    """No request of it was sent whole, so nothing shows what its cache would be here."""
    begun = replace(RECORDING, compactions=(RecordedCompaction(-1, summary="Before."),))
    run = run_of(begun)

    assert not run.is_simulated
    assert run.bill.total == pytest.approx(run.logged_bill)


def test_output_that_the_log_leaves_out_is_counted() -> None:
    """Claude Code writes the usage of the first token of many answers."""
    whole = "The parser reads every file once. " * 20
    log = (
        said("user", "Never push to the main branch, please.", 0),
        said("assistant", whole, 1, Usage(20_010, written=20_010, output=1)),
        said("user", "Rename the function parse to read.", 2),
        said("assistant", whole, 3, Usage(20_030, cached=20_010, written=20, output=200)),
    )
    run = run_of(Recording("s", "claude-code", log))

    assert run.understated_answers == 1
    assert run.unlogged_tokens == pytest.approx(140, abs=10)


def test_requests_are_in_our_count_as_those_of_every_policy() -> None:
    """No recorded request is larger than the same one sent whole."""
    usages = iter((20_010, 20_040))
    log = tuple(
        replace(m, usage=m.usage and Usage(next(usages), written=20_000))
        for m in RECORDING.messages[:4]
    )
    subject = subject_of(replace(RECORDING, messages=log, compactions=()), Questions())
    terms = terms_of(subject, TARIFFS["anthropic"])
    run = recorded_run(subject, terms, 200_000)
    (none,) = replay_under(subject, "none", Budget(window=200_000), [terms])

    assert terms.factor > 1.2
    assert sum(call.tokens for call in run.calls) == pytest.approx(
        sum(call.tokens for call in none.calls), abs=2
    )


def test_a_provider_that_counts_more_tokens_charges_for_them() -> None:
    """The recorded requests grow faster than our count of their messages."""
    alike = replace(PRICED, messages=PRICED.messages[:4], compactions=())
    more = [
        replace(m, usage=replace(m.usage, input=m.usage.input + 20 * k) if m.usage else None)
        for k, m in enumerate(alike.messages)
    ]

    factors = [
        terms_of(subject_of(one, Questions()), TARIFFS["anthropic"]).factor
        for one in (alike, replace(alike, messages=tuple(more)))
    ]

    assert factors[1] > 1.5 * factors[0]
