"""What the engine promises, held to on real sessions that others recorded."""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from core_tests.property.providers import PROVIDERS
from core_tests.property.writers import WRITERS
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget
from thalweg_recorder.recordings.files import read_recording
from thalweg_recorder.replay.fleet import ReplayOrder, replay_one
from thalweg_recorder.replay.policies import policy_named
from thalweg_recorder.replay.results import ReplayRun

RECORDED = Path(
    os.environ.get("THALWEG_RECORDED")
    or Path(__file__).parents[5].parent / "shared" / "data" / "recorded"
)
SMALL = ("toolbench-g2-52", "cc-mit-license", "toolbench-g3-13", "gemini-cli-session-a")
"""The four smallest in which tools are called."""
LARGE = "cc-attribution-research"
TARIFF = TARIFFS["anthropic"]
CASES = [(name, window) for name in SMALL for window in (4_000, 32_000)] + [(LARGE, 32_000)]
AS_RECORDED = {("gemini-cli-session-a", "openai-chat")}
"""Ids of Gemini in a trajectory of OpenAI's form: longer than OpenAI allows.

Unchanged content of a wire is sent back to it unchanged.
"""
EVERY = 25
"""Of so many requests that only grow, one is checked against the providers' rules."""

pytestmark = pytest.mark.skipif(
    not RECORDED.is_dir(), reason=f"no recorded sessions at {RECORDED} (set THALWEG_RECORDED)"
)


def place_of(name: str) -> Path:
    """Find the file of a trajectory."""
    (path,) = (RECORDED / "trajectories").glob(f"{name}.jsonl*")
    return path


@cache
def replayed(name: str, window: int, policy: str = "thalweg") -> ReplayRun:
    """Replay a trajectory, with what is asked of it."""
    order = ReplayOrder((place_of(name),), (policy,), Budget(window=window), (TARIFF,))
    (run,), failures = replay_one(place_of(name), order)
    assert failures == []
    return run


@pytest.mark.parametrize(("name", "window"), CASES)
def test_nothing_is_over_the_window_invalid_or_out_of_reach(name: str, window: int) -> None:
    """The three numbers that are always 0."""
    told = replayed(name, window).to_json()

    assert told["calls"] > 0
    assert told["over_window"] == 0
    assert told["peak_tokens"] <= Budget(window=window).limit
    assert told["invalid_requests"] == 0
    assert told["unrecoverable_bytes"] == 0
    assert told["steps"]["lost"] == 0


@pytest.mark.parametrize("name", [*SMALL, LARGE])
def test_no_goal_is_lost_at_32_000(name: str) -> None:
    """Goals, requests and constraints are each there word for word."""
    run = replayed(name, 32_000)

    assert run.goals_verbatim > 0
    assert run.goals_lost == 0


def test_the_large_one_is_more_than_the_window_and_costs_less() -> None:
    """So that the promises above are about something."""
    ours, whole = replayed(LARGE, 32_000), replayed(LARGE, 32_000, "none")

    assert any(type(edit).__name__ == "Fold" for call in ours.calls for edit in call.edits)
    assert any(call.tokens > 32_000 for call in whole.calls)
    assert ours.cost_with_steps < whole.cost


def requests(name: str, window: int) -> Iterator[Sequence[Message]]:
    """Yield the requests around every rewrite, one in so many of the others, and the last."""
    engine = Engine(
        budget=(budget := Budget(window=window)),
        policy=policy_named("thalweg", TARIFF, budget),
        count=exact_counter(),
        name_span=lambda first, last: f"{first:08}{last:08}",
    )
    before: Sequence[Message] = ()
    for message in read_recording(place_of(name)).messages:
        if message.role == "assistant":
            epoch = engine.window.epoch
            request = [item.message for item in engine.prepare()]
            if epoch != engine.window.epoch:
                yield before
                yield request
            elif engine.turn % EVERY == 0:
                yield request
            before = request
        engine.receive(message)
    yield before


@pytest.mark.parametrize(("name", "window"), CASES)
def test_every_provider_takes_the_requests(name: str, window: int) -> None:
    """Each provider's own rules accept them, for a thread from any wire."""
    refusals = [
        f"{provider}: {problem}"
        for request in requests(name, window)
        if request
        for provider, check in PROVIDERS.items()
        if (name, provider) not in AS_RECORDED
        for problem in check(WRITERS[provider](request))
    ]

    assert refusals == []
