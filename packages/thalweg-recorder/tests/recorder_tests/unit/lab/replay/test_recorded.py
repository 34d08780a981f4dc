"""The policy `recorded` reads what an agent paid for and compacted from its own log."""

from dataclasses import replace

import pytest

from thalweg.engine.entries import Message, Role, Text
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import RecordingError
from thalweg_recorder.recordings.base import RecordedCompaction, Recording, SessionInfo
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


def run_of(recording: Recording) -> ReplayRun:
    """Run the policy on a recording, with the requests of its user as goals."""
    subject = subject_of(recording, Questions(goals=requests_of(recording)))
    return recorded_run(subject, terms_of(subject, TARIFFS["anthropic"]), 200_000)


def test_the_agents_own_prompt_and_tools_are_in_no_cost() -> None:
    """They are the same under every policy, and are reported separately."""
    run = run_of(RECORDING)

    assert run.overhead_tokens == pytest.approx(20_000, abs=20)
    assert [call.tokens for call in run.calls][:2] == [
        20_010 - run.overhead_tokens,
        20_030 - run.overhead_tokens,
    ]
    assert all(call.cached + call.written <= call.tokens for call in run.calls)
    assert run.cost == sum(call.cost for call in run.calls)


def test_what_a_compaction_took_is_lost_unless_its_summary_has_it() -> None:
    """The agent has no tool that reads it back."""
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
