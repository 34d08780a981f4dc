"""Tools whose schema is generated once per process, not once per agent.

LangChain infers the schema of a function's arguments when a tool is created, derives another
from it, without what the harness injects, when a model first sees the tool, and serializes that
as JSON: milliseconds each, for every tool of every agent. Ours are the same every time.
"""

import json
from functools import lru_cache
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ArgsSchema
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, create_model


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
        given = self.args_schema
        if isinstance(given, dict):
            return {**given, "description": self.description}
        return _described(given, self.name, self.description)


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


def as_openai(tool: BaseTool | dict[str, Any]) -> dict[str, Any]:
    """Return a tool in the form of `convert_to_openai_tool`; callers must not change it."""
    if isinstance(tool, ReadyTool) and not isinstance(tool.args_schema, dict):
        return _as_openai(tool.name, tool.description, tool.args_schema)
    return convert_to_openai_tool(tool)


@lru_cache(maxsize=256)
def _as_openai(name: str, description: str, schema: type[BaseModel]) -> dict[str, Any]:
    return convert_to_openai_tool(ReadyTool(name=name, description=description, args_schema=schema))
