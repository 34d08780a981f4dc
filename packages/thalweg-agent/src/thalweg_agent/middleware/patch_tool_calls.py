"""`PatchToolCallsMiddleware`: completes the history of a run, so that every call has its result.

After a run was cancelled, or crashed between a model's answer and the results of its calls, some
calls remain without a result. When the next run begins, they get a permanent result: that none was
recorded.

The engine also builds a valid conversation from any log, but for one request only
(`engine.window.window`: a placeholder for a pending call, a late result as a note), without changes
of the state. This middleware repairs the state itself, so that any provider accepts it without the
engine, too, and the model learns that the call will never get a result.
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

from thalweg.context.notes import SOURCE_KEY
from thalweg.engine.prompts import prompt as engine_prompt
from thalweg_agent.prompts import prompt


class PatchToolCallsMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Answer the pending calls of a run that did not end, when the next one begins.

    A run that is resumed after an interrupt is no new run: its calls are pending and are not
    changed. If the person writes a message instead of deciding, the results of those calls report
    that they were skipped. A result without a preceding call becomes a note.

    Example:
        >>> from langchain_core.messages import AIMessage, HumanMessage
        >>> call = {"name": "ls", "args": {}, "id": "c1"}
        >>> left = [HumanMessage("go"), AIMessage("", tool_calls=[call]), HumanMessage("and?")]
        >>> [m.type for m in patched(left)]
        ['human', 'ai', 'tool', 'human']
    """

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Put the messages of the state in order; messages in order are not changed."""
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
    """Return messages in which every call has a result directly after it, and every result a call.

    Valid messages are the same objects, in the same order.
    """
    missing = _missing_results(messages)
    called: set[str] = set()
    made: list[AnyMessage] = []
    for index, message in enumerate(messages):
        if isinstance(message, AIMessage):
            called |= dict(_calls(message)).keys()
            made += [message, *missing[index]]
        elif isinstance(message, ToolMessage) and message.tool_call_id not in called:
            made.append(_as_note(message))
        else:
            made.append(message)
    return made


def _missing_results(messages: Sequence[AnyMessage]) -> dict[int, list[ToolMessage]]:
    """Return the missing results, by the index of the answer that makes the calls.

    A result belongs to the last call of its id before it: some servers count ids from 0 in every
    answer.
    """
    missing: dict[int, list[ToolMessage]] = {}
    results: set[str] = set()
    for index in reversed(range(len(messages))):
        message = messages[index]
        if isinstance(message, ToolMessage):
            results.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            calls = dict(_calls(message))
            missing[index] = [_result(uid, *calls[uid]) for uid in calls if uid not in results]
            results -= calls.keys()
    return missing


def _calls(message: AIMessage) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the calls that can be answered: the id, the text of a missing result, and the tool."""
    for kind, calls in (
        ("cancelled_call", message.tool_calls),
        ("malformed_call", message.invalid_tool_calls),
    ):
        for call in calls:
            if call["id"] is not None:
                yield call["id"], (kind, call["name"] or "unknown")


def _result(uid: str, kind: str, name: str) -> ToolMessage:
    text = prompt(kind).render(name=name, id=uid)
    return ToolMessage(text, name=name, tool_call_id=uid, status="error")


def _as_note(result: ToolMessage) -> HumanMessage:
    heading = engine_prompt("stray_result").render(name=result.name or "a tool")
    content = result.content
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return HumanMessage(
        content=cast("list[str | dict[str, Any]]", [{"type": "text", "text": heading}, *blocks]),
        id=result.id,
        additional_kwargs={SOURCE_KEY: "thalweg"},
    )
