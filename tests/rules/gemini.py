"""Checks on a body of Gemini's `models/…:generateContent`."""

import base64
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from tests.rules.rule import Request
from tests.rules.shared import bad_base64, repeated

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]*")
SIGNED = re.compile(r"gemini-(3|4)")
"""Models that refuse a function call without its thought signature."""
UNCHECKED = frozenset({"context_engineering_is_the_way_to_go", "skip_thought_signature_validator"})
"""Values that the documentation allows for calls of another origin."""
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
        "codeExecutionResult", "toolCall", "toolResponse")  # fmt: skip


def pick(value: Any, camel: str) -> Any:  # noqa: ANN401 (JSON)
    """Return a field by its camel-case name; both spellings are accepted."""
    snake = re.sub(r"([A-Z])", lambda found: "_" + found[1].lower(), camel)
    return value.get(camel, value.get(snake)) if isinstance(value, dict) else None


def contents(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each content with its path."""
    for index, content in enumerate(request.body.get("contents") or []):
        yield f"contents[{index}]", content


def parts(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each part with its path."""
    for path, content in contents(request):
        for index, part in enumerate(content.get("parts") or []):
            yield f"{path}.parts[{index}]", part


def kinds(content: Any) -> set[str]:  # noqa: ANN401 (JSON)
    """Return which fields a content's parts have."""
    return {key for part in content.get("parts") or [] for key in DATA if pick(part, key)}


def has_contents(request: Request) -> Iterator[str]:
    """There is a content, each is of the user or the model and has a part."""
    if not request.body.get("contents"):
        yield "contents is not specified"
    for path, content in contents(request):
        if content.get("role", "user") not in {"user", "model", "function"}:
            yield f"{path}.role: please use a valid role: user, model"
        if not content.get("parts"):
            yield f"{path}.parts: must include at least one part"


def part_data(request: Request) -> Iterator[str]:
    """A part has exactly one kind of data, and a text is not empty."""
    for path, part in parts(request):
        given = [key for key in DATA if pick(part, key) is not None]
        if len(given) != 1:
            yield f"{path}.data: field 'data' must have one initialized field: {given}"
        elif given == ["text"] and not part["text"]:
            yield f"{path}: it has an empty text parameter"


def system_instruction(request: Request) -> Iterator[str]:
    """A system instruction is absent or has text in each part."""
    instruction = pick(request.body, "systemInstruction")
    if instruction is None:
        return
    for index, part in enumerate(instruction.get("parts") or [{}]):
        if not part.get("text"):
            yield f"system_instruction.parts[{index}].data: must have one initialized field"


def first_is_user(request: Request) -> Iterator[str]:
    """The conversation begins with the user and ends with the user or function responses."""
    listed = [content for _, content in contents(request)]
    if listed and listed[0].get("role", "user") == "model":
        yield "contents[0]: the conversation must begin with a user turn"
    if listed and listed[-1].get("role", "user") == "model":
        yield "contents: requests must end with a user turn or a function response"


def calls_are_answered(request: Request) -> Iterator[str]:
    """A call turn follows a user or response turn, and as many responses follow it at once."""
    listed = list(contents(request))
    for index, (path, content) in enumerate(listed):
        before = listed[index - 1][1] if index else {}
        after = listed[index + 1][1] if index + 1 < len(listed) else {}
        called = [pick(p, "functionCall") for p in content.get("parts") or []]
        called = [call for call in called if call]
        if called:
            if not index or before.get("role", "user") == "model":
                yield f"{path}: a function call turn comes right behind a user or response turn"
            answers = [pick(p, "functionResponse") for p in after.get("parts") or []]
            answers = [answer for answer in answers if answer]
            if len(answers) != len(called):
                yield f"{path}: {len(called)} function call parts, {len(answers)} response parts"
            elif sorted(c.get("name", "") for c in called) != sorted(
                a.get("name", "") for a in answers
            ):
                yield f"{path}: responses name other functions than the calls"
        if "functionResponse" in kinds(content) and "functionCall" not in kinds(before):
            yield f"{path}: a function response turn comes right behind a function call turn"


def call_ids(request: Request) -> Iterator[str]:
    """Where calls have ids, their responses have the same ones."""
    listed = list(contents(request))
    for (path, content), (_, after) in pairwise(listed):
        calls = [pick(p, "functionCall") for p in content.get("parts") or []]
        answers = [pick(p, "functionResponse") for p in after.get("parts") or []]
        wanted = [c["id"] for c in calls if c and c.get("id")]
        given = {a["id"] for a in answers if a and a.get("id")}
        if given and set(wanted) - given:
            yield f"{path}: no response with the ids {sorted(set(wanted) - given)}"
        for again in repeated(wanted):
            yield f"{path}: duplicate function call id {again}"


def call_shape(request: Request) -> Iterator[str]:
    """Names have the alphabet and at most 64 characters; arguments and responses are objects."""
    for path, part in parts(request):
        for key, value in (("functionCall", "args"), ("functionResponse", "response")):
            found = pick(part, key)
            if not found:
                continue
            name = str(found.get("name", ""))
            if not NAME.fullmatch(name) or len(name) > 64:
                yield f"{path}.{key}.name: invalid function name {name!r}"
            if value == "response" and not isinstance(found.get("response"), dict):
                yield f"{path}.{key}.response: not an object"
            if not isinstance(found.get(value, {}), dict):
                yield f"{path}.{key}.{value}: not an object"


def thought_signatures(request: Request) -> Iterator[str]:
    """In the current turn, the first call of each step has the signature it was issued with."""
    listed = list(contents(request))
    begin = max(
        (
            i
            for i, (_, c) in enumerate(listed)
            if c.get("role", "user") != "model" and "text" in kinds(c)
        ),
        default=0,
    )
    for index, (path, content) in enumerate(listed):
        calls = [p for p in content.get("parts") or [] if pick(p, "functionCall")]
        for order, part in enumerate(calls):
            signature = pick(part, "thoughtSignature")
            if signature is None:
                if order == 0 and index > begin and SIGNED.search(request.model):
                    yield f"{path}: function call is missing a thought_signature"
            elif signature not in request.issued.signatures and not unchecked(signature):
                yield f"{path}: invalid thought signature"


def unchecked(signature: str) -> bool:
    """Whether a signature is one of the documented substitutes, plain or in base64."""
    encoded = {base64.b64encode(value.encode()).decode() for value in UNCHECKED}
    return signature.replace("-", "+").replace("_", "/") in encoded or signature in UNCHECKED


def media(request: Request) -> Iterator[str]:
    """Inline data has a type and is base64."""
    for path, part in parts(request):
        data = pick(part, "inlineData")
        if data is None:
            continue
        if not re.fullmatch(r"[\w.+-]+/[\w.+-]+", str(pick(data, "mimeType"))):
            yield f"{path}.inline_data.mime_type: {pick(data, 'mimeType')!r}"
        if bad_base64(str(data.get("data", "")).replace("-", "+").replace("_", "/")):
            yield f"{path}.inline_data.data: empty or not base64"


def tools(request: Request) -> Iterator[str]:
    """A declared function has a name of the alphabet, used once, and an object schema."""
    declared = [
        function
        for tool in request.body.get("tools") or []
        for function in pick(tool, "functionDeclarations") or []
    ]
    for index, function in enumerate(declared):
        name = str(function.get("name", ""))
        if not NAME.fullmatch(name) or len(name) > 64:
            yield f"tools[0].function_declarations[{index}].name: invalid function name {name!r}"
        schema = function.get("parameters")
        if schema is not None and str(schema.get("type", "")).lower() != "object":
            yield f"tools[0].function_declarations[{index}].parameters: type is not OBJECT"
        for key in (schema or {}).get("properties") or {}:
            if not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}", key):
                yield f"tools[0].function_declarations[{index}].parameters: name {key!r}"
    for again in repeated(str(function.get("name")) for function in declared):
        yield f"tools: duplicate function declaration {again!r}"
