"""The tools of one request: those that its client binds, and those that the model sees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool

from thalweg.context.deferral.bodies import with_items, with_references
from thalweg.context.ready_tools import SameTools, Tool, as_openai, tool_name, with_deferral
from thalweg.context.request.cache_marks import is_anthropic, is_openai
from thalweg.context.request.checked_model import BodyTransform
from thalweg.context.request.guard import count_text, written
from thalweg.context.request.model_limits import layers
from thalweg.context.turn.context_tools import ContextTool
from thalweg.engine.deferral import ToolCard, described, plan_deferral
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter

Way = Literal["reference", "item", "rewrite"]
"""How a schema is loaded: Anthropic expands a reference in a tool's result; OpenAI's Responses API
takes an item after it; any other client gets the tool at the end of its list."""
MOST_NAMES = 400
"""Names of deferred tools that the description of the search tool lists."""
_PINNED = ("cache_control", "allowed_callers")
"""Keys in `extras` that the API refuses on a deferred tool, or that make it another's to call."""


@dataclass(frozen=True, slots=True)
class ToolLayout:
    """The tools of one request."""

    bound: tuple[Tool, ...]
    """For the client, which builds their schemas."""
    prefix: tuple[Tool, ...]
    """Sent before the messages, as long as the thread is not compacted."""
    deferred: tuple[str, ...] = ()
    """Names of all tools that are not part of every request, loaded or not."""
    loaded: Mapping[str, str] = field(default_factory=dict[str, str])
    """Deferred tools that the thread uses, and the search that found each; empty for another way.
    """
    way: Way = "rewrite"

    @property
    def transform(self) -> BodyTransform | None:
        """Function that places the deferred tools in the finished body; `None` if it needs none."""
        if not self.deferred or self.way == "rewrite":
            return None
        place = with_references if self.way == "reference" else with_items
        return partial(place, self.deferred, self.loaded)

    def update(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the changes of the state: the deferred tools, and the newly loaded ones."""
        changes: dict[str, Any] = {}
        if list(self.deferred) != (state.get("thalweg_deferred") or []):
            changes["thalweg_deferred"] = list(self.deferred)
        known = state.get("thalweg_tools") or {}
        if new := {name: call for name, call in self.loaded.items() if name not in known}:
            changes["thalweg_tools"] = new
        return changes

    @property
    def later(self) -> tuple[Tool, ...]:
        """Loaded tools that are not in the prefix."""
        known = {tool_name(tool) for tool in self.prefix}
        return tuple(t for t in self.bound if tool_name(t) in self.loaded.keys() - known)


def lay_out_tools(
    request: ModelRequest[Any], policy: ContextPolicy, tariff: Tariff, window: int, count: Counter
) -> ToolLayout:
    """Sort the tools of a request; see `plan_deferral`.

    The system prompt, the tools, the prices and the window decide which tools are deferred. The
    state, the calls in the messages and a forced tool decide which are loaded.
    """
    tools = tuple(request.tools)
    way = _way(request.model, tools, policy)
    system = "" if request.system_message is None else str(request.system_message.text)
    tool_set = SameTools(tools)
    deferred = _deferred(
        tool_set,
        count,
        system=system,
        keep=policy.keep_tools,
        tariff=tariff,
        rewrites=way == "rewrite",
        window=window,
    )
    if not deferred:
        return _nothing(tools, policy.tool_names.find_tools)
    loaded = _loaded(request, frozenset(deferred))
    find = policy.tool_names.find_tools
    return _sorted(tool_set, deferred, tuple(loaded.items()), way, find)


def card_of(tool: BaseTool, count: Counter | None = None) -> ToolCard:
    """Describe a tool for the search, with the tokens of its schema if they can be counted."""
    function = as_openai(tool).get("function") or {}
    tokens = count_text(written([function]), count) if count is not None else 0
    return ToolCard(tool.name, described(function), tokens)


def _way(model: object, tools: Sequence[Tool], policy: ContextPolicy) -> Way:
    """Return how a model's client loads a schema.

    Anthropic's tool search works from Claude 4 on, and not together with `input_examples`
    (platform.claude.com, "Tool search tool", read 2026-11-23). OpenAI's `additional_tools` are for
    the models that LangChain's profiles list. At another address the provider's way is used
    only if the policy selects it.
    """
    if policy.defer_tools == "own":
        return "rewrite"
    is_forced = policy.defer_tools == "provider"
    if is_anthropic(model):
        name = next((str(getattr(one, "model", "")) for one in layers(model)), "")
        has_examples = any(_extras(tool).get("input_examples") for tool in tools)
        takes = is_forced or is_anthropic(model, at_home=True)
        return "reference" if takes and not has_examples and "claude-3" not in name else "rewrite"
    if is_openai(model, at_home=not is_forced):
        profiles = (getattr(one, "profile", None) or {} for one in layers(model))
        knows = any(profile.get("mid_conversation_tools") for profile in profiles)
        return "item" if knows or is_forced else "rewrite"
    return "rewrite"


def _extras(tool: Tool) -> Mapping[str, Any]:
    return (tool.extras or {}) if isinstance(tool, BaseTool) else {}


@lru_cache(maxsize=32)
def _deferred(tool_set: SameTools, count: Counter, **chosen: Any) -> tuple[str, ...]:  # noqa: ANN401 (`plan_deferral`'s)
    cards = [
        card_of(tool, count)
        for tool in tool_set.tools
        if isinstance(tool, BaseTool) and not isinstance(tool, ContextTool) and not _is_pinned(tool)
    ]
    return plan_deferral(cards, **chosen)


def _is_pinned(tool: BaseTool) -> bool:
    return any(_extras(tool).get(key) for key in _PINNED)


def _nothing(tools: tuple[Tool, ...], find: str) -> ToolLayout:
    """Defer nothing: then there is nothing to find, either."""
    shown = tuple(tool for tool in tools if tool_name(tool) != find)
    return ToolLayout(shown, shown)


def _loaded(request: ModelRequest[Any], deferred: frozenset[str]) -> dict[str, str]:
    found = request.state.get("thalweg_tools")
    loaded = dict(found) if isinstance(found, Mapping) else {}
    for message in request.state["messages"]:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                loaded.setdefault(call["name"], "")
    if forced := _forced(request.tool_choice):
        loaded.setdefault(forced, "")
    return {name: call for name, call in loaded.items() if name in deferred}


def _forced(choice: object) -> str:
    if isinstance(choice, str):
        return choice
    if not isinstance(choice, Mapping):
        return ""
    function = choice.get("function")
    return str(
        choice.get("name") or (function.get("name") if isinstance(function, Mapping) else "")
    )


@lru_cache(maxsize=64)
def _sorted(
    tool_set: SameTools,
    deferred: tuple[str, ...],
    loaded: tuple[tuple[str, str], ...],
    way: Way,
    find: str,
) -> ToolLayout:
    """Sort tools by their place in requests; the search tool is the last that every request has."""
    tools, found, hidden = tool_set.tools, dict(loaded), frozenset(deferred)
    named = {tool_name(tool): tool for tool in tools}
    kept = tuple(t for t in tools if tool_name(t) not in hidden | {find})
    search = named.get(find)
    prefix = (*kept, *([_described(search, deferred)] if isinstance(search, BaseTool) else []))
    if way == "rewrite":
        whole = (*prefix, *(with_deferral(named[name], deferred=False) for name in found))
        return ToolLayout(whole, whole, deferred, found, way)
    aside = tuple(
        with_deferral(tool, deferred=name not in found)
        for name, tool in named.items()
        if name in hidden
    )
    unfound = tuple(
        with_deferral(named[name], deferred=False) for name, call in found.items() if not call
    )
    return ToolLayout((*aside, *prefix), (*prefix, *unfound), deferred, found, way)


def _described(search: BaseTool, deferred: Sequence[str]) -> BaseTool:
    more = len(deferred) - MOST_NAMES
    names = ", ".join(deferred[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    text = prompt("find_tools").render(number=len(deferred), names=names)
    return search.model_copy(update={"description": text})
