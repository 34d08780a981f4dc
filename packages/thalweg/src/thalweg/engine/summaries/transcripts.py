"""Render messages as transcripts that each fit a summarizer's window.

No text, arguments or results of a message are dropped, however long: what does not fit one
transcript continues in the next. Thinking is dropped and media are replaced by their names, and
the transcript states it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter
from thalweg.engine.transcript import one_line, speaker
from thalweg.errors import ConfigError

LEAST_BUDGET = 128
"""Tokens below which a transcript cannot hold the heading of a message and some of its text."""
MARK = "§"
"""Begins the heading of a message; a number is appended if a text contains it."""

_SPEAKER_CHARS, _CALL_CHARS = 60, 100
_JOIN_TOKENS = 2
"""Tokens that a blank line between two messages may add."""
_CHARS_PER_TOKEN = 4
"""First estimate; later ones use the counted tokens."""
_BOUNDARY_SHARE = 4
"""A piece ends at the end of a line or word if that costs at most this fraction of it."""
_DATA_RUN = re.compile(r"[A-Za-z0-9+/=_-]{1024,}")
"""Long runs without spaces in an unsupported part: base64 or similar data."""


def chunks(messages: Sequence[tuple[int, Message]], budget: int, count: Counter) -> list[str]:
    r"""Render messages as transcripts, each of at most `budget` tokens.

    Args:
        messages: With their positions, oldest first.
        budget: Most tokens of one transcript; at least `LEAST_BUDGET`.
        count: Counter of tokens, of at most one a UTF-8 byte.

    Returns:
        Transcripts, in order. Each message has a heading that no text can forge; a split message
        has one for every piece.

    Raises:
        ConfigError: The budget is too small.

    Example:
        >>> hello = Message("user", (Text("hi"),))
        >>> chunks([(7, hello)], 500, len)
        ['§ #7 user\nhi']
    """
    if budget < LEAST_BUDGET:
        raise ConfigError(
            "budget",
            f"{budget} tokens hold no piece of a message",
            f"pass {LEAST_BUDGET} or more",
        )
    bodies = [_body(message) for _, message in messages]
    mark = unused(MARK, bodies)
    pieces: list[str] = []
    for head, body in zip(_heads(messages, mark), bodies, strict=True):
        pieces += _pieces(head, body, budget, count)
    return list(_packed(pieces, budget, count))


def unused(stem: str, texts: Iterable[str]) -> str:
    """Return a marker that occurs in none of the texts: the stem, or the stem and a number.

    Example:
        >>> unused("end", ["the END, end1"])
        'end2'
    """
    pattern = re.compile(rf"{re.escape(stem)}(\d{{0,9}})", re.IGNORECASE)
    used = {number for text in texts for number in pattern.findall(text)}
    if not used:
        return stem
    free = next(n for n in range(1, len(used) + 2) if str(n) not in used)
    return f"{stem}{free}"


def _body(message: Message) -> str:
    return "\n".join(map(_shown, message.parts))


def _shown(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case Thinking():
            return prompt("chunk_thinking").render()
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Media(mime=mime):
            return prompt("chunk_media").render(what=mime or "media", size=part.size_bytes)
        case Opaque(wire=wire, json=raw):
            return f"[{wire}] {_DATA_RUN.sub(_data, raw)}"
        case _:
            assert_never(part)


def _data(run: re.Match[str]) -> str:
    return prompt("chunk_run").render(chars=len(run[0]))


@dataclass(frozen=True, slots=True)
class _Head:
    """The heading of a message: in full, and its shortest form."""

    full: str
    least: str


def _heads(messages: Sequence[tuple[int, Message]], mark: str) -> Iterator[_Head]:
    calls: dict[str, str] = {}
    for position, message in messages:
        who = one_line(speaker(message), _SPEAKER_CHARS).replace(MARK, "")
        least = f"{mark} #{position} {message.role}"
        call = calls.get(message.answers) if message.role == "tool" else None
        answers = f", answers {call}" if call else ""
        yield _Head(f"{mark} #{position} {who}{answers}", least)
        for call_ in message.calls:
            brief = one_line(f"{call_.name} {call_.arguments[:_CALL_CHARS]}", _CALL_CHARS)
            calls[call_.id] = f"#{position} {brief.replace(MARK, '')}"


def _pieces(head: _Head, body: str, budget: int, count: Counter) -> list[str]:
    """Render a message below its heading, in one piece if it fits, else in several."""
    top = head.full if 2 * count(_part(head.full, 10**6, 10**6)) <= budget else head.least
    if len(body) <= _SURELY_LARGER * budget and count(f"{top}\n{body}") <= budget:
        return [f"{top}\n{body}"]
    cuts = _cuts(_part(top, 10**6, 10**6), body, budget, count)
    bounds = [*zip([0, *cuts], [*cuts, len(body)], strict=True)]
    return [
        f"{_part(top, k, len(bounds))}\n{body[start:end]}"
        for k, (start, end) in enumerate(bounds, 1)
    ]


_SURELY_LARGER = 64
"""A text with more characters per token than this is not counted whole."""


def _part(head: str, k: int, n: int) -> str:
    return f"{head} (part {k} of {n})"


def _cuts(head: str, body: str, budget: int, count: Counter) -> list[int]:
    """Return the indices at which to split a text so that each piece fits below its heading."""
    cuts: list[int] = []
    start, guess = 0, _CHARS_PER_TOKEN * budget
    room = budget - count(head)
    while True:
        end = _boundary(body, start, start + guess)
        tokens = count(f"{head}\n{body[start:end]}")
        if tokens > budget and end - start > 1:
            most = end - start
            over = max(1, tokens - (budget - room))
            guess = max(1, min(most * 9 // 10, most * room * 19 // (over * 20)))
            continue
        if end >= len(body):
            return cuts
        cuts.append(end)
        used = max(1, tokens - (budget - room))
        guess = max(1, min((end - start) * room * 19 // (used * 20), _SURELY_LARGER * budget))
        start = end


def _boundary(text: str, start: int, end: int) -> int:
    """Move the end of a piece back to the end of a line, or of a word, if one is near."""
    if end >= len(text):
        return len(text)
    nearest = end - (end - start) // _BOUNDARY_SHARE
    for separator in ("\n", " "):
        at = text.rfind(separator, nearest, end)
        if at >= 0:
            return at + 1
    return end


def _packed(pieces: Sequence[str], budget: int, count: Counter) -> Iterator[str]:
    """Yield transcripts, each with as many pieces as fit, in order."""
    held: list[str] = []
    total = 0
    for piece in pieces:
        tokens = count(piece) + _JOIN_TOKENS
        if held and total + tokens > budget:
            yield from _joined(held, budget, count)
            held, total = [], 0
        held.append(piece)
        total += tokens
    yield from _joined(held, budget, count)


def _joined(pieces: Sequence[str], budget: int, count: Counter) -> Iterator[str]:
    """Join pieces; if the result has more tokens than the sum of its pieces, join fewer."""
    text = "\n\n".join(pieces)
    if len(pieces) <= 1 or count(text) <= budget:
        yield from [text] if pieces else []
    else:
        middle = len(pieces) // 2
        yield from _joined(pieces[:middle], budget, count)
        yield from _joined(pieces[middle:], budget, count)
