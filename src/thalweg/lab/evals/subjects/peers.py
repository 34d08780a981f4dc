"""Installed peers as subjects: each with its own agent, created as its documentation shows."""

from dataclasses import dataclass
from typing import Any, Literal

from langchain.agents.middleware import SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.lab.evals.base import Agent, Need, Setting
from thalweg.lab.evals.subjects.graphs import GraphAgent, files_below, langchain_graph
from thalweg.lab.evals.subjects.sizes import fitted, kept_tokens, trigger_tokens

MESSAGES = 20
"""Messages that LangChain's summarization keeps by default."""


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
class DeepAgents:
    """`create_deep_agent` of deepagents, with files in the folder of the trial."""

    name: str = "deepagents"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger", "files", "subagents"})

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        from deepagents import create_deep_agent  # noqa: PLC0415 (installed by who compares)
        from deepagents.backends import FilesystemBackend  # noqa: PLC0415 (the same)

        model, folder = fitted(setting), setting.folder / "files"
        folder.mkdir(parents=True, exist_ok=True)
        backend = FilesystemBackend(root_dir=str(folder), virtual_mode=True)
        graph = create_deep_agent(
            model,
            list(setting.tools),
            system_prompt=setting.system_prompt or None,
            middleware=[] if setting.trigger is None else [_forced(setting, model, backend)],
            backend=backend,
            checkpointer=InMemorySaver(),
        )
        return GraphAgent(graph, reading=lambda: files_below(folder))


def _forced(setting: Setting, model: Any, backend: Any) -> Any:  # noqa: ANN401 (the peer's)
    """Return its summarization with a forced trigger; its name replaces the default one."""
    from deepagents.middleware.summarization import (  # noqa: PLC0415 (installed by who compares)
        SummarizationMiddleware as Summarization,
    )

    at: tuple[Literal["tokens"], int] = ("tokens", trigger_tokens(setting))
    keep: tuple[Literal["tokens"], int] = ("tokens", kept_tokens(setting))
    return Summarization(
        model,
        backend=backend,
        trigger=at,
        keep=keep,
        trim_tokens_to_summarize=None,
        truncate_args_settings={"trigger": at, "keep": keep},
    )
