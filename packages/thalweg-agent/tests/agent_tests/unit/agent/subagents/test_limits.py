"""How far a run of a subagent may go."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.errors import ConfigError
from thalweg_agent.subagents.limits import SubagentLimits


def test_limits_that_are_not_named_are_those_of_the_default() -> None:
    """A spec changes what it names."""
    assert SubagentLimits.of({"turns": 3}, SubagentLimits(tokens=9)) == SubagentLimits(
        turns=3, tokens=9
    )
    assert SubagentLimits.of(None, SubagentLimits(turns=7)) == SubagentLimits(turns=7)
    assert SubagentLimits.of(SubagentLimits(turns=1), SubagentLimits(tokens=9)) == SubagentLimits(
        turns=1
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"turn": 3}, "did you mean 'turns'?"),
        ({"turns": 0}, "turns is 0"),
        ({"turns": 1.5}, "turns is 1.5"),
        ({"tokens": True}, "tokens is True"),
        ({"seconds": -1}, "seconds is -1"),
        (7, "of type int"),
    ],
)
def test_what_cannot_be_a_limit_is_refused_with_its_name(wrong: Any, said: str) -> None:  # noqa: ANN401
    """Before any run; also as a `ValueError`, as Deep Agents raises."""
    with pytest.raises(ConfigError, match=said.replace("?", r"\?")) as caught:
        SubagentLimits.of(wrong, SubagentLimits())
    assert isinstance(caught.value, ValueError)


turns = st.none() | st.integers(1, 1_000)


@given(turns, st.integers(-5, 2_000))
def test_a_call_never_raises_a_limit(own: int | None, wanted: int) -> None:
    """It can only lower it, or keep it."""
    lowered = SubagentLimits(turns=own).lowered(turns=wanted).turns

    assert lowered == min((n for n in (own, wanted if wanted > 0 else None) if n), default=None)
