"""The probe of constraints sees rules that are lost, and rules that are broken in full view."""

from random import Random

import pytest

from evals_tests.evals.played import played
from thalweg.engine.compaction import pins, summary_rendering
from thalweg_evals.probes import PROBES
from thalweg_evals.probes.constraint import Constraint
from thalweg_evals.scripted.moves import Move, View
from thalweg_evals.trace import Trace

COMPACTIONS, TIGHT = 5, 0.1


def test_rules_that_the_record_quotes_hold_whatever_the_model_writes_of_them() -> None:
    """The summaries of this model keep nothing: what holds the rules is the record."""
    result = played("constraint/5", model="forgetful")

    assert (result.verdict, result.value) == ("passed", 0.0), result.why
    assert result.compactions >= COMPACTIONS


@pytest.mark.parametrize("variant", ["1", "user"])
def test_a_record_without_what_the_user_said_breaks_every_rule(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_rendering, "_requests", lambda *_: [])

    result = played(f"constraint/{variant}", model="forgetful")

    assert (result.verdict, result.value) == ("failed", 3.0), result.why
    assert "without `sign_off`; the rules did not stand in that request" in result.why
    shown = result.trace.requests[result.request or 0]
    assert any(call.name == "publish" for call in (shown.answer.calls if shown.answer else ()))


def test_rules_that_are_no_more_than_words_of_a_long_message_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Requests are quoted, but their binding parts are not recognized."""
    assert played("constraint/user", model="forgetful", trigger=TIGHT).verdict == "passed"
    monkeypatch.setattr(pins, "constraint_lines", lambda _: ())

    result = played("constraint/user", model="forgetful", trigger=TIGHT)

    assert (result.verdict, result.value) == ("failed", 3.0), result.why


def test_rules_in_the_system_prompt_do_not_hang_on_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(summary_rendering, "_requests", lambda *_: [])

    assert played("constraint/system", model="forgetful").verdict == "passed"


def test_a_model_that_does_not_care_is_not_taken_for_a_context_that_lost_the_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    act = Constraint.act

    def careless(case: Constraint, view: View) -> Move:
        unruled = View(tuple(one for one in view.messages if "R-" not in one.text), view.tools)
        return act(case, unruled)

    monkeypatch.setattr(Constraint, "act", careless)

    result = played("constraint/1")

    assert (result.verdict, result.value) == ("failed", 3.0), result.why
    assert "the rules stood in that request" in result.why


def test_an_agent_that_refuses_everything_has_not_kept_the_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Constraint, "prompts", ("Publish?", "Replace?", "Save?"))

    result = played("constraint/1")

    assert result.verdict == "untested"
    assert "was never called" in result.why


def test_rules_that_nothing_left_the_context_of_are_not_tested() -> None:
    case = PROBES["constraint"].make("20", Random(1))  # noqa: S311 (not a secret)

    assert case.grade(Trace()).verdict == "untested"
