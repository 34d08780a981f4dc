"""Tools whose schema is generated once per process, not once per agent.

LangChain infers the schema of a function's arguments when a tool is created, derives another
from it, without the arguments that the harness injects, when a model first sees the tool, and
serializes that as JSON: milliseconds each, for every tool of every agent. Ours are the same every
time.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ArgsSchema
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, create_model

Tool = BaseTool | dict[str, Any]
"""A tool of a request: LangChain's object, or a provider's dictionary."""
_DEFER_KEY = "defer_loading"
"""Key in `extras` of a tool whose schema the provider withholds until a search for it."""


class ReadyTool(StructuredTool):
    """A tool whose `args_schema` is declared and has no injected arguments.

    Arguments that the harness injects (`runtime: ToolRuntime`) are found in the function's
    signature and are not part of the schema.

    Example:
        >>> class Words(BaseModel):
        ...     words: str
        >>> def shout(words: str) -> str:
        ...     return words.upper()
        >>> tool = ReadyTool(name="shout", description="Shout.", args_schema=Words, func=shout)
        >>> tool.invoke({"words": "hi"})
        'HI'
        >>> list(tool.args)
        ['words']
    """

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """The schema that a model receives, with the tool's description."""
        schema = self.args_schema
        if isinstance(schema, dict):
            return {**schema, "description": self.description}
        return _described(schema, self.name, self.description)


class _CachedSchema(BaseModel):
    """A model whose default JSON schema is generated once."""

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401 (pydantic's own)
        """Return the JSON schema, as a copy that the caller may change."""
        if args or kwargs:
            return super().model_json_schema(*args, **kwargs)
        schema: dict[str, Any] = json.loads(_json_schema(cls))
        return schema


@lru_cache(maxsize=256)
def _json_schema(model: type[_CachedSchema]) -> str:
    return json.dumps(super(_CachedSchema, model).model_json_schema())


@lru_cache(maxsize=256)
def _described(schema: type[BaseModel], name: str, description: str) -> type[BaseModel]:
    return create_model(name, __base__=(_CachedSchema, schema), __doc__=description)


class ToolsKey:
    """Tools compared by identity, as the key of a cache: a value built from them is built once."""

    __slots__ = ("tools",)

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools = tuple(tools)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolsKey) and [*map(id, self.tools)] == [*map(id, other.tools)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.tools)))


def tool_name(tool: Tool) -> str | None:
    """Name a tool of a request, if it has a name."""
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return tool.get("name") or (function.get("name") if isinstance(function, dict) else None)


def is_deferred(tool: Tool) -> bool:
    """Return whether a client sends a tool as deferred."""
    return isinstance(tool, BaseTool) and (tool.extras or {}).get(_DEFER_KEY) is True


def with_deferral(tool: Tool, *, deferred: bool) -> Tool:
    """Return a tool that its client sends as deferred or not; dictionaries are not changed."""
    if not isinstance(tool, BaseTool) or (not deferred and _DEFER_KEY not in (tool.extras or {})):
        return tool
    extras = {key: value for key, value in (tool.extras or {}).items() if key != _DEFER_KEY}
    return tool.model_copy(update={"extras": {**extras, _DEFER_KEY: True} if deferred else extras})


def as_openai(tool: Tool) -> dict[str, Any]:
    """Return a tool in the form of `convert_to_openai_tool`; callers must not change it."""
    if isinstance(tool, ReadyTool) and not isinstance(tool.args_schema, dict):
        return _cached_as_openai(tool.name, tool.description, tool.args_schema)
    return convert_to_openai_tool(tool)


@lru_cache(maxsize=256)
def _cached_as_openai(name: str, description: str, schema: type[BaseModel]) -> dict[str, Any]:
    return convert_to_openai_tool(ReadyTool(name=name, description=description, args_schema=schema))
