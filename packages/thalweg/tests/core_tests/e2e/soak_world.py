"""A small world for long runs: tools with results of every size and kind, users, a model.

Everything is drawn from one seed. Messages and actions are written down where they happen, so
that the archive can be compared with them.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools.tool_node import ToolCallRequest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.types import Command

from core_tests.strict_requests import messages_of
from strict_llm import Answer, Request
from thalweg.context.request.messages import read_state
from thalweg.engine.entries import Media, Message, Text

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n and a pixel").decode()
PICTURE = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
HANDLE = re.compile(r'recall\(handle="(\w{16})')
LARGEST = 400_000
SUMMARY = "## Goal\n- Look at the modules before the release."
RULES = 24
"""Constraints that users set in one soak; each must be kept word for word."""
SAID = {
    "en": "Look at module {n} and tell me what it needs before the release of version 3.{n}.",
    "zh": "请检查第{n}个模块，并告诉我发布之前还需要做什么。",
    "ja": "モジュール{n}を確認して、リリース前に必要なことを教えてください。",
    "de": "Sieh dir Modul {n} an und sag mir, was vor der Ausgabe noch fehlt.",
}
RULE = "Never change anything under vendor/part{n:03}/ without asking me first."


def payload(rng: Random, kind: str, size: int) -> str:
    """Make a text of about this size."""
    size = max(10, size)
    match kind:
        case "line":
            words = ("alpha", "beta", "gamma", "delta", f"{rng.random():.6f}")
            return " ".join(rng.choices(words, k=size // 6 + 1))[:size]
        case "json":
            row = {"id": rng.randrange(10**6), "name": "entry", "tags": ["a", "b"]}
            rows = [{**row, "n": n} for n in range(size // 60 + 1)]
            return json.dumps({"rows": rows})
        case "log":
            lines = (
                f"2026-03-{n % 28 + 1:02} {rng.randrange(24):02}:00 worker-{n} done in {n} ms"
                for n in range(size // 44 + 1)
            )
            return "\n".join(lines)[:size]
        case "base64":
            return base64.b64encode(rng.randbytes(size * 3 // 4)).decode()
        case _:
            return ("模块已经检查完毕，没有发现问题。" * (size // 16 + 1))[:size]


@dataclass
class World:
    """What happened, and what happens next."""

    seed: int
    rng: Random = field(init=False)
    said: list[str] = field(default_factory=list)
    """The users' messages, in order."""
    rules: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    """Answers and results, as `signed` writes them."""
    steps: int = 0
    """Turns with tools that remain in this run."""
    turns: int = 0
    summaries: int = 0
    requests: list[int] = field(default_factory=list)
    """Tokens of the agent's requests that passed."""
    last: Request | None = None
    lacking: list[tuple[int, str]] = field(default_factory=list)
    """Requests that lacked the user's latest words, or a constraint."""
    mangles: bool = False
    """Whether ids of calls are as some servers assign them: the same in every turn, or odd."""

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)  # noqa: S311 (it is to be the same)

    def request(self) -> HumanMessage:
        """Return a user's next message."""
        rng, n = self.rng, len(self.said)
        words = SAID[rng.choice(tuple(SAID))].format(n=n)
        if len(self.rules) < RULES and rng.random() < 0.2:
            self.rules.append(RULE.format(n=len(self.rules)))
            words += f"\n{self.rules[-1]}"
        if rng.random() < 0.1:
            words += "\n" + payload(rng, rng.choice(("log", "cjk")), rng.randrange(200, 2_000))
        self.said.append(words)
        self.steps = rng.randrange(1, 9)
        if rng.random() < 0.1:
            return HumanMessage([{"type": "text", "text": words}, PICTURE])
        return HumanMessage(words)

    def answer(self, request: Request) -> Answer:
        """Return the model's answer; look closely at what it was sent."""
        if not request.tools:
            self.summaries += 1
            return Answer(
                self.rng.choice(("", "OK.", "- the release is 9.9.9", "## Goal\n- go on"))
            )
        self._look(request)
        if "[This is not the user speaking.]" in messages_of(request)[-1].text:
            self.summaries += 1
            return Answer(SUMMARY)
        self.turns += 1
        self.last = request
        self.requests.append(request.tokens)
        thinking = "Let me think about it." if self.rng.random() < 0.6 else ""
        if self.steps <= 0:
            return Answer(f"Module {len(self.said)} is fine. 完成。", thinking=thinking)
        self.steps -= 1
        calls = tuple(self._call(request) for _ in range(self.rng.choice((1, 1, 1, 2, 3))))
        return Answer(self.rng.choice(("", "Let me look.")), calls, thinking=thinking)

    def _look(self, request: Request) -> None:
        users = [message for message in messages_of(request) if message.role == "user"]
        text = "\n".join(message.text for message in users)
        said, rules = heard(request)
        words = (self.said[said - 1], *self.rules[:rules])
        self.lacking += [(request.number, said[-60:]) for said in words if said not in text]

    def _call(self, request: Request) -> tuple[str, dict[str, Any]]:
        rng = self.rng
        choice = rng.random()
        if choice < 0.1:
            shown = [h for m in messages_of(request) for h in HANDLE.findall(m.text)]
            if shown:
                return "recall", self._recalled(shown)
        if choice < 0.12:
            return "compact_conversation", {}
        if choice < 0.2:
            return "look", {"n": rng.randrange(100)}
        if choice < 0.3:
            size = int(10 ** rng.uniform(1, 4.7))
            return "store", {
                "path": f"out/{rng.randrange(9)}.md",
                "text": payload(rng, "log", size),
            }
        top = 5.6 if rng.random() < 0.2 else 3.6
        size = min(LARGEST, int(10 ** rng.uniform(1, top)))
        kind = rng.choice(("line", "json", "log", "base64", "cjk"))
        size = size // 2 if kind == "cjk" else size
        return "fetch", {"kind": kind, "size": size, "seed": rng.randrange(10**9)}

    def _recalled(self, shown: list[str]) -> dict[str, Any]:
        rng, handle = self.rng, self.rng.choice(shown)
        ways: tuple[dict[str, Any], ...] = (
            {"handle": handle},
            {"handle": handle, "chars": [0, 500]},
            {"handle": handle, "lines": [1, 20]},
            {"handle": handle, "query": "worker release"},
            {"query": "vendor"},
        )
        return rng.choice(ways)

    def tools(self) -> list[BaseTool]:
        """Make the tools of the agent."""

        @tool
        def fetch(kind: str, size: int, seed: int) -> str:
            """Fetch a text."""
            return payload(Random(seed), kind, size)  # noqa: S311 (as above)

        @tool
        def look(n: int) -> list[dict[str, Any]]:
            """Look at a picture."""
            return [{"type": "text", "text": f"picture {n}"}, PICTURE]

        @tool
        def store(path: str, text: str) -> str:
            """Store a text."""
            return f"{len(text)} characters in {path}"

        return [fetch, look, store]

    def note(self, messages: Sequence[Any]) -> None:
        """Write down answers and results."""
        for message in read_state(messages):
            self.seen[signed(message)] += 1


def signed(message: Message) -> str:
    """Write what must never be lost of a message, so that equal ones are equal."""
    words = [p.text for p in message.parts if isinstance(p, Text) and p.text]
    media = [p.data or p.url for p in message.parts if isinstance(p, Media)]
    calls = [(call.id, call.name, call.arguments) for call in message.calls]
    return json.dumps([message.role, message.answers, words, media, calls], ensure_ascii=False)


def heard(request: Request) -> tuple[int, int]:
    """Return how many requests and rules a user had sent when this was sent; see `Witness`."""
    stamp = request.body.get("user") or request.body["metadata"]["user_id"]
    said, rules = map(int, str(stamp).split())
    return said, rules


class Witness(AgentMiddleware[Any, Any, Any]):
    """Runs next to the model and the tools, and writes down what they returned."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        return self._noted(handler(self._stamped(request)))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """See `AgentMiddleware`."""
        return self._noted(await handler(self._stamped(request)))

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """See `AgentMiddleware`."""
        return self._told(handler(request))

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """See `AgentMiddleware`."""
        return self._told(await handler(request))

    def _stamped(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Record in a request what had been sent by then: it may be read much later."""
        stamp = f"{len(self._world.said)} {len(self._world.rules)}"
        is_claude = isinstance(request.model, ChatAnthropic)
        named = {"metadata": {"user_id": stamp}} if is_claude else {"user": stamp}
        settings = {**request.model_settings, "extra_body": named}
        return request.override(model_settings=settings)

    def _noted(self, response: ModelResponse[Any]) -> ModelResponse[Any]:
        world = self._world
        for message in response.result:
            if isinstance(message, AIMessage) and isinstance(message.content, str):
                self._mangle(message)
        if response.result[0].text != SUMMARY:
            world.note(response.result)
        return response

    def _mangle(self, message: AIMessage) -> None:
        if self._world.mangles:
            odd = len(self._world.said) % 2
            for k, call in enumerate(message.tool_calls):
                call["id"] = f"functions.{call['name']}:{k}" if odd else f"call_{k}"
            message.additional_kwargs.pop("tool_calls", None)

    def _told(self, result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
        update = result.update if isinstance(result, Command) else None
        self._world.note(update["messages"] if isinstance(update, dict) else [result])
        return result
