"""Notices to a run about its surroundings: each file and task once, as long as that is sent."""

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.additions import (
    Addition,
    AdditionSize,
    Surroundings,
    plan_additions,
    with_instructions,
)

Items = list[tuple[str, str]]
NAMES = st.text("abc </>-()\nrun-context", max_size=24)
ITEMS = st.lists(st.tuples(NAMES, NAMES), max_size=30, unique=True)


def runs(*steps: tuple[Items, Items]) -> list[tuple[Addition, ...]]:
    """Plan one run after the other, nothing compacted between them."""
    live: tuple[Addition, ...] = ()
    planned = []
    for number, (uploads, tasks) in enumerate(steps):
        live = plan_additions(Surroundings(uploads=uploads, tasks=tasks), live, f"m{number}")
        planned.append(live)
    return planned


@given(st.lists(st.tuples(ITEMS, ITEMS), max_size=5))
def test_what_was_told_stays_where_it_was(steps: list[tuple[Items, Items]]) -> None:
    """Later runs add to the end: the request of a run begins as the one before it did."""
    planned = runs(*steps)
    for before, after in itertools.pairwise(planned):
        assert after[: len(before)] == before
        assert {one.before for one in after[len(before) :]} <= {f"m{planned.index(after)}"}


@given(ITEMS, ITEMS)
def test_nothing_is_told_twice(uploads: Items, tasks: Items) -> None:
    """The same files and tasks again make no reminder, those that a reminder omits included."""
    first, second = runs((uploads, tasks), (uploads, tasks))
    assert second == first


@given(ITEMS)
def test_no_name_ends_the_fence_around_it(uploads: Items) -> None:
    """A file may have any name; what surrounds the list remains ours."""
    (planned,) = runs((uploads, []))
    for one in planned:
        assert re.findall(r"</?run-context", one.text) == ["<run-context", "</run-context"]


def test_what_left_with_its_message_is_due_again() -> None:
    (first,) = runs(([("/uploads/a.csv", "(9 bytes)")], []))
    again = plan_additions(Surroundings(uploads=[("/uploads/a.csv", "(9 bytes)")]), (), "m9")
    assert [(one.part, one.about, one.before) for one in again] == [
        ("uploads", "/uploads/a.csv", "m9")
    ]
    assert again[0].text == first[0].text


def test_of_many_the_newest_are_listed_and_the_others_counted() -> None:
    files = [(f"/uploads/{number:02} (1).csv", "(9 bytes)") for number in range(25)]
    (told,), again = runs((files, []), (files, []))
    assert again == (told,)
    assert told.about.startswith("/uploads/05 (1).csv, /uploads/06 (1).csv")
    assert "/uploads/04" not in told.text
    assert "/uploads/05" in told.text
    assert "… and 5 older" in told.text


def test_a_task_that_ended_is_told_again_with_what_came_of_it() -> None:
    _, second = runs(([], [("a: look", "(running)")]), ([], [("a: look", "(completed) found 3")]))
    assert [one.part for one in second] == ["tasks", "tasks"]
    assert "found 3" in second[1].text
    assert "running" not in second[1].text


def test_without_a_message_of_the_user_only_the_date_is_told() -> None:
    planned = plan_additions(
        Surroundings("2026-11-23 (Monday)", "", [("/a", "")], [("b", "")]), (), ""
    )
    assert [(one.part, one.text) for one in planned] == [
        ("date", "Current date: 2026-11-23 (Monday)")
    ]


def test_the_list_adds_up_to_the_system_prompt() -> None:
    listed = [AdditionSize("date", 10), AdditionSize("uploads", 30, "/a", 4)]
    whole = list(with_instructions(listed, 110))
    assert sum(one.tokens for one in whole if one.position < 0) == 110
    assert whole[0] == AdditionSize("instructions", 100)
