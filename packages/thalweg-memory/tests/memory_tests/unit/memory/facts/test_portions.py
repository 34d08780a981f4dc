"""Turns are shown to a learner in portions; every turn is in exactly one."""

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.learning.questions import TURN_TOKENS, Portion, next_portion, smaller
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Statement, Trust


def turn(number: int, trust: Trust = Trust.USER, length: int = 10) -> Statement:
    role: Literal["user", "assistant"] = "user" if trust is Trust.USER else "assistant"
    return Statement(
        "t", number, role, "x" * length, "2026-03-01T10:00:00Z", trust, uid=f"u{number}"
    )


def divide(turns: list[Statement], size: MemorySettings, done: int = 0) -> list[Portion]:
    found: list[Portion] = []
    while done < len(turns):
        found.append(next_portion(turns[:done], turns[done:], settings=size, count=len))
        done += len(found[-1].turns)
    return found


TURNS = st.lists(
    st.tuples(st.sampled_from([Trust.USER, Trust.ASSISTANT, Trust.WEB]), st.integers(1, 500)),
    max_size=30,
).map(lambda rows: [turn(number, *row) for number, row in enumerate(rows)])
SIZES = st.builds(
    MemorySettings,
    learn_tokens=st.integers(1, 800),
    learn_turns=st.integers(1, 5),
    overlap_turns=st.integers(0, 4),
    answer_tokens=st.integers(1, 100),
)


@given(TURNS, SIZES)
def test_every_turn_is_in_exactly_one_portion_in_order(
    turns: list[Statement], size: MemorySettings
) -> None:
    """Nothing is skipped, nothing is learned twice."""
    found = divide(turns, size)

    assert [one for portion in found for one in portion.turns] == turns
    assert all(portion.turns for portion in found)


@given(TURNS, SIZES)
def test_a_portion_that_is_learned_from_keeps_to_its_size(
    turns: list[Statement], size: MemorySettings
) -> None:
    """Exceptions are a turn that is too long alone, and the answers before it."""
    for portion in divide(turns, size):
        own = [one for one in portion.turns if one.uid in portion.learnable]
        assert len(own) <= size.learn_turns
        if len(own) > 1:
            shown = sum(
                TURN_TOKENS + (len(t.text) if t in own else min(len(t.text), size.answer_tokens))
                for t in portion.turns
            )
            assert shown <= size.learn_tokens


@given(TURNS, SIZES, st.integers(0, 30))
def test_the_turns_before_are_those_just_before(
    turns: list[Statement], size: MemorySettings, learned: int
) -> None:
    """As many as are asked for, whether they were learned in this job or an earlier one."""
    learned = min(learned, len(turns))
    for portion in divide(turns, size, learned):
        first = portion.turns[0].seq
        assert list(portion.before) == turns[max(0, first - size.overlap_turns) : first]


def test_a_small_model_is_shown_one_turn_of_the_user_at_a_time() -> None:
    """Each is shown with the answer before it, which shows what `yes` means."""
    turns = [turn(n, Trust.ASSISTANT if n % 2 else Trust.USER) for n in range(6)]

    found = divide(turns, MemorySettings(learn_turns=1, overlap_turns=2))

    assert [[t.seq for t in p.turns] for p in found] == [[0], [1, 2], [3, 4], [5]]
    assert [len(p.learnable) for p in found] == [1, 1, 1, 0]


def test_answers_are_learned_from_only_where_their_origin_is_listed() -> None:
    """An answer after a page is the page's, not the assistant's."""
    turns = [turn(0), turn(1, Trust.ASSISTANT), turn(2, Trust.WEB)]

    assert divide(turns, MemorySettings())[0].learnable == {"u0"}
    assert divide(turns, MemorySettings(learn_from=("assistant",)))[0].learnable == {"u0", "u1"}


def test_after_failures_ever_less_is_asked_at_once() -> None:
    """The least is one turn, so that one no model can answer about holds up no other."""
    size = MemorySettings()
    for _ in range(8):
        size = smaller(size)

    assert (size.learn_tokens, size.learn_turns) == (1, 1)
