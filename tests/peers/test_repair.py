"""The repair of an interrupted run, compared with `deepagents`: equal calls, equal results."""

from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from thalweg_agent.middleware.patch_tool_calls import PatchToolCallsMiddleware

peer = pytest.importorskip("deepagents.middleware.patch_tool_calls")

RUNTIME: Runtime[Any] = Runtime()
MAY_HAVE_RUN = "; if it had begun, it may have had effects, and may still be working"
"""The clause that ours has more."""


@st.composite
def histories(draw: st.DrawFn, *, strays: bool = False) -> list[AnyMessage]:
    """Draw a history in which some calls have no result, or a late one."""
    messages: list[AnyMessage] = []
    late: list[ToolMessage] = []
    for turn in range(draw(st.integers(0, 5))):
        messages.append(HumanMessage(f"q{turn}", id=f"h{turn}"))
        good = draw(st.integers(0, 2))
        bad = draw(st.integers(0, 2))
        ids = [f"c{turn}_{n}" for n in range(good + bad)]
        nameless = draw(st.booleans())
        messages.append(
            AIMessage(
                f"a{turn}",
                id=f"a{turn}",
                tool_calls=[{"name": "look", "args": {}, "id": uid} for uid in ids[:good]],
                invalid_tool_calls=[
                    {
                        "type": "invalid_tool_call",
                        "name": None if nameless else "look",
                        "args": "{",
                        "id": uid if draw(st.booleans()) else None,
                        "error": None,
                    }
                    for uid in ids[good:]
                ],
            )
        )
        for uid in ids[:good]:
            where = draw(st.sampled_from(["now", "late", "never"]))
            result = ToolMessage("r", tool_call_id=uid, id=f"r{uid}")
            if where == "now":
                messages.append(result)
            elif where == "late":
                late.append(result)
    messages += late
    if strays:
        place = draw(st.integers(0, len(messages)))
        messages.insert(place, ToolMessage("s", tool_call_id="stray", name="look", id="stray"))
    return messages


def shown(update: dict[str, Any] | None) -> list[Any] | None:
    """Write an update so that two can be compared."""
    if update is None:
        return None
    first, *rest = update["messages"]
    assert isinstance(first, RemoveMessage)
    assert first.id == REMOVE_ALL_MESSAGES
    return [message.model_dump() for message in rest]


@given(histories())
def test_what_is_left_unanswered_is_answered_as_the_peer_does(messages: list[AnyMessage]) -> None:
    """In the same places, with one more clause; and nothing is changed where nothing is."""
    state: Any = {"messages": messages}
    ours = shown(PatchToolCallsMiddleware().before_agent(state, RUNTIME))
    theirs = shown(peer.PatchToolCallsMiddleware().before_agent(state, RUNTIME))
    event("changed" if theirs else "left alone")

    for message in ours or ():
        message["content"] = message["content"].replace(MAY_HAVE_RUN, "")
    assert ours == theirs


@given(histories(strays=True))
def test_a_stray_result_becomes_a_note_and_theirs_stays_a_result(
    messages: list[AnyMessage],
) -> None:
    """Deliberately otherwise: a provider refuses a result without its call."""
    state: Any = {"messages": messages}
    update = PatchToolCallsMiddleware().before_agent(state, RUNTIME)
    theirs = peer.PatchToolCallsMiddleware().before_agent(state, RUNTIME) or {"messages": messages}

    assert update is not None
    (note,) = [m for m in update["messages"] if m.id == "stray"]
    assert note.type == "human"
    assert note.text.endswith("s")
    assert any(m.type == "tool" for m in theirs["messages"] if m.id == "stray")
