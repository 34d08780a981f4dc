"""Deferred tools: what Anthropic withholds from the model until it is referenced.

Source: platform.claude.com, "Tool search tool" and "Tool use with prompt caching" (read
2026-11-23); the message about `cache_control` is quoted in github.com/anthropics/claude-code,
issue 86743.
"""

from collections.abc import Iterator

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.anthropic_blocks import blocks_of


def deferral_problems(body: Object) -> Iterator[RequestProblem]:
    """Refuse a body without a tool at the beginning, a marked deferred tool, an open reference."""
    tools = body.get("tools") or []
    deferred = {tool.get("name") for tool in tools if tool.get("defer_loading")}
    if tools and len(deferred) == len(tools):
        yield RequestProblem(
            "All tools have defer_loading set. At least one tool must be non-deferred."
        )
    for tool in tools:
        if tool.get("defer_loading") and tool.get("cache_control"):
            yield RequestProblem(
                f"Tool '{tool.get('name')}' cannot have both defer_loading=true and cache_control "
                "set. Tools with defer_loading cannot use prompt caching."
            )
    for name in referenced(body):
        if name not in deferred:
            yield RequestProblem(f"Tool reference '{name}' has no corresponding tool definition")


def referenced(body: Object) -> list[str]:
    """List the names of the tools that the results in a body refer to."""
    blocks = (block for block in blocks_of(body) if block.nested)
    return [str(b.body.get("tool_name")) for b in blocks if b.kind == "tool_reference"]


def prefixed(body: Object) -> list[Object]:
    """List the tools of a valid body that precede its messages."""
    return [tool for tool in body.get("tools") or () if not tool.get("defer_loading")]


def definition(body: Object, name: str) -> Object:
    """Return the tool of a valid body to which a reference expands."""
    return next(tool for tool in body["tools"] if tool["name"] == name)
