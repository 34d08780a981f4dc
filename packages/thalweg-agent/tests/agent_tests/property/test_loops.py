"""Laws of loops: a turn that brings something new is no loop, and a repetition is found."""

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg_agent.middleware.loops import TURNS, repeats, streak

turns = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=3, unique=True))


@given(turns)
def test_a_turn_with_something_new_counts_once(trail: list[list[str]]) -> None:
    """It counts once, regardless of earlier repetitions."""
    counts = repeats(trail)
    seen: set[str] = set()
    for turn, count in zip(trail, counts, strict=True):
        event("new" if set(turn) - seen else "old")
        assert (count == 1) == bool(set(turn) - seen)
        seen |= set(turn)


@given(turns)
def test_what_comes_later_changes_no_count(trail: list[list[str]]) -> None:
    """A run is judged turn by turn."""
    counts = repeats(trail)

    assert all(repeats(trail[:k]) == counts[:k] for k in range(len(trail)))


@given(st.lists(st.text("abc", min_size=1), min_size=1, max_size=8, unique=True), turns)
def test_every_round_is_counted_however_the_run_began(
    rounds: list[str], before: list[list[str]]
) -> None:
    """A round of up to eight calls reaches the third time in three rounds."""
    one = [[f"call {call}"] for call in rounds]
    counts = repeats([*before, *one * 3])

    assert counts[-1] == 3
    assert 3 * len(one) <= TURNS
    assert list(streak(counts)) == [1, *([2] * len(one)), *([3] * len(one))]


@given(turns, st.sampled_from("xyz"))
def test_one_new_result_clears_the_account(trail: list[list[str]], new: str) -> None:
    """However long the model repeated itself before."""
    counts = repeats([*trail, [new], *trail[:1]])

    assert counts[len(trail)] == 1
    assert max(counts[len(trail) :]) <= 2
