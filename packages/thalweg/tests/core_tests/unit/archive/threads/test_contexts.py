"""What the journal states about a turn's budget, and acts that others come before."""

import pytest

from core_tests.unit.archive.threads.driver import KEY, Driver
from thalweg.archive.threads.contexts import budget_of
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.operations import pin
from thalweg.archive.threads.session import MAX_ATTEMPTS
from thalweg.engine.window.budget import MIN_LIMIT
from thalweg.errors import ConflictError


@pytest.mark.parametrize(
    ("limit", "window", "tokens", "expected"),
    [
        (5_000, 8_000, 900, 5_000),
        (0, 8_000, 900, 8_000),
        (0, 0, 9_000, 9_000),
        (0, 0, 0, MIN_LIMIT),
        (10, 0, 0, MIN_LIMIT),
    ],
)
def test_the_budget_of_a_turn_is_what_its_page_says(
    limit: int, window: int, tokens: int, expected: int
) -> None:
    """No window is guessed."""
    page = TurnRecord(
        kind="call", at=0.0, length=1, limit=limit, window=window, tokens={"history": tokens}
    )
    assert budget_of(page).limit == expected


@pytest.mark.parametrize(
    ("conflicts", "is_done"), [(MAX_ATTEMPTS - 1, True), (MAX_ATTEMPTS, False)]
)
def test_what_a_person_does_is_tried_again_where_a_run_was_faster(
    monkeypatch: pytest.MonkeyPatch, conflicts: int, *, is_done: bool
) -> None:
    """It is abandoned when a run always is."""
    driver = Driver()
    driver.ask("Count the herons.")
    left = [conflicts]
    entered = driver.archive.add_turn

    def add_turn(*asked: object, **named: object) -> int:
        if left[0]:
            left[0] -= 1
            raise ConflictError(KEY.thread, 0, 1)
        return entered(*asked, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(driver.archive, "add_turn", add_turn)
    if is_done:
        assert pin(driver.archive, KEY, 0, "herons").about == 0
    else:
        with pytest.raises(ConflictError):
            pin(driver.archive, KEY, 0, "herons")
    assert left == [0]
