"""The agent's own tools for its user's memory, with `mode: tool`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from thalweg.context.turn.context_tools import LenientTool
from thalweg.errors import ConfigError, FactRefusedError, MemoryOffError, ThalwegError
from thalweg_memory.facts.learning.capture import captured_turns, trust_after
from thalweg_memory.facts.recall.found import content_words
from thalweg_memory.facts.values import Category, Statement, Trust
from thalweg_memory.middleware.binding import BoundMemory, MemoryBinding
from thalweg_memory.middleware.capture import UnreadMessages, owners_of
from thalweg_memory.prompts import prompt

REMEMBER, RECALL_MEMORY, FORGET_MEMORY = "remember", "recall_memory", "forget_memory"
UnreadReader = Callable[[BoundMemory, Mapping[str, Any], RunnableConfig], UnreadMessages]
"""Returns the messages of a thread since it was last read."""
_CATEGORIES: dict[str, Category] = {name: name for name in get_args(Category)}


def memory_tools(binding: MemoryBinding, read_unread: UnreadReader) -> Sequence[BaseTool]:
    """Return the tools.

    Args:
        binding: The owner of the memory, from the run: a model's arguments cannot set it.
        read_unread: Returns the messages of the run.
    """
    return [
        _remember_tool(binding, read_unread),
        _recall_tool(binding),
        _forget_tool(binding, read_unread),
    ]


def _remember_tool(binding: MemoryBinding, read_unread: UnreadReader) -> BaseTool:
    def run(
        runtime: ToolRuntime[Any, Any],
        content: str = "",
        category: str = "",
        quote: str = "",
        **_: object,
    ) -> str:
        try:
            bound = binding.of(runtime.config, runtime.state)
            if not bound.writes:
                return prompt("remember_off").render()
            turns, least = _read(bound, read_unread(bound, runtime.state, runtime.config))
            known: Category = _CATEGORIES.get(category, "knowledge")
            fact = bound.memory.remember_as_agent(
                content, category=known, turns=turns, least=least, quote=quote
            )
        except FactRefusedError as refused:
            return prompt("remember_refused").render(problem=refused.problem)
        except MemoryOffError:
            return prompt("remember_off").render()
        except ConfigError:
            raise
        except ThalwegError:
            return prompt("memory_failed").render()
        name = "remember_waits" if fact.status == "quarantined" else "remember_done"
        return prompt(name).render(content=fact.statement)

    about = {"type": "string", "description": prompt("remember_content").render()}
    kinds = {"type": "string", "enum": [*_CATEGORIES]}
    kinds["description"] = prompt("remember_category").render()
    words = {"type": "string", "description": prompt("remember_quote").render()}
    return LenientTool(
        func=run,
        name=REMEMBER,
        description=prompt("remember_tool").render(),
        args_schema={
            "type": "object",
            "properties": {"content": about, "category": kinds, "quote": words},
            "required": ["content"],
        },
    )


def _read(bound: BoundMemory, unread: UnreadMessages) -> tuple[list[Statement], Trust]:
    """Return the messages of a run, and the reliability of the content it read."""
    web = bound.settings.web_tools
    turns = captured_turns(
        unread.messages,
        thread=bound.thread,
        now=bound.memory.clock(),
        before=unread.before,
        web_tools=web,
        owners=owners_of(bound),
        zone=bound.settings.time_zone,
    )
    return turns, trust_after((message for _, message in unread.messages), unread.before, web)


def _recall_tool(binding: MemoryBinding) -> BaseTool:
    def run(runtime: ToolRuntime[Any, Any], query: str = "", **_: object) -> str:
        try:
            bound = binding.of(runtime.config, runtime.state)
            found = bound.memory.recall(query, thread=bound.thread).text if bound.tells else ""
        except ConfigError:
            raise
        except ThalwegError:
            return prompt("memory_failed").render()
        return found or prompt("recall_memory_nothing").render()

    query_schema = {"type": "string", "description": prompt("recall_memory_query").render()}
    return LenientTool(
        func=run,
        name=RECALL_MEMORY,
        description=prompt("recall_memory_tool").render(),
        args_schema={
            "type": "object",
            "properties": {"query": query_schema},
            "required": ["query"],
        },
    )


def _forget_tool(binding: MemoryBinding, read_unread: UnreadReader) -> BaseTool:
    """Hide what the user asks to forget, by words of the user's own newest message."""

    def run(runtime: ToolRuntime[Any, Any], query: str = "", **_: object) -> str:
        try:
            bound = binding.of(runtime.config, runtime.state)
            if not bound.writes:
                return prompt("remember_off").render()
            turns, _least = _read(bound, read_unread(bound, runtime.state, runtime.config))
            own = [turn for turn in turns if turn.trust == Trust.USER][-1:]
            words = set(content_words(query))
            if not words or not any(words <= set(content_words(turn.text)) for turn in own):
                return prompt("forget_memory_words").render()
            uids = [turn.uid for turn in own]
            count = bound.memory.hide(query, asked_in=uids, by="agent")
        except MemoryOffError:
            return prompt("remember_off").render()
        except ConfigError:
            raise
        except ThalwegError:
            return prompt("memory_failed").render()
        return prompt("forget_memory_done").render(count=count)

    words_schema = {"type": "string", "description": prompt("forget_memory_query").render()}
    return LenientTool(
        func=run,
        name=FORGET_MEMORY,
        description=prompt("forget_memory_tool").render(),
        args_schema={
            "type": "object",
            "properties": {"query": words_schema},
            "required": ["query"],
        },
    )
