"""Items of OpenAI's Responses: what one may hold by itself."""

from collections.abc import Iterator
from functools import partial

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import (
    MOST_TEXT_CHARS,
    Rule,
    empty_array,
    function_name,
    identifier,
    image_url,
    missing,
    not_empty,
    objects,
    text_length,
    unknown,
    wrong_type,
    wrong_value,
)
from strict_llm.sealing import opened
from strict_llm.tables import read_table

MOST_ID_CHARS = 64
Parts = dict[str, list[str]]
"""Fields of content parts, by their type."""
_ROLES = ("assistant", "system", "developer", "user")
_TABLE = read_table("rules/responses_items.toml")
_FIELDS: dict[str, list[str]] = _TABLE["fields"]
_PREFIXES: dict[str, str] = _TABLE["prefixes"]
_INPUT: Parts = _TABLE["input"]
_OUTPUT: Parts = _TABLE["output"]


def kind_of(item: Object) -> str:
    """Return the type of an item; one with a role only is a message.

    Example:
        >>> kind_of({"role": "user", "content": "hi"}), kind_of({"type": "reasoning"})
        ('message', 'reasoning')
    """
    return str(item.get("type") or ("message" if "role" in item else ""))


def is_of_model(item: Object) -> bool:
    """Return whether the model wrote it."""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in ("reasoning", "compaction") or kind.endswith("_call")


def item_problems(path: str, item: Object) -> Iterator[RequestProblem]:
    """List the problems of one item."""
    kind = kind_of(item)
    if kind not in _FIELDS:
        if not kind:
            yield missing(f"{path}.type")
        elif not kind.endswith(("_call", "_call_output")):
            yield wrong_value(path, kind, tuple(_FIELDS))
        return
    yield from (
        unknown(f"{path}.{name}") for name in sorted(item.keys() - {"type", *_FIELDS[kind]})
    )
    yield from _id(path, kind, item.get("id"))
    yield from _RULES[kind](path, item)


def _id(path: str, kind: str, value: object) -> Iterator[RequestProblem]:
    prefix = _PREFIXES.get(kind)
    if not isinstance(value, str | None):
        yield wrong_type(f"{path}.id", "a string", value)
    elif value is not None and prefix is not None and not value.startswith(prefix):
        yield RequestProblem(
            f"Invalid '{path}.id': '{value}'. Expected an ID that begins with '{prefix}'.",
            param=f"{path}.id",
            code="invalid_value",
        )


def _message(path: str, item: Object) -> Iterator[RequestProblem]:
    role = item.get("role")
    if role not in _ROLES:
        yield wrong_value(f"{path}.role", str(role), _ROLES)
        return
    if item.get("content") is None:
        yield missing(f"{path}.content")
    else:
        known = _OUTPUT if role == "assistant" else _INPUT
        yield from _content(f"{path}.content", item["content"], known)


def _content(path: str, content: object, known: Parts) -> Iterator[RequestProblem]:
    if isinstance(content, str):
        yield from text_length(path, content, MOST_TEXT_CHARS)
    elif not isinstance(content, list):
        yield wrong_type(path, "one of an array of objects or string", content)
    else:
        yield from objects(path, content, partial(_part, known=known))


def _part(path: str, part: Object, known: Parts) -> Iterator[RequestProblem]:
    kind = part.get("type")
    if not isinstance(kind, str) or kind not in known:
        yield (
            missing(f"{path}.type") if kind is None else wrong_value(path, str(kind), tuple(known))
        )
        return
    for name in sorted(part.keys() - {"type", *known[kind]}):
        yield unknown(f"{path}.{name}")
    if kind == "input_image" and not isinstance(part.get("file_id"), str):
        yield from image_url(f"{path}.image_url", part.get("image_url"))
    text = {"input_text": "text", "output_text": "text", "refusal": "refusal"}.get(kind)
    if text is not None and not isinstance(part.get(text), str):
        yield missing(f"{path}.{text}")


def _call_id(path: str, item: Object) -> Iterator[RequestProblem]:
    call_id = item.get("call_id")
    if call_id == "":
        yield from not_empty(f"{path}.call_id", call_id)
    yield from identifier(f"{path}.call_id", call_id, MOST_ID_CHARS)


def _call(path: str, item: Object) -> Iterator[RequestProblem]:
    yield from _call_id(path, item)
    yield from function_name(f"{path}.name", item.get("name"))
    if not isinstance(item.get("arguments"), str):
        yield wrong_type(f"{path}.arguments", "a string", item.get("arguments"))


def _output(path: str, item: Object) -> Iterator[RequestProblem]:
    yield from _call_id(path, item)
    output = item.get("output")
    if output is None:
        yield missing(f"{path}.output")
    elif output == []:
        yield empty_array(f"{path}.output")
    else:
        yield from _content(f"{path}.output", output, _INPUT)


def _reasoning(path: str, item: Object) -> Iterator[RequestProblem]:
    summary, seal = item.get("summary"), item.get("encrypted_content")
    if not isinstance(summary, list):
        yield missing(f"{path}.summary")
    else:
        for n, part in enumerate(summary):
            if not isinstance(part, dict) or not isinstance(part.get("text"), str):
                yield missing(f"{path}.summary[{n}].text")
    if not isinstance(seal, str | None):
        yield wrong_type(f"{path}.encrypted_content", "a string", seal)
    elif seal is not None and opened(seal) is None:
        yield RequestProblem(
            f"The encrypted content for item {item.get('id', '')} could not be verified. "
            "Reason: Encrypted content could not be decrypted or parsed.",
            code="invalid_encrypted_content",
        )


def _tools(path: str, item: Object) -> Iterator[RequestProblem]:
    """Check tools that are added at a point of the input; see `AdditionalTools` of `openai`."""
    if item.get("role") != "developer":
        yield wrong_value(f"{path}.role", str(item.get("role")), ("developer",))
    tools = item.get("tools")
    if not isinstance(tools, list):
        yield wrong_type(f"{path}.tools", "an array of objects", tools)
        return
    yield from objects(f"{path}.tools", tools, tool_problems)


def tool_problems(path: str, tool: Object) -> Iterator[RequestProblem]:
    """List the problems of one tool."""
    if tool.get("type") == "function":
        yield from function_name(f"{path}.name", tool.get("name"))


def _compaction(path: str, item: Object) -> Iterator[RequestProblem]:
    if not isinstance(item.get("encrypted_content"), str):
        yield missing(f"{path}.encrypted_content")


_RULES: dict[str, Rule] = {
    "message": _message,
    "function_call": _call,
    "function_call_output": _output,
    "reasoning": _reasoning,
    "additional_tools": _tools,
    "compaction": _compaction,
}
