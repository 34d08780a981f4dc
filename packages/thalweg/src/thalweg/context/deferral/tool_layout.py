"""The tools of one request: those that its client binds, and those that the model sees.

An agent finds and loads deferred tools with a search tool (`find_tool`). Deferred tools are placed
in the finished body of a request, in the form that the provider takes. A tool whose search result
is in the body is loaded there, at the end of the part sent before, so the cached prefix is kept.
After a compaction that removed the result it is sent in full with the others: tools that a thread
loaded remain loaded.

Sources, read 2026-11-23: platform.claude.com, "Tool search tool" ("Custom tool search
implementation") and "Tool use with prompt caching"; learn.microsoft.com, "Use tool search with the
Azure OpenAI Responses API" ("Add tools at a specific point in the input"); the types
`ToolReferenceBlockParam` of `anthropic` and `AdditionalTools` of `openai`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Literal

from langchain.agents.middleware.types import ModelRequest
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command

from thalweg.context.ready_tools import (
    ContextTool,
    Tool,
    ToolsKey,
    as_openai,
    tool_name,
    with_deferral,
)
from thalweg.context.request.cache_marks import is_anthropic, is_openai
from thalweg.context.request.last_check import count_text, tools_as_json
from thalweg.context.request.models import Body, BodyTransform, layers
from thalweg.engine.deferral import ToolCard, find_cards, plan_deferral, searchable_text
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.prompts import prompt
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import Counter

_QUERY_SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string", "description": prompt("find_tools_query").render()}},
    "required": ["query"],
}
_DEFER_KEY = "defer_loading"
LoadingMethod = Literal["reference", "item", "rewrite"]
"""How a schema is loaded: Anthropic expands a reference in a tool's result; OpenAI's Responses API
takes an item after it; any other client gets the tool at the end of its list."""
MOST_NAMES = 400
"""Names of deferred tools that the description of the search tool lists."""
_PINNED_KEYS = ("cache_control", "allowed_callers")
"""Keys in `extras` that the API refuses on a deferred tool, or that make it another's to call."""


def find_tool(name: str) -> BaseTool:
    """Make the tool; a request replaces its description by one with the names to find."""

    def run(runtime: ToolRuntime[Any, Any], query: str = "") -> Command[Any]:
        call = runtime.tool_call_id or ""
        known = {tool.name: tool for tool in runtime.tools}
        cards = [
            card_of(known[tool_named]) if tool_named in known else ToolCard(tool_named)
            for tool_named in runtime.state.get("thalweg_deferred") or ()
        ]
        names = [card.name for card in find_cards(cards, query)]
        if names:
            text = prompt("find_tools_found").render(names=", ".join(names))
        else:
            text = prompt("find_tools_nothing").render(query=repr(query))
        answer = ToolMessage(text, tool_call_id=call, name=name)
        return Command(update={"messages": [answer], "thalweg_tools": dict.fromkeys(names, call)})

    description = prompt("find_tools").render(number="Some", names="")
    return ContextTool(func=run, name=name, description=description, args_schema=_QUERY_SCHEMA)


def with_references(deferred: Collection[str], loaded: Mapping[str, str], body: Body) -> Body:
    """Place deferred tools in a body for Anthropic.

    All tools are in `tools`, and `defer_loading` withholds those that are deferred. A search result
    becomes references, which the API expands. A reference without a definition is refused, so
    only defined tools are referenced; and a result with references has nothing else.
    """
    tools = [tool for tool in body.get("tools") or () if isinstance(tool, Mapping)]
    names_by_call = _names_by_call(loaded, {str(tool.get("name")) for tool in tools} & {*deferred})
    messages = [
        _with_tool_references(message, names_by_call) for message in body.get("messages") or ()
    ]
    referenced = {name for names, _ in messages for name in names}
    hidden = {name for name in deferred if name in referenced or name not in loaded}
    placed = [_with_defer_flag(tool, is_deferred=tool.get("name") in hidden) for tool in tools]
    return {**body, "tools": placed, "messages": [message for _, message in messages]}


def _names_by_call(loaded: Mapping[str, str], defined: Collection[str]) -> dict[str, list[str]]:
    names_by_call: dict[str, list[str]] = {}
    for name, call in loaded.items():
        if call and name in defined:
            names_by_call.setdefault(call, []).append(name)
    return names_by_call


def _with_defer_flag(tool: Mapping[str, Any], *, is_deferred: bool) -> dict[str, Any]:
    plain = {key: value for key, value in tool.items() if key != _DEFER_KEY}
    return {**plain, _DEFER_KEY: True} if is_deferred else plain


def _with_tool_references(
    message: Any,  # noqa: ANN401 (JSON)
    names_by_call: Mapping[str, list[str]],
) -> tuple[list[str], Any]:
    """Return a message with references in the place of search results, and their names."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return [], message
    names: list[str] = []
    blocks: list[Any] = []
    for block in content:
        is_result = isinstance(block, Mapping) and block.get("type") == "tool_result"
        found_names = names_by_call.get(str(block.get("tool_use_id"))) if is_result else None
        if found_names:
            names += found_names
            references = [{"type": "tool_reference", "tool_name": name} for name in found_names]
            blocks.append({**block, "content": references})
        else:
            blocks.append(block)
    return names, ({**message, "content": blocks} if names else message)


def with_items(deferred: Collection[str], loaded: Mapping[str, str], body: Body) -> Body:
    """Place deferred tools in a body for OpenAI.

    Deferred tools are not in `tools`. Those that a search found are in an item `additional_tools`
    after its result, in the Responses API; others that are loaded are in `tools`.
    """
    tools = {_body_tool_name(tool): tool for tool in body.get("tools") or ()}
    names_by_call = _names_by_call(loaded, tools.keys() & {*deferred})
    items = body.get("input")
    referenced: set[str] = set()
    if isinstance(items, list):
        placed = [*_with_tool_items(items, names_by_call, tools, referenced)]
        body = {**body, "input": placed}
    hidden = {name for name in deferred if name in referenced or name not in loaded}
    shown = [
        _with_defer_flag(tool, is_deferred=False)
        for name, tool in tools.items()
        if name not in hidden
    ]
    return {**body, "tools": shown}


def _body_tool_name(tool: Any) -> str:  # noqa: ANN401 (JSON)
    function = tool.get("function")
    holder = function if isinstance(function, Mapping) else tool
    return str(holder.get("name") or tool.get("type"))


def _with_tool_items(
    items: Sequence[Any],
    names_by_call: Mapping[str, list[str]],
    tools: Mapping[str, Mapping[str, Any]],
    referenced: set[str],
) -> Iterator[Any]:
    """Yield items, and after each run of results the tools found by it; fill in `referenced`."""
    pending_names: list[str] = []
    for item in [*items, None]:
        is_result = isinstance(item, Mapping) and item.get("type") == "function_call_output"
        if pending_names and not is_result:
            referenced.update(pending_names)
            definitions = [
                _with_defer_flag(tools[name], is_deferred=False) for name in pending_names
            ]
            yield {"type": "additional_tools", "role": "developer", "tools": definitions}
            pending_names = []
        if isinstance(item, Mapping) and is_result:
            pending_names += names_by_call.get(str(item.get("call_id")), ())
        if item is not None:
            yield item


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
    way: LoadingMethod = "rewrite"

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
    way = _loading_method(request.model, tools, policy)
    system = "" if request.system_message is None else str(request.system_message.text)
    tool_set = ToolsKey(tools)
    deferred = _plan_deferred(
        tool_set,
        count,
        system=system,
        kept_patterns=policy.keep_tools,
        tariff=tariff,
        rewrites=way == "rewrite",
        window=window,
    )
    if not deferred:
        return _without_deferral(tools, policy.tool_names.find_tools)
    loaded = _loaded(request, frozenset(deferred))
    find = policy.tool_names.find_tools
    return _sort_tools(tool_set, deferred, tuple(loaded.items()), way, find)


def card_of(tool: BaseTool, count: Counter | None = None) -> ToolCard:
    """Describe a tool for the search, with the tokens of its schema if they can be counted."""
    function = as_openai(tool).get("function") or {}
    tokens = count_text(tools_as_json([function]), count) if count is not None else 0
    return ToolCard(tool.name, searchable_text(function), tokens)


def _loading_method(model: object, tools: Sequence[Tool], policy: ContextPolicy) -> LoadingMethod:
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
        name = next((str(getattr(layer, "model", "")) for layer in layers(model)), "")
        has_examples = any(_extras(tool).get("input_examples") for tool in tools)
        supports_search = is_forced or is_anthropic(model, official_only=True)
        return (
            "reference"
            if supports_search and not has_examples and "claude-3" not in name
            else "rewrite"
        )
    if is_openai(model, official_only=not is_forced):
        profiles = (getattr(layer, "profile", None) or {} for layer in layers(model))
        supports_items = any(profile.get("mid_conversation_tools") for profile in profiles)
        return "item" if supports_items or is_forced else "rewrite"
    return "rewrite"


def _extras(tool: Tool) -> Mapping[str, Any]:
    return (tool.extras or {}) if isinstance(tool, BaseTool) else {}


@lru_cache(maxsize=32)
def _plan_deferred(tool_set: ToolsKey, count: Counter, **plan_settings: Any) -> tuple[str, ...]:  # noqa: ANN401 (`plan_deferral`'s)
    cards = [
        card_of(tool, count)
        for tool in tool_set.tools
        if isinstance(tool, BaseTool) and not isinstance(tool, ContextTool) and not _is_pinned(tool)
    ]
    return plan_deferral(cards, **plan_settings)


def _is_pinned(tool: BaseTool) -> bool:
    return any(_extras(tool).get(key) for key in _PINNED_KEYS)


def _without_deferral(tools: tuple[Tool, ...], find: str) -> ToolLayout:
    """Defer nothing: then there is nothing to find, either."""
    shown = tuple(tool for tool in tools if tool_name(tool) != find)
    return ToolLayout(shown, shown)


def _loaded(request: ModelRequest[Any], deferred: frozenset[str]) -> dict[str, str]:
    known = request.state.get("thalweg_tools")
    loaded = dict(known) if isinstance(known, Mapping) else {}
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
def _sort_tools(
    tool_set: ToolsKey,
    deferred: tuple[str, ...],
    loaded: tuple[tuple[str, str], ...],
    way: LoadingMethod,
    find: str,
) -> ToolLayout:
    """Sort tools by their place in requests; the search tool is the last that every request has."""
    tools, found, hidden = tool_set.tools, dict(loaded), frozenset(deferred)
    named = {tool_name(tool): tool for tool in tools}
    kept = tuple(t for t in tools if tool_name(t) not in hidden | {find})
    search = named.get(find)
    prefix = (*kept, *([_with_names(search, deferred)] if isinstance(search, BaseTool) else []))
    if way == "rewrite":
        whole = (*prefix, *(with_deferral(named[name], deferred=False) for name in found))
        return ToolLayout(whole, whole, deferred, found, way)
    deferred_tools = tuple(
        with_deferral(tool, deferred=name not in found)
        for name, tool in named.items()
        if name in hidden
    )
    unfound = tuple(
        with_deferral(named[name], deferred=False) for name, call in found.items() if not call
    )
    return ToolLayout((*deferred_tools, *prefix), (*prefix, *unfound), deferred, found, way)


def _with_names(search: BaseTool, deferred: Sequence[str]) -> BaseTool:
    more = len(deferred) - MOST_NAMES
    names = ", ".join(deferred[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    text = prompt("find_tools").render(number=len(deferred), names=names)
    return search.model_copy(update={"description": text})
