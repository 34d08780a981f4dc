"""Hooks of neighbouring middleware that run in one step of the graph, or in one wrapper of a call.

`create_agent` makes a step of every `before_agent` and `after_agent`, and each step has a
checkpoint, tasks and channels of its own: about a millisecond and a half of CPU a run. It makes a
trace of every `wrap_model_call` and `wrap_tool_call`, blocking and awaited: a quarter of the time
to make an agent, and in an awaited call two changes of thread each.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial, reduce
from itertools import groupby
from typing import Any, Final

from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelResponse,
)
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command

from thalweg.context.turn.effects import (
    AsyncHandler,
    Flow,
    Handler,
    SyncOrAsync,
    sync_and_async,
)
from thalweg_agent.graph.layers import Middleware

Update = dict[str, Any] | None
_PACKAGES: Final = frozenset({"thalweg", "thalweg_agent", "thalweg_memory", "thalweg_server"})
_MESSAGES: Final = "messages"
_STEPS = ("before_agent", "before_model", "after_model", "after_agent")
_HOOKS: Final = (*_STEPS, "wrap_model_call", "wrap_tool_call")


def merge_hooks(middleware: Sequence[Middleware]) -> list[Middleware]:
    """Merge the hooks of adjacent middleware of ours: the first to run performs those of all.

    Middleware is adjacent if no other's hook is between the two. Middleware of users keeps
    its own steps and wrappers, and so does a hook that may jump to another step. A hook sees the
    state after the hooks before it: messages are reduced as `add_messages` does, and any other key
    has the value written last.

    Args:
        middleware: Outermost first.

    Returns:
        The same, in the same order; ours are copies that delegate to the arguments, which are not
        modified.
    """
    merged = [_delegate(one) if _is_ours(one) else one for one in middleware]
    forward = range(len(merged))
    for hook, places, merge in (
        ("before_agent", forward, _one_step),
        ("after_agent", forward[::-1], _one_step),
        ("wrap_model_call", forward, _one_wrapper),
        ("wrap_tool_call", forward, _one_wrapper),
    ):
        for first, *others in _neighbours(merged, hook, places):
            blocking, awaited = merge([merged[place] for place in (first, *others)], hook)
            vars(merged[first]).update({hook: blocking, f"a{hook}": awaited})
            for place in others:
                merged[place].__class__ = _class_without(type(merged[place]), hook)  # type: ignore[arg-type]
    return merged


def _delegate(one: Middleware) -> Middleware:
    """Return a copy that calls the hooks of the original, which share its attributes."""
    made = copy(one)
    hooks = [hook for hook in _HOOKS if _has(type(one), hook)]  # type: ignore[arg-type]
    vars(made).update({name: getattr(one, name) for hook in hooks for name in (hook, f"a{hook}")})
    return made


def _neighbours(
    middleware: Sequence[Middleware], hook: str, places: Sequence[int]
) -> Iterator[list[int]]:
    """Return groups of two or more adjacent hooks, by their places."""
    having = [place for place in places if _has(type(middleware[place]), hook)]  # type: ignore[arg-type]
    groups = groupby(having, lambda place: _is_mergeable(middleware[place], hook))
    found = ([*group] for is_mergeable, group in groups if is_mergeable)
    return (group for group in found if len(group) > 1)


@lru_cache(maxsize=1024)
def _has(kind: type, hook: str) -> bool:
    names = (hook, f"a{hook}")
    return any(getattr(kind, name) is not getattr(AgentMiddleware, name) for name in names)


def _is_mergeable(one: Middleware, hook: str) -> bool:
    hooks = (getattr(type(one), hook), getattr(type(one), f"a{hook}"))
    return _is_ours(one) and not any(hasattr(each, "__can_jump_to__") for each in hooks)


def _is_ours(one: Middleware) -> bool:
    return type(one).__module__.partition(".")[0] in _PACKAGES


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


def _one_wrapper(middleware: Sequence[Middleware], hook: str) -> tuple[Any, Any]:
    """Return one wrapper, blocking and awaited, that nests those of some middleware."""
    blocking = reduce(_nested, [getattr(one, hook) for one in middleware])
    return blocking, reduce(_nested_async, [getattr(one, f"a{hook}") for one in middleware])


def _nested(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    def wrap(request: object, handler: Handler) -> object:
        last: list[object] = []

        def call(given: object) -> object:
            last.clear()  # if this call fails, nothing of the one before is left
            last.append(inner(given, handler))
            return _response(last[0])

        return _joined(outer(request, call), *last)

    return wrap


def _nested_async(outer: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    async def wrap(request: object, handler: AsyncHandler) -> object:
        last: list[object] = []

        async def call(given: object) -> object:
            last.clear()
            last.append(await inner(given, handler))
            return _response(last[0])

        return _joined(await outer(request, call), *last)

    return wrap


def _joined(result: Any, inner: object = None) -> object:  # noqa: ANN401 (of a model or a tool)
    """Return the outer result with both state updates, those of the last inner call first."""
    updates = [*_updates(inner), *_updates(result)]
    return ExtendedModelResponse(_response(result), Command(update=updates)) if updates else result


def _response(result: Any) -> Any:  # noqa: ANN401 (as above)
    if isinstance(result, AIMessage):
        return ModelResponse(result=[result])
    return result.model_response if isinstance(result, ExtendedModelResponse) else result


def _updates(result: object) -> Iterable[tuple[str, Any]]:
    if not isinstance(result, ExtendedModelResponse) or result.command is None:
        return ()
    update: Any = result.command.update or {}
    return update.items() if isinstance(update, Mapping) else update
