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
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        if one.__cause__ is not None:
            waiting.append(one.__cause__)
        elif (
            one.__context__ is not None and not one.__suppress_context__ and status_of(one) is None
        ):
            waiting.append(one.__context__)


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status an error carries, wherever its client keeps it."""
    response = getattr(error, "response", None)
    places = [getattr(error, name, None) for name in ("status_code", "http_status", "code")]
    places.append(getattr(response, "status_code", None))
    if isinstance(response, Mapping):  # botocore
        meta = response.get("ResponseMetadata")
        places.append(meta.get("HTTPStatusCode") if isinstance(meta, Mapping) else None)
    for place in places:
        number = int(place) if isinstance(place, str) and place.isdecimal() else place
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
    words = dict.fromkeys(one for one in texts if isinstance(one, str))
    return " ".join(" ".join(words).split())[:_LONGEST]


_LONGEST = 20_000
"""Characters of an error that are read."""
