"""Our own agents as subjects."""

from dataclasses import dataclass

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.archive import open_archive
from thalweg.context import ContextPolicy
from thalweg.evals.base import Agent, Need, Setting
from thalweg.evals.subjects.graphs import GraphAgent
from thalweg.middleware.context import ContextMiddleware


@dataclass(frozen=True, slots=True)
class Middleware:
    """LangChain's agent with `ContextMiddleware`."""

    name: str = "thalweg"
    offers: frozenset[Need] = frozenset({"tools", "system_prompt", "trigger"})

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        archive = open_archive(setting.folder / "thalweg.db")
        graph = create_agent(
            setting.model,
            list(setting.tools),
            system_prompt=setting.system_prompt or None,
            middleware=[ContextMiddleware(policy_of(setting), archive=archive)],
            checkpointer=InMemorySaver(),
        )
        return GraphAgent(graph, closing=archive.close)


def policy_of(setting: Setting) -> ContextPolicy:
    """Make the policy: our own, or the trigger that is forced."""
    if setting.trigger is None:
        return ContextPolicy(window=setting.window)
    return ContextPolicy(
        window=setting.window,
        trigger=("fraction", setting.trigger),
        keep=("fraction", setting.keep or 0.4 * setting.trigger),
    )
