"""Previews of archived texts, by the type of the text."""

import json
import re
from itertools import product

from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter

LINES = 10
"""Default number of lines shown from both ends together."""
WIDTHS = (400, 200, 100, 50, 20)
"""Characters a line may have, most generous first."""
_ERROR = re.compile(
    r"^.*(?:error|exception|\b(?:fail(?:ed|ure|s)?|fatal|panic|traceback|denied|not found))\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_SCANNED = 40_000
"""Characters at each end in which errors are searched for."""
PARSED_CHARS = 5_000_000
"""A longer text is not parsed as JSON."""
KEYS = 20
"""Keys of a JSON object listed in its shape."""


def preview(text: str, tokens: int, count: Counter, pointer: str, lines: int = LINES) -> str:
    """Render the shape of a text, its head and tail, its errors, and how to read all of it.

    Args:
        text: The whole text.
        tokens: Most tokens of the preview, pointer included.
        count: Counter of tokens.
        pointer: How to read the whole, for the model.
        lines: Most lines of plain text from head and tail together; at most `LINES` if not all
            of them fit.

    Returns:
        At most `tokens` tokens, always with the pointer; only the pointer if nothing more fits.
    """
    head = prompt("moved").render(size=_size(text), pointer=pointer)
    room = tokens - count(head) - 2
    fewer = product((LINES,), WIDTHS) if lines > LINES else ()
    for most, width in (*product((lines,), WIDTHS), *fewer):
        body = _body(text, width, most)
        if body and count(body) <= room:
            return f"{head}\n{body}"
    return head


def _size(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} line{'s' if lines > 1 else ''}, {len(text):,} characters"


def _body(text: str, width: int, most: int) -> str:
    if shape := _json_shape(text, width):
        return shape
    lines = text.split("\n", most * 20)[: most * 20]
    if len(lines) <= most and "\n" not in lines[-1]:
        return "\n".join(_clip(line, width) for line in lines)
    tail = most // 2
    ends = text[-most * width * 2 :].split("\n")
    first = [_clip(line, width) for line in lines[: most - tail]]
    last = [_clip(line, width) for line in ends[len(ends) - tail :]]
    middle = [f"… {line}" for line in _errors(text, width) if line not in first + last]
    return "\n".join([*first, *(middle or ["…"]), *last])


def _clip(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    return f"{line[: width * 2 // 3]} […{len(line) - width:,}…] {line[-width // 3 :]}"


def _errors(text: str, width: int) -> list[str]:
    ends = text if len(text) <= 2 * _SCANNED else f"{text[:_SCANNED]}\n{text[-_SCANNED:]}"
    found = [_clip(m[0].strip(), width) for m in _ERROR.finditer(ends)]
    return list(dict.fromkeys(found))[:3]


def _json_shape(text: str, width: int) -> str:
    if text[:50].lstrip()[:1] not in {"{", "["} or len(text) > PARSED_CHARS:
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return f"JSON: {_shape(value, width, 2)}"


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
