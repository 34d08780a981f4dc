"""A chat model that keeps what it was sent, and an agent around it on real files."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from pydantic import Field

from thalweg.archive import ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter

KEY = ThreadKey("local", "t1")
SYSTEM = "You count birds. 鳥を数える。"


class RecordingModel(BaseChatModel):
    """Asks for one lookup per request, then answers; keeps every list of messages it got."""

    model: str = "scripted"
    got: list[list[BaseMessage]] = Field(default_factory=list)
    """The requests that were sent, without system prompts."""
    fails: int = 0
    """So many of the next calls fail."""

    @property
    def _llm_type(self) -> str:
        return "recording"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "RecordingModel":  # noqa: ANN401 (as LangChain has it)
        """Take any tools."""
        del tools, options
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **options: Any,  # noqa: ANN401 (as LangChain has it)
    ) -> ChatResult:
        del stop, run_manager, options
        if self.fails:
            self.fails -= 1
            problem = "the line is down"
            raise ConnectionError(problem)
        sent = [message for message in messages if not isinstance(message, SystemMessage)]
        self.got.append(sent)
        number = len(self.got)
        read = 400 + sum(exact_counter()(str(message.content)) for message in messages)
        usage = {"input_tokens": read, "output_tokens": 7, "total_tokens": read + 7}
        call = {"name": "look", "args": {"bank": number}, "id": f"call{number}"}
        calls = [call] if sent[-1].type == "human" else []
        answer = AIMessage(f"Answer {number}.", tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look(bank: int) -> str:
    """Look at a bank of the river."""
    return " ".join(f"bird{bank}x{n}" for n in range(250))


@contextmanager
def agent_at(
    folder: Path, model: RecordingModel, *, window: int = 6_000
) -> Iterator[CompiledStateGraph[Any, Any, Any, Any]]:
    """Build an agent whose archive and checkpoints lie in a folder, as after a restart."""
    with (
        closing(sqlite3.connect(folder / "graph.db", check_same_thread=False)) as connection,
        open_archive(folder / "thalweg.db") as archive,
    ):
        yield create_agent(
            model,
            [look],
            system_prompt=SYSTEM,
            middleware=[
                ContextMiddleware(
                    ContextPolicy(
                        window=window,
                        max_output=500,
                        summarize=False,
                        trigger=("fraction", 0.85),
                        keep=("fraction", 0.2),
                    ),
                    archive=archive,
                )
            ],
            checkpointer=SqliteSaver(connection),
        )


def ask(
    agent: CompiledStateGraph[Any, Any, Any, Any], *words: str, **configurable: str
) -> dict[str, Any]:
    """Ask the questions in order, and return the state after the last one."""
    state: dict[str, Any] = {}
    for said in words:
        state = agent.invoke(
            {"messages": [("user", said)]}, {"configurable": {"thread_id": "t1", **configurable}}
        )
    return state
