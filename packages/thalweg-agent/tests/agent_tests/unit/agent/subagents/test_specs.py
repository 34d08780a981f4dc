"""What a subagent is made from."""

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from thalweg.errors import ConfigError
from thalweg_agent.subagents.limits import SubagentLimits
from thalweg_agent.subagents.specs import read_specs

WORKER: Any = {"name": "worker", "description": "works"}
DONE: Any = RunnableLambda(lambda _: {"messages": []})


def test_specs_are_found_by_name_in_their_order() -> None:
    """With their limits, and whether they continue a conversation."""
    other: Any = {**WORKER, "name": "other", "mode": "fork", "limits": {"turns": 2}}
    specs = read_specs([WORKER, other], SubagentLimits(turns=9))

    assert [*specs] == ["worker", "other"]
    assert [spec.limits.turns for spec in specs.values()] == [9, 2]
    assert [spec.is_fork for spec in specs.values()] == [False, True]


@pytest.mark.parametrize(
    ("specs", "said"),
    [
        ([], "At least one subagent must be specified"),
        ([WORKER, WORKER], "Duplicate subagent name 'worker'"),
        ([{"name": "worker"}], "'worker' has no description"),
        ([{"description": "works"}], "has no name"),
        ([{**WORKER, "mode": "dynamic"}], "invalid mode 'dynamic'"),
        ([{**WORKER, "mode": "fork", "skills": ["/s"]}], "cannot set skills"),
        ([{**WORKER, "prompt": "x"}], "did you mean 'system_prompt'"),
        ([{**WORKER, "permision": []}], "did you mean 'permissions'"),
        ([{**WORKER, "runnable": DONE, "tools": []}], "unknown key 'tools'"),
        ([{**WORKER, "inherit": "no"}], "inherit='no'"),
        ([{**WORKER, "inherit": False}], "inherit=False and no permissions"),
        ([{**WORKER, "runnable": DONE, "inherit": False}], "unknown key 'inherit'"),
        ([{**WORKER, "limits": {"turns": 0}}], "turns is 0"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_with_what_is_wrong(specs: Any, said: str) -> None:  # noqa: ANN401
    """At construction, not at the first task."""
    with pytest.raises(ConfigError, match=said) as caught:
        read_specs(specs, SubagentLimits())
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("key", ["model", "tools"])
def test_what_is_made_here_needs_a_model_and_tools(key: str) -> None:
    """What is made already does not."""
    with pytest.raises(ConfigError, match=f"SubAgent 'worker' must specify '{key}'"):
        read_specs([WORKER], SubagentLimits(), [key])
    made: Any = {**WORKER, "runnable": DONE}
    assert read_specs([made], SubagentLimits(), [key])
