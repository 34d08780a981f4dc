"""Laws of fixed thresholds, for any thread and any thresholds."""

from dataclasses import dataclass

from hypothesis import event, given
from hypothesis import strategies as st

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario, scenarios
from core_tests.property.test_requests import refusals, witness
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import Thresholds
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.edits import Fold

fractions = st.builds(
    Threshold, type=st.just("fraction"), value=st.floats(0.01, 1, exclude_min=True)
)
tokens = st.builds(Threshold, type=st.just("tokens"), value=st.integers(1, 6_000))
messages = st.builds(Threshold, type=st.just("messages"), value=st.integers(1, 12))
sizes = st.one_of(fractions, tokens, messages)
policies = st.builds(
    Thresholds, triggers=st.lists(sizes, min_size=1, max_size=3).map(tuple), keep=sizes
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The context as a policy saw it before a request."""

    spoken: int
    total: int
    messages: int
    window: int


def watched(scenario: Scenario, policy: Thresholds) -> tuple[Drive, list[Seen]]:
    """Drive a thread and write down what each request was before the policy acted."""
    drive = Drive(scenario, policy=policy)
    seen: list[Seen] = []

    def look(drive: Drive) -> None:
        window, budget = drive.engine.window, drive.engine.budget
        window.settle()
        scene = PlanningContext(window, budget, drive.engine.name_span, 0)
        shown = sum(item.section != "system" for item in window.items)
        assert window.messages == shown
        seen.append(Seen(scene.thread_tokens, window.tokens, shown, budget.window))

    return drive.run(look), seen


def reached(policy: Thresholds, seen: Seen) -> bool:
    """Return by arithmetic whether any trigger was reached."""
    at = {"tokens": seen.spoken - 1, "messages": seen.messages}
    return any(
        seen.total >= t.value * seen.window if t.type == "fraction" else at[t.type] >= t.value
        for t in policy.triggers
    )


def chosen(drive: Drive) -> list[Fold]:
    """List the folds that a trigger caused."""
    folds = (edit for edit in drive.engine.history if isinstance(edit, Fold))
    return [fold for fold in folds if fold.reason == "a trigger of the policy"]


@given(scenarios(), policies)
def test_every_request_fits_and_is_taken(scenario: Scenario, policy: Thresholds) -> None:
    """For any thresholds; it fails only where no policy could help."""
    drive, _ = watched(scenario, policy)
    witness(drive)
    budget = scenario.budget
    for request in drive.requests:
        assert request.tokens <= budget.limit
        assert sum(item.size_bytes for item in request.items) <= budget.max_bytes
        assert sum(item.media for item in request.items) <= budget.max_media
    assert refusals(drive) == []


@given(scenarios(), policies)
def test_a_fold_is_made_only_where_a_trigger_was_reached(
    scenario: Scenario, policy: Thresholds
) -> None:
    """Counted again, before the request; each fold frees something."""
    drive, seen = watched(scenario, policy)
    for fold in chosen(drive):
        event("folded")
        assert fold.freed >= Thresholds.LEAST
        # arrivals are bounded first, which only makes the context smaller
        assert reached(policy, seen[fold.turn - 1]) or scenario.extra


@given(scenarios(), policies)
def test_no_fold_is_made_twice_for_the_same_messages(
    scenario: Scenario, policy: Thresholds
) -> None:
    """Between two folds by choice a new message was added, so there are fewer than messages."""
    drive = Drive(scenario, policy=policy)
    drive.run(lambda d: d.ask())
    arrived = [r.arrived for r in drive.requests for f in r.edits if _is_chosen(f)]

    assert len(arrived) == len(set(arrived))
    assert len(arrived) <= len(scenario.messages)


def _is_chosen(edit: object) -> bool:
    return isinstance(edit, Fold) and edit.reason == "a trigger of the policy"
