"""Worlds through real agents of LangChain and deepagents, with the driver as their model."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import count as counting
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool

from benchmarks.worlds.bill import Bill, CallsExceededError
from benchmarks.worlds.driver import GIST, Mode, decide
from benchmarks.worlds.engine import limit_of
from benchmarks.worlds.tasks import TASKS, decide_task, make_task
from benchmarks.worlds.worlds import World, make_world
from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.tokens import count_json, exact_counter
from thalweg.engine.window.budget import Cost
from thalweg_evals.agents import (
    Agent,
    Graph,
    Policy,
    Setting,
    langchain_agent,
    policy_named,
    policy_of,
)
from thalweg_evals.moves import Respond, Use, View
from thalweg_evals.scripted import WindowModel, is_summary_request, summary
from thalweg_evals.trace import as_traced_message, tokens_of, written

SYSTEM = "You complete tasks with the tools that you have."
PRESETS: Mapping[str, Cost] = {one: one for one in ("balanced", "careful", "frugal")}
"""Policies that are LangChain's agent with our middleware under a preset."""
POLICIES = ("none", *PRESETS, "langchain", "deepagents", "thalweg")
"""Default policies. `thalweg` is our deep agent, to compare with the one of `deepagents`; any other
policy of `thalweg eval` may be named, too."""
SUMMARY_TOKENS = 500
"""About the tokens that each summary has in addition to its gist: a narrative without facts."""
ANSWER_CHARS = 60
_TASK = re.compile(GIST[0])
"""The request, which a summary keeps, however many newer lines of the gist there are."""
_NARRATIVE = "The work goes on as requested, one step after the other, with the tools of the task. "
_count = lru_cache(maxsize=50_000)(exact_counter())


class ReactingModel(WindowModel):
    """A model whose answers are the driver's, and summaries if a harness requests one."""

    bill: Any
    """The `Bill` to which requests are charged."""
    decide: Callable[[View], Respond | Use]
    """The driver."""
    _ids: Any = None

    def model_post_init(self, context: Any) -> None:  # noqa: ANN401 (pydantic's)
        """Begin the ids of calls."""
        super().model_post_init(context)
        self._ids = counting()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        schemas: Sequence[Mapping[str, Any]] = kwargs.get("tools") or []
        traced = tuple(as_traced_message(message) for message in messages)
        blocks = [(repr(schemas), count_json(list(schemas), _count))] if schemas else []
        blocks += [(f"{one.role} {written(one)}", tokens_of(one, _count)) for one in traced]
        read = sum(tokens for _, tokens in blocks)
        if read > self.window:
            msg = f"prompt is too long: {read} tokens > {self.window} maximum"
            raise ContextOverflowError(msg)
        view = View(traced, frozenset(str(one["function"]["name"]) for one in schemas))
        is_summary = is_summary_request(view)
        move = _summarized(view) if is_summary else self.decide(view)
        uses: tuple[Use, ...] = (move, *move.siblings) if isinstance(move, Use) else ()
        calls = [
            tool_call(name=use.tool, args=dict(use.arguments), id=f"call_{next(self._ids)}")
            for use in uses
        ]
        answer = AIMessage(move.text, tool_calls=calls)
        wrote = tokens_of(as_traced_message(answer), _count)
        bill: Bill = self.bill
        cached, created = bill.charge(blocks, wrote, has_cache=bool(schemas), is_summary=is_summary)
        answer.usage_metadata = UsageMetadata(
            input_tokens=read,
            output_tokens=wrote,
            total_tokens=read + wrote,
            input_token_details=InputTokenDetails(cache_read=cached, cache_creation=created),
        )
        return ChatResult(generations=[ChatGeneration(message=answer)])


def _summarized(view: View) -> Respond:
    narrative = _NARRATIVE * (SUMMARY_TOKENS // _count(_NARRATIVE))
    text = summary(view, GIST)
    heading, _, rest = text.partition("\n") if text.startswith("#") else ("", "", text)
    sought = "\n".join(map(written, view.messages))
    tasks = [f"- {one}" for one in dict.fromkeys(_TASK.findall(sought)) if one not in text]
    return Respond("\n".join([heading, *tasks, rest, f"- {narrative}"]).lstrip("\n"))


def preset_agent(setting: Setting, cost: Cost) -> Graph:
    """Create LangChain's agent with our middleware under a preset."""
    archive = setting.resources.enter_context(closing(open_archive(":memory:")))
    return langchain_agent(setting, ContextMiddleware(policy_of(setting, cost), archive=archive))


def agent_policy(name: str) -> Policy:
    """Return the policy of a name: a preset, or one of `thalweg eval`.

    Raises:
        ConfigError: There is none.
    """
    if name not in PRESETS:
        return policy_named(name)
    return lambda setting: preset_agent(setting, PRESETS[name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One world under one policy."""

    world: str
    policy: str
    window: int
    load: float
    seed: int
    mode: Mode
    wrong: str
    """What is wrong in the end; empty if the task is done."""
    base: int
    """Calls of the driver with its whole context in a window of any size."""
    calls: int
    summaries: int
    lookups: int
    """Calls of tools, more than with the whole context."""
    input: int
    cached: int
    output: int
    peak: int
    cost: int
    """The whole bill in uncached input tokens: input, cache reads and writes, output, summaries."""

    @classmethod
    def of(cls, bill: Bill, **fields: Any) -> "Row":  # noqa: ANN401 (its own fields)
        """Return the row of a bill, and of the fields that it does not have."""
        names = ("calls", "summaries", "input", "cached", "output", "peak")
        return cls(cost=round(bill.cost), **{one: getattr(bill, one) for one in names}, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return asdict(self)


def run_agent(
    world: World, policy: str, window: int, limit: int, driver: Callable[[View], Respond | Use]
) -> tuple[str, Bill]:
    """Run an agent in a world that was made for it.

    Args:
        world: The world; its state changes.
        policy: Name of the policy, see `agent_policy`.
        window: Tokens that the model accepts.
        limit: Most calls of its model.
        driver: Decides the answers of its model.

    Returns:
        What is wrong in the end (empty if the task is done), and the bill.

    Raises:
        ConfigError: The agent cannot be created here.
    """
    bill = Bill(limit)
    model = ReactingModel(window=window, bill=bill, decide=driver)
    with TemporaryDirectory(prefix="thalweg-worlds-", ignore_cleanup_errors=True) as folder:
        setting = Setting(
            model=model,
            window=window,
            tools=tools_of(world),
            system_prompt=SYSTEM,
            folder=Path(folder),
        )
        with setting.resources:
            agent = Agent(agent_policy(policy)(setting))
            try:
                answer = ""
                for text in (world.request, *world.later):
                    answer = agent.send(text, [])
            except CallsExceededError:
                return f"more than {limit} calls", bill
            except ContextOverflowError as error:
                return str(error), bill
    wrong = world.wrong()
    return wrong and f"{wrong}; the last answer: {answer[:ANSWER_CHARS]}", bill


def run_world(
    name: str, policy: str, window: int, load: float, seed: int, mode: Mode = "own"
) -> Row:
    """Run an agent in a world.

    Args:
        name: One of `WORLDS` or `TASKS`.
        policy: Name of the policy, see `agent_policy`.
        window: Tokens that the model accepts.
        load: Tokens of all sources of a world, or of the whole conversation of a task, as a share
            of the window.
        seed: Of the world.
        mode: How the driver looks up missing content.

    Raises:
        ConfigError: The agent cannot be created here.
    """
    limit, base, least = _base(name, seed, window, load)
    world, driver = _made(name, seed, window, load)
    wrong, bill = run_agent(world, policy, window, limit, partial(driver, mode=mode))
    return Row.of(
        bill,
        world=name,
        policy=policy,
        window=window,
        load=load,
        seed=seed,
        mode=mode,
        wrong=wrong,
        base=base,
        lookups=len(world.calls) - least,
    )


@lru_cache(maxsize=200)
def _base(name: str, seed: int, window: int, load: float) -> tuple[int, int, int]:
    """Return the limit of calls, and the calls of the model and of tools with the whole context."""
    world, driver = _made(name, seed, window, load)
    limit, base = limit_of(world, driver)
    return limit, base, len(world.calls)


def _made(
    name: str, seed: int, window: int, load: float
) -> tuple[World, Callable[..., Respond | Use]]:
    if name not in TASKS:
        return make_world(name, seed, window, load), decide
    task = make_task(name, seed, window, load)
    return task.world, partial(decide_task, task=task)


def tools_of(world: World) -> list[BaseTool]:
    """Return the tools of a world for LangChain."""

    def tool(name: str, function: Callable[..., str]) -> BaseTool:
        made = StructuredTool.from_function(function, name=name)
        made.func = lambda **arguments: world.call(name, arguments)
        return cast("BaseTool", made)

    return [tool(name, function) for name, function in world.tools.items()]
