"""`PatchToolCallsMiddleware`: a run begins with a history in which every call has its result.

A run that was cancelled, or that died between a model's answer and the results of its calls,
leaves calls behind that nobody answers any more. They are answered here, for good, when the next
run begins: with what is true, that no result was recorded.

Whose is what: for one request, the engine lays out a valid conversation whatever the log holds
(`context.window`: a placeholder for a call that waits, a late result as a note), and says nothing
of it in the state. Here the state itself is put in order, so that any provider takes it without
the engine, too, and the model learns that the call will never be answered.
"""

from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any, cast

from langchain.agents.middleware.types import AgentMiddleware, AgentState
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from thalweg.middleware.notes import SOURCE
from thalweg.prompts import prompt


class PatchToolCallsMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Answer what a run that did not end left unanswered, when the next one begins.

    A run that goes on after a person was asked is no new run: its calls wait, and are left alone.
    Where the person writes something else instead of deciding, they were passed over, and the
    model is told so. A result whose call is not in front of it becomes a note.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> call = {"name": "ls", "args": {}, "id": "c1"}
        >>> left = [HumanMessage("go"), AIMessage("", tool_calls=[call]), HumanMessage("and?")]
        >>> [m.type for m in patched(left)]
        ['human', 'ai', 'tool', 'human']
    """

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Put the messages of the state in order; nothing changes where they are."""
        del runtime
        messages = state["messages"]
        made = patched(messages)
        if len(made) == len(messages) and all(map(is_, made, messages)):
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *made]}

    async def abefore_agent(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """See `before_agent`; nothing here waits."""
        return self.before_agent(state, runtime)


def patched(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Give every call a result right behind its message, and every result a call.

    Messages that need nothing are the very same objects, in the same order.
    """
    answered = _answered(messages)
    called: set[str] = set()
    made: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls = dict(_calls(message))
            called |= calls.keys()
            made.append(message)
            made += [_result(uid, *calls[uid]) for uid in calls if uid not in answered]
        elif isinstance(message, ToolMessage) and message.tool_call_id not in called:
            made.append(_as_note(message))
        else:
            made.append(message)
    return made


def _answered(messages: Sequence[AnyMessage]) -> set[str]:
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def _calls(message: AIMessage) -> Iterator[tuple[str, tuple[str, str]]]:
    """List the calls that can be answered: by id, what is said of one without a result, of whom."""
    for kind, calls in (
        ("cancelled_call", message.tool_calls),
        ("malformed_call", message.invalid_tool_calls),
    ):
        for call in calls:
            if call["id"] is not None:
                yield call["id"], (kind, call["name"] or "unknown")


def _result(uid: str, kind: str, name: str) -> ToolMessage:
    said = prompt(kind).render(name=name, id=uid)
    return ToolMessage(said, name=name, tool_call_id=uid, status="error")


def _as_note(result: ToolMessage) -> HumanMessage:
    heading = prompt("stray_result").render(name=result.name or "a tool")
    said = result.content
    blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
    return HumanMessage(
        content=cast("list[str | dict[str, Any]]", [{"type": "text", "text": heading}, *blocks]),
        id=result.id,
        additional_kwargs={SOURCE: "thalweg"},
    )
