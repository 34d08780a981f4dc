"""The agent's own tools for its user's memory, with `mode: tool`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, get_args

from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import LenientTool
from thalweg.errors import ConfigError, FactRefusedError, MemoryOffError, ThalwegError
from thalweg_memory.facts.recall.ranking import content_words
from thalweg_memory.facts.values import Category, Statement, Trust
from thalweg_memory.middleware.capture import (
    KEPT,
    BoundMemory,
    Kept,
    MemoryBinding,
    UnreadMessages,
    keep,
    pass_over,
    turns_of,
)
from thalweg_memory.prompts import prompt

REMEMBER, RECALL_MEMORY, FORGET_MEMORY = "remember", "recall_memory", "forget_memory"
UnreadReader = Callable[[BoundMemory, Mapping[str, Any], RunnableConfig], UnreadMessages]
"""Returns the messages of a thread since it was last read."""
_Runtime = ToolRuntime[Any, Any]
_CATEGORIES: dict[str, Category] = {name: name for name in get_args(Category)}


def memory_tools(binding: MemoryBinding, read_unread: UnreadReader) -> Sequence[BaseTool]:
    """Return the tools.

    Args:
        binding: The owner of the memory, from the run: a model's arguments cannot set it.
        read_unread: Returns the messages of the run.
    """

    def writable(runtime: _Runtime) -> tuple[BoundMemory, UnreadMessages, Sequence[Statement]]:
        """Return the run's memory, its messages, and the turns among them."""
        bound = binding.of(runtime.config, runtime.state)
        if not bound.writes:
            raise MemoryOffError(where="the run's memory mode", fix="set it to `on`")
        unread = read_unread(bound, runtime.state, runtime.config)
        return bound, unread, turns_of(bound, unread)

    @_answering
    def remember(
        runtime: _Runtime, content: str = "", category: str = "", quote: str = "", **_: object
    ) -> str:
        bound, unread, turns = writable(runtime)
        least = Trust(pass_over(bound, unread).trust)
        known: Category = _CATEGORIES.get(category, "knowledge")
        fact = bound.memory.remember_as_agent(
            content, category=known, turns=turns, least=least, quote=quote
        )
        name = "remember_waits" if fact.status == "quarantined" else "remember_done"
        return prompt(name).render(content=fact.statement)

    @_answering
    def recall(runtime: _Runtime, query: str = "", **_: object) -> str:
        bound = binding.of(runtime.config, runtime.state)
        found = bound.memory.recall(query, thread=bound.thread).text if bound.tells else ""
        return found or prompt("recall_memory_nothing").render()

    @_answering
    def forget(runtime: _Runtime, query: str = "", **_: object) -> str:
        """Hide what the user asks to forget, by words of the user's own newest message."""
        bound, unread, turns = writable(runtime)
        own = [turn for turn in turns if turn.trust == Trust.USER][-1:]
        words = set(content_words(query))
        if not words or not any(words <= set(content_words(turn.text)) for turn in own):
            return prompt("forget_memory_words").render()
        # Stored now, as only a stored message can be hidden; at its end the run is read again.
        begun = Kept(**runtime.state.get(KEPT) or {}).begun
        keep(bound, replace(unread, upto=unread.upto and unread.since), begun)
        count = bound.memory.hide(query, asked_in=[turn.uid for turn in own], by="agent")
        return prompt("forget_memory_done").render(count=count)

    kinds = {**_described("remember_category"), "enum": [*_CATEGORIES]}
    about, quoted = _described("remember_content"), _described("remember_quote")
    return [
        _tool(REMEMBER, remember, {"content": about, "category": kinds, "quote": quoted}),
        _tool(RECALL_MEMORY, recall, {"query": _described("recall_memory_query")}),
        _tool(FORGET_MEMORY, forget, {"query": _described("forget_memory_query")}),
    ]


def _described(name: str) -> dict[str, object]:
    return {"type": "string", "description": prompt(name).render()}


def _tool(
    name: str, run: Callable[..., str], properties: Mapping[str, Mapping[str, object]]
) -> BaseTool:
    """Return a tool; its first argument is required."""
    schema = {"type": "object", "properties": properties, "required": [*properties][:1]}
    description = prompt(f"{name}_tool").render()
    return LenientTool(func=run, name=name, description=description, args_schema=schema)


def _answering(run: Callable[..., str]) -> Callable[..., str]:
    """Return the answer for a model where the memory refuses or fails."""

    @wraps(run)
    def answer(*args: object, **named: object) -> str:
        try:
            return run(*args, **named)
        except FactRefusedError as refused:
            return prompt("remember_refused").render(problem=refused.problem)
        except MemoryOffError:
            return prompt("remember_off").render()
        except ConfigError:
            raise
        except ThalwegError:
            return prompt("memory_failed").render()

    return answer
