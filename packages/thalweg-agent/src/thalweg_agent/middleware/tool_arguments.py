"""Description of a tool's arguments in one line for a model, and validation of arguments."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from thalweg.context.ready_tools import as_openai
from thalweg_agent.prompts import prompt

PROBLEMS = 5
"""Most problems of one call that are named."""


def takes(name: str, tools: Sequence[BaseTool | dict[str, Any]]) -> str:
    """Return one line with the arguments of a tool, or with the names of all tools if unknown.

    Example:
        >>> from langchain_core.tools import tool
        >>> @tool
        ... def add(a: int, b: int = 0) -> int:
        ...     "Add."
        ...     return a + b
        >>> takes("add", [add])
        '`add` takes: a (integer), b (integer, optional).'
    """
    schemas = [_schema(tool) for tool in tools]
    found = next((schema for schema in schemas if schema.get("name") == name), None)
    if found is None:
        names = ", ".join(str(schema["name"]) for schema in schemas if schema.get("name"))
        return prompt("no_such_tool").render(names=names or "none")
    parameters = _object(found.get("parameters"))
    required = parameters.get("required") or ()
    listed = [
        f"{argument} ({_kind(_object(given))}{'' if argument in required else ', optional'})"
        for argument, given in _object(parameters.get("properties")).items()
    ]
    if not listed:
        return prompt("takes_nothing").render(name=name)
    return prompt("takes").render(name=name, arguments=", ".join(listed))


def problems_of(tool: BaseTool, arguments: Mapping[str, Any]) -> list[str]:
    """Return the problems of arguments, without repeating them: they may be long.

    Returns:
        An empty list if they match the schema that the model has.
    """
    schema = tool.tool_call_schema
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        model = tool.args_schema
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return []
        schema = model
    try:
        schema.model_validate(dict(arguments))
    except ValidationError as error:
        return [
            f"- {'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)[:PROBLEMS]
        ]
    return []


def _schema(tool: BaseTool | dict[str, Any]) -> Mapping[str, Any]:
    if isinstance(tool, BaseTool):
        return _object(as_openai(tool).get("function"))
    return _object(tool.get("function", tool))


def _object(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _kind(schema: Mapping[str, Any]) -> str:
    if choices := schema.get("enum"):
        return f"one of {', '.join(map(str, choices))}"
    if any_of := schema.get("anyOf"):
        kinds = [_kind(_object(each)) for each in any_of]
        return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_kind(_object(schema.get('items')))}"
    return str(kind or "any")
