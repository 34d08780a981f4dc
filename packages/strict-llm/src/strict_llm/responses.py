"""The responses API of OpenAI."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count
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
from strict_llm.dialect import Event, deltas, written
from strict_llm.exchange import (
    PLAIN,
    CompactedBody,
    ExchangeTokens,
    Object,
    Reply,
    RequestProblem,
    RequestTraits,
    Summarize,
    Tool,
    WireName,
)
from strict_llm.openai import OpenAIDialect
from strict_llm.rules.responses import IssuedItems, problems
from strict_llm.rules.responses_compaction import (
    is_triggered,
    sealed_summary,
    summary_in,
    visible,
)
from strict_llm.rules.responses_items import is_of_model, kind_of
from strict_llm.sealing import opened, sealed

_CREATED = 1_700_000_000
_WITH_SEAL = "reasoning.encrypted_content"


class ResponsesDialect(OpenAIDialect):
    """`POST /v1/responses`."""

    wire: WireName = "openai-responses"

    def __init__(self) -> None:
        self._issued = IssuedItems()
        self._compactions = count(1)

    def problems(self, body: Object, traits: RequestTraits = PLAIN) -> Iterable[RequestProblem]:
        """Return the problems of a body, except for its length in tokens.

        See `StrictDialect.problems`.
        """
        del traits
        return problems(body, self._issued)

    def overflow(
        self,
        body: Object,  # noqa: ARG002 (the output has a place of its own)
        measured: Measured,
        window: int,
    ) -> RequestProblem | None:
        """Refuse a body that the window does not hold; see `StrictDialect.overflow`."""
        if measured.total <= window:
            return None
        return RequestProblem(
            "Your input exceeds the context window of this model. Please adjust your input and "
            "try again.",
            param="input",
            code="context_length_exceeded",
        )

    def items(self, body: Object) -> tuple[Any, ...]:
        """Return the messages of a valid body, its system prompt as one of them.

        See `StrictDialect.items`.
        """
        given, instructions = body["input"], body.get("instructions")
        head = [{"role": "system", "content": instructions}] if instructions else []
        messages = (
            [{"role": "user", "content": given}] if isinstance(given, str) else visible(given)
        )
        return (*head, *messages)

    def tools(self, body: Object) -> tuple[Tool, ...]:
        """Return the tools of a valid body; see `StrictDialect.tools`."""
        return tuple(
            Tool.of(tool)
            for tool in (*(body.get("tools") or ()), *_added_tools(body))
            if tool.get("type") == "function"
        )

    def max_tokens(self, body: Object) -> int | None:
        """Return the maximum tokens of output in a body; see `StrictDialect.max_tokens`."""
        limit = body.get("max_output_tokens")
        return limit if isinstance(limit, int) else None

    def pieces(self, body: Object) -> list[CountedPiece]:
        """See `StrictDialect.pieces`. Neighbouring items of the model are framed as one message."""
        pieces = tool_pieces(body.get("tools") or ())
        before: Object = {}
        for item in self.items(body):
            framing = 0 if is_of_model(item) and is_of_model(before) else MESSAGE_TOKENS
            first, *rest = list(_pieces(item)) or [CountedPiece(kind_of(item), "")]
            pieces += [replace(first, framing=first.framing + framing), *rest]
            before = item
        return pieces

    def compacted(self, body: Object, tokens: int, summarize: Summarize) -> CompactedBody | None:
        """Compact a body at its threshold; see `StrictDialect.compacted`."""
        if not is_triggered(body, tokens):
            return None
        text, uid = summarize(self.items(body)), next(self._compactions)
        item = {"type": "compaction", "id": f"cmp_{uid}"}
        item |= {"encrypted_content": sealed_summary(body["model"], text)}
        return CompactedBody({**body, "input": [item]}, item, text)

    def whole(self, reply: Reply) -> Object:
        """Write the body of an answer; see `StrictDialect.whole`."""
        return _response(reply, self._output(reply))

    def events(self, reply: Reply) -> Iterator[Event]:
        """Write an answer as a stream; see `StrictDialect.events`."""
        output = self._output(reply)
        numbers = count()
        for name, data in _events(reply, output):
            yield name, {"type": name, "sequence_number": next(numbers), **data}

    def _output(self, reply: Reply) -> list[Object]:
        """Make the items of an answer; the reasoning among them is remembered."""
        output = list(_output(reply))
        if output[0]["type"] == "reasoning":
            stored = reply.request.body.get("store") is not False
            self._issued.remember(output[0]["id"], output[1]["id"], stored=stored)
        return [reply.compacted.block, *output] if reply.compacted else output


def _added_tools(body: Object) -> Iterator[Object]:
    """Yield the tools that items of the input add."""
    items = body["input"] if isinstance(body["input"], list) else []
    for item in items:
        if kind_of(item) == "additional_tools":
            yield from item["tools"]


def _pieces(item: Object) -> Iterator[CountedPiece]:
    kind = kind_of(item)
    if kind == "message":
        yield from _content_pieces(item["role"], item["content"])
    elif kind == "function_call_output":
        yield from _content_pieces(f"result {item['call_id']}", item["output"])
    elif kind == "function_call":
        yield call_piece(item["call_id"], item["name"], item["arguments"])
    elif kind == "reasoning":
        summary = "\n\n".join(part.get("text", "") for part in item["summary"])
        yield CountedPiece(
            "reasoning", summary or opened(item.get("encrypted_content") or "") or ""
        )
    elif kind == "additional_tools":
        yield from tool_pieces(item["tools"])
    elif kind == "compaction":
        yield CountedPiece(kind, summary_in(item)[1])
    else:
        yield CountedPiece(kind, compact(item))


def _content_pieces(kind: str, content: str | list[Object]) -> Iterator[CountedPiece]:
    if isinstance(content, str):
        yield CountedPiece(kind, content)
        return
    for part in content:
        match part["type"]:
            case "input_text" | "output_text":
                yield CountedPiece(kind, part["text"])
            case "refusal":
                yield CountedPiece(kind, part["refusal"])
            case "input_image":
                source = part.get("image_url") or part.get("file_id") or ""
                yield image_piece("openai-responses", kind, source)
            case _:
                yield document_piece("openai-responses", kind, compact(part))


def _output(reply: Reply) -> Iterator[Object]:
    answer, uid = reply.answer, reply.uid
    status = "incomplete" if answer.finish == "length" else "completed"
    if answer.thinking:
        summary = [{"type": "summary_text", "text": answer.thinking}]
        item: Object = {"id": f"rs_{uid}", "type": "reasoning", "summary": summary}
        if _WITH_SEAL in (reply.request.body.get("include") or ()):
            item["encrypted_content"] = sealed(answer.thinking)
        yield item
    if answer.text or not answer.calls:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        if answer.finish == "refusal":
            part = {"type": "refusal", "refusal": answer.text}
        head = {"id": f"msg_{uid}", "type": "message", "role": "assistant"}
        yield {**head, "status": status, "content": [part]}
    for n, (name, arguments) in enumerate(answer.calls):
        yield {
            "id": f"fc_{reply.call_id(n)}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{reply.call_id(n)}",
            "name": name,
            "arguments": written(arguments),
        }


def _response(reply: Reply, output: list[Object]) -> Object:
    body, length = reply.request.body, reply.answer.finish == "length"
    return {
        "id": f"resp_{reply.uid}",
        "object": "response",
        "created_at": _CREATED + reply.request.number,
        "status": "incomplete" if length else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if length else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": reply.request.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": body.get("reasoning") or {"effort": None, "summary": None},
        "store": body.get("store") is not False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(reply.spent),
        "metadata": {},
    }


def _events(reply: Reply, output: list[Object]) -> Iterator[tuple[str, Object]]:
    whole = _response(reply, output)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for n, item in enumerate(output):
        opening = {**item, **_EMPTY[item["type"]]}
        yield "response.output_item.added", {"output_index": n, "item": opening}
        for name, data in _filling(item):
            yield f"response.{name}", {"item_id": item["id"], "output_index": n, **data}
        yield "response.output_item.done", {"output_index": n, "item": item}
    yield f"response.{whole['status']}", {"response": whole}


_EMPTY: dict[str, Object] = {
    "reasoning": {"summary": []},
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": "", "status": "in_progress"},
    "compaction": {},
}


def _filling(item: Object) -> Iterator[tuple[str, Object]]:
    match item["type"]:
        case "compaction":
            return
        case "reasoning":
            place = {"summary_index": 0}
            yield from _part("reasoning_summary", place, "text", item["summary"][0])
        case "message":
            part, place = item["content"][0], {"content_index": 0}
            field = "refusal" if part["type"] == "refusal" else "text"
            yield from _part("content", place, field, part)
        case _:
            for text in deltas(item["arguments"]):
                yield "function_call_arguments.delta", {"delta": text}
            done = {"name": item["name"], "arguments": item["arguments"]}
            yield "function_call_arguments.done", done


def _part(holder: str, place: Object, field: str, part: Object) -> Iterator[tuple[str, Object]]:
    name = "reasoning_summary_text" if holder == "reasoning_summary" else f"output_{field}"
    name = "refusal" if field == "refusal" else name
    yield f"{holder}_part.added", {**place, "part": {**part, field: ""}}
    logprobs: Object = {"logprobs": []} if name == "output_text" else {}
    for text in deltas(part[field]):
        yield f"{name}.delta", {**place, "delta": text, **logprobs}
    yield f"{name}.done", {**place, field: part[field], **logprobs}
    yield f"{holder}_part.done", {**place, "part": part}


def _usage(spent: ExchangeTokens) -> Object:
    return {
        "input_tokens": spent.input,
        "input_tokens_details": {"cached_tokens": spent.cached},
        "output_tokens": spent.output,
        "output_tokens_details": {"reasoning_tokens": spent.thinking},
        "total_tokens": spent.input + spent.output,
    }
