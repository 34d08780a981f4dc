"""Contents of the errors of providers' clients: an HTTP status, the provider's words, a cause."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress


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
