"""A provider on the loopback: applies the rules, answers as the provider would.

One server serves all four wires. A request that breaks a rule, or is larger than the window,
is answered with status 400 and is recorded; any other gets the model's next move.
"""

import json
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.rules.anthropic import prefix_digest, thinking_blocks
from tests.rules.rule import Issued, Provider, Request, Thought
from tests.rules.story import Move
from tests.rules.table import faults
from thalweg.engine.tokens import exact_counter

IMAGE_TOKENS = 300
"""What a provider counts for the one small image of the stories."""
QUESTION = "[This is not the user speaking.]"
"""How the request for a summary behind a live request begins."""
OPAQUE = frozenset(
    {
        "signature",
        "data",
        "encrypted_content",
        "thoughtSignature",
        "url",
        "image_url",
        "file_data",
    }
)
"""Fields whose strings are not read as text."""


@dataclass(slots=True)
class Endpoint:
    """What one provider has been asked, and what it will answer."""

    window: int
    """The agent's, in tokens."""
    own: int = 1_000_000
    """The model's, which a request for a summary may fill: an agent's may be set smaller."""
    moves: deque[Move] = field(default_factory=deque)
    issued: Issued = field(default_factory=Issued)
    requests: int = 0
    refused: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    reports: float = 1.0
    """Share of the true usage that is reported."""
    counts: float = 1.0
    """Tokens of this provider per token of o200k."""
    written: list[str] = field(default_factory=list)
    """Every text that the model has written."""
    serial: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def play(self, moves: Sequence[Move]) -> None:
        """Set the moves of the next turn."""
        self.moves = deque(moves)

    def answer(self, provider: Provider, model: str, raw: bytes) -> tuple[int, dict[str, Any]]:
        """Return status and body for one request."""
        with self.lock:
            self.requests += 1
            body = parsed(raw)
            request = Request(body, raw, model, self.issued)
            broken = faults(provider, request)
            if broken:
                self.refused.append(broken[0])
                return 400, error_body(provider, broken[0])
            tokens = round(count(body) * self.counts)
            window = self.window if body.get("tools") else self.own
            if tokens > window:
                self.over.append(f"{tokens} of {window} tokens")
                return 400, error_body(provider, too_large(provider, tokens, window))
            move = self.next_move(body)
            if move.fails:
                return 500, error_body(provider, "Internal server error")
            self.serial += 1
            return 200, ANSWERS[provider](self, request, move, round(tokens * self.reports))

    def next_move(self, body: Any) -> Move:  # noqa: ANN401 (JSON)
        """Return the next move; a request for a summary gets one, and uses up none."""
        if not body.get("tools") or asks_for_summary(body):
            return Move("A short summary.", thinks=False)
        move = self.moves.popleft() if self.moves else Move("Nothing more to do.")
        self.written.append(move.text)
        return move


def asks_for_summary(body: Any) -> bool:  # noqa: ANN401 (JSON)
    """Return whether a request continues the live one, tools included, with our question."""
    sent = body.get("messages") or body.get("input") or body.get("contents") or [""]
    return QUESTION in json.dumps(sent[-1])


def parsed(raw: bytes) -> Any:  # noqa: ANN401 (JSON)
    """Return the body; where it is no JSON, an empty one (the rules name the fault)."""
    try:
        return json.loads(raw)
    except ValueError:
        return {}


@lru_cache(maxsize=4096)
def text_tokens(text: str) -> int:
    """Count a text's tokens."""
    return exact_counter()(text)


def count(body: object, field_name: str = "") -> int:
    """Count the tokens of a body: its texts, a few for each object, and images at a fixed price."""
    if isinstance(body, str):
        if field_name in OPAQUE:
            return IMAGE_TOKENS if body.startswith("data:") or field_name == "data" else 0
        return text_tokens(body)
    if isinstance(body, dict):
        return 2 + sum(count(value, key) for key, value in body.items())
    if isinstance(body, list):
        return sum(count(value, field_name) for value in body)
    return 1


def too_large(provider: Provider, tokens: int, window: int) -> str:
    """Return the provider's words for a request that does not fit."""
    if provider == "anthropic":
        return f"prompt is too long: {tokens} tokens > {window} maximum"
    if provider == "gemini":
        return f"The input token count ({tokens}) exceeds the maximum number of tokens ({window})."
    return (
        f"This model's maximum context length is {window} tokens. However, your messages "
        f"resulted in {tokens} tokens. Please reduce the length of the messages."
    )


def error_body(provider: Provider, message: str) -> dict[str, Any]:
    """Return an error in the provider's shape."""
    if provider == "anthropic":
        kind = "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req"}
    if provider == "gemini":
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    kind = "invalid_request_error"
    code = "context_length_exceeded" if "context length" in message else None
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def chat_answer(point: Endpoint, request: Request, move: Move, tokens: int) -> dict[str, Any]:
    """Return a chat completion."""
    calls = [
        {
            "id": f"call_{point.serial:012d}{order:04d}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for order, call in enumerate(move.calls)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": move.text or None}
    if calls:
        message["tool_calls"] = calls
    return {
        "id": f"chatcmpl-{point.serial}",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": request.model,
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        ],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
    }


def responses_answer(point: Endpoint, request: Request, move: Move, tokens: int) -> dict[str, Any]:
    """Return a response with its reasoning, message and calls as items."""
    output: list[dict[str, Any]] = []
    if move.thinks:
        identity = f"rs_{point.serial:032x}"
        encrypted = f"gAAAA{point.serial:064x}"
        point.issued.reasoning[identity] = encrypted
        item: dict[str, Any] = {"type": "reasoning", "id": identity, "summary": []}
        if "reasoning.encrypted_content" in (request.body.get("include") or []):
            item["encrypted_content"] = encrypted
        output.append(item)
    if move.text or not move.calls:
        part = {"type": "output_text", "text": move.text, "annotations": []}
        output.append(
            {
                "type": "message",
                "id": f"msg_{point.serial:032x}",
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }
        )
    for order, call in enumerate(move.calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{point.serial:028x}{order:04x}",
                "call_id": f"call_{point.serial:012d}{order:04d}",
                "name": call.name,
                "arguments": call.arguments,
                "status": "completed",
            }
        )
    if move.thinks:
        point.issued.reasoned[output[1]["id"]] = output[0]["id"]
    return {
        "id": f"resp_{point.serial:032x}",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 20,
        },
    }


def anthropic_answer(point: Endpoint, request: Request, move: Move, tokens: int) -> dict[str, Any]:
    """Return a message; its thinking is bound to the request."""
    content: list[dict[str, Any]] = []
    mode = (request.body.get("thinking") or {}).get("type")
    if mode == "enabled" or (mode == "adaptive" and move.thinks):
        signature, thought = f"sig{point.serial:029d}", f"I think about step {point.serial}."
        previous = [found for *_, found, _ in thinking_blocks(request)]
        point.issued.thoughts[signature] = Thought(
            thought,
            request.model,
            prefix_digest(
                request.body.get("system"), request.body.get("tools"), request.body["messages"]
            ),
            previous[-1] if previous else "",
        )
        content.append({"type": "thinking", "thinking": thought, "signature": signature})
    if move.text:
        content.append({"type": "text", "text": move.text})
    for order, call in enumerate(move.calls):
        content.append(
            {
                "type": "tool_use",
                "id": f"toolu_{point.serial:018d}{order:04d}",
                "name": call.name,
                "input": object_of(call.arguments),
            }
        )
    usage = {"input_tokens": tokens, "output_tokens": 20}
    return {
        "id": f"msg_{point.serial:024d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": "tool_use" if move.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage | {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
    }


def gemini_answer(point: Endpoint, request: Request, move: Move, tokens: int) -> dict[str, Any]:
    """Return a candidate; the first call of it is signed."""
    parts: list[dict[str, Any]] = [{"text": move.text}] if move.text else []
    for order, call in enumerate(move.calls):
        part: dict[str, Any] = {
            "functionCall": {"name": call.name, "args": object_of(call.arguments)}
        }
        if order == 0:
            part["thoughtSignature"] = f"c2ln{point.serial:016d}"
            point.issued.signatures.add(part["thoughtSignature"])
        parts.append(part)
    content: dict[str, Any] = {"role": "model"}
    if parts:
        content["parts"] = parts
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": tokens,
            "candidatesTokenCount": 20,
            "totalTokenCount": tokens + 20,
        },
        "modelVersion": request.model,
    }


def object_of(arguments: str) -> dict[str, Any]:
    """Return arguments as the object that the wire wants; broken ones were cut to nothing."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) and "NaN" not in arguments else {}


ANSWERS = {
    "openai-chat": chat_answer,
    "openai-responses": responses_answer,
    "anthropic": anthropic_answer,
    "gemini": gemini_answer,
}


def provider_of(path: str) -> Provider:
    """Return whose wire a path belongs to."""
    if path.endswith("/chat/completions"):
        return "openai-chat"
    if path.endswith("/responses"):
        return "openai-responses"
    return "anthropic" if path.endswith("/messages") else "gemini"


@contextmanager
def serving(point: Endpoint) -> Iterator[str]:
    """Serve `point` on the loopback; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        wbufsize = 1 << 16  # one segment per answer: no delayed acknowledgement

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            path = self.path.partition("?")[0]
            provider = provider_of(path)
            model = path.rpartition("/")[2].partition(":")[0]
            if provider != "gemini":
                model = str(parsed(raw).get("model", ""))
            status, body = point.answer(provider, model, raw)
            payload = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is given)
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
