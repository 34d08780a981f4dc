"""`SubAgentMiddleware`: an agent hands work to agents of its own, with the tool `task`.

The tool returns a failure as an error result, so that the parent can react, but LangGraph takes a
task that returned for one that completed. So the error is added to the event of the result, from
which `run.subagents`, `run.subgraphs` and `run.lifecycle` of LangGraph's v3 stream read the status:
a subagent whose task failed is shown as failed.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from threading import RLock
from typing import Annotated, Any, ClassVar, NotRequired, cast
from uuid import UUID

from langchain.agents import create_agent
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain.agents.structured_output import ResponseFormat
from langchain.chat_models import init_chat_model
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config
from langgraph.stream import ProtocolEvent, StreamTransformer
from langgraph.types import Command

from thalweg.context.notes import begins_run
from thalweg.context.turn.additions import with_text
from thalweg.context.turn.effects import Flow, ModelCallFlow, Response, Send
from thalweg.engine.undocumented import loop_of
from thalweg.errors import SpecError
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.middleware.approval import CheckedApprovalMiddleware
from thalweg_agent.middleware.subagents.delegation import SENT, TASK
from thalweg_agent.middleware.subagents.task_tool import (
    DELEGATIONS,
    SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY,
    TaskToolSchema,
    task_tool,
)
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.joining import merge_artifacts
from thalweg_agent.subagents.ledger import (
    Task,
    abandoned_tasks,
    delegated_tasks,
    merge_tasks,
    plain,
)
from thalweg_agent.subagents.limits import SubagentLimits
from thalweg_agent.subagents.parent_step import LaterValue
from thalweg_agent.subagents.specs import CompiledSubAgent, Spec, SubAgent, read_specs

__all__ = [
    "DEFAULT_GENERAL_PURPOSE_DESCRIPTION",
    "DEFAULT_SUBAGENT_PROMPT",
    "GENERAL_PURPOSE_SUBAGENT",
    "SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY",
    "TASK_TOOL_DESCRIPTION",
    "CompiledSubAgent",
    "LaterValue",
    "SubAgent",
    "SubAgentMiddleware",
    "SubagentLimits",
    "TaskToolSchema",
    "create_sub_agent",
]
TASK_TOOL_DESCRIPTION = prompt("task_tool").text
"""The tool's description for a model; `{available_agents}` is replaced by the list of subagents."""
DEFAULT_SUBAGENT_PROMPT = prompt("subagent_prompt").render()
"""Instructions of a subagent that works for another agent."""
DEFAULT_GENERAL_PURPOSE_DESCRIPTION = prompt("general_purpose").render()
"""The tasks that the general-purpose subagent suits, as its description."""
GENERAL_PURPOSE_SUBAGENT: SubAgent = {
    "name": "general-purpose",
    "description": DEFAULT_GENERAL_PURPOSE_DESCRIPTION,
    "system_prompt": DEFAULT_SUBAGENT_PROMPT,
}
"""The subagent that every agent has; model, tools and middleware are its parent's."""
Create = Callable[[SubAgent], Runnable[Any, Any]]


class SubagentStatusTransformer(StreamTransformer):
    """Adds the error to the event of a task whose subagent failed.

    It runs before LangGraph's own transformers, which read `error` there and nowhere else. Their
    use of `id`, `result` and `interrupts` is not affected. Only the stream changes: state and
    checkpoints have the error result.
    """

    required_stream_modes: ClassVar[tuple[str, ...]] = ("tasks",)
    before_builtins: ClassVar[bool] = True

    def init(self) -> dict[str, Any]:
        """See `StreamTransformer.init`: there is no projection of its own."""
        return {}

    def process(self, event: ProtocolEvent) -> bool:
        """See `StreamTransformer.process`; every event is kept."""
        data = event["params"]["data"]
        if event["method"] == "tasks" and "result" in data and not data.get("error"):
            failed = _failures(data["result"])
            if failed:
                event["params"]["data"] = {**data, "error": "; ".join(failed)}
        return True


def _failures(result: object) -> list[str]:
    """Return the reports of failed tasks from a tool call's update of the state."""
    tasks = result.get("tasks") if isinstance(result, dict) else None
    if not isinstance(tasks, dict):
        return []
    entries = [task for task in tasks.values() if isinstance(task, dict)]
    return [str(task.get("report")) for task in entries if task.get("status") == "failed"]


class SubAgentState(AgentState[Any]):
    """The middleware's part of an agent's state."""

    tasks: NotRequired[Annotated[dict[str, Task], merge_tasks]]
    """The ledger: every task by the id of the call that handed it out."""
    artifacts: NotRequired[Annotated[list[str], merge_artifacts]]
    """Paths of the files made for the user, the children's too."""
    thalweg_delegations: NotRequired[Annotated[int, PrivateStateAttr]]
    """Number of delegations in the running run, if they are limited."""


def create_sub_agent(
    spec: SubAgent,
    *,
    state_schema: type | None = None,
    response_format: ResponseFormat[Any] | type | dict[str, Any] | None = None,
) -> Runnable[Any, Any]:
    """Make a subagent from its spec with `create_agent`, and nothing that the spec does not name.

    Raises:
        SpecError: The spec has no model or no tools.
    """
    model, tools = spec.get("model"), spec.get("tools")
    if model is None or tools is None:
        missing = "model" if model is None else "tools"
        problem = f"SubAgent '{spec['name']}' must specify '{missing}'"
        raise SpecError("subagents", problem, "add it")
    stack = list(spec.get("middleware", []))
    if interrupt_on := spec.get("interrupt_on"):
        stack.append(CheckedApprovalMiddleware(interrupt_on=interrupt_on))
    schema: dict[str, Any] = {} if state_schema is None else {"state_schema": state_schema}
    form = response_format if response_format is not None else spec.get("response_format")
    agent: Runnable[Any, Any] = create_agent(
        init_chat_model(model) if isinstance(model, str) else model,
        system_prompt=spec.get("system_prompt", ""),
        tools=tools,
        middleware=stack,
        name=spec["name"],
        response_format=form,
        **schema,
    )
    return agent


class SubAgentMiddleware(ModelCallFlow, AgentMiddleware[SubAgentState, Any, Any]):
    """Add the tool `task`, with which an agent delegates work to subagents.

    A subagent works in a thread of its own: it sees its task, not the conversation, and the shared
    part of the state; its parent gets one report. Several calls in one message run concurrently. A
    child that is stopped (by a limit or an error) also returns a report; the status of each task is
    in the ledger, the state's `tasks`.

    A child's writes to a shared key are written to its parent's state, through its reducer. Of a
    key without a reducer that several children write in one step, the first to end keeps its value,
    or the later call if the key is annotated with `LaterValue`; each report names the key.

    Args:
        backend: Accepted for compatibility. Long reports are offloaded as other results are: by
            `ContextMiddleware`, or by `FilesystemMiddleware`.
        subagents: The subagents: specs, and compiled agents.
        system_prompt: Text for the parent's system prompt, followed by the list of subagents.
        task_description: The tool's description; `{available_agents}` in it is the list.
        private_state_keys: Keys of the state that no child receives or returns.
        state_schema: Base of a child's state, if the child is built here.
        create: Builds an agent from a spec, at its first use. The default is `create_sub_agent`,
            and then each spec needs `model` and `tools`.
        limits: Limits of a spec without its own, as a mapping or `SubagentLimits`.
        max_delegations: Most calls of `task` in one run, from the user's message to the answer. A
            further call starts nothing; its result names the limit. `None`: no limit.

    Raises:
        SpecError: A spec or `max_delegations` is invalid; a `ConfigError` and a `ValueError`.

    Example:
        >>> from langchain_core.messages import AIMessage
        >>> from thalweg.testing import ScriptedModel
        >>> call = {"name": "task", "id": "t1", "args": {"description": "add 2 and 3"}}
        >>> def parent(messages):
        ...     last = messages[-1]
        ...     return last.text if last.type == "tool" else AIMessage("", tool_calls=[call])
        >>> adder = {
        ...     **GENERAL_PURPOSE_SUBAGENT,
        ...     "model": ScriptedModel(script=lambda messages: "It is 5."),
        ...     "tools": [],
        ... }
        >>> tasks = SubAgentMiddleware(backend=None, subagents=[adder])
        >>> agent = create_agent(ScriptedModel(script=parent), middleware=[tasks])
        >>> agent.invoke({"messages": [("user", "2 + 3?")]})["messages"][-1].text
        'It is 5.'
    """

    state_schema = SubAgentState
    transformers = (SubagentStatusTransformer,)

    def __init__(
        self,
        *,
        backend: BackendProtocol | Callable[..., BackendProtocol] | None,
        subagents: Sequence[SubAgent | CompiledSubAgent],
        system_prompt: str | None = None,
        task_description: str | None = None,
        private_state_keys: frozenset[str] | None = None,
        state_schema: type | None = None,
        create: Create | None = None,
        limits: Mapping[str, float | None] | SubagentLimits | None = None,
        max_delegations: int | None = None,
    ) -> None:
        del backend
        super().__init__()
        self.max_delegations = _validated(max_delegations)
        needs = () if create else ("model", "tools")
        self.specs = read_specs(subagents, SubagentLimits.of(limits, SubagentLimits()), needs)
        self.private_state_keys = private_state_keys or frozenset()
        self.subagent_names = frozenset(self.specs)
        """Names of the subagents."""
        self._create = create or self._create_here
        self._schema = state_schema
        self._made: dict[str, Runnable[Any, Any]] = {
            spec.name: _named(spec.runnable, spec.name)
            for spec in self.specs.values()
            if spec.runnable is not None
        }
        self._making = RLock()
        self._forks = frozenset(spec.name for spec in self.specs.values() if spec.is_fork)
        listed = "\n".join(map(_line, self.specs.values()))
        self.system_prompt = (
            f"{system_prompt}\n\nAvailable subagent types:\n\n{listed}" if system_prompt else None
        )
        described = TASK_TOOL_DESCRIPTION if task_description is None else task_description
        self.tools = [task_tool(self, _described(described, listed, max_delegations))]

    def runnable(self, spec: Spec, response_format: object = None) -> Runnable[Any, Any]:
        """Return the runnable of a subagent, which is built once, at its first use.

        Raises:
            ValueError: A response format is requested from an agent that was compiled elsewhere.
        """
        if response_format is not None:
            if spec.runnable is not None:
                msg = (
                    f'response_schema cannot be used with compiled subagent "{spec.name}"; '
                    "dynamic schemas require a raw SubAgent spec."
                )
                raise ValueError(msg)
            return self._create(
                cast("SubAgent", {**spec.given, "response_format": response_format})
            )
        if (made := self._made.get(spec.name)) is None:
            with self._making:
                if (made := self._made.get(spec.name)) is None:
                    made = self._create(self._spec(spec))
                    self._made[spec.name] = made
        return made

    def _spec(self, spec: Spec) -> SubAgent:
        """Return the spec to build an agent from; a fork has this tool, too, which refuses calls.

        So its requests share their prefix with its parent's, and a provider's cache has it.
        """
        given = cast("SubAgent", spec.given)
        stack = given.get("middleware", [])
        if not spec.is_fork or any(one.name == self.name for one in stack):
            return given
        return {**given, "middleware": [self, *stack]}

    def _create_here(self, spec: SubAgent) -> Runnable[Any, Any]:
        return create_sub_agent(spec, state_schema=self._schema)

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Add the subagents to the system prompt, and record the requested tasks in the ledger."""
        text = self.system_prompt
        introduced = request if text is None else with_text(request, text)
        # A fork may have to go on from what the model is sent.
        overheard = _LastRequest() if self._forks else None
        response = yield Send(introduced, () if overheard is None else (overheard,))
        return self._entered(request, response, overheard)

    def _entered(
        self,
        request: ModelRequest[Any],
        response: ModelResponse[Any],
        overheard: "_LastRequest | None",
    ) -> Response:
        now, state = datetime.now(UTC), request.state
        known = plain(state.get("tasks"))
        tasks = abandoned_tasks(known, state["messages"], now) if known else {}
        delegated = delegated_tasks(cast("list[AnyMessage]", response.result), TASK, now)
        tasks |= delegated
        update: dict[str, Any] = {"tasks": tasks} if tasks else {}
        if overheard is not None and (sent := overheard.messages) is not None:
            forks = [uid for uid, one in delegated.items() if one["subagent"] in self._forks]
            loop = loop_of(ensure_config().get("configurable", {}))
            if forks and loop is not None:
                SENT[loop] = dict.fromkeys(forks, sent)
        if delegated and self.max_delegations is not None:
            before = cast("int", state.get(DELEGATIONS, 0))
            begun = 0 if begins_run(state["messages"]) else before
            update[DELEGATIONS] = begun + len(delegated)
        return ExtendedModelResponse(response, Command(update=update)) if update else response


class _LastRequest(BaseCallbackHandler):
    """The newest request to a chat model, without the system prompt."""

    run_inline = True

    def __init__(self) -> None:
        self.messages: list[AnyMessage] | None = None

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 (LangChain's signature)
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,  # noqa: ARG002
        **kwargs: Any,  # noqa: ANN401, ARG002
    ) -> None:
        """Store the messages; a request for a summary precedes that of the call itself."""
        if messages:
            sent = cast("list[AnyMessage]", messages[0])
            self.messages = [message for message in sent if message.type != "system"]


def _validated(most: object) -> int | None:
    if most is None:
        return None
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        problem = f"it is {most!r}"
        raise SpecError("max_delegations", problem, "pass a whole number from 1, or None")
    return most


def _named(runnable: Runnable[Any, Any], name: str) -> Runnable[Any, Any]:
    return runnable.with_config({"metadata": {"lc_agent_name": name}, "run_name": name})


def _line(spec: Spec) -> str:
    note = f" {prompt('task_forked_note').render()}" if spec.is_fork else ""
    return f"- {spec.name}: {spec.description}{note}"


def _described(description: str, listed: str, most: int | None) -> str:
    """Return the description of the tool, with the available subagents and the limit of calls."""
    described = description.replace("{available_agents}", listed)
    return described if most is None else f"{described}\n\n{prompt('task_most').render(most=most)}"
