"""Tools whose schema is generated once per process, not once per agent.

LangChain infers the schema of a function's arguments when a tool is created, derives another
from it, without the arguments that the harness injects, when a model first sees the tool, and
serializes that as JSON: milliseconds each, for every tool of every agent. Ours are the same every
time.

`OwnTools` decides which of ours are in a request, and rejects another tool with the same name. A
reference implies that the tool which reads it is in the request (I51). Without a reference, an
agent without tools remains without them (I52); see decision 0072.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools.base import ArgsSchema
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, create_model

from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError

Tool = BaseTool | dict[str, Any]
"""A tool of a request: LangChain's object, or a provider's dictionary."""
_RUNTIME_ARGUMENT = "runtime"
"""The argument in which LangGraph passes a tool the context of its run."""
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


class LenientTool(ReadyTool):
    """A tool that passes over arguments which it does not take: models make some up."""

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """See `BaseTool.run`; `arun` comes here as well."""
        if isinstance(tool_input, dict):
            accepted_names = {*self.args, _RUNTIME_ARGUMENT}
            tool_input = {
                name: value for name, value in tool_input.items() if name in accepted_names
            }
        return super().run(tool_input, *args, **kwargs)


class ContextTool(LenientTool):
    """A tool of the context engine: requests have it only if it is of use."""


def with_tool(tools: Sequence[Tool], tool: BaseTool | None) -> list[Tool]:
    """Return tools with one of ours among them: the last, if it was not there."""
    if tool is None or any(tool_name(present) == tool.name for present in tools):
        return [*tools]
    return [*tools, tool]


@dataclass(slots=True)
class OwnTools:
    """The tools of a request, the user's and ours."""

    given: tuple[Tool, ...]
    """As the request came: other middleware may have removed some."""
    registered: Mapping[str, BaseTool]
    """Ours that the agent can execute, by name."""
    policy: ContextPolicy
    is_taken: bool
    """Whether the model accepts our tools."""
    others: tuple[Tool, ...] = ()
    """Those that are not ours."""

    @classmethod
    def of(
        cls,
        request: ModelRequest[Any],
        registered: Sequence[BaseTool],
        policy: ContextPolicy,
        *,
        is_taken: bool = True,
    ) -> "OwnTools":
        """Read the tools of a request.

        Args:
            request: The request, before ours are removed or added.
            registered: Ours that the agent can execute.
            policy: When ours are sent.
            is_taken: Whether the model takes tools.

        Raises:
            ConfigError: Another tool has the name of one of ours.
        """
        known, others = {tool.name: tool for tool in registered}, list[Tool]()
        for tool in request.tools:
            if isinstance(tool, ContextTool):
                continue
            if (name := tool_name(tool)) in known:
                raise _name_conflict_error(str(name), policy)
            others.append(tool)
        is_taken = is_taken and bool(known)
        return cls(tuple(request.tools), known, policy, is_taken, tuple(others))

    @property
    def recall(self) -> BaseTool | None:
        """The tool that reads references, if the model takes it."""
        return self.registered.get(self.policy.tool_names.recall) if self.is_taken else None

    @property
    def reference(self) -> str:
        """The name that references have; empty if they are notes."""
        return "" if self.recall is None else self.recall.name

    def sent(self, *, refers: bool) -> list[Tool]:
        """Return the tools to send.

        Args:
            refers: Whether the request has a reference.
        """
        if refers and self.recall is not None:
            return with_tool(self.given, self.recall)
        always = self.policy.tools == "on" or bool(self.others)
        return [*self.given] if always and self.recall is not None else [*self.others]


def _name_conflict_error(name: str, policy: ContextPolicy) -> ConfigError:
    setting = next(
        setting_name
        for setting_name, tool_named in policy.tool_names.model_dump().items()
        if tool_named == name
    )
    return ConfigError(
        "tools",
        f"two tools are named {name!r}: yours, and the one of ContextMiddleware that "
        "references in requests name",
        f'rename ours, ContextPolicy(tool_names={{"{setting}": "{setting}_context"}}), or leave it '
        'out, ContextPolicy(tools="off")',
    )
