"""Previews of archived texts, by the type of the text."""

import json
import re
from collections import Counter as Tally
from itertools import chain, islice, product
from math import fsum

from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter
from thalweg.engine.words import STOP_WORDS, find_tokens, token_words, words

LINES = 10
"""Default number of lines shown from both ends together."""
WIDTHS = (400, 200, 100, 50, 20)
"""Characters a line may have, most generous first."""
_ERROR = re.compile(
    r"(?:error|exception|\b(?:fail(?:ed|ure|s)?|fatal|panic|traceback|denied|not found))\b",
    re.IGNORECASE,
)
_SCANNED = 40_000
"""Characters at each end in which errors are searched for."""
ERRORS = 3
"""Most lines shown because they report an error."""
REQUESTED = 3
"""Most lines shown because of their words."""
_REQUEST_CHARS = 4_000
"""Characters at the end of a request whose words are searched for."""
_LEAST_SCORE = 0.25
"""A line is shown if it has a word that at most four lines have, or several less rare ones."""
PARSED_CHARS = 5_000_000
"""A longer text is not parsed as JSON."""
KEYS = 20
"""Keys of a JSON object listed in its shape."""


def preview(
    text: str, tokens: int, count: Counter, pointer: str, lines: int = LINES, request: str = ""
) -> str:
    """Render the shape of a text, its head and tail, some lines between, and how to read all of it.

    The lines between are errors, and those with the rarest words of the request: for the one
    figure of a long log that was asked for, no second call is needed.

    Args:
        text: The whole text.
        tokens: Most tokens of the preview, pointer included.
        count: Counter of tokens.
        pointer: How to read the whole, for the model.
        lines: Most lines of plain text from head and tail together; at most `LINES` if not all
            of them fit.
        request: The last request of the user.

    Returns:
        At most `tokens` tokens, always with the pointer; only the pointer if nothing more fits.
    """
    head = prompt("moved").render(size=_size(text), pointer=pointer)
    room = tokens - count(head) - 2
    fewer = product((LINES,), WIDTHS) if lines > LINES else ()
    value = _parsed(text)
    requested = requested_lines(text, request) if value is None else []
    errors = _errors(text) if value is None and text.count("\n") >= min(lines, LINES) else []
    for most, width in (*product((lines,), WIDTHS), *fewer):
        if value is None:
            body = _plain(text, width, most, (errors, requested))
        else:
            body = f"JSON: {_shape(value, width, 2)}"
        if body and count(body) <= room:
            return f"{head}\n{body}"
    return head


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} line{'s' if lines > 1 else ''}, {len(text):,} characters"


def requested_lines(text: str, request: str, most: int = REQUESTED) -> list[str]:
    r"""Return the lines of a text with the rarest words of a request, in their order.

    Example:
        >>> log = "begin\nall is well\nharbor: p95 is 181 ms\nbye"
        >>> requested_lines(log, "Run the check harbor and tell me its p95.")
        ['harbor: p95 is 181 ms']
    """
    terms = set(words(request[-_REQUEST_CHARS:])) - STOP_WORDS
    if not terms:
        return []
    tokens = {line: find_tokens(line) for line in _ends(text)}
    distinct = set(chain.from_iterable(tokens.values()))
    meant = {token: terms.intersection(token_words(token)) for token in distinct}
    matching = {token for token, found in meant.items() if found}
    shared = [
        (line, set().union(*(meant[token] for token in matching.intersection(line_tokens))))
        for line, line_tokens in tokens.items()
    ]
    lines_of = Tally(term for _, found in shared for term in found)
    scores = [fsum(1 / lines_of[term] for term in found) for _, found in shared]
    best = sorted(range(len(shared)), key=lambda k: -scores[k])[:most]
    return [shared[k][0] for k in sorted(best) if scores[k] >= _LEAST_SCORE]


def _ends(text: str) -> list[str]:
    whole = text if len(text) <= 2 * _SCANNED else f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    return [line.strip() for line in whole.split("\n")]


def _parsed(text: str) -> dict[str, object] | list[object] | None:
    """Parse a JSON object or array; `None` for any other text."""
    if text[:50].lstrip()[:1] not in {"{", "["} or len(text) > PARSED_CHARS:
        return None
    try:
        value: dict[str, object] | list[object] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _plain(text: str, width: int, most: int, between: tuple[list[str], list[str]]) -> str:
    lines = text.split("\n", most * 20)[: most * 20]
    if len(lines) <= most and "\n" not in lines[-1]:
        return "\n".join(_clip(line, width) for line in lines)
    tail = most // 2
    ends = text[-most * width * 2 :].split("\n")
    first = [_clip(line, width) for line in lines[: most - tail]]
    last = [_clip(line, width) for line in ends[len(ends) - tail :]]
    errors, requested = (dict.fromkeys(_clip(line, width) for line in some) for some in between)
    shown = dict.fromkeys((*islice(errors, ERRORS), *requested))
    middle = [f"… {line}" for line in shown if line not in first + last]
    return "\n".join([*first, *(middle or ["…"]), *last])


def _clip(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    return f"{line[: width * 2 // 3]} […{len(line) - width:,}…] {line[-width // 3 :]}"


def _errors(text: str) -> list[str]:
    return [line for line in _ends(text) if _ERROR.search(line)]


def _shape(value: object, width: int, depth: int) -> str:
    match value:
        case dict() if depth:
            shown = [f"{k}: {_shape(v, width, depth - 1)}" for k, v in list(value.items())[:KEYS]]
            more = [f"… {len(value) - KEYS} more keys"] if len(value) > KEYS else []
            return "{" + ", ".join(shown + more) + "}"
        case list() if depth and value:
            return f"[{_shape(value[0], width, depth - 1)}, … {len(value)} items]"
        case dict() | list():
            return f"{type(value).__name__} of {len(value)}"
        case str():
            return _clip(json.dumps(value, ensure_ascii=False), width)
        case _:
            return json.dumps(value)
