"""Laws of who is asked: a child is asked about all that its parent is."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain.tools import ToolRuntime

from thalweg_agent.middleware.approval import (
    ALL,
    Approval,
    Approvals,
    approvals_of,
    merge_approvals,
    with_approvals,
)

TOOLS = ("execute", "task")


def when(limit: int) -> Callable[[ToolCallRequest], bool]:
    """Ask about calls that are larger than this."""
    return lambda request: request.tool_call["args"]["size"] > limit


@st.composite
def configs(draw: st.DrawFn) -> Approval:
    """Draw how one tool is asked about."""
    if draw(st.integers(0, 3)) == 0:
        return draw(st.booleans())
    allowed = draw(st.lists(st.sampled_from(ALL), min_size=1, unique=True))
    config = InterruptOnConfig(allowed_decisions=allowed)
    if draw(st.integers(0, 3)):
        config["when"] = when(draw(st.integers(0, 3)))
    if draw(st.booleans()):
        config["description"] = draw(st.sampled_from(["look at this", "harmless"]))
    return config


approvals = st.dictionaries(st.sampled_from(TOOLS), configs(), max_size=2)
sizes = st.integers(0, 4)


def call(name: str, size: int) -> ToolCallRequest:
    """Make a call."""
    runtime: Any = ToolRuntime(
        state={}, context=None, config={}, stream_writer=print, tool_call_id="c", store=None
    )
    asked = {"name": name, "args": {"size": size}, "id": "c"}
    return ToolCallRequest(tool_call=asked, tool=None, state={}, runtime=runtime)  # type: ignore[arg-type]


def asks(given: Approvals, name: str, size: int) -> bool:
    """Return whether a person is asked about a call, as LangChain decides it."""
    config = HumanInTheLoopMiddleware(dict(given)).interrupt_on.get(name)
    if config is None:
        return False
    return config["when"](call(name, size)) if "when" in config else True


def allowed(given: Approvals, name: str) -> set[str]:
    """List what a person may decide about a tool."""
    config = HumanInTheLoopMiddleware(dict(given)).interrupt_on.get(name)
    return set(config["allowed_decisions"]) if config else set()


@given(approvals, approvals, st.sampled_from(TOOLS), sizes)
def test_a_child_asks_where_its_parent_or_its_own_spec_asks_and_nowhere_else(
    parent: Approvals, child: Approvals, name: str, size: int
) -> None:
    """This holds for every tool, every call and any predicates."""
    either = asks(parent, name, size) or asks(child, name, size)
    event("asked" if either else "not asked")

    assert asks(merge_approvals(parent, child), name, size) == either


@given(st.integers(-1, 4), st.integers(-1, 4), sizes)
def test_two_predicates_on_one_tool_are_both_heard(one: int, other: int, size: int) -> None:
    """A call that only one of them wants to be seen is seen."""
    mine, theirs = (
        {"task": InterruptOnConfig(allowed_decisions=["approve"], when=when(n))}
        for n in (one, other)
    )

    assert asks(merge_approvals(mine, theirs), "task", size) == (size > one or size > other)


@given(approvals, approvals, st.sampled_from(TOOLS))
def test_nobody_may_decide_more_than_the_parent_allows(
    parent: Approvals, child: Approvals, name: str
) -> None:
    """A child cannot let a person edit where the parent lets them only approve or reject."""
    merged = allowed(merge_approvals(parent, child), name)

    if allowed(parent, name):
        assert merged
        assert merged <= allowed(parent, name)
    else:
        assert merged == allowed(child, name)


@given(st.lists(approvals, min_size=2, max_size=5), st.sampled_from(TOOLS), sizes)
def test_no_depth_of_subagents_switches_an_approval_off(
    line: list[dict[str, Approval]], name: str, size: int
) -> None:
    """A grandchild is asked about what any of those above it is."""
    merged: Approvals = {}
    for each in line:
        merged = merge_approvals(merged, each)

    assert asks(merged, name, size) == any(asks(each, name, size) for each in line)


class Silent(AgentMiddleware[Any, Any, Any]):
    """Asks no one, under a name that suggests it does."""

    name = "HumanInTheLoopMiddleware"


class Other(HumanInTheLoopMiddleware[Any, Any, Any]):
    """A person's own way of asking."""


@given(approvals, approvals, st.integers(0, 3), st.sampled_from(TOOLS), sizes)
def test_no_middleware_of_a_child_takes_the_place_of_what_its_parent_asks(
    parent: Approvals, own: Approvals, kind: int, name: str, size: int
) -> None:
    """Neither LangChain's with other tools, nor a stranger of the same name, nor a subclass."""
    asking: list[list[AgentMiddleware[Any, Any, Any]]] = [
        [],
        [HumanInTheLoopMiddleware(dict(own))],
        [Silent()],
        [Other(dict(own))],
    ]
    made = with_approvals([Named("a"), *asking[kind], Named("b")], parent)

    names = [each.name for each in made]
    assert len(set(names)) == len(names)
    assert [n for n in names if n in {"a", "b"}] == ["a", "b"]
    assert asks(approvals_of(None, made), name, size) >= asks(parent, name, size)
    if kind in {1, 3}:
        assert asks(approvals_of(None, made), name, size) >= asks(own, name, size)


class Named(AgentMiddleware[Any, Any, Any]):
    """Does nothing."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """See `AgentMiddleware`."""
        return self._name


def test_what_a_person_gave_is_left_as_it_is() -> None:
    """Its words go on in ours; the object itself may serve other agents."""
    given_one = HumanInTheLoopMiddleware(
        {"ls": True}, description_prefix="Look:", edit_notice=None, interrupt_mode="per_call"
    )

    (made,) = with_approvals([given_one], {"execute": True})

    assert isinstance(made, HumanInTheLoopMiddleware)
    assert (made.description_prefix, made.edit_notice) == ("Look:", None)
    assert made.interrupt_mode == "per_call"
    assert set(made.interrupt_on) == {"ls", "execute"}
    assert set(given_one.interrupt_on) == {"ls"}


def test_an_approval_without_decisions_is_refused_and_not_dropped() -> None:
    """An empty config looks like one, and would ask no one."""
    nothing: Any = {}
    for parent, child in (({"ls": True}, {"ls": nothing}), ({}, {"ls": nothing})):
        with pytest.raises(ValueError, match="allowed_decisions"):
            merge_approvals(parent, child)
