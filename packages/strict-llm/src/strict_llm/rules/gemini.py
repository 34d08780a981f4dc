"""What Google refuses in `models.generateContent`."""

import re
from collections.abc import Iterator
from typing import Any

from strict_llm.exchange import Object, RequestProblem
from strict_llm.rules.openai_problems import is_base64

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode")
_FIELDS = {*_DATA, "codeExecutionResult", "thought", "thoughtSignature", "videoMetadata"}
_MEDIA = ("image/", "audio/", "video/", "application/pdf", "text/")
_CALL_TURN = (
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn."
)
_RESPONSE_TURN = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
_AS_MANY = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
_ALTERNATE = "Please ensure that multiturn requests alternate between user and model."


def problems(body: Object) -> Iterator[RequestProblem]:
    """List the problems of a request; of its contents' order only if each is well formed."""
    yield from _tools(body)
    instruction = body.get("systemInstruction")
    if instruction is not None:
        yield from _content("systemInstruction", instruction)
    contents = body.get("contents")
    if not isinstance(contents, list) or not contents:
        yield _wrong("contents", "contents is not specified")
        return
    malformed = [p for n, content in enumerate(contents) for p in _turn(f"contents[{n}]", content)]
    yield from malformed or _order(contents)


def parts_of(content: Object, kind: str) -> list[Any]:
    """List the values of one kind in the parts of a content."""
    return [part[kind] for part in content.get("parts") or () if part.get(kind) is not None]


def _wrong(path: str, what: str) -> RequestProblem:
    return RequestProblem(f"* GenerateContentRequest.{path}: {what}\n")


def _tools(body: Object) -> Iterator[RequestProblem]:
    for n, tool in enumerate(body.get("tools") or ()):
        for k, function in enumerate(tool.get("functionDeclarations") or ()):
            if not NAME.fullmatch(str(function.get("name", ""))):
                yield _wrong(
                    f"tools[{n}].function_declarations[{k}].name",
                    "Invalid function name. Must start with a letter or an underscore. Must be "
                    "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes "
                    "(-), with a maximum length of 64.",
                )


def _turn(path: str, content: Object) -> Iterator[RequestProblem]:
    if content.get("role") not in ("user", "model"):
        yield RequestProblem("Please use a valid role: user, model.")
    yield from _content(path, content)


def _content(path: str, content: Object) -> Iterator[RequestProblem]:
    parts = content.get("parts")
    if not parts:
        yield _wrong(f"{path}.parts", "contents.parts must not be empty.")
    for k, part in enumerate(parts or ()):
        yield from _part(f"{path}.parts[{k}]", part)


def _part(path: str, part: Object) -> Iterator[RequestProblem]:
    for name in sorted(part.keys() - _FIELDS):
        yield RequestProblem(f"Invalid JSON payload received. Unknown name \"{name}\" at '{path}'.")
    if sum(bool(part.get(kind)) for kind in _DATA) != 1:
        yield _wrong(f"{path}.data", "required oneof field 'data' must have one initialized field")
    for kind, field in _NAMED.items():
        named = part.get(kind)
        if named is not None and not NAME.fullmatch(str(named.get("name") or "")):
            what = "Invalid function name." if named.get("name") else "Name cannot be empty."
            yield _wrong(f"{path}.{field}.name", what)
    if (inline := part.get("inlineData")) is not None:
        yield from _inline(path, inline)


_NAMED = {"functionCall": "function_call", "functionResponse": "function_response"}


def _inline(path: str, inline: Object) -> Iterator[RequestProblem]:
    mime, data = mime_of(inline), str(inline.get("data", ""))
    if not mime.startswith(_MEDIA):
        yield RequestProblem(f"Unsupported MIME type: {mime}")
    # Google's client sends base64 in the alphabet of addresses.
    elif not is_base64(data.replace("-", "+").replace("_", "/")):
        yield RequestProblem(
            f"Invalid value at '{path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"
        )


def _order(contents: list[Object]) -> Iterator[RequestProblem]:
    """Turns alternate; a turn of calls is answered by as many responses in the next one."""
    if contents[0]["role"] != "user":
        yield RequestProblem(_ALTERNATE)
    calls, role = 0, ""
    for content in contents:
        responses = len(parts_of(content, "functionResponse"))
        if role == content["role"]:
            yield RequestProblem(_CALL_TURN if parts_of(content, "functionCall") else _ALTERNATE)
        if responses and not calls:
            yield RequestProblem(_RESPONSE_TURN)
        elif calls != responses:
            yield RequestProblem(_AS_MANY)
        calls, role = len(parts_of(content, "functionCall")), content["role"]
    if calls:
        yield RequestProblem(_AS_MANY)


def mime_of(inline: Object) -> str:
    """Return the type of content by value: JSON of Protocol Buffers has two names for a field."""
    return str(inline.get("mimeType") or inline.get("mime_type") or "")
