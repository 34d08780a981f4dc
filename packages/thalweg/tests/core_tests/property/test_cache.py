"""What the provider's prefix cache may rely on."""

from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import event, given

from core_tests.property.driving import Drive, Request, drive
from core_tests.property.providers import as_bytes
from core_tests.property.strategies import Scenario, scenarios
from thalweg.engine.edits import Fold, Reason, Strip
from thalweg.engine.wires.registry import WIRES


def _unbroken(driven: Drive) -> list[tuple[Request, Request]]:
    return [(a, b) for a, b in pairwise(driven.requests) if a.epoch == b.epoch]


@given(scenarios())
def test_i37_between_rewrites_a_request_extends_the_one_before(scenario: Scenario) -> None:
    """Item by item; nothing that was sent moves or changes during an epoch."""
    driven = drive(scenario)
    for before, after in _unbroken(driven):
        event("extended")
        assert after.items[: len(before.items)] == before.items


@given(scenarios(hostile=False))
def test_i37_only_edits_break_the_prefix_of_an_orderly_thread(scenario: Scenario) -> None:
    """No message that arrives ever rewrites what was sent before it."""
    driven = drive(scenario)
    for before, after in pairwise(driven.requests):
        if after.items[: len(before.items)] != before.items:
            event("rewritten")
            assert after.edits
            assert after.epoch > before.epoch


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses"])
@given(scenario=scenarios())
def test_i37_flat_wires_write_an_exact_prefix(wire: str, scenario: Scenario) -> None:
    """Every object that was sent is sent again as it was."""
    driven = drive(scenario)
    for before, after in _unbroken(driven):
        sent = as_bytes(WIRES[wire].write(before.messages))
        assert as_bytes(WIRES[wire].write(after.messages))[: len(sent)] == sent


@given(scenarios())
def test_i38_a_rewrite_leaves_everything_before_it_alone(scenario: Scenario) -> None:
    """Items in front of the earliest edited one are the very same; a fold keeps system prompts."""
    driven = drive(scenario)
    for before, after in pairwise(driven.requests):
        if not after.edits:
            continue
        folded = any(isinstance(e, Fold) for e in after.edits)
        touched = {e.position for e in after.edits if not isinstance(e, Fold | Strip)}
        stop = next(
            (
                k
                for k, item in enumerate(before.items)
                if (folded and item.section != "system") or item.position in touched
            ),
            None,
        )
        if stop is None:
            continue
        event("fold" if folded else "rewrite")
        assert after.items[:stop] == before.items[:stop] or scenario.extra


@given(scenarios())
def test_i39_every_rewrite_is_justified_in_the_history(scenario: Scenario) -> None:
    """Reason, call, tokens before and after."""
    driven = drive(scenario)
    for n, request in enumerate(driven.requests):
        for edit in request.edits:
            event(edit.reason)
            assert edit.reason in get_args(Reason)
            assert 1 <= edit.turn <= n + 1 + bool(driven.stopped)
            assert edit.tokens_before > 0
            assert edit.tokens_after >= 0


@given(scenarios())
def test_i39_no_view_differs_from_the_log_without_an_edit(scenario: Scenario) -> None:
    """A message without an edit is shown with its original parts."""
    driven = drive(scenario)
    rewritten = driven.engine.window.rewrites
    for item in driven.engine.window.items:
        if item.position >= 0 and item.position not in rewritten:
            said = driven.entries[item.position].message
            assert len(item.message.parts) >= len(said.parts)
            assert item.message.role in {said.role, "user"}
