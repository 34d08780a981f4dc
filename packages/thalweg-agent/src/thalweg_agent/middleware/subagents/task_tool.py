"""The tool `task`: a call of a parent's model, from its arguments to the child's report."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from thalweg.context.ready_tools import ReadyTool
from thalweg.context.turn.effects import Flow, SyncOrAsync, ToolResult, sync_and_async
from thalweg_agent.middleware.subagents.delegation import TASK, Delegation, TaskOwner
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.ledger import place_of
from thalweg_agent.subagents.progress import ACTIVE, Progress
from thalweg_agent.subagents.running import arun_child, run_child

DELEGATIONS = "thalweg_delegations"
"""Key of the state that counts the delegations of a run, if they are limited."""
SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY = "__deepagents_subagent_response_format"
"""Key of a config's `configurable` that asks for an answer in a form of its own."""
_DESCRIPTIONS = {
    name: prompt(f"task_{name}").render() for name in ("description", "prompt", "type", "turns")
}


class TaskToolSchema(BaseModel):
    """The arguments with which a model delegates a task."""

    description: str = Field(description=_DESCRIPTIONS["description"])
    prompt: str = Field(default="", description=_DESCRIPTIONS["prompt"])
    subagent_type: str = Field(default="general-purpose", description=_DESCRIPTIONS["type"])
    max_turns: int = Field(default=0, ge=0, description=_DESCRIPTIONS["turns"])

    @model_validator(mode="before")
    @classmethod
    def _has_no_other_key(cls, given: object) -> object:
        # `extra="forbid"` would refuse what LangGraph adds to the model's arguments, and its error
        # would not explain where the instructions belong.
        if isinstance(given, Mapping):
            errors = [
                InitErrorDetails(type="value_error", loc=(key,), input=value, ctx={"error": why})
                for key, value in given.items()
                if key not in {*cls.model_fields, "runtime"}
                for why in [ValueError(prompt("task_unknown_argument").render(name=repr(key)))]
            ]
            if errors:
                raise ValidationError.from_exception_data(cls.__name__, errors)
        return given


def task_tool(middleware: TaskOwner, description: str) -> BaseTool:
    """Create the tool, sync and async, for both forms of the call.

    A call is `task(description, subagent_type)`, or `task(description, prompt, subagent_type,
    max_turns)`, in which the description only names the task.
    """

    def delegate(
        description: str,
        runtime: ToolRuntime[Any, Any],
        subagent_type: str = "general-purpose",
        prompt: str = "",
        max_turns: int = 0,
    ) -> Flow[ToolResult]:
        run = _prepare(middleware, runtime, description, prompt, subagent_type, max_turns)
        if isinstance(run, ToolMessage):
            return run
        try:
            run.begin()
            try:
                with run.files as files:
                    child = run.child_run(files)
                    yield SyncOrAsync(partial(run_child, child), partial(arun_child, child))
            except BaseException as error:  # noqa: BLE001 (a run's edge; what is no failure goes on)
                run.record_failure(error)
            run.apply_writes()
            yield from run.wait_for_concurrent_tasks()
            return run.finish(run.report())
        finally:
            run.step.leave()

    task, atask = sync_and_async(delegate)
    return ReadyTool(
        name=TASK,
        description=description,
        func=task,
        coroutine=atask,
        args_schema=TaskToolSchema,
    )


def _prepare(
    middleware: TaskOwner,
    runtime: ToolRuntime[Any, Any],
    description: str,
    instructions: str,
    subagent_type: str,
    max_turns: int,
) -> "Delegation | ToolMessage":
    """Return a child that is ready to run, or the result that explains why there is none.

    Raises:
        ValueError: The call has no id, or requests a response format that a compiled subagent
            lacks.
    """
    outer = ACTIVE.get()
    refuse = partial(_refusal, runtime.tool_call_id)
    if outer is not None and outer.is_fork:
        return refuse(prompt("task_fork_refused").render())
    spec = middleware.specs.get(subagent_type)
    if spec is None:
        names = ", ".join(f"`{name}`" for name in middleware.specs)
        return refuse(prompt("task_unknown_type").render(wanted=subagent_type, names=names))
    if not (description.strip() or instructions.strip()):
        return refuse(prompt("task_bare").render(name="description"))
    if not runtime.tool_call_id:
        msg = "Tool call ID is required for subagent invocation"
        raise ValueError(msg)
    progress = Progress(spec.limits.lowered(turns=max_turns), outer, is_fork=spec.is_fork)
    depths = [run.limits.depth for run in progress.chain() if run.limits.depth is not None]
    if depths and progress.depth > min(depths):
        return refuse(prompt("task_too_deep").render(depth=min(depths)))
    given = (runtime.config or {}).get("configurable", {})
    if middleware.max_delegations is not None and _place(runtime) > middleware.max_delegations:
        return refuse(prompt("task_too_many").render(most=middleware.max_delegations))
    child = middleware.runnable(spec, given.get(SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY))
    return Delegation(middleware, spec, runtime, progress, child, description, instructions)


def _place(runtime: ToolRuntime[Any, Any]) -> int:
    state = runtime.state
    messages, delegated = state.get("messages", []), state.get(DELEGATIONS, 0)
    return place_of(runtime.tool_call_id or "", messages, TASK, delegated)


def _refusal(call_id: str | None, text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id or "", name=TASK, status="error")
