"""What is still to be done has its place in a record, regardless of what else is in it."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.snapshot import Quote, Record
from thalweg.engine.tokens import exact_counter

COUNT = exact_counter()


def record(done: int, left: int, requests: int) -> Record:
    """Make a record of long requests and a plan."""
    items = [f"- completed: step {n}" for n in range(done)]
    items += [f"- pending: open point {n}" for n in range(left)]
    return Record(
        messages=9,
        last=requests,
        requests=tuple(
            Quote(n, f"request {n} " + "and more of it " * 400) for n in range(requests)
        ),
        todos=Quote(requests, "\n".join(["", *items])),
    )


def written(given_one: Record, budget: int) -> str:
    """Write a record."""
    return render(given_one, handle="abc", budget=budget, count=COUNT)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 40))
def test_what_is_open_stands_in_the_record_beside_requests_that_would_fill_it(
    requests: int, left: int, done: int
) -> None:
    """What is done frees space first, and is counted."""
    text = written(record(done, left, requests), 900)

    assert all(f"- pending: open point {n}" in text for n in range(left))
    shown = text.count("- completed: step")
    assert shown in {0, done}
    assert (f"- … {done} more" in text) == (shown < done)


def test_of_a_plan_that_is_too_long_the_first_items_stay() -> None:
    """In order; the number of omitted items is stated."""
    text = written(record(3, 200, 4), 900)

    shown = text.count("- pending: open point")
    assert shown > 5
    assert f"- pending: open point {shown - 1}\n- … {203 - shown} more" in text


def test_a_short_record_of_little_is_as_it_was() -> None:
    """A plan that fits is written whole."""
    text = written(record(2, 2, 1), 3_000)

    assert "## Plan\n#1 \n- completed: step 0\n- completed: step 1\n- pending: open point 0" in text
