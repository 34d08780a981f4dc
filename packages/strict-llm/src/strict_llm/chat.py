"""The chat completions API of OpenAI."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
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
    ExchangeTokens,
    Object,
    Reply,
    RequestProblem,
    RequestTraits,
    Tool,
    WireName,
)
from strict_llm.openai import OpenAIDialect
from strict_llm.rules.chat import problems

_CREATED = 1_700_000_000


class ChatDialect(OpenAIDialect):
    """`POST /v1/chat/completions`."""

    wire: WireName = "openai-chat"

    def problems(self, body: Object, traits: RequestTraits = PLAIN) -> Iterable[RequestProblem]:
        """Return the problems of a body, except for its length in tokens.

        See `StrictDialect.problems`.
        """
        del traits
        return problems(body)

    def overflow(self, body: Object, measured: Measured, window: int) -> RequestProblem | None:
        """Refuse a body that the window does not hold; see `StrictDialect.overflow`."""
        total, max_tokens = measured.total, self.max_tokens(body) or 0
        if total + max_tokens <= window:
            return None
        code, head = "context_length_exceeded", f"This model's maximum context length is {window}"
        if total > window:
            return RequestProblem(
                f"{head} tokens. However, your messages resulted in {total} tokens. "
                "Please reduce the length of the messages.",
                param="messages",
                code=code,
            )
        return RequestProblem(
            f"{head} tokens. However, you requested {total + max_tokens} tokens ({total} in the "
            f"messages, {max_tokens} in the completion). "
            "Please reduce the length of the messages or completion.",
            param="messages",
            code=code,
        )

    def items(self, body: Object) -> tuple[Any, ...]:
        """Return the messages of a valid body, its system prompt as one of them.

        See `StrictDialect.items`.
        """
        return tuple(body["messages"])

    def tools(self, body: Object) -> tuple[Tool, ...]:
        """Return the tools of a valid body; see `StrictDialect.tools`."""
        return tuple(Tool.of(tool["function"]) for tool in body.get("tools") or ())

    def max_tokens(self, body: Object) -> int | None:
        """Return the maximum tokens of output in a body; see `StrictDialect.max_tokens`."""
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        return limit if isinstance(limit, int) else None

    def pieces(self, body: Object) -> list[CountedPiece]:
        """Render a valid body for counting; see `StrictDialect.pieces`."""
        messages = [piece for message in body["messages"] for piece in _pieces(message)]
        return tool_pieces(tool["function"] for tool in body.get("tools") or ()) + messages

    def whole(self, reply: Reply) -> Object:
        """Write the body of an answer; see `StrictDialect.whole`."""
        answer = reply.answer
        message: Object = {"role": "assistant", "content": answer.text or None, "refusal": None}
        if answer.finish == "refusal":
            message |= {"content": None, "refusal": answer.text}
        if answer.calls:
            message["tool_calls"] = _calls(reply)
        elif answer.finish != "refusal":
            message["content"] = answer.text
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _finish(reply),
        }
        return {
            **_head(reply, "chat.completion"),
            "choices": [choice],
            "usage": _usage(reply.spent),
        }

    def events(self, reply: Reply) -> Iterator[Event]:
        """Write an answer as a stream; see `StrictDialect.events`."""
        head = _head(reply, "chat.completion.chunk")
        options = reply.request.body.get("stream_options") or {}
        with_usage: Object = {"usage": None} if options.get("include_usage") else {}
        for delta, finish in _stream(reply):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            yield "", {**head, "choices": [choice], **with_usage}
        if with_usage:
            yield "", {**head, "choices": [], "usage": _usage(reply.spent)}
        yield "", "[DONE]"


def _pieces(message: Object) -> list[CountedPiece]:
    kind = f"{message['role']} {message.get('tool_call_id') or message.get('name') or ''}"
    content = message.get("content") or ""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    pieces = [_part_piece(kind, part) for part in parts] + [
        call_piece(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    ]
    return [replace(pieces[0], framing=pieces[0].framing + MESSAGE_TOKENS), *pieces[1:]]


def _part_piece(kind: str, part: Object) -> CountedPiece:
    match part["type"]:
        case "text" | "refusal":
            return CountedPiece(kind, part[part["type"]])
        case "image_url":
            image = part["image_url"]
            url = image["url"] if isinstance(image, dict) else image
            return image_piece("openai-chat", kind, url)
        case "input_audio":
            sound = part["input_audio"]
            mime = f"audio/{sound['format']}"
            return document_piece("openai-chat", kind, sound["data"], mime)
        case _:
            return document_piece("openai-chat", kind, compact(part))


def _head(reply: Reply, kind: str) -> Object:
    return {
        "id": f"chatcmpl-{reply.uid}",
        "object": kind,
        "created": _CREATED + reply.request.number,
        "model": reply.request.model,
        "service_tier": "default",
        "system_fingerprint": "fp_strict",
    }


def _finish(reply: Reply) -> str:
    if reply.answer.finish == "length":
        return "length"
    return "tool_calls" if reply.answer.calls else "stop"


def _calls(reply: Reply) -> list[Object]:
    return [
        {
            "id": f"call_{reply.call_id(n)}",
            "type": "function",
            "function": {"name": name, "arguments": written(arguments)},
        }
        for n, (name, arguments) in enumerate(reply.answer.calls)
    ]


def _stream(reply: Reply) -> Iterator[tuple[Object, str | None]]:
    refuses = reply.answer.finish == "refusal"
    yield (
        {"role": "assistant", "content": None if reply.answer.calls else "", "refusal": None},
        None,
    )
    for text in deltas(reply.answer.text):
        yield {"refusal" if refuses else "content": text}, None
    for n, call in enumerate(_calls(reply)):
        arguments = call["function"]["arguments"]
        opening = {**call, "function": {**call["function"], "arguments": ""}}
        yield {"tool_calls": [{"index": n, **opening}]}, None
        for text in deltas(arguments):
            yield {"tool_calls": [{"index": n, "function": {"arguments": text}}]}, None
    yield {}, _finish(reply)


def _usage(spent: ExchangeTokens) -> Object:
    return {
        "prompt_tokens": spent.input,
        "completion_tokens": spent.output,
        "total_tokens": spent.input + spent.output,
        "prompt_tokens_details": {"cached_tokens": spent.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": spent.thinking,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
