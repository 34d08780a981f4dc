"""`AnswerMiddleware`: retries empty and malformed answers of a model.

An empty answer (no text, no calls; thinking alone is empty) is requested once more. Calls whose
arguments cannot be parsed get error results that name the problem and, in one line, the tool's
arguments, and the model is called again in the same step: LangChain would end the run there and
lose the turn. The error result of a call with invalid arguments lists the tool's arguments as well.

Other components handle the related cases: LangGraph's tool node answers a call of a tool that does
not exist and lists those that do; `PatchToolCallsMiddleware` answers calls that an earlier run did
not; the engine (`engine.window.window`) keeps each request valid for any state of the thread.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast
from uuid import uuid4

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, InvalidToolCall, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from thalweg.context.notes import closing_answer, note
from thalweg.context.ready_tools import as_openai
from thalweg.context.turn.effects import Flow, ModelCallFlow, Send, ToolCallFlow, ToolResult
from thalweg.errors import ConfigError
from thalweg_agent.prompts import prompt

PROBLEMS = 5
"""Most problems of one call that are named."""
_SILENT = {"thinking", "redacted_thinking", "reasoning", "reasoning_content"}
"""Kinds of content that are no answer."""
_CUT = {"length", "max_tokens", "MAX_TOKENS"}
"""Finish reasons that providers report when an answer reached its limit."""
_INVOCATION = "Error invoking tool "
"""Prefix of LangGraph's error for wrong arguments of a tool."""


def takes(name: str, tools: Sequence[BaseTool | dict[str, Any]]) -> str:
    """Return one line with the arguments of a tool, or with the names of all tools if unknown.

    Example:
        >>> from langchain_core.tools import tool
        >>> @tool
        ... def add(a: int, b: int = 0) -> int:
        ...     "Add."
        ...     return a + b
        >>> takes("add", [add])
        '`add` takes: a (integer), b (integer, optional).'
    """
    schemas = [_schema(tool) for tool in tools]
    found = next((schema for schema in schemas if schema.get("name") == name), None)
    if found is None:
        names = ", ".join(str(schema["name"]) for schema in schemas if schema.get("name"))
        return prompt("no_such_tool").render(names=names or "none")
    parameters = _object(found.get("parameters"))
    required = parameters.get("required") or ()
    listed = [
        f"{argument} ({_kind(_object(given))}{'' if argument in required else ', optional'})"
        for argument, given in _object(parameters.get("properties")).items()
    ]
    if not listed:
        return prompt("takes_nothing").render(name=name)
    return prompt("takes").render(name=name, arguments=", ".join(listed))


def problems_of(tool: BaseTool, arguments: Mapping[str, Any]) -> list[str]:
    """Return the problems of arguments, without repeating them: they may be long.

    Returns:
        An empty list if they match the schema that the model has.
    """
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        model = tool.args_schema
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return []
        schema = model
    try:
        schema.model_validate(dict(arguments))
    except ValidationError as error:
        return [
            f"- {'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)[:PROBLEMS]
        ]
    return []


def _schema(tool: BaseTool | dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(tool, BaseTool):
        return _object(as_openai(tool).get("function"))
    return _object(tool.get("function", tool))


def _object(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _kind(schema: Mapping[str, Any]) -> str:
    if choices := schema.get("enum"):
        return f"one of {', '.join(map(str, choices))}"
    if any_of := schema.get("anyOf"):
        kinds = [_kind(_object(each)) for each in any_of]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_kind(_object(schema.get('items')))}"
    return str(kind or "any")


class AnswerMiddleware(ModelCallFlow, ToolCallFlow, AgentMiddleware[AgentState[Any], Any, Any]):
    """Call the model again if its answer is empty or cannot be parsed.

    The model gets its broken calls back in the same turn, each with an error that names the problem
    and the tool's arguments. An empty answer is replaced by a short note. After `tries` attempts
    the run ends with an answer that reports it: `response_metadata["thalweg_ended"]` is then
    `"empty"` or `"broken"`.

    Args:
        tries: How often in one turn a model may write calls that cannot be parsed.

    Raises:
        ConfigError: It is less than 1.

    Example:
        >>> from langchain.agents import create_agent
        >>> from thalweg.testing import ScriptedModel
        >>> answers = iter(["  ", "Here I am."])
        >>> model = ScriptedModel(script=lambda messages: next(answers))
        >>> agent = create_agent(model, middleware=[AnswerMiddleware()])
        >>> agent.invoke({"messages": [("user", "hi")]})["messages"][-1].content
        'Here I am.'
    """

    def __init__(self, *, tries: int = 3) -> None:
        super().__init__()
        if tries < 1:
            raise ConfigError("tries", f"it is {tries}", "allow one at least")
        self.tries = tries

    def tool_call(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Run a call, and list the tool's arguments in the result if they were invalid."""
        result: ToolResult = yield Send(request)
        return explained(result, request)

    def call(self, request: ModelRequest[Any]) -> Flow[ModelResponse[Any]]:
        """Ask until there is an answer that can be used."""
        turn = _RetriedTurn(request, self.tries)
        while True:
            response: ModelResponse[Any] = yield Send(turn.request)
            settled = turn.settle(response)
            if settled is not None:
                return settled


@dataclass(slots=True)
class _RetriedTurn:
    request: ModelRequest[Any]
    tries: int
    added: list[BaseMessage] = field(default_factory=list)
    """Messages added in this turn so far, after the request that it began with."""
    broken: int = 0
    is_nudged: bool = False

    def settle(self, response: ModelResponse[Any]) -> ModelResponse[Any] | None:
        """Return an answer as it is or repaired; `None` to call the model again."""
        k = next((k for k, m in enumerate(response.result) if isinstance(m, AIMessage)), None)
        if k is None or response.structured_response is not None:
            return self._with(response, *response.result)
        answer = response.result[k]
        assert isinstance(answer, AIMessage)  # noqa: S101 (it was looked for)
        ids = {call["id"] for call in answer.tool_calls if call["id"]}
        if answer.invalid_tool_calls or len(ids) < len(answer.tool_calls):
            return self._repair(response, k, _identified(answer, self._taken()))
        if not is_empty(answer):
            return self._with(response, *response.result)
        if self.is_nudged:
            end = closing_answer(prompt("empty_end").render(), "empty")
            return self._with(response, end)
        self.is_nudged = True
        self._go_on(note(prompt("empty_answer").render()))
        return None

    def _repair(
        self, response: ModelResponse[Any], k: int, answer: AIMessage
    ) -> ModelResponse[Any] | None:
        """Answer calls that cannot be parsed; return `None` to retry if no other call remains."""
        errors = [_error(call, answer, self.request.tools) for call in answer.invalid_tool_calls]
        before, after = response.result[:k], response.result[k + 1 :]
        if answer.tool_calls:
            return self._with(response, *before, answer, *errors, *after)
        self.broken += 1
        if self.broken >= self.tries:
            end = closing_answer(prompt("broken_calls_end").render(tries=self.broken), "broken")
            return self._with(response, *before, answer, *errors, *after, end)
        self._go_on(*before, answer, *errors, *after)
        return None

    def _taken(self) -> set[str]:
        """List the ids of calls that were made before: a server may count from 0 every time."""
        answers = [m for m in self.request.messages if isinstance(m, AIMessage)]
        calls = [c for m in answers for c in (*m.tool_calls, *m.invalid_tool_calls)]
        return {call["id"] for call in calls if call["id"]}

    def _go_on(self, *messages: BaseMessage) -> None:
        self.added += messages
        behind = cast("tuple[AnyMessage, ...]", messages)
        self.request = self.request.override(messages=[*self.request.messages, *behind])

    def _with(self, response: ModelResponse[Any], *messages: BaseMessage) -> ModelResponse[Any]:
        if not self.added and len(messages) == len(response.result):
            same = zip(messages, response.result, strict=True)
            if all(a is b for a, b in same):
                return response
        return replace(response, result=[*self.added, *messages])


def is_empty(message: AIMessage) -> bool:
    """Return whether an answer has neither text nor calls.

    Example:
        >>> is_empty(AIMessage([{"type": "thinking", "thinking": "hm"}]))
        True
        >>> is_empty(AIMessage("no"))
        False
    """
    if message.tool_calls or message.invalid_tool_calls or message.text.strip():
        return False
    if message.additional_kwargs.get("refusal"):
        return False
    blocks = message.content if isinstance(message.content, list) else ()
    kinds = {block.get("type") for block in blocks if isinstance(block, dict)}
    return kinds <= {"text", *_SILENT}


def _identified(answer: AIMessage, taken: set[str]) -> AIMessage:
    """Return a message whose calls all have their own ids, without which none can be answered."""

    def named(call: Any) -> Any:  # noqa: ANN401 (either kind of LangChain's calls)
        if call["id"] and call["id"] not in taken:
            taken.add(call["id"])
            return call
        return {**call, "id": f"call_{uuid4().hex}"}

    return answer.model_copy(
        update={
            "id": answer.id or str(uuid4()),
            "tool_calls": [named(call) for call in answer.tool_calls],
            "invalid_tool_calls": [named(call) for call in answer.invalid_tool_calls],
        }
    )


def _error(
    call: InvalidToolCall, answer: AIMessage, tools: Sequence[BaseTool | dict[str, Any]]
) -> ToolMessage:
    """Return the error result of a call: the problem, and the valid arguments."""
    name = call["name"] or "unknown"
    text = prompt("broken_call").render(
        name=name, problem=_problem(call, answer), takes=takes(name, tools)
    )
    return ToolMessage(
        text, id=str(uuid4()), name=name, tool_call_id=call["id"] or "", status="error"
    )


def _problem(call: InvalidToolCall, answer: AIMessage) -> str:
    written = call["args"] or ""
    metadata = answer.response_metadata
    if {metadata.get("finish_reason"), metadata.get("stop_reason")} & _CUT:
        return (
            f"the answer reached its limit and the arguments end after {len(written)} "
            "characters, so write less in one call"
        )
    try:
        read = json.loads(written)
    except (ValueError, RecursionError) as error:
        return f"its arguments are not valid JSON: {error}"
    kind = type(read).__name__
    return call["error"] or f"its arguments are {kind}, not an object"


def explained(result: ToolResult, request: ToolCallRequest) -> ToolResult:
    """Add the tool's arguments to a result in which LangGraph refused those of the call."""
    if not isinstance(result, ToolMessage) or result.status != "error" or request.tool is None:
        return result
    if not isinstance(result.content, str) or not result.content.startswith(_INVOCATION):
        return result
    call = request.tool_call
    problems = problems_of(request.tool, call["args"])
    if not problems:  # the tool itself checked something else
        return result
    explanation = prompt("wrong_arguments").render(name=call["name"], problem="\n".join(problems))
    return result.model_copy(
        update={"content": f"{explanation}\n{takes(call['name'], [request.tool])}"}
    )
