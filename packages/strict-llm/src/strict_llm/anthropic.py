"""The messages API of Anthropic."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from strict_llm.cache import PromptCache
from strict_llm.counting import (
    MESSAGE_TOKENS,
    CountedPiece,
    Measured,
    TokenCounter,
    call_piece,
    compact,
    document_piece,
    image_piece,
    tool_pieces,
)
from strict_llm.dialect import Event, StrictDialect, deltas
from strict_llm.exchange import (
    PLAIN,
    Answer,
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
from strict_llm.rules.anthropic import problems
from strict_llm.rules.anthropic_binding import (
    binding_problems,
    bound_signature,
    drops,
    forced_problems,
    unbound,
)
from strict_llm.rules.anthropic_blocks import content_blocks
from strict_llm.rules.anthropic_compaction import (
    compaction_problems,
    is_triggered,
    visible,
)
from strict_llm.rules.anthropic_deferral import definition, prefixed, referenced
from strict_llm.rules.anthropic_editing import EditedBody, edited, editing_problems
from strict_llm.sealing import signature

_STOPS = {"stop": "end_turn", "length": "max_tokens", "refusal": "refusal"}


class AnthropicDialect(StrictDialect):
    """`POST /v1/messages`."""

    wire: WireName = "anthropic"
    body_bytes = 32 * 1024 * 1024

    def __init__(self) -> None:
        self._counter = TokenCounter()

    def missing_key(self, headers: Mapping[str, str]) -> RequestProblem | None:
        """Return the problem of a request without the headers that its client always sends.

        See `StrictDialect.missing_key`.
        """
        if not headers.get("x-api-key") and not headers.get("authorization"):
            return RequestProblem("x-api-key header is required", 401, "authentication_error")
        if not headers.get("anthropic-version"):
            return RequestProblem("anthropic-version: header is required")
        return None

    def too_large(self) -> RequestProblem:
        """Refuse a body for its size; see `StrictDialect.too_large`."""
        return RequestProblem("Request exceeds the maximum size", 413, "request_too_large")

    def problems(self, body: Object, traits: RequestTraits = PLAIN) -> Iterable[RequestProblem]:
        """Return the problems of a body, except for its length in tokens.

        See `StrictDialect.problems`.
        """
        found = [*problems(body, takes_system=traits.takes_system)]
        betas = traits.betas
        found = found or [*compaction_problems(body, betas), *editing_problems(body, betas)]
        if (rest := body if found else visible(body)) is not body:
            found = [*problems(rest, takes_system=traits.takes_system)]
        if found or not traits.binds:
            return found
        found += [*binding_problems(body, betas), *forced_problems(body)]
        return found if drops(body) else [*found, *(one.problem for one in unbound(body))]

    def dropped(self, body: Object, traits: RequestTraits) -> tuple[str, ...]:
        """Return the paths of the blocks dropped from a valid body before the model sees it.

        See `StrictDialect.dropped`.
        """
        return tuple(one.path for one in unbound(body)) if traits.binds else ()

    def overflow(self, body: Object, measured: Measured, window: int) -> RequestProblem | None:
        """Refuse a body that the window does not hold; see `StrictDialect.overflow`."""
        total, max_tokens = measured.total, body["max_tokens"]
        if total > window:
            return RequestProblem(f"prompt is too long: {total} tokens > {window} maximum")
        if total + max_tokens > window:
            return RequestProblem(
                f"input length and `max_tokens` exceed context limit: {total} + {max_tokens} > "
                f"{window}, decrease input length or `max_tokens` and try again"
            )
        return None

    def items(self, body: Object) -> tuple[Any, ...]:
        """Return the messages of a valid body as the model sees them, the system prompt first.

        See `StrictDialect.items`.
        """
        return _items(self._edited(body).body)

    def tools(self, body: Object) -> tuple[Tool, ...]:
        """Return the tools that the model sees; see `StrictDialect.tools`."""
        later = [definition(body, name) for name in dict.fromkeys(referenced(body))]
        return tuple(Tool.of(tool, "input_schema") for tool in (*prefixed(body), *later))

    def max_tokens(self, body: Object) -> int | None:
        """Return the maximum tokens of output in a body; see `StrictDialect.max_tokens`."""
        most: int = body["max_tokens"]
        return most

    def pieces(self, body: Object) -> list[CountedPiece]:
        """Render a valid body for counting, as it is edited; see `StrictDialect.pieces`."""
        return _rendered(self._edited(body).body)

    def _edited(self, body: Object) -> EditedBody:
        return edited(visible(body), self._count)

    def _count(self, body: Object) -> int:
        return self._counter.measure(_rendered(body), 1.0).total

    def _managed(self, body: Object) -> Object:
        """Report the content that context editing removed, if it was requested."""
        if not body.get("context_management"):
            return {}
        applied = self._edited(body).applied
        return {"context_management": {"applied_edits": [*applied]}}

    def compacted(self, body: Object, tokens: int, summarize: Summarize) -> CompactedBody | None:
        """Compact a body at its threshold; see `StrictDialect.compacted`."""
        if not is_triggered(body, tokens):
            return None
        text = summarize(self.items(body))
        block = {"type": "compaction", "content": text}
        messages = [{"role": "assistant", "content": [block]}]
        return CompactedBody({**body, "messages": messages}, block, text)

    def spend(
        self, cache: PromptCache, model: str, measured: Measured, now: float
    ) -> ExchangeTokens:
        """Look a request up in the prompt cache, and store it there; see `StrictDialect.spend`."""
        return cache.marked(model, measured, now)

    def adapt_answer(self, body: Object, answer: Answer) -> Answer:
        """See `StrictDialect.adapt_answer`. Where thinking is on, a model always thinks."""
        enabled = (body.get("thinking") or {}).get("type") == "enabled"
        if enabled and not answer.thinking:
            return replace(answer, thinking="Let me see what is asked.")
        return answer

    def whole(self, reply: Reply) -> Object:
        """Write the body of an answer; see `StrictDialect.whole`."""
        managed = self._managed(reply.request.body)
        whole = {**_head(reply), "content": _content(reply), **_end(reply)}
        return {**whole, **_transformed(reply), **managed}

    def events(self, reply: Reply) -> Iterator[Event]:
        """Write an answer as a stream; see `StrictDialect.events`."""
        start = {**_head(reply), "content": [], "stop_reason": None, "stop_sequence": None}
        start |= _transformed(reply)
        start["usage"] = {**_usage(reply), "output_tokens": 1}
        yield _event("message_start", message=start)
        yield _event("ping")
        for n, block in enumerate(_content(reply)):
            opening, parts = _unfolded(block)
            yield _event("content_block_start", index=n, content_block=opening)
            for delta in parts:
                yield _event("content_block_delta", index=n, delta=delta)
            yield _event("content_block_stop", index=n)
        end = _end(reply)
        usage = end.pop("usage")
        managed = self._managed(reply.request.body)
        yield _event("message_delta", delta=end, usage=usage, **managed)
        yield _event("message_stop")

    def error(self, problem: RequestProblem, request_id: str) -> Object:
        """Write the body of an error; see `StrictDialect.error`."""
        error = {"type": problem.kind, "message": problem.message}
        return {"type": "error", "error": error, "request_id": request_id}


def _items(body: Object) -> tuple[Any, ...]:
    system = [{"role": "system", "content": body["system"]}] if body.get("system") else []
    return (*system, *body["messages"])


def _rendered(body: Object) -> list[CountedPiece]:
    tools = [
        replace(piece, keep=_keep(tool))
        for tool in prefixed(body)
        for piece in tool_pieces([_unmarked(tool)])
    ]
    pieces = tools + [
        piece
        for item in _items(body)
        for piece in _pieces(item["role"], _expanded(body, content_blocks(item["content"])))
    ]
    if body.get("cache_control") and pieces:
        pieces[-1] = replace(pieces[-1], keep=_keep(body))
    return pieces


def _expanded(body: Object, blocks: Sequence[Object]) -> list[Object]:
    """Replace references to tools by their definitions."""
    expanded: list[Object] = []
    for block in blocks:
        content = block.get("content") if block["type"] == "tool_result" else None
        if isinstance(content, list):
            inner = [
                {"type": "text", "text": compact(definition(body, one["tool_name"]))}
                if one["type"] == "tool_reference"
                else one
                for one in content
            ]
            expanded.append({**block, "content": inner})
        else:
            expanded.append(block)
    return expanded


def _keep(holder: Object) -> str:
    mark = holder.get("cache_control")
    return (mark.get("ttl") or "5m") if isinstance(mark, dict) else ""


def _unmarked(tool: Object) -> Object:
    return {name: value for name, value in tool.items() if name != "cache_control"}


def _pieces(role: str, blocks: Sequence[Object]) -> Iterator[CountedPiece]:
    framing = MESSAGE_TOKENS
    for block in blocks:
        pieces = list(_block_pieces(role, block))
        if block["type"] != "tool_result":  # which has its own
            pieces[0] = replace(pieces[0], framing=pieces[0].framing + framing)
            framing = 0
        pieces[-1] = replace(pieces[-1], keep=_keep(block))
        yield from pieces


def _block_pieces(kind: str, block: Object) -> Iterator[CountedPiece]:
    match block["type"]:
        case "text":
            yield CountedPiece(kind, block["text"])
        case "thinking":
            yield CountedPiece(f"{kind} thinking", block["thinking"])
        case "tool_use":
            arguments = json.dumps(block["input"], ensure_ascii=False)
            yield call_piece(block["id"], block["name"], arguments)
        case "tool_result":
            yield from _result_pieces(f"result {block['tool_use_id']}", block.get("content"))
        case "image":
            yield image_piece("anthropic", kind, compact(block["source"]))
        case "document":
            yield document_piece("anthropic", kind, compact(block["source"]))
        case _:
            yield CountedPiece(kind, compact(_unmarked(block)))


def _result_pieces(kind: str, content: object) -> Iterator[CountedPiece]:
    inner = [p for block in content_blocks(content) for p in _block_pieces(kind, block)]
    first, *rest = inner or [CountedPiece(kind, "")]
    yield replace(first, framing=MESSAGE_TOKENS)
    yield from rest


def _head(reply: Reply) -> Object:
    return {
        "id": f"msg_{reply.uid}",
        "type": "message",
        "role": "assistant",
        "model": reply.request.model,
    }


def _end(reply: Reply) -> Object:
    stop = _STOPS[reply.answer.finish]
    if reply.answer.calls and stop == "end_turn":
        stop = "tool_use"
    return {"stop_reason": stop, "stop_sequence": None, "usage": _usage(reply)}


def _transformed(reply: Reply) -> Object:
    """Report the dropped reasoning, to clients that sent the beta header for it."""
    body = reply.request.body
    if not (reply.traits.binds and drops(body)):
        return {}
    return {"input_transformations": [one.dropped for one in unbound(body)]}


def _content(reply: Reply) -> list[Object]:
    answer, body = reply.answer, reply.body
    content: list[Object] = [reply.compacted.block] if reply.compacted else []
    if answer.thinking:
        bound = reply.traits.binds
        signed = bound_signature(answer.thinking, body) if bound else signature(answer.thinking)
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": signed})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    return content + [
        {
            "type": "tool_use",
            "id": f"toolu_{reply.call_id(n)}",
            "name": name,
            "input": _object(arguments),
        }
        for n, (name, arguments) in enumerate(answer.calls)
    ]


def _object(arguments: Mapping[str, Any] | str) -> Object:
    """Return the arguments of a call as the object that this API sends them as."""
    whole: Object = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
    return whole


def _unfolded(block: Object) -> tuple[Object, list[Object]]:
    """Part a block into what opens it in a stream and the deltas that fill it."""
    match block["type"]:
        case "compaction":
            return {**block, "content": None}, [{**block, "type": "compaction_delta"}]
        case "thinking":
            parts = [{"type": "thinking_delta", "thinking": t} for t in deltas(block["thinking"])]
            parts.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, parts
        case "text":
            parts = [{"type": "text_delta", "text": text} for text in deltas(block["text"])]
            return {**block, "text": ""}, parts
        case _:
            written = json.dumps(block["input"], ensure_ascii=False)
            texts = ["", *deltas(written)]
            parts = [{"type": "input_json_delta", "partial_json": text} for text in texts]
            return {**block, "input": {}}, parts


def _event(name: str, **data: object) -> Event:
    return name, {"type": name, **data}


def _usage(reply: Reply) -> Object:
    usage = {**_tokens(reply.spent), "service_tier": "standard"}
    if reply.compacted is None:
        return usage
    steps = (("compaction", reply.compacted.spent), ("message", reply.spent))
    return {**usage, "iterations": [{"type": kind, **_tokens(each)} for kind, each in steps]}


def _tokens(spent: ExchangeTokens) -> Object:
    written = spent.written_5m + spent.written_1h
    return {
        "input_tokens": spent.input - spent.cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": spent.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": spent.written_5m,
            "ephemeral_1h_input_tokens": spent.written_1h,
        },
        "output_tokens": spent.output,
    }
