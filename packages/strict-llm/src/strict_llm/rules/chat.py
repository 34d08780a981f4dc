"""What OpenAI refuses in `POST /v1/chat/completions`."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import (
    MOST_TEXT_CHARS,
    array,
    function_name,
    identifier,
    image_url,
    missing,
    text_length,
    unknown,
    wrong_type,
    wrong_value,
)

ROLES = ("system", "assistant", "user", "function", "tool", "developer")
MOST_ID_CHARS = 40
_FIELDS = {
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "refusal",
    "audio",
    "function_call",
}
_PARTS = {
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
}


def problems(body: Object) -> Iterator[RequestProblem]:
    """List the problems of a request; of its messages' order only if each is well formed."""
    if not isinstance(body.get("model"), str):
        yield RequestProblem("you must provide a model parameter")
    messages = body.get("messages")
    if messages is None:
        yield missing("messages")
    else:
        yield from [*array("messages", messages, _message)] or _pairing(messages)
    if (tools := body.get("tools")) is not None:
        yield from _tools(tools)
    if not isinstance(options := body.get("stream_options") or {}, dict):
        yield wrong_type("stream_options", "an object", options)


def _tools(tools: object) -> Iterator[RequestProblem]:
    # A tool that is no object is refused as one without a function.
    listed = [t if isinstance(t, dict) else {} for t in tools] if isinstance(tools, list) else tools
    yield from array("tools", listed, _function)


def _function(path: str, holder: Object) -> Iterator[RequestProblem]:
    function = holder.get("function")
    if not isinstance(function, dict):
        yield missing(f"{path}.function")
    else:
        yield from function_name(f"{path}.function.name", function.get("name"))


def _message(path: str, message: Object) -> Iterator[RequestProblem]:
    role = message.get("role")
    if role is None:
        yield missing(f"{path}.role")
    elif role not in ROLES:
        yield wrong_value(f"{path}.role", str(role), ROLES)
    else:
        yield from (unknown(f"{path}.{name}") for name in sorted(message.keys() - _FIELDS))
        yield from _content(path, role, message)
        calls = message.get("tool_calls")
        if calls is not None and role == "assistant":
            yield from array(f"{path}.tool_calls", calls, _call)
        elif calls is not None:
            yield unknown(f"{path}.tool_calls")
        if role == "tool":
            call_id = message.get("tool_call_id")
            yield from identifier(f"{path}.tool_call_id", call_id, MOST_ID_CHARS)


def _content(path: str, role: str, message: Object) -> Iterator[RequestProblem]:
    content = message.get("content")
    if content is None:
        optional = role == "assistant" and any(
            message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio")
        )
        if not optional:
            yield RequestProblem(
                "Invalid value for 'content': expected a string, got null.",
                param=path.replace("[", ".[") + ".content",
            )
    elif isinstance(content, str):
        yield from text_length(f"{path}.content", content, MOST_TEXT_CHARS)
    elif not isinstance(content, list):
        yield wrong_type(f"{path}.content", "one of a string or array of objects", content)
    else:
        rule = partial(_part, known=_PARTS.get(role, ("text",)))
        yield from array(f"{path}.content", content, rule)


def _part(path: str, part: Object, known: tuple[str, ...]) -> Iterator[RequestProblem]:
    kind = part.get("type")
    if kind is None:
        yield missing(f"{path}.type")
    elif kind not in known:
        yield wrong_value(f"{path}.type", str(kind), known)
    elif kind == "image_url":
        image = part.get("image_url")
        yield from image_url(
            f"{path}.image_url.url", image.get("url") if isinstance(image, dict) else image
        )
    elif kind in {"text", "refusal"} and not isinstance(part.get(kind), str):
        yield missing(f"{path}.{kind}")


def _call(path: str, call: Object) -> Iterator[RequestProblem]:
    yield from identifier(f"{path}.id", call.get("id"), MOST_ID_CHARS)
    if call.get("type") is None:
        yield missing(f"{path}.type")
    yield from _function(path, call)
    function = call.get("function")
    if isinstance(function, dict) and not isinstance(given := function.get("arguments"), str):
        yield wrong_type(f"{path}.function.arguments", "a string", given)


def _pairing(messages: list[Any]) -> Iterator[RequestProblem]:
    """Every call is answered right after it, every answer answers a call, ids are not shared."""
    waiting: dict[str, int] = {}
    batch: list[str] = []
    answered: dict[str, int] = {}
    for n, message in enumerate(messages):
        if message["role"] != "tool":
            yield from _unanswered(waiting, n)
            batch = [call["id"] for call in message.get("tool_calls") or ()]
            yield from _shared(batch, n)
            waiting, answered = dict.fromkeys(batch, n), {}
            continue
        call_id = message["tool_call_id"]
        if not batch:
            yield RequestProblem(
                "Invalid parameter: messages with role 'tool' must be a response to a "
                "preceeding message with 'tool_calls'.",
                param=f"messages.[{n}].role",
            )
        elif call_id not in batch:
            yield RequestProblem(
                "Invalid parameter: 'tool_call_id' of "
                f"'{call_id}' not found in 'tool_calls' of previous message.",
                param=f"messages.[{n}].tool_call_id",
            )
        elif call_id in answered:
            yield RequestProblem(
                f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call_id}', "
                f"in messages[{answered[call_id]}] and messages[{n}].",
                param=f"messages.[{n}].tool_call_id",
            )
        else:
            answered[call_id] = n
            waiting.pop(call_id, None)
    yield from _unanswered(waiting, len(messages))


def _unanswered(waiting: dict[str, int], at: int) -> Iterator[RequestProblem]:
    if waiting:
        yield RequestProblem(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            + ", ".join(waiting),
            param=f"messages.[{at}].role",
        )


def _shared(batch: list[str], at: int) -> Iterator[RequestProblem]:
    for n, call_id in enumerate(batch):
        if call_id in batch[:n]:
            yield RequestProblem(
                f"Invalid parameter: Duplicate value for 'id' of '{call_id}' in 'tool_calls'.",
                param=f"messages.[{at}].tool_calls",
            )
