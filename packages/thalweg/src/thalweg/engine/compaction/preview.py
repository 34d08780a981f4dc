"""Previews of archived texts, by the type of the text."""

import json
import re
from collections import Counter as Tally
from itertools import chain, islice, product
from math import fsum

from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter
from thalweg.engine.words import STOP_WORDS, find_tokens, token_words, words

DEFAULT_LINES = 10
"""Default number of lines shown from both ends together."""
LINE_WIDTHS = (400, 200, 100, 50, 20)
"""Characters a line may have, most generous first."""
_ERROR = re.compile(
    r"(?:error|exception|\b(?:fail(?:ed|ure|s)?|fatal|panic|traceback|denied|not found))\b",
    re.IGNORECASE,
)
_SCANNED_CHARS = 40_000
"""Characters at each end in which errors are searched for."""
MAX_ERROR_LINES = 3
"""Most lines shown because they report an error."""
MAX_REQUESTED_LINES = 3
"""Most lines shown because of their words."""
_REQUEST_CHARS = 4_000
"""Characters at the end of a request whose words are searched for."""
_LEAST_SCORE = 0.25
"""A line is shown if it has a word that at most four lines have, or several less rare ones."""
PARSED_CHARS = 5_000_000
"""A longer text is not parsed as JSON."""
MAX_KEYS = 20
"""Keys of a JSON object listed in its shape."""


def preview(
    text: str,
    tokens: int,
    count: Counter,
    pointer: str,
    max_lines: int = DEFAULT_LINES,
    request: str = "",
) -> str:
    """Render the shape of a text, its head and tail, some lines between, and how to read all of it.

    The lines between are errors, and those with the rarest words of the request: a request for
    one figure of a long log needs no second call.

    Args:
        text: The whole text.
        tokens: Most tokens of the preview, pointer included.
        count: Counter of tokens.
        pointer: How to read the whole, for the model.
        max_lines: Most lines of plain text from head and tail together; at most `DEFAULT_LINES`
            if not all of them fit.
        request: The last request of the user.

    Returns:
        At most `tokens` tokens, always with the pointer; only the pointer if nothing more fits.
    """
    head = prompt("moved").render(size=_size_text(text), pointer=pointer)
    room = tokens - count(head) - 2
    fallback_limits = product((DEFAULT_LINES,), LINE_WIDTHS) if max_lines > DEFAULT_LINES else ()
    value = _parsed_json(text)
    requested = requested_lines(text, request) if value is None else []
    errors = (
        _error_lines(text)
        if value is None and text.count("\n") >= min(max_lines, DEFAULT_LINES)
        else []
    )
    for line_limit, width in (*product((max_lines,), LINE_WIDTHS), *fallback_limits):
        if value is None:
            body = _plain_preview(text, width, line_limit, (errors, requested))
        else:
            body = f"JSON: {_shape(value, width, 2)}"
        if body and count(body) <= room:
            return f"{head}\n{body}"
    return head


def _size_text(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} line{'s' if lines > 1 else ''}, {len(text):,} characters"


def requested_lines(text: str, request: str, max_lines: int = MAX_REQUESTED_LINES) -> list[str]:
    r"""Return the lines of a text with the rarest words of a request, in their order.

    Example:
        >>> log = "begin\nall is well\nharbor: p95 is 181 ms\nbye"
        >>> requested_lines(log, "Run the check harbor and tell me its p95.")
        ['harbor: p95 is 181 ms']
    """
    terms = set(words(request[-_REQUEST_CHARS:])) - STOP_WORDS
    if not terms:
        return []
    tokens = {line: find_tokens(line) for line in _end_lines(text)}
    distinct = set(chain.from_iterable(tokens.values()))
    terms_by_token = {token: terms.intersection(token_words(token)) for token in distinct}
    matching = {token for token, line_terms in terms_by_token.items() if line_terms}
    terms_by_line = [
        (
            line,
            set().union(*(terms_by_token[token] for token in matching.intersection(line_tokens))),
        )
        for line, line_tokens in tokens.items()
    ]
    line_counts = Tally(term for _, line_terms in terms_by_line for term in line_terms)
    scores = [fsum(1 / line_counts[term] for term in line_terms) for _, line_terms in terms_by_line]
    best_indices = sorted(range(len(terms_by_line)), key=lambda k: -scores[k])[:max_lines]
    return [terms_by_line[k][0] for k in sorted(best_indices) if scores[k] >= _LEAST_SCORE]


def _end_lines(text: str) -> list[str]:
    ends_text = (
        text
        if len(text) <= 2 * _SCANNED_CHARS
        else f"{text[:_SCANNED_CHARS]}\n{text[-_SCANNED_CHARS:]}"
    )
    return [line.strip() for line in ends_text.split("\n")]


def _parsed_json(text: str) -> dict[str, object] | list[object] | None:
    """Parse a JSON object or array; `None` for any other text."""
    if text[:50].lstrip()[:1] not in {"{", "["} or len(text) > PARSED_CHARS:
        return None
    try:
        value: dict[str, object] | list[object] = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _plain_preview(
    text: str, width: int, max_lines: int, extra_lines: tuple[list[str], list[str]]
) -> str:
    lines = text.split("\n", max_lines * 20)[: max_lines * 20]
    if len(lines) <= max_lines and "\n" not in lines[-1]:
        return "\n".join(_clip(line, width) for line in lines)
    tail = max_lines // 2
    tail_lines = text[-max_lines * width * 2 :].split("\n")
    first = [_clip(line, width) for line in lines[: max_lines - tail]]
    last = [_clip(line, width) for line in tail_lines[len(tail_lines) - tail :]]
    errors, requested = (
        dict.fromkeys(_clip(line, width) for line in group) for group in extra_lines
    )
    shown = dict.fromkeys((*islice(errors, MAX_ERROR_LINES), *requested))
    middle = [f"… {line}" for line in shown if line not in first + last]
    return "\n".join([*first, *(middle or ["…"]), *last])


def _clip(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    return f"{line[: width * 2 // 3]} […{len(line) - width:,}…] {line[-width // 3 :]}"


def _error_lines(text: str) -> list[str]:
    return [line for line in _end_lines(text) if _ERROR.search(line)]


def _shape(value: object, width: int, depth: int) -> str:
    match value:
        case dict() if depth:
            shown = [
                f"{k}: {_shape(v, width, depth - 1)}" for k, v in list(value.items())[:MAX_KEYS]
            ]
            omitted = [f"… {len(value) - MAX_KEYS} more keys"] if len(value) > MAX_KEYS else []
            return "{" + ", ".join(shown + omitted) + "}"
        case list() if depth and value:
            return f"[{_shape(value[0], width, depth - 1)}, … {len(value)} items]"
        case dict() | list():
            return f"{type(value).__name__} of {len(value)}"
        case str():
            return _clip(json.dumps(value, ensure_ascii=False), width)
        case _:
            return json.dumps(value)
