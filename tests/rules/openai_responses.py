"""Checks on a body of OpenAI's `POST /v1/responses`."""

import re
from collections.abc import Iterator
from typing import Any

from tests.rules.rule import Request
from tests.rules.shared import bad_image_url, bad_schema, repeated

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
PARTS = {
    "system": {"input_text"},
    "developer": {"input_text"},
    "user": {"input_text", "input_image", "input_file", "input_audio"},
    "assistant": {"output_text", "refusal"},
}


def items(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each input item with its path; a string is one user message."""
    value = request.body.get("input")
    if isinstance(value, str):
        yield "input", {"type": "message", "role": "user", "content": value}
        return
    for index, item in enumerate(value or []):
        yield f"input.{index}", item


def kind(item: Any) -> str:  # noqa: ANN401 (JSON)
    """Return the item's type; one without a type is a message."""
    return str(item.get("type") or "message")


def has_input(request: Request) -> Iterator[str]:
    """There is input."""
    if not request.body.get("input"):
        yield "input: empty"


def content(request: Request) -> Iterator[str]:
    """A message's content is a string or parts that its role may have."""
    for path, item in items(request):
        if kind(item) != "message":
            continue
        allowed = PARTS.get(str(item.get("role")))
        if allowed is None:
            yield f"{path}.role: {item.get('role')!r}"
            continue
        value = item.get("content")
        if not isinstance(value, str | list):
            yield f"{path}.content: neither string nor array"
            continue
        for index, part in enumerate(value if isinstance(value, list) else []):
            if part.get("type") not in allowed:
                yield f"{path}.content.{index}: {part.get('type')!r} in a {item['role']}"


def calls_are_answered(request: Request) -> Iterator[str]:
    """Each function call has one output after it, and each output a call before it."""
    called: set[str] = set()
    answered: set[str] = set()
    for path, item in items(request):
        identity = str(item.get("call_id"))
        if kind(item) == "function_call":
            if identity in called:
                yield f"{path}: duplicate call_id {identity!r}"
            called.add(identity)
        elif kind(item) == "function_call_output":
            if identity not in called:
                yield f"{path}: no tool call found for function call output {identity!r}"
            if identity in answered:
                yield f"{path}: a second output for {identity!r}"
            answered.add(identity)
    for identity in sorted(called - answered):
        yield f"input: no tool output found for function call {identity!r}"


def call_shape(request: Request) -> Iterator[str]:
    """A call has a name of the alphabet, string arguments, and a call id of 1 to 64."""
    for path, item in items(request):
        if kind(item) not in {"function_call", "function_call_output"}:
            continue
        identity = item.get("call_id")
        if not isinstance(identity, str) or not 1 <= len(identity) <= 64:
            yield f"{path}.call_id: {identity!r} is not 1 to 64 characters"
        if kind(item) == "function_call":
            if not NAME.fullmatch(str(item.get("name", ""))):
                yield f"{path}.name: {item.get('name')!r} does not match {NAME.pattern}"
            if not isinstance(item.get("arguments"), str):
                yield f"{path}.arguments: no string"


def outputs(request: Request) -> Iterator[str]:
    """An output is a string, or a list of text, images and files."""
    allowed = {"input_text", "input_image", "input_file"}
    for path, item in items(request):
        if kind(item) != "function_call_output":
            continue
        value = item.get("output")
        if isinstance(value, list):
            for index, part in enumerate(value):
                if part.get("type") not in allowed:
                    yield f"{path}.output.{index}: {part.get('type')!r}"
        elif not isinstance(value, str):
            yield f"{path}.output: neither string nor array"


def item_ids(request: Request) -> Iterator[str]:
    """An item's id occurs once, has the prefix of its type and at most 64 characters."""
    found = [(path, item) for path, item in items(request) if item.get("id") is not None]
    for path, item in found:
        prefix = PREFIXES.get(kind(item), "")
        if not str(item["id"]).startswith(prefix) or len(str(item["id"])) > 64:
            yield f"{path}.id: {item['id']!r}, expected an id that begins with {prefix!r}"
    for again in repeated(str(item["id"]) for _, item in found):
        yield f"input: duplicate item found with id {again}"


def reasoning_pairs(request: Request) -> Iterator[str]:
    """A reasoning item precedes the item it was issued with, and neither is alone."""
    reasoned = request.issued.reasoned
    before: set[str] = set()
    waiting = ""
    for path, item in items(request):
        if kind(item) == "reasoning":
            if waiting:
                yield f"{waiting}: reasoning was provided without its required following item"
            waiting = path
            before.add(str(item.get("id")))
            continue
        if waiting and (
            kind(item) not in {"message", "function_call"} or role(item) != "assistant"
        ):
            yield f"{waiting}: reasoning was provided without its required following item"
        waiting = ""
        needed = reasoned.get(str(item.get("id")), "")
        if needed and needed not in before:
            yield f"{path}: {kind(item)} was provided without its required reasoning item {needed}"
    if waiting:
        yield f"{waiting}: reasoning was provided without its required following item"


def role(item: Any) -> str:  # noqa: ANN401 (JSON)
    """Return who wrote an item."""
    return str(item.get("role", "assistant"))


def reasoning_content(request: Request) -> Iterator[str]:
    """Encrypted reasoning comes back as issued; without storage, an id alone names nothing."""
    for path, item in items(request):
        if kind(item) != "reasoning":
            continue
        encrypted = item.get("encrypted_content")
        if encrypted is None:
            if request.body.get("store") is False:
                yield f"{path}: item {item.get('id')!r} not found, items are not persisted"
        elif encrypted not in request.issued.reasoning.values():
            yield f"{path}: the encrypted content could not be verified"
        elif item.get("id") and request.issued.reasoning.get(item["id"]) != encrypted:
            yield f"{path}: the encrypted content belongs to another item"


def media(request: Request) -> Iterator[str]:
    """An image is a file's id, a web address, or base64 of a supported type."""
    for path, item in items(request):
        value = item.get("content") if kind(item) == "message" else item.get("output")
        for index, part in enumerate(value if isinstance(value, list) else []):
            if part.get("type") == "input_image" and not part.get("file_id"):
                fault = bad_image_url(part.get("image_url"))
                if fault:
                    yield f"{path}.{index}.image_url: {fault}"


def tools(request: Request) -> Iterator[str]:
    """A declared function has a name of the alphabet, used once, and an object schema."""
    functions = [t for t in request.body.get("tools") or [] if t.get("type") == "function"]
    for index, function in enumerate(functions):
        if not NAME.fullmatch(str(function.get("name", ""))):
            yield f"tools.{index}.name: {function.get('name')!r}"
        fault = bad_schema(function["parameters"]) if function.get("parameters") else ""
        if fault:
            yield f"tools.{index}.parameters: {fault}"
    for again in repeated(str(function.get("name")) for function in functions):
        yield f"tools: {again!r} is declared twice"
