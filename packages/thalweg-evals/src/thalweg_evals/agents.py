"""Agents under evaluation: one function for each policy, which creates a LangGraph graph.

A user's own agent is named by the import path of such a function, or of a compiled graph.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, convert_to_messages
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.models import changed_copy
from thalweg.context.turn import provider_editing
from thalweg.engine import ContextPolicy
from thalweg.engine.compaction.provider_edits import MIN_TRIGGER_TOKENS
from thalweg.engine.extras import install_line
from thalweg.engine.sections import name_remedy
from thalweg.engine.window.budget import Cost
from thalweg.errors import ConfigError
from thalweg_agent.backends import FilesystemBackend
from thalweg_agent.graph import create_deep_agent, create_small_agent, wants_small
from thalweg_server.models.making import limit

TRIGGER = 0.85
"""Share of the window: the trigger in a peer's documentation, for policies without one."""
KEPT = 0.2
"""Share of a forced trigger that is kept verbatim. With the prompt and the tools of a deep agent,
twice as much would fill a trigger of a tenth of 64,000 tokens: a compaction would happen with
nearly every page."""
MESSAGES = 20
"""Messages that LangChain's summarization keeps by default."""
STEPS = 2_000
"""Limit of a graph's steps in one turn."""
Graph = Any
"""A compiled graph whose state has `messages`."""
Turn = Callable[[Graph, dict[str, Any], Any], Any]
"""Runs a graph with its input and its config; returns its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The arguments for creating an agent."""

    model: BaseChatModel
    window: int
    """Tokens that the model accepts."""
    trigger: float | None = None
    """The share of the window at which the context is compacted; `None`: the agent's own."""
    tools: list[BaseTool] = field(default_factory=list)
    system_prompt: str = ""
    folder: Path
    """An empty folder; the agent stores its files there."""
    checkpointer: InMemorySaver = field(default_factory=InMemorySaver)
    resources: ExitStack = field(default_factory=ExitStack)
    """Closed after the conversation."""

    def __post_init__(self) -> None:
        """Set the window in the profile of the model, where harnesses read it."""
        profile = self.model.profile or {}
        if profile.get("max_input_tokens") != self.window:
            model = changed_copy(self.model)
            limit(model, self.window, profile.get("max_output_tokens"))
            object.__setattr__(self, "model", model)

    @property
    def trigger_tokens(self) -> int:
        """Tokens of a request at which its context is compacted."""
        return int((self.trigger or TRIGGER) * self.window)


Policy = Callable[[Setting], Graph]
"""Creates the agent of a conversation."""


def invoke(graph: Graph, given: dict[str, Any], config: Any) -> Any:  # noqa: ANN401 (LangChain's)
    """Run a graph synchronously."""
    return graph.invoke(given, config)


class Agent:
    """Talks to a graph.

    Args:
        graph: One without a checkpointer gets one.
        turn: Runs it.
    """

    def __init__(self, graph: Graph, turn: Turn = invoke) -> None:
        has_saver = getattr(graph, "checkpointer", None)
        self.graph = graph if has_saver else graph.copy({"checkpointer": InMemorySaver()})
        self._turn = turn
        self._thread = uuid4().hex

    def send(self, text: str, callbacks: Sequence[object]) -> str:
        """Send a message as the user and return the agent's last message.

        Raises:
            ConfigError: The graph returned no messages.
        """
        config = {
            "configurable": {"thread_id": self._thread},
            "callbacks": list(callbacks),
            "recursion_limit": (self.graph.config or {}).get("recursion_limit", STEPS),
        }
        state = self._turn(self.graph, {"messages": [HumanMessage(text)]}, config)
        if not isinstance(state, Mapping) or "messages" not in state:
            raise ConfigError("policy", "the graph returned no messages", "extend MessagesState")
        messages = convert_to_messages(state["messages"])
        last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
        return last.text if last is not None else ""


def langchain_agent(setting: Setting, *middleware: Any, model: Any = None) -> Graph:  # noqa: ANN401 (of any state)
    """Create LangChain's agent; without middleware, it keeps its whole context."""
    return create_agent(
        model or setting.model,
        setting.tools,
        system_prompt=setting.system_prompt or None,
        middleware=middleware,
        checkpointer=setting.checkpointer,
    )


def summarizing_agent(setting: Setting) -> Graph:
    """Create LangChain's agent with its `SummarizationMiddleware`."""
    kept = int(KEPT * setting.trigger_tokens)
    return langchain_agent(
        setting,
        SummarizationMiddleware(
            setting.model,
            trigger=("tokens", setting.trigger_tokens),
            keep=("tokens", kept) if setting.trigger else ("messages", MESSAGES),
        ),
    )


def provider_agent(setting: Setting) -> Graph:
    """Create LangChain's agent with a model whose provider compacts, at Anthropic or OpenAI.

    Raises:
        ConfigError: The model's provider does not compact.
    """
    model: Any = setting.model
    fields = type(model).model_fields
    tokens = setting.trigger_tokens
    if "use_responses_api" in fields:
        edits: Any = [{"type": "compaction", "compact_threshold": tokens}]
        changed = changed_copy(model, use_responses_api=True, context_management=edits)
    elif "context_management" in fields:
        at = {"type": "input_tokens", "value": max(tokens, MIN_TRIGGER_TOKENS)}
        edits = {"edits": [{"type": provider_editing.COMPACT, "trigger": at}]}
        betas = [*(model.betas or ()), provider_editing.COMPACTION_BETA]
        changed = changed_copy(model, context_management=edits, betas=betas)
    else:
        problem = f"the provider of a {type(model).__name__} does not compact"
        raise ConfigError("provider", problem, "name a model of Anthropic's or OpenAI's")
    return langchain_agent(setting, model=changed)


def policy_of(setting: Setting, cost: Cost = "balanced") -> ContextPolicy:
    """Return our policy: the preset, with the trigger if it is forced.

    Turns wait for their summaries: else results would depend on the speed of models.
    """
    forced: dict[str, Any] = {}
    if setting.trigger is not None:
        forced["trigger"] = ("fraction", setting.trigger)
        forced["keep"] = ("fraction", KEPT * setting.trigger)
    return ContextPolicy(background=False, cost=cost, window=setting.window, **forced)


def thalweg_agent(setting: Setting, cost: Cost = "balanced") -> Graph:
    """Create our agent as users do: the deep one, or in a small window the small one."""
    files = setting.folder / "files"
    files.mkdir()
    create: Any = create_small_agent if wants_small(setting.model) else create_deep_agent
    return create(
        setting.model,
        setting.tools,
        system_prompt=setting.system_prompt or None,
        backend=FilesystemBackend(files),
        context=policy_of(setting, cost),
        archive=_archive(setting),
        checkpointer=setting.checkpointer,
    )


def middleware_agent(setting: Setting) -> Graph:
    """Create LangChain's agent with our `ContextMiddleware`."""
    context = ContextMiddleware(policy_of(setting), archive=_archive(setting))
    return langchain_agent(setting, context)


def _archive(setting: Setting) -> Any:  # noqa: ANN401 (of SQLite)
    archive = open_archive(setting.folder / "thalweg.db")
    return setting.resources.enter_context(closing(archive))


def deepagents_agent(setting: Setting) -> Graph:
    """Create the agent of `deepagents`, if that is installed.

    Raises:
        ConfigError: It is not installed.
    """
    try:
        from deepagents import backends  # noqa: PLC0415 (optional)
        from deepagents import create_deep_agent as create  # noqa: PLC0415 (optional)
        from deepagents.middleware import summarization  # noqa: PLC0415 (optional)
    except ModuleNotFoundError as error:
        problem = "the package deepagents is not installed"
        raise ConfigError("deepagents", problem, install_line("deepagents")) from error
    backend = backends.FilesystemBackend(root_dir=str(setting.folder), virtual_mode=True)
    middleware: list[Any] = []
    if setting.trigger is not None:  # its name replaces the default one
        at: Any = ("tokens", setting.trigger_tokens)
        keep: Any = ("tokens", int(KEPT * setting.trigger_tokens))
        middleware = [
            summarization.SummarizationMiddleware(
                setting.model,
                backend=backend,
                trigger=at,
                keep=keep,
                trim_tokens_to_summarize=None,
                truncate_args_settings={"trigger": at, "keep": keep},
            )
        ]
    return create(
        setting.model,
        setting.tools,
        system_prompt=setting.system_prompt or None,
        middleware=middleware,
        backend=backend,
        checkpointer=setting.checkpointer,
    )


POLICIES: dict[str, Policy] = {
    "deepagents": deepagents_agent,
    "langchain": summarizing_agent,
    "none": langchain_agent,
    "provider": provider_agent,
    "thalweg": thalweg_agent,
    "thalweg-careful": partial(thalweg_agent, cost="careful"),
    "thalweg-frugal": partial(thalweg_agent, cost="frugal"),
    "thalweg-middleware": middleware_agent,
}
"""Policies by name."""
_GIVEN = ("model", "tools", "system_prompt", "window", "trigger", "folder", "checkpointer")
"""Possible parameters of a user's function; it gets those in its signature."""


def policy_named(name: str) -> Policy:
    """Return a policy by its name, or by an import path.

    Args:
        name: One of `POLICIES`; or `module:attribute` or `path/to/file.py:attribute` of a compiled
            graph or of a function that creates one from any of these parameters: `model`, `tools`,
            `system_prompt`, `window`, `trigger`, `folder`, `checkpointer`.

    Raises:
        ConfigError: There is no such policy, or it is neither a graph nor a function.
    """
    place, colon, attribute = name.rpartition(":")
    if name in POLICIES:
        return POLICIES[name]
    if not colon:
        other = f"use {', '.join(POLICIES)}, module:attribute or path/to/file.py:attribute"
        fix = name_remedy(name, list(POLICIES), other)
        raise ConfigError("--policy", f"there is no {name!r}", fix)
    folders = (str(Path.cwd()), str(Path(place).resolve().parent))
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    try:
        found: Any = _of_file(place, attribute) if place.endswith(".py") else resolve_name(name)
    except (ImportError, AttributeError, OSError) as error:
        fix = "name a graph or a function, from the current folder on"
        raise ConfigError("--policy", f"{name} cannot be imported: {error}", fix) from error
    if isinstance(found, Pregel | StateGraph):
        return lambda _: _as_graph(name, found)
    if not callable(found):
        problem = f"{name} is a {type(found).__name__}"
        raise ConfigError("--policy", problem, "name a graph, or a function that creates one")
    names = [one for one in _GIVEN if one in inspect.signature(found).parameters]
    return lambda setting: _as_graph(name, found(**{one: getattr(setting, one) for one in names}))


def _of_file(place: str, attribute: str) -> object:
    spec = spec_from_file_location(f"thalweg_eval_{uuid4().hex}", place)
    if spec is None or spec.loader is None:
        raise ImportError(place)
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and annotations resolve their names here
    spec.loader.exec_module(module)
    return getattr(module, attribute)


def _as_graph(name: str, found: object) -> Graph:
    graph = found.compile(checkpointer=InMemorySaver()) if isinstance(found, StateGraph) else found
    if not isinstance(graph, Pregel):
        problem = f"{name} made a {type(found).__name__}"
        raise ConfigError("--policy", problem, "return a compiled graph of LangGraph")
    return graph
