"""Record every model call of an agent, its middleware and its subagents.

It is a LangChain callback handler, which receives the calls of everything that runs inside a graph
of any harness.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from thalweg.context.turn.effects import UNSEEN_TAGS
from thalweg.engine.tokens import Counter, count_json, exact_counter
from thalweg_evals.trace import Kind, Request, Role, Trace, TracedCall, TracedMessage

_ROLES: dict[str, Role] = {"system": "system", "human": "user", "ai": "assistant", "tool": "tool"}
_SUMMARY = "lc_source"
"""Metadata key of calls that LangChain's middleware makes for itself."""


class Recorder(BaseCallbackHandler):
    """Records requests in a trace, in the order in which they were sent.

    Args:
        trace: Receives the requests.
        has_tools: Whether the agent has tools: then a request without any is the harness's.
    """

    raise_error = True
    run_inline = True  # so that requests are recorded in order in an event loop, too

    def __init__(self, trace: Trace, *, has_tools: bool) -> None:
        self.trace = trace
        self.thread = ""
        self.turn = -1
        self._has_tools = has_tools
        self._count = exact_counter()
        self._lock = Lock()
        self._open: dict[UUID, tuple[int, float]] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's)
    ) -> None:
        """Record a request."""
        del serialized
        schemas = (kwargs.get("invocation_params") or {}).get("tools") or []
        traced = tuple(as_traced_message(message) for message in messages[0])
        conversation = sum(tokens_of(one, self._count) for one in traced if one.role != "system")
        fixed = sum(tokens_of(one, self._count) for one in traced if one.role == "system")
        fixed += sum(count_json(schema, self._count) for schema in schemas)
        with self._lock:
            number = len(self.trace.requests)
            self._open[run_id] = number, time.monotonic()
            self.trace.requests.append(
                Request(
                    number=number,
                    turn=self.turn,
                    thread=self.thread,
                    kind=self._kind(tags or [], metadata or {}, has_tools=bool(schemas)),
                    messages=traced,
                    tools=tuple(_name_of(schema) for schema in schemas),
                    tokens=conversation + fixed,
                    fixed=fixed,
                    answer=None,
                )
            )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401 (LangChain's)
        """Record an answer."""
        del kwargs
        made = response.generations[0][0]
        message = made.message if isinstance(made, ChatGeneration) else AIMessage(made.text)
        usage = getattr(message, "usage_metadata", None) or {}
        details = usage.get("input_token_details") or {}
        self._close(
            run_id,
            answer=as_traced_message(message),
            input_tokens=usage.get("input_tokens", 0),
            cached_tokens=details.get("cache_read", 0) or 0,
            output_tokens=usage.get("output_tokens", 0),
        )

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ANN401 (LangChain's)
        """Record an error of the model."""
        del kwargs
        self._close(run_id, error=f"{type(error).__name__}: {error}")

    def _close(self, run_id: UUID, **changes: Any) -> None:  # noqa: ANN401 (fields of a request)
        with self._lock:
            if run_id not in self._open:  # not a chat model: it reports no start
                return
            number, start = self._open.pop(run_id)
            old = self.trace.requests[number]
            seconds = time.monotonic() - start
            self.trace.requests[number] = replace(old, seconds=seconds, **changes)

    def _kind(self, tags: Sequence[str], about: dict[str, Any], *, has_tools: bool) -> Kind:
        if UNSEEN_TAGS[-1] in tags or _SUMMARY in about:
            return "harness"  # in a subagent, too
        where = str(about.get("langgraph_checkpoint_ns", "")).split("|")
        if any(step.startswith("tools:") for step in where[:-1]):
            return "subagent"
        return "harness" if self._has_tools and not has_tools else "agent"


def tokens_of(message: TracedMessage, count: Counter) -> int:
    """Return the tokens of a message and its tool calls."""
    return count(message.text) + sum(
        count(call.name) + count_json(dict(call.arguments), count) for call in message.calls
    )


def as_traced_message(message: BaseMessage) -> TracedMessage:
    """Convert a LangChain message."""
    calls = tuple(
        TracedCall(str(call["id"] or ""), call["name"], call["args"])
        for call in getattr(message, "tool_calls", ())
    )
    if isinstance(message, ToolMessage):
        is_error = message.status == "error"
        answers, name = message.tool_call_id, message.name or ""
        return TracedMessage("tool", str(message.text), (), answers, name, is_error)
    return TracedMessage(_ROLES.get(message.type, "user"), str(message.text), calls)


def _name_of(schema: Any) -> str:  # noqa: ANN401 (a provider's form)
    if not isinstance(schema, dict):
        return str(getattr(schema, "name", schema))
    return str(schema.get("function", schema).get("name", ""))
