"""Installed peers as subjects: each with its own agent, as its documentation makes it."""

from dataclasses import dataclass

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.evals.base import Agent, Need, Setting
from thalweg.evals.subjects.graphs import GraphAgent

SHARE = 0.85
"""Of the window: where the documentation of LangChain has its summarization act."""


@dataclass(frozen=True, slots=True)
class LangChain:
    """LangChain's agent with `SummarizationMiddleware`."""

    name: str = "langchain"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger"})

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        share = setting.trigger
        keep = ("messages", 20) if share is None else ("fraction", setting.keep or 0.4 * share)
        graph = create_agent(
            setting.model,
            list(setting.tools),
            system_prompt=setting.system_prompt or None,
            middleware=[
                SummarizationMiddleware(
                    setting.model, trigger=("fraction", share or SHARE), keep=keep
                )
            ],
            checkpointer=InMemorySaver(),
        )
        return GraphAgent(graph)


@dataclass(frozen=True, slots=True)
class DeepAgents:
    """`create_deep_agent` of deepagents, with files in the state."""

    name: str = "deepagents"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger", "files", "subagents"})

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        from deepagents import create_deep_agent  # noqa: PLC0415 (installed by who compares)
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.summarization import SummarizationMiddleware as Summarization

        backend = FilesystemBackend(root_dir=str(setting.folder), virtual_mode=True)
        middleware = []
        if (share := setting.trigger) is not None:
            keep = ("fraction", setting.keep or 0.4 * share)
            middleware.append(
                Summarization(
                    setting.model,
                    backend=backend,
                    trigger=("fraction", share),
                    keep=keep,
                    trim_tokens_to_summarize=None,
                    truncate_args_settings={"trigger": ("fraction", share), "keep": keep},
                )
            )
        graph = create_deep_agent(
            setting.model,
            list(setting.tools),
            system_prompt=setting.system_prompt or None,
            middleware=middleware,
            backend=backend,
            checkpointer=InMemorySaver(),
        )
        return GraphAgent(graph)
