"""Hooks of neighbouring middleware that run in one step of the graph.

`create_agent` makes a step of every `before_agent` and `after_agent`, and each step has a
checkpoint, tasks and channels of its own: about a millisecond and a half of CPU a run.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import groupby
from typing import Any, Final

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from thalweg.context.turn.effects import Flow, SyncOrAsync, sync_and_async
from thalweg_agent.graph.layers import Middleware

Update = dict[str, Any] | None
_PACKAGES: Final = frozenset({"thalweg", "thalweg_agent", "thalweg_memory", "thalweg_server"})
_MESSAGES: Final = "messages"


def merge_hooks(middleware: Sequence[Middleware]) -> list[Middleware]:
    """Merge the hooks of adjacent middleware of ours into one step: the step of the first to run.

    Middleware is adjacent if no other's hook is between the two. Middleware of users keeps
    its own steps, and so does a hook that may jump to another step. A hook sees the state after the
    hooks before it: messages are reduced as `add_messages` does, and any other key has the
    value written last.

    Args:
        middleware: Outermost first.

    Returns:
        The same, in the same order; changed ones are copies. The arguments are not modified.
    """
    merged = list(middleware)
    for hook, places in (
        ("before_agent", range(len(merged))),
        ("after_agent", range(len(merged) - 1, -1, -1)),
    ):
        for first, *others in _neighbours(merged, hook, places):
            step, astep = _one_step([merged[place] for place in (first, *others)], hook)
            merged[first] = copy(merged[first])
            setattr(merged[first], hook, step)
            setattr(merged[first], f"a{hook}", astep)
            for place in others:
                merged[place] = _without(merged[place], hook)
    return merged


def _neighbours(
    middleware: Sequence[Middleware], hook: str, places: Sequence[int]
) -> Iterator[list[int]]:
    """Yield groups of two or more adjacent hooks, by their places."""
    having = [place for place in places if _has(middleware[place], hook)]
    for is_mergeable, group in groupby(
        having, lambda place: _is_mergeable(middleware[place], hook)
    ):
        found = list(group)
        if is_mergeable and len(found) > 1:
            yield found


def _has(one: Middleware, hook: str) -> bool:
    names = (hook, f"a{hook}")
    return any(getattr(type(one), name) is not getattr(AgentMiddleware, name) for name in names)


def _is_mergeable(one: Middleware, hook: str) -> bool:
    hooks = (getattr(type(one), hook), getattr(type(one), f"a{hook}"))
    jumps = any(hasattr(each, "__can_jump_to__") for each in hooks)
    return type(one).__module__.partition(".")[0] in _PACKAGES and not jumps


def _without(one: Middleware, hook: str) -> Middleware:
    kind: type = type(one)
    made = copy(one)
    made.__class__ = _class_without(kind, hook)
    return made


@cache
def _class_without(kind: type, hook: str) -> type[Any]:
    absent = {name: getattr(AgentMiddleware, name) for name in (hook, f"a{hook}")}
    same = {name: getattr(kind, name) for name in ("__module__", "__qualname__", "__doc__")}
    return type(kind.__name__, (kind,), {**same, **absent})


def _one_step(middleware: Sequence[Middleware], hook: str) -> tuple[Any, Any]:
    """Return a hook, blocking and awaited, that runs those of some middleware in their order."""
    hooks = [
        (_with_config(getattr(one, hook)), _with_config(getattr(one, f"a{hook}")))
        for one in middleware
    ]

    def step(
        state: Mapping[str, Any], runtime: Runtime[Any], config: RunnableConfig
    ) -> Flow[Update]:
        merged = _Merged(state)
        for blocking, awaited in hooks:
            given = merged.state, runtime, config
            merged.add((yield SyncOrAsync(partial(blocking, *given), partial(awaited, *given))))
        return merged.changes or None

    return sync_and_async(step)


@dataclass(slots=True)
class _Merged:
    """What hooks changed so far."""

    state: Mapping[str, Any]
    """The state that the next hook sees."""
    changes: dict[str, Any] = field(default_factory=dict)

    def add(self, update: Update) -> None:
        """Apply the update of a hook: messages are reduced, any other key is replaced."""
        update = update or {}
        shown, together = update, update
        if _MESSAGES in update:
            messages = list(update[_MESSAGES])
            shown = {**update, _MESSAGES: add_messages(list(self.state[_MESSAGES]), messages)}
            together = {**update, _MESSAGES: [*self.changes.get(_MESSAGES, ()), *messages]}
        self.state = {**self.state, **shown}
        self.changes.update(together)


def _with_config(hook: Callable[..., Any]) -> Callable[..., Any]:
    """Let a hook be called with the run's config, whether it takes it or not."""
    if "config" in inspect.signature(hook).parameters:
        return hook
    return lambda state, runtime, _: hook(state, runtime)
