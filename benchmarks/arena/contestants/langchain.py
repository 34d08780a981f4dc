"""LangChain's own middleware against long threads, as installed with LangChain."""

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)

from benchmarks.arena.contestants.agent import AgentContestant, PeerSetting

SHARE = 0.85
"""Of the window: where its documentation has SummarizationMiddleware act."""
CLEARS_ABOVE = 100_000
"""Tokens above which ClearToolUsesEdit acts by default."""


def summarization(window: int, share: float | None) -> AgentContestant:
    """Return an agent with `SummarizationMiddleware`: keep 20 messages, and its other defaults.

    Args:
        window: Tokens the model accepts.
        share: Share of the window at which it acts; 0.85 by default.
    """

    def make(setting: PeerSetting) -> Any:  # noqa: ANN401 (LangGraph's)
        return _agent(
            setting,
            SummarizationMiddleware(
                setting.model, trigger=("fraction", share or SHARE), keep=("messages", 20)
            ),
        )

    return AgentContestant(make, window)


def editing(window: int, share: float | None) -> AgentContestant:
    """Return an agent with `ContextEditingMiddleware`: clear all but the last 3 results.

    Args:
        window: Tokens the model accepts.
        share: Share of the window at which it acts; by default its own 100,000 tokens.
    """
    trigger = int(share * window) if share else CLEARS_ABOVE

    def make(setting: PeerSetting) -> Any:  # noqa: ANN401 (LangGraph's)
        edit = ClearToolUsesEdit(trigger=trigger)
        return _agent(setting, ContextEditingMiddleware(edits=[edit]))

    return AgentContestant(make, window)


def _agent(setting: PeerSetting, middleware: Any) -> Any:  # noqa: ANN401 (LangGraph's)
    return create_agent(
        setting.model,
        system_prompt=setting.system,
        middleware=[middleware, setting.results],
        checkpointer=setting.saver,
    )
