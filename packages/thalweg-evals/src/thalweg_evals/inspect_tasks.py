"""The probes as tasks of Inspect (https://inspect.aisi.org.uk), with its logs, viewer and epochs.

    inspect eval thalweg_evals/probes -T policy=thalweg -T trigger=0.1 --model openai/gpt-5-mini
    inspect eval thalweg_evals/probes -T policy=none -T scripted=searcher --model none
    inspect eval TASK --solver thalweg_evals/task_agent -S policy=thalweg-careful --model NAME
    python -m thalweg_evals.inspect_tasks FIRST.eval SECOND.eval      # compare two logs

A task has one policy, window and trigger; `grid` makes those of several. Its samples are the cases
of the probes; epochs repeat them with other names and numbers. The agents are those of `agents`,
with a model of Inspect: its requests are events of the log. `task_agent` lets them work on the
tasks of others. Only this module imports `inspect_ai`, which the extra `inspect` installs.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from anyio import from_thread, to_thread
from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Compact,
    CompactionNative,
    ModelOutput,
    compaction,
    execute_tools,
    get_model,
)
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Score,
    Scorer,
    Target,
    accuracy,
    grouped,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall, ToolDef, ToolInfo, ToolParams, bash
from inspect_ai.util import LimitExceededError
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from pydantic import Field, PrivateAttr

from thalweg.cli.values import parse_names
from thalweg_evals.agents import (
    Agent,
    Graph,
    Policy,
    Setting,
    langchain_agent,
    policy_named,
)
from thalweg_evals.cli import pick_cases
from thalweg_evals.comparison import Interval, difference, rate
from thalweg_evals.picture import TokenSeries, token_picture, token_series
from thalweg_evals.probes import PROBES
from thalweg_evals.scripted import WINDOW, WindowModel, scripted_model
from thalweg_evals.trace import Recorder, Trace, TracedMessage
from thalweg_evals.world import play

PROVIDER = "provider"
"""The policy whose model's provider compacts: here by Inspect's `CompactionNative`."""
_RESULT = "thalweg_evals"
"""Key of the store."""


# --- a model of Inspect as one of LangChain


class InspectModel(WindowModel):
    """Sends requests to the active model of Inspect, asynchronously only.

    The answers of that model are sent back as they were, with their reasoning.
    """

    model: str = "inspect"
    compacts_at: int | None = None
    """Tokens at which the provider compacts the conversation; `None`: it does not."""
    limits: list[Any] = Field(default_factory=list)
    """The limit of Inspect that was exceeded, if any: it is no failure of the agent."""
    _answers: dict[str, ChatMessageAssistant] = PrivateAttr(default_factory=dict)
    _compact: Compact | None = PrivateAttr(default=None)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        msg = "a model of Inspect is asynchronous: use ainvoke"
        raise NotImplementedError(msg)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        tools = [_tool_info(schema["function"]) for schema in kwargs.get("tools") or ()]
        sent = [self._message(one) for one in messages]
        if self.compacts_at is not None:
            if self._compact is None:
                system = [one for one in sent if one.role == "system"]
                strategy = CompactionNative(threshold=self.compacts_at)
                self._compact = compaction(strategy, system, tools)
            sent, _ = await self._compact.compact_input(sent)
        try:
            if self.limits:  # a harness may have caught it
                raise self.limits[0]
            output = await get_model().generate(sent, tools=tools)
        except LimitExceededError as limit:
            self.limits[:] = [limit]
            raise
        if self._compact is not None:
            await self._compact.record_output(sent, output)
        return ChatResult(generations=[ChatGeneration(message=self._answer(output))])

    def _message(self, message: BaseMessage) -> ChatMessage:
        """Convert a message of LangChain."""
        if message.id in self._answers:
            return self._answers[message.id]
        if isinstance(message, ToolMessage):
            return ChatMessageTool(
                id=message.id,
                content=message.text,
                tool_call_id=message.tool_call_id,
                function=message.name,
            )
        if isinstance(message, AIMessage):
            calls = [
                ToolCall(id=str(call["id"]), function=call["name"], arguments=call["args"])
                for call in message.tool_calls
            ]
            return ChatMessageAssistant(id=message.id, content=message.text, tool_calls=calls)
        kind = ChatMessageSystem if message.type == "system" else ChatMessageUser
        return kind(id=message.id, content=message.text)

    def _answer(self, output: ModelOutput) -> AIMessage:
        """Convert an answer of Inspect, and remember it."""
        message, usage = output.message, output.usage
        answer = AIMessage(
            message.text,
            id=message.id,
            tool_calls=[
                {"name": call.function, "args": call.arguments, "id": call.id}
                for call in message.tool_calls or ()
            ],
        )
        if usage is not None:
            cached = usage.input_tokens_cache_read or 0
            read = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
            answer.usage_metadata = UsageMetadata(
                input_tokens=read,
                output_tokens=usage.output_tokens,
                total_tokens=read + usage.output_tokens,
                input_token_details=InputTokenDetails(cache_read=cached),
            )
        if message.id:
            self._answers[message.id] = message
        return answer


def _tool_info(function: Mapping[str, Any]) -> ToolInfo:
    schema = {"properties": {}, **function.get("parameters", {})}
    fields = {name: schema[name] for name in ("properties", "required") if name in schema}
    return ToolInfo(
        name=function["name"],
        description=function.get("description", ""),
        parameters=ToolParams.model_validate(fields),
    )


# --- solver and scorer


@solver
def agent(policy: str, window: int, trigger: float | None, scripted: str, seed: int) -> Solver:
    """Let the agent of a policy have the conversation of a sample.

    Args:
        policy: A name that `policy_named` takes.
        window: Tokens that the model accepts.
        trigger: Share of the window at which the context is compacted; `None`: the agent's own.
        scripted: The competence of a scripted model; empty for the model of Inspect.
        seed: Of all names and numbers.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        own: Any = scripted_model(scripted, window) if scripted else None
        model = _model(policy, window, trigger)
        # Its middleware may be synchronous; the graph and the model run in Inspect's event loop.
        score, trace = await to_thread.run_sync(
            partial(
                play,
                PROBES[state.metadata["probe"]],
                state.metadata["case"],
                _policy(policy),
                own or model,
                window=window,
                trigger=trigger,
                seed=seed,
                number=state.epoch,
                turn=_turn,
            )
        )
        if model.limits:
            raise model.limits[0]
        series = token_series(str(state.sample_id), trace)
        state.store.set(_RESULT, {"verdict": score.verdict, "why": score.why, "value": score.value})
        state.store.set("tokens", list(series.tokens))
        state.store.set("compactions", list(series.compactions))
        state.messages = list(_conversation(trace))
        state.output = ModelOutput.from_content(str(state.model), trace.answer)
        return state

    return solve


@solver
def task_agent(
    policy: str = "thalweg-middleware", window: int = WINDOW, trigger: float | None = None
) -> Solver:
    """Let the agent of a policy work on the samples of any task, a benchmark of others for example.

    It has the tools of the task, or `bash` in the sample's sandbox if the task has none.

    Args:
        policy: A name that `policy_named` takes.
        window: Tokens that the model accepts.
        trigger: Share of the window at which the context is compacted; `None`: the agent's own.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        conversation = [one for one in state.messages if one.role != "system"]
        if len(conversation) != 1 or not isinstance(conversation[0].content, str):
            msg = f"sample {state.sample_id} is no text of one message: name another task"
            raise ValueError(msg)
        model = _model(policy, window, trigger)
        trace = Trace()
        system = [one.text for one in state.messages if one.role == "system"]
        with TemporaryDirectory() as folder, ExitStack() as resources:
            setting = Setting(
                model=model,
                window=window,
                trigger=trigger,
                tools=[_langchain_tool(one) for one in state.tools or [bash()]],
                system_prompt="\n\n".join(system),
                folder=Path(folder),
                resources=resources,
            )
            worker = Agent(_policy(policy)(setting), _turn)
            recorder = Recorder(trace, has_tools=True)
            answer = await to_thread.run_sync(worker.send, conversation[0].text, [recorder])
        if model.limits:
            raise model.limits[0]
        state.output = ModelOutput.from_content(str(state.model), answer)
        state.messages += _conversation(trace)
        return state

    return solve


def _langchain_tool(given: Tool) -> StructuredTool:
    tool = ToolDef(given)

    async def call(**arguments: object) -> str:
        one = ToolCall(id=uuid4().hex, function=tool.name, arguments=arguments)
        messages: list[ChatMessage] = [ChatMessageAssistant(content="", tool_calls=[one])]
        done = await execute_tools(messages, [tool])
        result = done.messages[-1]
        error = result.error if isinstance(result, ChatMessageTool) else None
        return str(error.message if error else result.text)

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.parameters.model_dump(exclude_none=True),
        coroutine=call,
    )


def _turn(graph: Graph, given: dict[str, Any], config: Any) -> Any:  # noqa: ANN401 (LangChain's)
    return from_thread.run(graph.ainvoke, given, config)


def _model(policy: str, window: int, trigger: float | None) -> InspectModel:
    at = int((trigger or 1) * window) if policy == PROVIDER else None
    return InspectModel(window=window, compacts_at=at)


def _policy(name: str) -> Policy:
    return langchain_agent if name == PROVIDER else policy_named(name)


def _conversation(trace: Trace) -> Sequence[ChatMessage]:
    """Return the user's messages, and the answers and tool results that the agent was shown."""
    messages: list[ChatMessage] = []
    shown: set[str] = set()
    turn = -1
    for request in trace.agents():
        if request.turn != turn and request.turn < len(trace.turns):
            turn = request.turn
            messages.append(ChatMessageUser(content=trace.turns[turn].text))
        for one in request.messages:
            if one.answers and one.answers not in shown:
                shown.add(one.answers)
                messages.append(_result(one))
        if request.answer is not None:
            calls = [
                ToolCall(id=call.id, function=call.name, arguments=dict(call.arguments))
                for call in request.answer.calls
            ]
            messages.append(ChatMessageAssistant(content=request.answer.text, tool_calls=calls))
    return messages


def _result(message: TracedMessage) -> ChatMessage:
    return ChatMessageTool(
        content=message.text, tool_call_id=message.answers, function=message.name or None
    )


@scorer(metrics=[grouped(accuracy(), "probe"), stderr()])
def verdict() -> Scorer:
    """Report the score of the world; an untested sample counts in no metric."""

    async def score(state: TaskState, target: Target) -> Score:
        del target
        found = state.store.get(_RESULT, {"verdict": "untested", "why": "it ended at a limit"})
        if found["verdict"] == "untested":
            return Score.unscored(reason="untested", explanation=found["why"])
        value = CORRECT if found["verdict"] == "passed" else INCORRECT
        return Score(
            value=value,
            answer=state.output.completion,
            explanation=found["why"],
            metadata={"value": found["value"]},
        )

    return score


# --- tasks


@task
def probes(
    policy: str = "thalweg",
    probe: str | list[str] = "*",
    trigger: float | None = 0.25,
    window: int = WINDOW,
    trials: int = 1,
    scripted: str = "",
    seed: int = 0,
) -> Task:
    """Make the task of a policy.

    Args:
        policy: A name that `policy_named` takes; `provider` uses Inspect's native compaction.
        probe: Names of probes or cases, or patterns; several are separated by commas.
        trigger: Share of the window at which the context is compacted; `None`: the agent's own.
        window: Tokens that the model accepts.
        trials: Epochs, each with other names and numbers.
        scripted: The competence of a scripted model, with `--model none`; empty for the model.
        seed: Of all names and numbers.
    """
    names = parse_names([probe] if isinstance(probe, str) else probe)
    samples = [
        Sample(id=f"{name}/{case}", input=PROBES[name].asks, metadata={"probe": name, "case": case})
        for name, case in pick_cases(PROBES, names)
    ]
    return Task(
        name=f"{policy} {window} {trigger}",
        dataset=samples,
        solver=agent(policy, window, trigger, scripted, seed),
        scorer=verdict(),
        epochs=Epochs(trials, "mean"),
        metadata={"policy": policy, "window": window, "trigger": trigger, "seed": seed},
    )


def grid(
    policies: Sequence[str],
    windows: Sequence[int] = (WINDOW,),
    triggers: Sequence[float | None] = (0.10, 0.25, 0.85),
    **settings: Any,  # noqa: ANN401 (those of `probes`)
) -> list[Task]:
    """Make the tasks of every policy, window and trigger, for `inspect_ai.eval_set`.

    Args:
        policies: Names that `policy_named` takes.
        windows: In tokens.
        triggers: Shares of the window.
        settings: The other arguments of `probes`.
    """
    combinations = product(policies, windows, triggers)
    return [probes(p, window=w, trigger=t, **settings) for p, w, t in combinations]


# --- two logs beside each other


def outcomes_of(log: Path) -> dict[tuple[str, int], float]:
    """Return 1 for each passed sample of a log and 0 for each failed one, by sample and epoch."""
    found: dict[tuple[str, int], float] = {}
    for sample in read_eval_log(str(log)).samples or ():
        value = (sample.scores or {})["verdict"].value
        if value in {CORRECT, INCORRECT}:
            found[str(sample.id), sample.epoch] = float(value == CORRECT)
    return found


def compare(first: Path, second: Path) -> Interval:
    """Return the difference of the rate of a second log to a first one, on what both tested.

    The method and its sources are those of `comparison.difference`.
    """
    one, other = outcomes_of(first), outcomes_of(second)
    return difference((other[key], one[key]) for key in one if key in other)


def series_of(log: Path) -> list[TokenSeries]:
    """Return the tokens of each sample of a log over time."""
    found = read_eval_log(str(log))
    return [
        TokenSeries(
            f"{sample.id} #{sample.epoch}, {found.eval.task}",
            tuple(sample.store.get("tokens", ())),
            tuple(sample.store.get("compactions", ())),
        )
        for sample in found.samples or ()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the rates of logs, and the difference of each to the first, with intervals of 95 %."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--svg", type=Path, help="draw the tokens of each request over time")
    options = parser.parse_args(arguments)
    for log in options.logs:
        values = outcomes_of(log).values()
        found = rate("passed" if value else "failed" for value in values)
        line: dict[str, Any] = {"log": log.name, "rate": found.value, "n": found.n}
        line["interval"] = [found.low, found.high]
        if log != options.logs[0]:
            gap = compare(options.logs[0], log)
            line["difference"] = gap.value
            line["difference_interval"] = [gap.low, gap.high]
        print(json.dumps(line))  # noqa: T201 (a command)
    if options.svg:
        series = [one for log in options.logs for one in series_of(log)]
        options.svg.write_text(token_picture(series), encoding="utf-8")


if __name__ == "__main__":
    main()
