"""Checks on a body of OpenAI's `POST /v1/chat/completions`."""

import re
from collections.abc import Iterator
from typing import Any

from tests.rules.rule import Request
from tests.rules.shared import bad_base64, bad_image_url, bad_schema, repeated

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PARTS = {
    "system": {"text"},
    "developer": {"text"},
    "user": {"text", "image_url", "input_audio", "file"},
    "assistant": {"text", "refusal"},
    "tool": {"text"},
}


def messages(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each message with its path."""
    for index, message in enumerate(request.body.get("messages") or []):
        yield f"messages.{index}", message


def tool_calls(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each tool call with its path."""
    for path, message in messages(request):
        for index, call in enumerate(message.get("tool_calls") or []):
            yield f"{path}.tool_calls.{index}", call


def has_messages(request: Request) -> Iterator[str]:
    """There is a message, and each has a role that the endpoint accepts."""
    if not request.body.get("messages"):
        yield "messages: empty array"
    for path, message in messages(request):
        if message.get("role") not in PARTS:
            yield f"{path}.role: {message.get('role')!r}"


def content(request: Request) -> Iterator[str]:
    """Content is a string, or a list of at least one part that the role may have."""
    for path, message in messages(request):
        value = message.get("content")
        if value is None:
            if message.get("role") != "assistant" or not message.get("tool_calls"):
                yield f"{path}.content: null, expected a string"
        elif isinstance(value, list):
            if not value:
                yield f"{path}.content: empty array, expected at least one part"
            for index, part in enumerate(value):
                if part.get("type") not in PARTS.get(message["role"], set()):
                    yield f"{path}.content.{index}: {part.get('type')!r} in a {message['role']}"
        elif not isinstance(value, str):
            yield f"{path}.content: neither string nor array"


def calls_are_answered(request: Request) -> Iterator[str]:
    """Tool calls are followed at once by one tool message for each, and by no other."""
    open_ids: set[str] = set()
    for path, message in messages(request):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_ids:
                yield f"{path}: answers no call right before it: {message.get('tool_call_id')!r}"
            open_ids.discard(str(message.get("tool_call_id")))
            continue
        if open_ids:
            yield f"{path}: tool_call_ids without a response: {sorted(open_ids)}"
        ids = [str(call.get("id")) for call in message.get("tool_calls") or []]
        for again in repeated(ids):
            yield f"{path}.tool_calls: duplicate id {again!r}"
        open_ids = set(ids)
    if open_ids:
        yield f"messages: tool_call_ids without a response: {sorted(open_ids)}"


def calls_are_not_empty(request: Request) -> Iterator[str]:
    """`tool_calls` is absent or has an item."""
    for path, message in messages(request):
        if message.get("tool_calls") == []:
            yield f"{path}.tool_calls: empty array, expected at least one"


def call_names(request: Request) -> Iterator[str]:
    """A called function's name has the alphabet and length of a declared one."""
    for path, call in tool_calls(request):
        name = (call.get("function") or {}).get("name")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            yield f"{path}.function.name: {name!r} does not match {NAME.pattern}"


def call_ids(request: Request) -> Iterator[str]:
    """A call's id is a string of 1 to 40 characters."""
    for path, call in tool_calls(request):
        if not isinstance(call.get("id"), str) or not 1 <= len(call["id"]) <= 40:
            yield f"{path}.id: {call.get('id')!r} is not 1 to 40 characters"


def call_arguments(request: Request) -> Iterator[str]:
    """A call's arguments are one string."""
    for path, call in tool_calls(request):
        if not isinstance((call.get("function") or {}).get("arguments"), str):
            yield f"{path}.function.arguments: no string"


PDF = "data:application/pdf"


def media(request: Request) -> Iterator[str]:
    """An image is a web address or base64 of a supported type; a file is base64 with a name."""
    for path, message in messages(request):
        value = message.get("content")
        for index, part in enumerate(value if isinstance(value, list) else []):
            where = f"{path}.content.{index}"
            if part.get("type") == "image_url":
                fault = bad_image_url((part.get("image_url") or {}).get("url"))
                if fault:
                    yield f"{where}.image_url: {fault}"
            elif part.get("type") == "file":
                file = part.get("file") or {}
                data = str(file.get("file_data", "")).rpartition(",")[2]
                if not file.get("file_id") and (bad_base64(data) or not file.get("filename")):
                    yield f"{where}.file: neither an id nor named base64 data"
                elif not str(file.get("file_data", "data:application/pdf")).startswith(PDF):
                    yield f"{where}.file: no PDF"
            elif part.get("type") == "input_audio":
                form = (part.get("input_audio") or {}).get("format")
                if form not in {"wav", "mp3"}:
                    yield f"{where}.input_audio.format: {form!r}"


def participant_names(request: Request) -> Iterator[str]:
    """A message's `name` has 1 to 64 characters, no white space and no sign of a mark-up."""
    for path, message in messages(request):
        name = message.get("name")
        if name is not None and not re.fullmatch(r"[^\s<|\\/>]{1,64}", str(name)):
            yield f"{path}.name: {name!r}"


def text_length(request: Request) -> Iterator[str]:
    """No content string is longer than 10,485,760 characters."""
    for path, message in messages(request):
        if isinstance(message.get("content"), str) and len(message["content"]) > 10_485_760:
            yield f"{path}.content: string too long"


def tools(request: Request) -> Iterator[str]:
    """A declared function has a name of the alphabet, used once, and an object schema."""
    functions = [tool.get("function") or {} for tool in request.body.get("tools") or []]
    if request.body.get("tools") == []:
        yield "tools: empty array"
    for index, function in enumerate(functions):
        if not NAME.fullmatch(str(function.get("name", ""))):
            yield f"tools.{index}.function.name: {function.get('name')!r}"
        fault = bad_schema(function["parameters"]) if "parameters" in function else ""
        if fault:
            yield f"tools.{index}.function.parameters: {fault}"
    for again in repeated(str(function.get("name")) for function in functions):
        yield f"tools: {again!r} is declared twice"


def tool_choice(request: Request) -> Iterator[str]:
    """A tool choice comes with tools, and one that names a function names a declared one."""
    choice = request.body.get("tool_choice")
    declared = {tool["function"]["name"] for tool in request.body.get("tools") or []}
    if choice is not None and not declared:
        yield "tool_choice: only allowed when tools are specified"
    named = choice["function"]["name"] if isinstance(choice, dict) and "function" in choice else ""
    if named and named not in declared:
        yield f"tool_choice: {named!r} is not declared"
