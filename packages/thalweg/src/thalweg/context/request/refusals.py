"""Refusals of providers: too large a request, its content, its tools.

Providers have no status code for a request that is too large, and hardly two use the same words. So
an error is parsed as text: first for other causes (a rate, an output limit, a name), then for the
words of each kind of refusal, then for its numbers. The words are in `overflow.toml`, those of
refused tools in `tool_refusals.toml`.

A wrong key, model or parameter has to be corrected by the caller. All other refusals would recur
with every message of the thread: its view is repaired from the archive, and the request is sent
once more (I43). A cause is a row of `CAUSES`: the words that name it, and a pure plan of edits. The
first row whose words are in the provider's answer, and whose plan changes anything, is used.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from traceback import walk_tb
from typing import Any, Literal

from langchain_core.exceptions import (
    ContextOverflowError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)

from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.data_files import read_table
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.window.binding import BINDING_REFUSAL
from thalweg.engine.window.rejected import (
    plan_plain,
    plan_without_compactions,
    plan_without_media,
    plan_without_reasoning,
)


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, the members of a group, and what caused it; each once, nearest first.

    An error that was raised while another was handled ends the chain if it has a status: a rate
    limit in the second attempt is not the refusal of the first.
    """
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            waiting += current.exceptions
        if current.__cause__ is not None:
            waiting.append(current.__cause__)
        elif (
            current.__context__ is not None
            and not current.__suppress_context__
            and status_of(current) is None
        ):
            waiting.append(current.__context__)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status an error carries, wherever its client keeps it."""
    response = getattr(error, "response", None)
    candidates = [getattr(error, name, None) for name in ("status_code", "http_status", "code")]
    candidates.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        meta = response.get("ResponseMetadata")
        candidates.append(meta.get("HTTPStatusCode") if isinstance(meta, Mapping) else None)
    for candidate in candidates:
        number = (
            int(candidate) if isinstance(candidate, str) and candidate.isdecimal() else candidate
        )
        if isinstance(number, int) and 400 <= number < 600:  # noqa: PLR2004 (HTTP errors)
            return number
    return None


def text_of(error: BaseException) -> str:
    """Return all text of an error, on one line: its message, its code and its body."""
    texts: list[object] = [str(error)]
    texts += [
        getattr(error, name, None) for name in ("message", "code", "type", "error", "details")
    ]
    body = getattr(error, "body", None)
    with suppress(TypeError, ValueError, RecursionError):
        texts.append(body if isinstance(body, str | None) else json.dumps(body))
    with suppress(RuntimeError):  # a streamed response that nobody has read
        texts.append(getattr(getattr(error, "response", None), "text", None))
    unique_texts = dict.fromkeys(one for one in texts if isinstance(one, str))
    return " ".join(" ".join(unique_texts).split())[:_MAX_TEXT_CHARS]


_MAX_TEXT_CHARS = 20_000
"""Characters of an error that are read."""


Kind = Literal["tokens", "sum", "bytes", "media"]
"""The exceeded limit: of the input, the input with the requested answer, the body, the images."""


@dataclass(frozen=True, slots=True)
class Overflow:
    """A provider's refusal of a request that is too large, with the numbers it named."""

    kind: Kind
    """`tokens`: the input is over the window. `sum`: the input fits, but not with the answer that
    was asked for, so a smaller answer helps as well. `bytes`: the body or a text in it is too
    long to be read at all. `media`: too many images or documents, or one that is too large."""
    counted: int | None = None
    """Tokens that the provider counted in the input.

    If the provider reports only the total, tokens of input and answer together."""
    limit: int | None = None
    """Tokens the provider accepts."""
    output: int | None = None
    """Tokens that were asked for as the answer."""


def overflow_of(error: BaseException) -> Overflow | None:
    """Read an error and what caused it as a request that was too large.

    Causes and the members of a group are read too; see `error_chain`.

    Returns:
        `None` when the error is about anything else.

    Example:
        >>> overflow_of(ValueError("prompt is too long: 208656 tokens > 200000 maximum"))
        Overflow(kind='tokens', counted=208656, limit=200000, output=None)
    """
    for link in error_chain(error):
        status = status_of(link)
        text = text_of(link)
        if is_other_refusal(link, status, text):
            return None
        if (overflow := _parse_overflow(link, status, text)) is not None:
            return overflow
    return None


def _parse_overflow(error: BaseException, status: int | None, text: str) -> Overflow | None:
    kind: Any = next((kind for kind, words in _KINDS.items() if words.search(text)), None)
    if kind == "rated_tokens" or (kind is None and _is_overflow_class(error)):
        kind = "tokens"
    if kind is None:
        return Overflow("bytes") if status == _STATUS_TOO_LARGE else None
    if kind not in {"tokens", "sum"}:
        return Overflow(kind)
    counted, limit = _number("counted", text), _number("limit", text)
    total, output = _number("whole", text), _number("output", text)
    if counted is None and total is not None:
        counted = total - output if output and total > output else total
    if limit and counted and output:
        kind = "sum" if counted <= limit else "tokens"
    elif limit and counted and counted > limit:
        kind = "tokens"
    return Overflow(kind, counted, limit, output or None)


def _is_overflow_class(error: BaseException) -> bool:
    names = {one.__name__ for one in type(error).__mro__}
    return isinstance(error, ContextOverflowError) or _LITELLM_OVERFLOW in names


def is_other_refusal(error: BaseException, status: int | None, text: str) -> bool:
    """Return whether an error is about credentials, credit, rates or outputs, not the size."""
    if status in _OTHER_STATUSES or isinstance(error, _OTHER_CLASSES):
        return True
    is_rate = _RATES.search(text) and not any(_KINDS[k].search(text) for k in ("tokens", "sum"))
    return not _CODES.search(text) and bool(is_rate or _OTHER_CAUSES.search(text))


def _number(name: str, text: str) -> int | None:
    for pattern in _NUMBERS[name]:
        if match := pattern.search(text):
            return int(re.sub(r"\D", "", match[1]))
    return None


def _any_pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_STATUS_TOO_LARGE = 413
_OTHER_STATUSES = frozenset({401, 402, 403, 404, 408, 409, 429, 529})
"""No credentials, no credit, no such model, too often, too busy: never the size."""
_LITELLM_OVERFLOW = "ContextWindowExceededError"
"""LiteLLM's class of the refusal, by name: the package is not a dependency."""
_OTHER_CLASSES = (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelNotFoundError,
    ModelPermissionDeniedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
"""Classes under which LangChain has classified everything else."""


_TABLE = read_table(__package__, "overflow.toml")
_CODES, _OTHER_CAUSES = _any_pattern(*_TABLE["codes"]), _any_pattern(*_TABLE["otherwise"])
_RATES = _any_pattern(*_TABLE["rates"])
_KINDS = {
    kind: _any_pattern(*(_TABLE["codes"] if kind == "tokens" else ()), *patterns)
    for kind, patterns in _TABLE["kinds"].items()
}
_NUMBERS = {
    name: [re.compile(one.replace("#", r"(\d[\d,_]*)"), re.IGNORECASE) for one in patterns]
    for name, patterns in _TABLE["numbers"].items()
}


_REFUSAL_PATTERN = re.compile(
    "|".join(read_table(__package__, "tool_refusals.toml")["words"]), re.IGNORECASE
)


def refuses_tools(error: BaseException) -> bool:
    """Return whether an error, or what caused it, refuses every tool of a request.

    Example:
        >>> refuses_tools(ValueError("gemma:2b does not support tools"))
        True
        >>> refuses_tools(ValueError("tools.0.custom.name: String should match pattern"))
        False
    """
    return any(
        _cannot_bind_tools(one) or _REFUSAL_PATTERN.search(text_of(one))
        for one in error_chain(error)
    )


def _cannot_bind_tools(error: BaseException) -> bool:
    """Return whether LangChain's model class raised that it does not implement `bind_tools`."""
    return isinstance(error, NotImplementedError) and any(
        frame.f_code.co_name == "bind_tools" for frame, _ in walk_tb(error.__traceback__)
    )


_log = logging.getLogger("thalweg.requests")
_STATUSES = frozenset({400, 422})
"""Statuses of a refusal of a request's content; most return 400, Mistral and FastAPI servers
422."""


_EXPIRED_FILE = re.compile(r"permission to access the File \S+ or it may not exist")
"""Gemini's words, with status 403, for a file that it deleted after two days. Source:
github.com/googleapis/python-genai/issues/1218, read 2026-11-30."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A provider's refusal of the content of a request."""

    status: int
    message: str
    """The provider's words, on one line."""
    model: str = ""
    """Who refused it, as `provider:name`."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why providers refuse a request, and what removes the reason from a thread."""

    name: str
    """As the event, the log and the error name it."""
    words: re.Pattern[str]
    """Searched in the provider's answer."""
    plan: Callable[[PlanningContext], Sequence[Edit]] | None
    """Plans the edits for the window that was refused; no edits if there is nothing to change.

    Without it, the engine's plan against reasoning that is bound to another prefix is used."""


def rejection_of(error: BaseException, model: str = "") -> Rejection | None:
    """Parse an error, and its cause, as the refusal of the content of a request.

    Returns:
        `None` when it is about anything else: a connection, a rate, credentials, or a setting
        of the request that no edit of a thread changes.

    Example:
        >>> class BadRequest(Exception):
        ...     status_code = 400
        >>> rejection_of(BadRequest("messages.2.content.0: image could not be processed")).status
        400
        >>> rejection_of(BadRequest("tools.0.custom.name: String should match pattern")) is None
        True
    """
    for link in error_chain(error):
        status, text = status_of(link), text_of(link)
        if status is None:
            continue
        if _EXPIRED_FILE.search(text) is None and (
            status not in _STATUSES
            or is_other_refusal(link, status, text)
            or _concerns_setting(text)
        ):
            return None
        return Rejection(status, text, model)
    return None


def plan_repair(rejection: Rejection, engine: Engine) -> tuple[Cause, Sequence[Edit]] | None:
    """Find the cause of a refusal and plan its repair.

    Returns:
        `None` if no edit would change the request.
    """
    for cause in CAUSES:
        if cause.words.search(rejection.message):
            plan = cause.plan
            edits = engine.refuse_reasoning() if plan is None else plan(engine.planning_context())
            if edits:
                return cause, edits
    return None


def _concerns_setting(text: str) -> bool:
    """Return whether the provider's error refers to a part of the request that holds no message."""
    places = [match[1] or match[2] for match in _PARAMETER_PATH.finditer(text)]
    return bool(places) and not any(_MESSAGE_PATH.match(place) for place in places)


_PARAMETER_PATH = re.compile(
    r"""["']param["']: ?["']([^"']+)["']"""  # OpenAI's error body
    # A message of Anthropic or Gemini begins with the path. After other words, one word is no path.
    r"|(?:^|['\"]|\* |: (?=temperature|[a-z]+[_.\[]))(?:GenerateContentRequest\.)?"
    r"((?:tools?|tool_choice|tool_config|thinking|"
    r"temperature|top_[pk]|max_tokens|model|metadata|stop_sequences|service_tier|output_config|"
    r"context_management|response_format|text|reasoning|generation_?config|safety_settings|betas|messages|input|"
    r"contents|system|system_instruction)(?:[.\[][^\s:]*)?):",
)
_MESSAGE_PATH = re.compile(r"(?:messages|input|contents|system|instructions)")


ALTERNATION = Cause(
    "two answers in a row",
    _any_pattern(
        r"roles must alternate",  # chat templates (Mistral, Gemma); old versions of Claude
        r"must alternate between",  # Bedrock's Converse; Gemini 1.0
    ),
    None,
)
"""Refused by some models alone. Nothing is edited: a line of the user is sent between the two."""
CAUSES: tuple[Cause, ...] = (
    Cause("reasoning bound to another prefix", BINDING_REFUSAL, None),
    Cause(
        "a compaction that the provider does not accept any more",
        _any_pattern(
            r"\bcompaction\b", r"\bcmp_"
        ),  # `compaction_signature_invalid`, OpenAI: the item's id
        plan_without_compactions,
    ),
    Cause(
        "reasoning that the provider does not accept any more",
        _any_pattern(
            r"thinking",  # Anthropic: `signature`, "cannot be modified", "Expected `thinking`"
            r"reasoning",  # OpenAI: "provided without its required following item"
            r"encrypted.content",  # OpenAI: "could not be verified"
            r"thought.?signature",  # Gemini
        ),
        plan_without_reasoning,
    ),
    Cause(
        "media that the model does not accept",
        _any_pattern(
            r"image", r"\bpdf\b", r"document", r"audio", r"video", r"base64", r"mime", r"file"
        ),
        plan_without_media,
    ),
    Cause("not explained", re.compile(""), plan_plain),
)
"""Causes, the narrowest first; the last is of every refusal."""
