"""The generateContent API of Google's Gemini."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strict_llm.counting import (
    MESSAGE_TOKENS,
    CountedPiece,
    Measured,
    call_piece,
    compact,
    document_piece,
    image_piece,
    tool_pieces,
)
from strict_llm.dialect import Event, StrictDialect, deltas
from strict_llm.exchange import (
    PLAIN,
    Object,
    Reply,
    RequestProblem,
    RequestTraits,
    Tool,
    WireName,
)
from strict_llm.rules.gemini import mime_of, problems

_PATH = re.compile(r"/v1(?:beta)?/models/([^:]*):(.*)", re.DOTALL)
"""Both versions of the API; google-genai asks `v1beta` before version 3.6, `v1` since."""
_METHODS = {"generateContent": False, "streamGenerateContent": True}
"""Whether the answer is streamed, by method."""
_STATUSES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def path_fields(path: str) -> Object | None:
    """Read model and method off a path, as fields of a body; `None` of another path.

    Example:
        >>> path_fields("/v1beta/models/strict-1:generateContent")
        {'model': 'strict-1', 'stream': False}
        >>> path_fields("/v1/models/strict-1:streamGenerateContent")
        {'model': 'strict-1', 'stream': True}
    """
    found = _PATH.fullmatch(path)
    if found is None or found[2] not in _METHODS:
        return None
    return {"model": found[1], "stream": _METHODS[found[2]]}


class GeminiDialect(StrictDialect):
    """`POST /v1/models/MODEL:generateContent` (or `/v1beta/…`) and its stream."""

    wire: WireName = "gemini"
    body_bytes = 20_971_520

    def missing_key(self, headers: Mapping[str, str]) -> RequestProblem | None:
        """Return the problem of a request without the headers that its client always sends.

        See `StrictDialect.missing_key`.
        """
        if headers.get("x-goog-api-key"):
            return None
        return RequestProblem("Method doesn't allow unregistered callers.", 403)

    def too_large(self) -> RequestProblem:
        """Refuse a body for its size; see `StrictDialect.too_large`."""
        return RequestProblem(f"Request payload size exceeds the limit: {self.body_bytes} bytes.")

    def problems(self, body: Object, traits: RequestTraits = PLAIN) -> Iterable[RequestProblem]:
        """Return the problems of a body, except for its length in tokens.

        See `StrictDialect.problems`.
        """
        del traits
        return problems(body)

    def overflow(self, body: Object, measured: Measured, window: int) -> RequestProblem | None:
        """Refuse a body that the window does not hold; see `StrictDialect.overflow`."""
        del body
        if measured.total <= window:
            return None
        return RequestProblem(
            f"The input token count ({measured.total}) exceeds the maximum number of tokens "
            f"allowed ({window})."
        )

    def items(self, body: Object) -> tuple[Any, ...]:
        """Return the messages of a valid body, its system prompt as one of them.

        See `StrictDialect.items`.
        """
        instruction = body.get("systemInstruction")
        head = ({**instruction, "role": "system"},) if instruction else ()
        return (*head, *body["contents"])

    def tools(self, body: Object) -> tuple[Tool, ...]:
        """Return the tools of a valid body; see `StrictDialect.tools`."""
        return tuple(map(Tool.of, _functions(body)))

    def max_tokens(self, body: Object) -> int | None:
        """Return the maximum tokens of output in a body; see `StrictDialect.max_tokens`."""
        limit = (body.get("generationConfig") or {}).get("maxOutputTokens")
        return limit if isinstance(limit, int) else None

    def pieces(self, body: Object) -> list[CountedPiece]:
        """Render a valid body for counting; see `StrictDialect.pieces`."""
        return tool_pieces(_functions(body)) + [
            _piece(item["role"], part, MESSAGE_TOKENS * (k == 0))
            for item in self.items(body)
            for k, part in enumerate(item["parts"])
        ]

    def whole(self, reply: Reply) -> Object:
        """Write the body of an answer; see `StrictDialect.whole`."""
        text = [{"text": reply.answer.text}] if reply.answer.text else []
        return _chunk(reply, [*text, *_calls(reply)], is_last=True)

    def events(self, reply: Reply) -> Iterator[Event]:
        """Write an answer as a stream; see `StrictDialect.events`."""
        for text in deltas(reply.answer.text):
            yield "", _chunk(reply, [{"text": text}])
        yield "", _chunk(reply, _calls(reply), is_last=True)

    def error(self, problem: RequestProblem, request_id: str) -> Object:  # noqa: ARG002 (in a header)
        """Write the body of an error; see `StrictDialect.error`."""
        status = _STATUSES.get(problem.status, "UNKNOWN")
        return {"error": {"code": problem.status, "message": problem.message, "status": status}}


def _functions(body: Object) -> list[Object]:
    tools = body.get("tools") or ()
    return [function for tool in tools for function in tool.get("functionDeclarations") or ()]


def _piece(role: str, part: Object, framing: int) -> CountedPiece:
    call, file = part.get("functionCall"), part.get("inlineData") or part.get("fileData")
    if call is not None:
        return call_piece("", call["name"], compact(call.get("args") or {}))
    if file is None:
        return CountedPiece(role, part.get("text") or compact(part), framing)
    content = str(file.get("data") or file.get("fileUri"))
    if mime_of(file).startswith("image/"):
        return image_piece("gemini", role, content)
    return document_piece("gemini", role, content, mime_of(file))


def _calls(reply: Reply) -> list[Object]:
    return [{"functionCall": {"name": name, "args": args}} for name, args in reply.answer.calls]


def _chunk(reply: Reply, parts: list[Object], *, is_last: bool = False) -> Object:
    candidate: Object = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = _FINISH[reply.answer.finish]
    spent = reply.spent
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": spent.input,
            "cachedContentTokenCount": spent.cached,
            "candidatesTokenCount": spent.output - spent.thinking,
            "thoughtsTokenCount": spent.thinking,
            "totalTokenCount": spent.input + spent.output,
        },
        "modelVersion": reply.request.model,
        "responseId": reply.uid,
    }


_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
