"""Errors of failed runs for the caller: the cause, the fix, and no secret.

An answer that a provider's client cannot read is recognized by the error that the client raises.
"""

import json
import re
from collections.abc import Iterator
from traceback import walk_tb
from types import FrameType
from typing import Final
from urllib.parse import urlsplit

from thalweg.errors import ThalwegError
from thalweg_server.api.problems import Problem

_CHAT_MODELS: Final = "langchain_core.language_models.chat_models"
_READERS: Final = frozenset(
    {
        "_create_chat_result",  # langchain-openai
        "_format_output",  # langchain-anthropic
        "agenerate_from_stream",  # these four: a stream without any part of an answer
        "generate_from_stream",
        "astream",
        "stream",
    }
)
"""Functions that convert a response to messages and fail if it is none.

They raise `ValueError`, `TypeError` or `AttributeError`. Found by sending HTML, text, truncated
JSON and empty bodies to langchain-openai 1.7 and langchain-anthropic 1.7."""
_ADDRESSES: Final = ("openai_api_base", "anthropic_api_url", "base_url")
MOST_CHARS = 1_000
_MESSAGE_CHARS = 120
_SECRETS = re.compile(
    r"(?i)(?P<name>\b(?:api[-_ ]?key|authorization|token|password|secret)['\"]?\s*[:=]\s*"
    r"(?:bearer\s+)?['\"]?|\bbearer\s+)(?P<value>[\w.\-+/=*]{6,})"
    r"|\b(?:sk|pk|xai|gsk|hf|ghp|AIza)[-_][\w\-*]{6,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_REFUSED, _BUSY, _BAD = (401, 403), (408, 409, 429), (400, 404, 413, 422)
_SERVER = 500
_UNREACHED = {"APIConnectionError", "APITimeoutError", "ConnectError", "ConnectTimeout"}


def unreadable_answer(error: BaseException) -> str | None:
    """Return the host that sent an answer which is none of a chat model.

    Args:
        error: The error of a run.

    Returns:
        The host, with its port; empty if the client does not name it. `None` for another error.
    """
    if not isinstance(error, ValueError | TypeError | AttributeError):
        return None
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    calls = [frame for frame in frames if frame.f_globals.get("__name__") == _CHAT_MODELS]
    if not calls:
        return None
    is_json = isinstance(error, json.JSONDecodeError)
    if not is_json and frames[-1].f_code.co_name not in _READERS:
        return None
    return next(_hosts(calls), "")


def _hosts(calls: list[FrameType]) -> Iterator[str]:
    for frame in calls:
        model = frame.f_locals.get("self")
        for field in _ADDRESSES:
            address = getattr(model, field, None)
            if isinstance(address, str) and (host := urlsplit(address).netloc):
                yield host.rpartition("@")[2]


def problem_of(error: BaseException, model: str = "") -> Problem:
    """Return why a run failed.

    Args:
        error: The error that ended it.
        model: The model that was called.
    """
    if isinstance(error, ThalwegError):
        return _problem(error.code, str(error))
    kind, message = type(error).__name__, _first(error)
    if kind == "GraphRecursionError":
        fix = "raise agent.recursion_limit, or request less at once"
        return _problem("run.limit", f"the run exceeded its limit of steps: {fix}")
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and _is_of_provider(error):
        return _of_provider(status, model, message)
    if not _UNREACHED.isdisjoint(each.__name__ for each in type(error).__mro__):
        detail = f"the provider of model {model!r} cannot be reached{_address(error)} ({message})"
        return _problem("model.unavailable", f"{detail}: try again, or check base_url", status=502)
    if (host := unreadable_answer(error)) is not None:
        place = f"the server of model {model!r}{f' at {host}' if host else ''}"
        detail = f"{place} sent no valid chat completion ({message[:_MESSAGE_CHARS]})"
        fix = "check base_url, and that no proxy or sign-in page answers in its place"
        return _problem("model.malformed", f"{detail}: {fix}", status=502)
    return _problem("run.failed", f"{kind}: {message}")


def _address(error: BaseException) -> str:
    """Return the address of the failed connection, if available, without user and password."""
    url = getattr(getattr(error, "request", None), "url", None)
    host, port = getattr(url, "host", ""), getattr(url, "port", None)
    return f" at {host}{f':{port}' if port else ''}" if host else ""


def _is_of_provider(error: BaseException) -> bool:
    return any(
        name.__name__ in {"APIStatusError", "APIError", "HTTPStatusError", "ResponseError"}
        for name in type(error).__mro__
    )


def _of_provider(status: int, model: str, message: str) -> Problem:
    if status in _REFUSED:
        detail = f"the provider of model {model!r} refused the key ({message}): check its api_key"
        return _problem("model.refused", detail, status=502)
    if status in _BUSY or status >= _SERVER:
        detail = f"the provider of model {model!r} is unavailable ({message}): try again later"
        return _problem("model.unavailable", detail, status=503)
    if status in _BAD:
        return _problem("model.refused", f"the provider of model {model!r} refused: {message}", 502)
    return _problem("model.failed", f"the provider of model {model!r} failed: {message}", 502)


def _problem(code: str, detail: str, status: int = 500) -> Problem:
    text = without_secrets(detail)[:MOST_CHARS]
    return Problem(title="the run failed", status=status, detail=text, code=code)


def _first(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:MOST_CHARS] if lines else "no reason was returned"


def without_secrets(text: str) -> str:
    """Mask what looks like a key, a token or a password.

    Example:
        >>> without_secrets(
        ...     "Incorrect API key provided: sk-abc123def456. Authorization: Bearer x1y2z3"
        ... )
        'Incorrect API key provided: ***. Authorization: Bearer ***'
    """

    def masked(found: re.Match[str]) -> str:
        return f"{found['name']}***" if found["value"] else "***"

    return _SECRETS.sub(masked, text)
