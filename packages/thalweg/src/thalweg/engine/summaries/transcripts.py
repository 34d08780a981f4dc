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
    mark = unused_marker(MARK, bodies)
    pieces: list[str] = []
    for head, body in zip(_headings(messages, mark), bodies, strict=True):
        pieces += _message_pieces(head, body, budget, count)
    return list(_packed_transcripts(pieces, budget, count))


def unused_marker(stem: str, texts: Iterable[str]) -> str:
    """Return a marker that occurs in none of the texts: the stem, or the stem and a number.

    Example:
        >>> unused_marker("end", ["the END, end1"])
        'end2'
    """
    pattern = re.compile(rf"{re.escape(stem)}(\d{{0,9}})", re.IGNORECASE)
    used_numbers = {number for text in texts for number in pattern.findall(text)}
    if not used_numbers:
        return stem
    free = next(n for n in range(1, len(used_numbers) + 2) if str(n) not in used_numbers)
    return f"{stem}{free}"


def _body(message: Message) -> str:
    return "\n".join(map(_part_text, message.parts))


def _part_text(part: Part) -> str:
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
            return f"[{wire}] {_DATA_RUN.sub(_data_notice, raw)}"
        case _:
            assert_never(part)


def _data_notice(run: re.Match[str]) -> str:
    return prompt("chunk_run").render(chars=len(run[0]))


@dataclass(frozen=True, slots=True)
class _Heading:
    """The heading of a message: in full, and its shortest form."""

    full: str
    least: str


def _headings(messages: Sequence[tuple[int, Message]], mark: str) -> Iterator[_Heading]:
    call_labels: dict[str, str] = {}
    for position, message in messages:
        author = one_line(speaker(message), _SPEAKER_CHARS).replace(MARK, "")
        shortest = f"{mark} #{position} {message.role}"
        call_label = call_labels.get(message.answers) if message.role == "tool" else None
        answer_note = f", answers {call_label}" if call_label else ""
        yield _Heading(f"{mark} #{position} {author}{answer_note}", shortest)
        for tool_call in message.calls:
            brief = one_line(f"{tool_call.name} {tool_call.arguments[:_CALL_CHARS]}", _CALL_CHARS)
            call_labels[tool_call.id] = f"#{position} {brief.replace(MARK, '')}"


def _message_pieces(heading: _Heading, body: str, budget: int, count: Counter) -> list[str]:
    """Render a message below its heading, in one piece if it fits, else in several."""
    heading_line = (
        heading.full
        if 2 * count(_part_heading(heading.full, 10**6, 10**6)) <= budget
        else heading.least
    )
    if len(body) <= _MAX_CHARS_PER_TOKEN * budget and count(f"{heading_line}\n{body}") <= budget:
        return [f"{heading_line}\n{body}"]
    cuts = _cut_indices(_part_heading(heading_line, 10**6, 10**6), body, budget, count)
    bounds = [*zip([0, *cuts], [*cuts, len(body)], strict=True)]
    return [
        f"{_part_heading(heading_line, k, len(bounds))}\n{body[start:end]}"
        for k, (start, end) in enumerate(bounds, 1)
    ]


_MAX_CHARS_PER_TOKEN = 64
"""A text with more characters per token than this is not counted whole."""


def _part_heading(heading: str, number: int, total: int) -> str:
    return f"{heading} (part {number} of {total})"


def _cut_indices(heading: str, body: str, budget: int, count: Counter) -> list[int]:
    """Return the indices at which to split a text so that each piece fits below its heading."""
    cuts: list[int] = []
    start, piece_chars = 0, _CHARS_PER_TOKEN * budget
    body_budget = budget - count(heading)
    while True:
        end = _boundary(body, start, start + piece_chars)
        tokens = count(f"{heading}\n{body[start:end]}")
        if tokens > budget and end - start > 1:
            tried_chars = end - start
            oversize_tokens = max(1, tokens - (budget - body_budget))
            piece_chars = max(
                1,
                min(
                    tried_chars * 9 // 10, tried_chars * body_budget * 19 // (oversize_tokens * 20)
                ),
            )
            continue
        if end >= len(body):
            return cuts
        cuts.append(end)
        body_tokens = max(1, tokens - (budget - body_budget))
        piece_chars = max(
            1,
            min(
                (end - start) * body_budget * 19 // (body_tokens * 20),
                _MAX_CHARS_PER_TOKEN * budget,
            ),
        )
        start = end


def _boundary(text: str, start: int, end: int) -> int:
    """Move the end of a piece back to the end of a line, or of a word, if one is near."""
    if end >= len(text):
        return len(text)
    nearest = end - (end - start) // _BOUNDARY_SHARE
    for separator in ("\n", " "):
        index = text.rfind(separator, nearest, end)
        if index >= 0:
            return index + 1
    return end


def _packed_transcripts(pieces: Sequence[str], budget: int, count: Counter) -> Iterator[str]:
    """Yield transcripts, each with as many pieces as fit, in order."""
    pending: list[str] = []
    pending_tokens = 0
    for piece in pieces:
        tokens = count(piece) + _JOIN_TOKENS
        if pending and pending_tokens + tokens > budget:
            yield from _joined_transcripts(pending, budget, count)
            pending, pending_tokens = [], 0
        pending.append(piece)
        pending_tokens += tokens
    yield from _joined_transcripts(pending, budget, count)


def _joined_transcripts(pieces: Sequence[str], budget: int, count: Counter) -> Iterator[str]:
    """Join pieces; if the result has more tokens than the sum of its pieces, join fewer."""
    text = "\n\n".join(pieces)
    if len(pieces) <= 1 or count(text) <= budget:
        yield from [text] if pieces else []
    else:
        middle = len(pieces) // 2
        yield from _joined_transcripts(pieces[:middle], budget, count)
        yield from _joined_transcripts(pieces[middle:], budget, count)
