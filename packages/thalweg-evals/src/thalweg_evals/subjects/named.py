"""Subjects by their names on the command line.

The built-in ones are our own agents, LangChain's agent with our middleware, and LangChain's agent
with and without its context management.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine import ContextPolicy
from thalweg.engine.sections import name_remedy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Cost
from thalweg.errors import ConfigError
from thalweg_agent.backends import FilesystemBackend
from thalweg_agent.graph import create_deep_agent, create_small_agent, wants_small
from thalweg_evals.base import Agent, Need, Setting, Subject
from thalweg_evals.subjects.graphs import GraphAgent, files_below, langchain_graph
from thalweg_evals.subjects.imported import imported
from thalweg_evals.subjects.served import served
from thalweg_evals.subjects.sizes import fitted, kept_share, kept_tokens, trigger_tokens
from thalweg_memory import Memory, MemoryStore, Scope, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.learner import Learner
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.jobs.worker import Worker
from thalweg_memory.middleware.middleware import MemoryMiddleware

MESSAGES = 20
"""Messages that LangChain's summarization keeps by default."""
_OWNER = Scope("local")
"""The default owner of the memory."""
AT_ONCE = MemorySettings(debounce_seconds=0, max_wait_seconds=0)
"""Learning runs when the trial permits it, not half a minute later."""


@dataclass(frozen=True, slots=True)
class Unmanaged:
    """LangChain's agent, without context management."""

    name: str = "none"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt"})

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        return GraphAgent(langchain_graph(setting, fitted(setting)))


@dataclass(frozen=True, slots=True)
class LangChain:
    """LangChain's agent with `SummarizationMiddleware`."""

    name: str = "langchain"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger"})

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        model, is_forced = fitted(setting), setting.trigger is not None
        summarization = SummarizationMiddleware(
            model,
            trigger=("tokens", trigger_tokens(setting)),
            keep=("tokens", kept_tokens(setting)) if is_forced else ("messages", MESSAGES),
        )
        return GraphAgent(langchain_graph(setting, model, summarization))


@dataclass(frozen=True, slots=True)
class Thalweg:
    """Our agent as users create it: the deep one, or in a small window the small one."""

    name: str = "thalweg"
    cost: Cost = "balanced"
    offers: frozenset[Need] = frozenset(
        {"tools", "system_prompt", "trigger", "files", "subagents", "memory"}
    )

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        parts = _Parts(setting)
        common: dict[str, Any] = {
            "system_prompt": setting.system_prompt or None,
            "backend": FilesystemBackend(parts.files),
            "context": policy_of(setting, self.cost),
            "archive": parts.archive,
            "checkpointer": InMemorySaver(),
        }
        if wants_small(parts.model):
            graph = create_small_agent(parts.model, setting.tools, memory=parts.memory, **common)
            return parts.agent(graph, learns=False)
        graph = create_deep_agent(
            parts.model, setting.tools, middleware=[parts.memory_middleware()], **common
        )
        return parts.agent(graph)


@dataclass(frozen=True, slots=True)
class Middleware:
    """LangChain's agent with our middleware."""

    name: str = "thalweg-middleware"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger", "memory"})

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        parts = _Parts(setting)
        context = ContextMiddleware(policy_of(setting), archive=parts.archive)
        graph = langchain_graph(setting, parts.model, context, parts.memory_middleware())
        return parts.agent(graph)


class _Parts:
    """Resources of our agent in the folder of its trial."""

    def __init__(self, setting: Setting) -> None:
        folder = setting.folder
        self.model = fitted(setting)
        self.files = folder / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        self.archive = open_archive(folder / "thalweg.db")
        self.memory = open_memory(folder / "memory.db")

    def memory_middleware(self) -> MemoryMiddleware:
        """Create the memory middleware; the trial decides when to learn, with the same model."""
        return MemoryMiddleware(self.memory, settings=AT_ONCE, learns=False)

    def agent(self, graph: Any, *, learns: bool = True) -> Agent:  # noqa: ANN401 (a compiled graph)
        """Create the agent; closing it closes these resources."""
        return GraphAgent(
            graph,
            settling=partial(learn, self.memory, self.model) if learns else _nothing,
            closing=self.close,
            reading=partial(files_below, self.files),
            forgetting=self.forget,
        )

    def forget(self, words: str) -> bool:
        """Delete memories as `thalweg memory forget` does, and the pages of an app."""
        Memory(self.memory, _OWNER).forget(query=words)
        return True

    def close(self) -> None:
        """Close the archive and the memory."""
        self.archive.close()
        self.memory.close()


def learn(memory: MemoryStore, model: BaseChatModel) -> None:
    """Learn from the messages synchronously, as the background does it."""
    count = exact_counter()
    learner = Learner(memory, Respondent(model, count), AT_ONCE, count=count)
    Worker(memory, learner.learn).run_due()


def _nothing() -> None:
    """Learn nothing: the small agent stores messages verbatim."""


def policy_of(setting: Setting, cost: Cost = "balanced") -> ContextPolicy:
    """Return the policy: the default one, or one with the forced trigger.

    Turns wait for their summaries: else results would depend on the speed of models.
    """
    forced: dict[str, Any] = {}
    if setting.trigger is not None:
        forced["trigger"] = ("fraction", setting.trigger)
        forced["keep"] = ("fraction", kept_share(setting))
    return ContextPolicy(background=False, cost=cost, window=setting.window, **forced)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "langchain": LangChain,
    "none": Unmanaged,
    "thalweg": Thalweg,
    "thalweg-careful": partial(Thalweg, "thalweg-careful", "careful"),
    "thalweg-frugal": partial(Thalweg, "thalweg-frugal", "frugal"),
    "thalweg-middleware": Middleware,
}
"""Subjects with a name of their own."""


_OTHERWISE = f"use {', '.join(SUBJECTS)}, module:attribute, path/to/file.py:attribute, or NAME@http://host/v1"


def subject_named(name: str) -> Subject:
    """Return a subject by its name.

    Args:
        name: One of `SUBJECTS`; `module:attribute` or `path/to/file.py:attribute` of a LangGraph
            graph or of a function that creates one; or `http://host/v1`, also as
            `NAME@http://host/v1`, of a server with OpenAI's API.

    Raises:
        ConfigError: There is no such subject.
    """
    if name in SUBJECTS:
        return SUBJECTS[name]()
    if (remote := served(name)) is not None:
        return remote
    place, colon, attribute = name.rpartition(":")
    if colon and place and attribute:
        return imported(name)
    raise ConfigError(
        "subject", f"there is no {name!r}", name_remedy(name, list(SUBJECTS), _OTHERWISE)
    )
