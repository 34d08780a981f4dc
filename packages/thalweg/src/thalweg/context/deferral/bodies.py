"""Deferred tools in the finished body of a request, as the provider takes them.

A tool whose search result is in the body is loaded there, at the end of the part sent before, so
the cached prefix is kept. After a compaction that removed the result it is sent in full with the
others: tools that a thread loaded remain loaded.

Sources, read 2026-11-23: platform.claude.com, "Tool search tool" ("Custom tool search
implementation") and "Tool use with prompt caching"; learn.microsoft.com, "Use tool search with the
Azure OpenAI Responses API" ("Add tools at a specific point in the input"); the types
`ToolReferenceBlockParam` of `anthropic` and `AdditionalTools` of `openai`.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from thalweg.context.request.checked_model import Body

_DEFER = "defer_loading"


def with_references(deferred: Collection[str], loaded: Mapping[str, str], body: Body) -> Body:
    """Place deferred tools in a body for Anthropic.

    All tools are in `tools`, and `defer_loading` withholds those that are deferred. A search result
    becomes references, which the API expands. A reference without a definition is refused, so
    only defined tools are referenced; and a result with references has nothing else.
    """
    tools = [tool for tool in body.get("tools") or () if isinstance(tool, Mapping)]
    found = _by_search(loaded, {str(tool.get("name")) for tool in tools} & {*deferred})
    messages = [_referring(message, found) for message in body.get("messages") or ()]
    live = {name for names, _ in messages for name in names}
    hidden = {name for name in deferred if name in live or name not in loaded}
    placed = [_flagged(tool, is_deferred=tool.get("name") in hidden) for tool in tools]
    return {**body, "tools": placed, "messages": [message for _, message in messages]}


def _by_search(loaded: Mapping[str, str], defined: Collection[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, call in loaded.items():
        if call and name in defined:
            found.setdefault(call, []).append(name)
    return found


def _flagged(tool: Mapping[str, Any], *, is_deferred: bool) -> dict[str, Any]:
    plain = {key: value for key, value in tool.items() if key != _DEFER}
    return {**plain, _DEFER: True} if is_deferred else plain


def _referring(message: Any, found: Mapping[str, list[str]]) -> tuple[list[str], Any]:  # noqa: ANN401 (JSON)
    """Return a message with references in the place of search results, and their names."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list):
        return [], message
    names: list[str] = []
    blocks: list[Any] = []
    for block in content:
        is_result = isinstance(block, Mapping) and block.get("type") == "tool_result"
        own = found.get(str(block.get("tool_use_id"))) if is_result else None
        if own:
            names += own
            references = [{"type": "tool_reference", "tool_name": name} for name in own]
            blocks.append({**block, "content": references})
        else:
            blocks.append(block)
    return names, ({**message, "content": blocks} if names else message)


def with_items(deferred: Collection[str], loaded: Mapping[str, str], body: Body) -> Body:
    """Place deferred tools in a body for OpenAI.

    Deferred tools are not in `tools`. Those that a search found are in an item `additional_tools`
    after its result, in the Responses API; others that are loaded are in `tools`.
    """
    tools = {_name(tool): tool for tool in body.get("tools") or ()}
    found = _by_search(loaded, tools.keys() & {*deferred})
    items = body.get("input")
    live: set[str] = set()
    if isinstance(items, list):
        placed = [*_added(items, found, tools, live)]
        body = {**body, "input": placed}
    hidden = {name for name in deferred if name in live or name not in loaded}
    shown = [
        _flagged(tool, is_deferred=False) for name, tool in tools.items() if name not in hidden
    ]
    return {**body, "tools": shown}


def _name(tool: Any) -> str:  # noqa: ANN401 (JSON)
    function = tool.get("function")
    named = function if isinstance(function, Mapping) else tool
    return str(named.get("name") or tool.get("type"))


def _added(
    items: Sequence[Any],
    found: Mapping[str, list[str]],
    tools: Mapping[str, Mapping[str, Any]],
    live: set[str],
) -> Iterator[Any]:
    """Yield items, and after each run of results the tools that they found; fill in `live`."""
    due: list[str] = []
    for item in [*items, None]:
        is_result = isinstance(item, Mapping) and item.get("type") == "function_call_output"
        if due and not is_result:
            live.update(due)
            definitions = [_flagged(tools[name], is_deferred=False) for name in due]
            yield {"type": "additional_tools", "role": "developer", "tools": definitions}
            due = []
        if isinstance(item, Mapping) and is_result:
            due += found.get(str(item.get("call_id")), ())
        if item is not None:
            yield item
