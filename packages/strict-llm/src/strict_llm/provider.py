"""The strict provider, as tests use it."""

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from threading import Lock, Thread
from types import TracebackType
from typing import Self

from strict_llm.anthropic import AnthropicDialect
from strict_llm.cache import PromptCache
from strict_llm.chat import ChatDialect
from strict_llm.counting import Measured, TokenCounter
from strict_llm.dialect import StrictDialect, written
from strict_llm.exchange import (
    Answer,
    CompactedBody,
    ExchangeTokens,
    Object,
    Reply,
    Request,
    RequestProblem,
    RequestTraits,
    Script,
    Seen,
    Summarize,
    WireName,
    brief_summary,
)
from strict_llm.faults import FaultName, Faults, InjectedFault, problem_of
from strict_llm.gemini import GeminiDialect, path_fields
from strict_llm.responses import ResponsesDialect
from strict_llm.rules.anthropic_binding import binds_thinking
from strict_llm.server import LoopbackServer, ScriptedResponse

_UNKNOWN_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Model:
    """What differs from the provider's own settings for one model."""

    window: int | None = None
    inflation: float | None = None
    binds: bool | None = None
    """Whether it binds signed reasoning; by its name (`binds_thinking`) if `None`."""
    takes_system: bool | None = None
    """Whether system messages are allowed among the others; by its name if `None`."""
    text_only: bool = False
    """Whether it refuses images, documents and sounds."""


def brief(request: Request) -> Answer:
    """Answer any request with one short sentence that names its number."""
    return Answer(f"Understood, that was request {request.number}.")


class StrictProvider:
    """A model provider on the loopback with the refusals of the real ones.

    It implements OpenAI's Chat Completions and Responses, Anthropic's Messages and Google's
    generateContent. The attributes below may change while it runs; `close` raises a script's error
    again.

    Args:
        window: Input tokens that a model accepts; for Anthropic, including the requested output.
        inflation: Factor of its counts over the exact o200k count.
        keep_bodies: Whether `requests` stores the bodies; turn it off for long runs.
        answer: Returns the model's answer.
    """

    def __init__(
        self,
        *,
        window: int = 128_000,
        inflation: float = 1.0,
        keep_bodies: bool = True,
        answer: Script = brief,
    ) -> None:
        self.window = window
        self.inflation = inflation
        self.keep_bodies = keep_bodies
        self.answer = answer
        self.summarize: Summarize = brief_summary
        """Writes the summary of a compaction by the provider."""
        self.models: dict[str, Model] = {}
        """By model name, what differs from `window` and `inflation`."""
        self.requests: list[Seen] = []
        """What arrived, in the order in which it was answered."""
        self.clock: Callable[[], float] = time.monotonic
        """Seconds, for the lifetime of the prompt cache."""
        self.cache = PromptCache()
        self.faults = Faults()
        self._meter = TokenCounter()
        self._lock = Lock()
        self._valid = 0
        self._salt = secrets.token_hex(4)
        self._failures: list[BaseException] = []
        self._dialects: dict[str, StrictDialect] = {
            "/v1/chat/completions": ChatDialect(),
            "/v1/responses": ResponsesDialect(),
            "/v1/messages": AnthropicDialect(),
            "": GeminiDialect(),  # whose path names the model
        }
        self._line: LoopbackServer | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except BaseException as failure:
            if error is None:
                raise
            error.add_note(f"the script of the strict provider raised {failure!r}")

    def start(self) -> None:
        """Listen on a free port of the loopback, in a thread."""
        self._line = LoopbackServer(self._respond, self._most_bytes, self._failures.append)
        self._thread = Thread(target=self._line.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()

    def close(self) -> None:
        """Stop, close every connection, and raise the error of a script, if any.

        Raises:
            BaseException: The first that the script raised.
        """
        if self._line is None or self._thread is None:
            return
        self._line.closing.set()
        self._line.shutdown()
        self._thread.join()
        self._line.server_close()
        self._line = self._thread = None
        if self._failures:
            raise self._failures[0]

    @property
    def openai_url(self) -> str:
        """The `base_url` of OpenAI's clients."""
        return f"{self.anthropic_url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` of Anthropic's clients."""
        assert self._line is not None, "the provider is not running"
        return f"http://127.0.0.1:{self._line.server_port}"

    def fail_next(
        self,
        name: FaultName,
        times: int = 1,
        *,
        seconds: float | None = None,
        after: float | None = None,
        wire: WireName | None = None,
    ) -> None:
        """Inject a fault into the next requests.

        Args:
            name: `rate_limit` (429), `overloaded` (503; Anthropic 529), `server` (500) and
                `invalid` (400, without an explanation) are errors; `stall` is silence, after which
                the answer comes; `cut` ends the connection within the answer.
            times: How many requests.
            seconds: Seconds of silence, 60 by default; of an error, its `retry-after` header.
            after: Share of the answer that is sent before the silence (by default nothing) or the
                disconnect (by default half).
            wire: Count only requests of this wire.
        """
        seconds = seconds if seconds is not None else 60.0 if name == "stall" else 0.0
        after = after if after is not None else 0.5 if name == "cut" else 0.0
        self.faults.add(InjectedFault(name, seconds, after, wire), times)

    def count(self, wire: WireName, body: Object) -> int:
        """Count a valid body as a request of it would be counted."""
        dialect = next(each for each in self._dialects.values() if each.wire == wire)
        return self._measure(dialect, body, self._traits(body)).total

    def _traits(self, body: Object, betas: str = "") -> RequestTraits:
        name = str(body.get("model", ""))
        model = self.models.get(name, Model())
        return RequestTraits(
            window=self.window if model.window is None else model.window,
            inflation=self.inflation if model.inflation is None else model.inflation,
            binds=binds_thinking(name) if model.binds is None else model.binds,
            takes_system=_takes_system(name) if model.takes_system is None else model.takes_system,
            text_only=model.text_only,
            betas=frozenset(map(str.strip, betas.split(","))),
        )

    def _measure(self, dialect: StrictDialect, body: Object, traits: RequestTraits) -> Measured:
        return self._meter.measure(dialect.pieces(body), traits.inflation)

    def _most_bytes(self, path: str) -> int:
        dialect, *_ = self._routed(path)
        return dialect.body_bytes if dialect is not None else _UNKNOWN_BYTES

    def _routed(self, path: str) -> tuple[StrictDialect | None, Object, bool]:
        """Return the dialect, the fields in a path of Google's, and whether only a count is due."""
        path = path.partition("?")[0]
        api = path.removesuffix("/count_tokens").removesuffix("/input_tokens")
        fields = path_fields(api)
        dialect = self._dialects.get(api if fields is None else "")
        return dialect, fields or {}, api != path

    def _respond(
        self, path: str, headers: Mapping[str, str], length: int, raw: bytes
    ) -> ScriptedResponse:
        """Decide what becomes of a request, and note it."""
        dialect, fields, counts = self._routed(path)
        if dialect is None:
            message = f"Invalid URL (POST {path.partition('?')[0]})"
            return ScriptedResponse(404, {"error": {"message": message}})
        body = _as_object(raw)
        if body is None or length > dialect.body_bytes:
            problem = RequestProblem("The body is not a JSON object.")
            large = length > dialect.body_bytes
            return self._refuse(dialect, {}, [dialect.too_large() if large else problem])
        body |= fields
        traits = self._traits(body, headers.get("anthropic-beta", ""))
        if counts:
            if problems := list(dialect.problems({"max_tokens": 1, **body}, traits)):
                return self._refuse(dialect, body, problems)
            return ScriptedResponse(
                200, {"input_tokens": self._measure(dialect, body, traits).total}
            )
        fault = self.faults.take(dialect.wire)
        ordered = problem_of(fault, dialect.wire) if fault is not None else None
        refusal = ordered or dialect.missing_key(headers)
        if refusal is not None:
            return self._refuse(dialect, body, [refusal], fault=fault)
        return self._judge(dialect, body, traits, fault)

    def _judge(
        self,
        dialect: StrictDialect,
        body: Object,
        traits: RequestTraits,
        fault: InjectedFault | None,
    ) -> ScriptedResponse:
        if problems := _problems(dialect, body, traits):
            return self._refuse(dialect, body, problems, fault=fault)
        measured = self._measure(dialect, body, traits)
        overflow = dialect.overflow(body, measured, traits.window)
        if overflow is not None:
            return self._refuse(dialect, body, [overflow], tokens=measured.total, fault=fault)
        reply = self._reply(dialect, body, traits, measured)
        dropped = dialect.dropped(body, traits)
        status = 0 if fault is not None and not fault.after else 200  # silence
        compaction = reply.compacted.spent if reply.compacted else None
        self._note(
            dialect, body, reply.spent, status, fault=fault, dropped=dropped, compaction=compaction
        )
        return ScriptedResponse(
            200,
            {} if reply.request.stream else dialect.whole(reply),
            tuple(dialect.events(reply)) if reply.request.stream else (),
            headers={"x-request-id": self._request_id(), "request-id": self._request_id()},
            fault=fault,
        )

    def _reply(
        self, dialect: StrictDialect, body: Object, traits: RequestTraits, measured: Measured
    ) -> Reply:
        with self._lock:
            number, self._valid = self._valid, self._valid + 1
        done = self._compacted(dialect, body, traits, measured)
        seen = done.body if done else body
        measured = self._measure(dialect, seen, traits) if done else measured
        request = Request(
            wire=dialect.wire,
            number=number,
            model=body["model"],
            body=body,
            items=dialect.items(seen),
            tools=dialect.tools(body),
            max_tokens=dialect.max_tokens(body),
            stream=bool(body.get("stream")),
            tokens=measured.total,
        )
        answer = dialect.adapt_answer(body, self.answer(request))
        spent = dialect.spend(self.cache, request.model, measured, self.clock())
        spent = self._spoken(answer, spent, traits.inflation)
        return Reply(request, answer, spent, f"{self._salt}{number:010}", traits, done)

    def _compacted(
        self, dialect: StrictDialect, body: Object, traits: RequestTraits, measured: Measured
    ) -> CompactedBody | None:
        done = dialect.compacted(body, measured.total, self.summarize)
        if done is None:
            return None
        spent = dialect.spend(self.cache, body["model"], measured, self.clock())
        output = round(self._meter.text(done.text) * traits.inflation)
        return replace(done, spent=replace(spent, output=output))

    def _spoken(self, answer: Answer, spent: ExchangeTokens, inflation: float) -> ExchangeTokens:
        thinking = round(self._meter.text(answer.thinking) * inflation)
        output = answer.output_tokens
        if output is None:
            texts = [answer.text, *(f"{name}\n{written(args)}" for name, args in answer.calls)]
            output = thinking + round(sum(map(self._meter.text, texts)) * inflation)
        return replace(spent, output=output, thinking=min(thinking, output))

    def _refuse(
        self,
        dialect: StrictDialect,
        body: Object,
        problems: list[RequestProblem],
        *,
        tokens: int = 0,
        fault: InjectedFault | None = None,
    ) -> ScriptedResponse:
        first, texts = problems[0], tuple(problem.message for problem in problems)
        self._note(
            dialect, body, ExchangeTokens(input=tokens), first.status, problems=texts, fault=fault
        )
        uid = self._request_id()
        headers = {"x-request-id": uid, "request-id": uid}
        line = fault
        if fault is not None and problem_of(fault, dialect.wire) is not None:
            headers["retry-after"] = str(round(fault.seconds))
            line = None
        return ScriptedResponse(
            first.status, dialect.error(first, uid), headers=headers, fault=line
        )

    def _request_id(self) -> str:
        return f"req_{self._salt}{len(self.requests):010}"

    def _note(
        self,
        dialect: StrictDialect,
        body: Object,
        spent: ExchangeTokens,
        status: int,
        *,
        problems: tuple[str, ...] = (),
        fault: InjectedFault | None = None,
        dropped: tuple[str, ...] = (),
        compaction: ExchangeTokens | None = None,
    ) -> None:
        seen = Seen(
            wire=dialect.wire,
            model=str(body.get("model", "")),
            body=body if self.keep_bodies else None,
            tokens=spent.input,
            cached_tokens=spent.cached,
            written_tokens=spent.written_5m + spent.written_1h,
            output_tokens=spent.output,
            status=status,
            problems=problems,
            fault=fault.name if fault is not None else "",
            stream=bool(body.get("stream")),
            dropped=dropped,
            compaction=compaction,
        )
        with self._lock:
            self.requests.append(seen)


_TAKES_SYSTEM = re.compile(r"claude-\w+-(?:5|4-8)(?!\d)")


def _takes_system(name: str) -> bool:
    """Return whether a model accepts system messages among the others: Opus 4.8 and later.

    Source: platform.claude.com, "Mid-conversation system messages", read 2026-11-23.
    """
    return _TAKES_SYSTEM.search(name) is not None


def _problems(dialect: StrictDialect, body: Object, traits: RequestTraits) -> list[RequestProblem]:
    try:
        json.dumps(body, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate
        return [RequestProblem("The body is not valid Unicode.")]
    problems = list(dialect.problems(body, traits))
    if not problems and traits.text_only and _has_media(dialect, body):
        return [RequestProblem("This model does not support image, audio or file input.")]
    return problems


def _has_media(dialect: StrictDialect, body: Object) -> bool:
    return any(piece.media is not None for piece in dialect.pieces(body))


def _as_object(raw: bytes) -> Object | None:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None
