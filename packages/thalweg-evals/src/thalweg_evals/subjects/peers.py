"""LangChain's agent as a subject, with and without its context management."""

from dataclasses import dataclass

from langchain.agents.middleware import SummarizationMiddleware

from thalweg_evals.base import Agent, Need, Setting
from thalweg_evals.subjects.graphs import GraphAgent, langchain_graph
from thalweg_evals.subjects.sizes import fitted, kept_tokens, trigger_tokens

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
