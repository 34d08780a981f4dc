"""Budget, gate and identifiers."""

import pytest

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import call, result, says, steps, system, user
from thalweg.engine.compaction.structured_summary import identifiers
from thalweg.engine.entries import Message, ToolCall
from thalweg.engine.tokens import Calibration
from thalweg.engine.window.budget import MIN_LIMIT, Budget
from thalweg.engine.window.items import check


def test_a_window_without_room_is_refused_with_the_figures() -> None:
    """An output limit as large as the window can never be fixed by compacting."""
    with pytest.raises(ValueError, match=f"leaves -?[0-9]+ tokens, and {MIN_LIMIT} are needed"):
        Budget(window=8_000, max_output=8_000)


def test_a_provider_that_counts_more_gets_a_smaller_window() -> None:
    """In our tokens; one that never reported gets what it declared."""
    budget = Budget(window=100_000)
    seen = Calibration().observe(estimated=10_000, reported=20_000)

    assert budget.calibrated(Calibration()) is budget
    assert budget.calibrated(seen).limit < budget.limit / 2


def test_requests_fit_in_the_providers_tokens_once_it_has_reported() -> None:
    """One calibration for trigger, cut and acceptance (I20)."""
    thread = (user("Go"), *steps(60, 40))
    driven = Drive(Scenario(thread, Budget(window=8_000), "anthropic"))

    def report(d: Drive) -> None:
        if d.requests:
            d.engine.observe(2 * d.requests[-1].tokens)

    driven.run(report)

    assert driven.stopped is None
    assert all(2 * r.tokens <= 7_000 for r in driven.requests[3:])


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([user("a"), result("c")], "no call right before it waits for"),
        ([user("a"), call("c"), user("b")], "comes while 1 calls have no result"),
        ([user("a"), call("c")], "ends while 1 calls have no result"),
        ([user("a"), call("c"), result("c"), call("c"), result("c")], "reuses the id c"),
        ([user("a"), call(""), result("")], "0 characters long"),
        ([user("a"), call("x" * 41), result("x" * 41)], "41 characters long"),
        ([user("a"), says(" "), user("b")], "is empty"),
        ([says("a"), user("b")], "is the first message and not a user's"),
        ([user("a"), says("b")], "ends with the assistant's message"),
        ([system("a")], "no message besides the system prompt"),
        ([Message("user", (ToolCall("c", "ls", "{}"),)), result("c")], "is not the assistant's"),
    ],
)  # fmt: skip
def test_the_gate_names_what_is_wrong(messages: list[Message], problem: str) -> None:
    """One sentence a problem."""
    assert any(problem in found for found in check(messages))


def test_identifiers_are_found_at_both_ends_of_a_long_text() -> None:
    """Hashes, addresses, paths, amounts and names; dull words are not."""
    text = f"4f9d2c1 at src/app.py:40 {'dull ' * 20_000} see https://e.org/x v1.2.3 ISSUE-77 12 kB"
    found = [name for _, name in identifiers(text)]

    assert found == ["4f9d2c1", "src/app.py:40", "https://e.org/x", "v1.2.3", "ISSUE-77", "12 kB"]
