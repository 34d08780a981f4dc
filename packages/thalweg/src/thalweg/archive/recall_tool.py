"""The tool `recall`, with which a model reads references and searches by words.

Every result is bounded, and an error is a sentence for the model. A result has the part of a
reference that was read, and the places of media in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.archive.base import (
    Passage,
    Reading,
    Span,
    ThreadKey,
    intersect_spans,
    render_passages,
)
from thalweg.archive.handles import is_handle, parse_handle
from thalweg.archive.reading import read_numbered, read_piece
from thalweg.archive.recalled_media import (
    OUTLINE_TOKENS,
    MediaRoom,
    PlacedMedia,
    Recalled,
    choose_media,
    media_note,
    placed_media,
    text_only_note,
)
from thalweg.archive.tables import Archive
from thalweg.engine.entries import RECALL, Media, Message, Opaque, Part
from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_text, as_transcript
from thalweg.engine.window.items import text_for_tool
from thalweg.engine.wires.fields import is_private, opaque_value
from thalweg.engine.wires.media_blocks import unknown_media
from thalweg.errors import ArchiveError, HandleError, RangeError

CHARS_PER_TOKEN = 4
"""First estimate of characters per token; less is read if the tokens are more."""
PAGE_MESSAGES = 32
"""Messages that are read at once."""
FILTER_ABOVE_SPANS = 100
"""Number of spans above which results are filtered: each span costs a search of its own."""
MAX_SEARCHES = 8
"""Most searches for one call."""
MAX_LISTED_SPANS = 20
"""Most spans of positions that an error names."""
MAX_RANGE_NUMBER = 10**15
"""No line or character number of a text is greater."""


@dataclass(frozen=True, slots=True)
class RecalledPiece:
    """The part of a reference that was read."""

    reading: Reading
    shown: Sequence[PlacedMedia] = ()
    """Media that the text names."""
    further: Sequence[PlacedMedia] = ()
    """Media in the rest of the reference."""

    @property
    def is_outline(self) -> bool:
        """Whether the text has only the beginnings of messages."""
        return self.reading.total_chars < 0


def read_recalled_piece(
    handle: str,
    messages: Sequence[tuple[int, Message]],
    lines: tuple[int, int] | None,
    chars: tuple[int, int] | None,
    path: str,
    max_chars: int,
    *,
    is_single: bool,
) -> RecalledPiece:
    """Read a piece of one message's text, or of a transcript, by lines, characters or path.

    Raises:
        RangeError: As for `Archive.read`.
    """
    texts = (as_text(m) if is_single else as_transcript([m], position) for position, m in messages)
    whole = "\n\n".join(texts)
    reading = read_piece(handle, whole, lines=lines, chars=chars, path=path, max_chars=max_chars)
    if path:
        return RecalledPiece(reading)
    end = reading.start + len(reading.text)
    placed = [*placed_media(messages, in_transcript=not is_single)]
    shown = [
        media_place
        for media_place in placed
        if media_place.start < end and reading.start < media_place.end
    ]
    return RecalledPiece(
        reading, shown, [media_place for media_place in placed if media_place.start >= end]
    )


def with_media(message: Message) -> Message:
    """Return a message whose blocks of unknown types are media if they hold base64.

    New messages are parsed so since 2026-11-28; older ones are in the log with their JSON.
    """
    if message.role == "assistant" or not any(isinstance(p, Opaque) for p in message.parts):
        return message
    return replace(message, parts=tuple(map(_as_media, message.parts)))


def _as_media(part: Part) -> Part:
    media = unknown_media(part.wire, opaque_value(part)) if isinstance(part, Opaque) else None
    return part if media is None else media


def yield_and_collect(
    messages: Iterable[tuple[int, Message]], collected: list[tuple[int, Message]]
) -> Iterator[tuple[int, Message]]:
    """Yield messages, and collect those that were consumed."""
    for numbered_message in messages:
        collected.append(numbered_message)
        yield numbered_message


def _range_schema(name: str) -> dict[str, Any]:
    index_schema = {"type": "integer", "minimum": 0}
    description = prompt(name).render()
    return {
        "type": "array",
        "items": index_schema,
        "minItems": 2,
        "maxItems": 2,
        "description": description,
    }


def _text_schema(name: str) -> dict[str, Any]:
    return {"type": "string", "description": prompt(name).render()}


RECALL_TOOL: dict[str, Any] = {
    "name": RECALL,
    "description": prompt("recall_tool").render(),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": _text_schema("recall_handle"),
            "query": _text_schema("recall_query"),
            "lines": _range_schema("recall_lines"),
            "chars": _range_schema("recall_chars"),
            "path": _text_schema("recall_path"),
        },
        "additionalProperties": False,
    },
}
"""JSON schema of the tool; the other arguments of `recall` are the caller's."""


def recall(
    archive: Archive,
    key: ThreadKey,
    *,
    handle: object = "",
    query: object = "",
    lines: object = None,
    chars: object = None,
    path: object = "",
    within: Sequence[Span] | None = None,
    max_tokens: int = 2_000,
    count: Counter | None = None,
    name: str = RECALL,
) -> str:
    """Return the result of a model's call of `recall` as text, for any argument values.

    Images and other media are named in it. `recall_content` returns them, too.

    Args:
        archive: The archive of the thread.
        key: The calling thread; no other is read.
        handle: The reference to read, or with a query the span to search.
        query: The search words.
        lines: As for `Archive.read`.
        chars: As for `Archive.read`.
        path: As for `Archive.read`.
        within: The visible positions of the thread, ascending: nothing else of the log is
            returned, and other references do not exist. `None` means the whole log.
        max_tokens: Bound on the result.
        count: Counts tokens; by default exactly, as OpenAI does.
        name: The name of the tool in the thread.

    Returns:
        The text or the passages; a sentence with the error if there are none.

    Example:
        >>> from thalweg.archive import Logged, Span, open_archive
        >>> from thalweg.engine.entries import Message, Text
        >>> key = ThreadKey("ada", "t1")
        >>> with open_archive(":memory:") as archive:
        ...     length = archive.append(key, [Logged(Message("user", (Text("hello"),)))])
        ...     recall(archive, key, handle=archive.handle(key, Span(0, 0)))
        'hello'
    """
    token_limit, counter = max(max_tokens, 0), count or exact_counter()
    call = _RecallCall(archive, key, within, token_limit, counter, name, None)
    return call.result(handle or "", query or "", lines, chars, path or "").text


def recall_content(
    archive: Archive,
    key: ThreadKey,
    *,
    room: MediaRoom,
    handle: object = "",
    query: object = "",
    lines: object = None,
    chars: object = None,
    path: object = "",
    within: Sequence[Span] | None = None,
    max_tokens: int = 2_000,
    count: Counter | None = None,
    name: str = RECALL,
) -> Recalled:
    """Return the result of a model's call of `recall`: its text, and the media that it names.

    Media are returned as they were received, as many as fit the limit: those of the messages that
    the text shows. The text states how to read the others. A piece of a message, by lines or
    characters, has the media whose lines are in it.

    Args:
        archive: As for `recall`.
        key: As for `recall`.
        room: Limits on the media in the result.
        handle: As for `recall`.
        query: As for `recall`; passages are text alone.
        lines: As for `recall`.
        chars: As for `recall`.
        path: As for `recall`.
        within: As for `recall`.
        max_tokens: Limit on the text.
        count: As for `recall`.
        name: As for `recall`.
    """
    token_limit, counter = max(max_tokens, 0), count or exact_counter()
    call = _RecallCall(archive, key, within, token_limit, counter, name, room)
    return call.result(handle or "", query or "", lines, chars, path or "")


def _parse_range(value: object) -> tuple[int, int] | None:
    match value:
        case [int(first), int(last)] if max(abs(first), abs(last)) <= MAX_RANGE_NUMBER:
            return int(first), int(last)
    return None


def _exclude_positions(spans: Sequence[Span], positions: Sequence[int]) -> list[Span]:
    """Return spans without some positions.

    Example:
        >>> _exclude_positions([Span(0, 9)], [4, 9])
        [Span(first=0, last=3), Span(first=5, last=8)]
    """
    remaining: list[Span] = []
    for span in spans:
        first = span.first
        for position in sorted(positions):
            if first <= position <= span.last:
                if position > first:
                    remaining.append(Span(first, position - 1))
                first = position + 1
        if first <= span.last:
            remaining.append(Span(first, span.last))
    return remaining


@dataclass(frozen=True, slots=True)
class _RecallCall:
    """One call of the tool."""

    archive: Archive
    key: ThreadKey
    within: Sequence[Span] | None
    max_tokens: int
    count: Counter
    name: str
    room: MediaRoom | None
    """Limits on media; `None` if only text can be returned."""

    def result(
        self, handle: object, query: object, lines: object, chars: object, path: object
    ) -> Recalled:
        """Return the result of the call, within its bound."""
        try:
            recalled = self._answer(handle, query, lines, chars, path)
        except (HandleError, RangeError) as error:
            recalled = Recalled(str(error))
        except ArchiveError:
            recalled = Recalled(prompt("recall_failed").render())
        return replace(recalled, text=self.bounded(recalled.text))

    def _answer(
        self, handle: object, query: object, lines: object, chars: object, path: object
    ) -> Recalled:
        texts = (("handle", handle), ("query", query), ("path", path))
        wrong_argument = next((name for name, value in texts if not isinstance(value, str)), "")
        if wrong_argument:
            return Recalled(prompt("recall_text").render(what=wrong_argument))
        if query:
            has_range = lines is not None or chars is not None or path
            answer = (
                prompt("recall_no_range").text
                if has_range
                else self.search(str(query), str(handle))
            )
            return Recalled(answer)
        if not handle:
            return Recalled(prompt("recall_which").text)
        name = str(handle)
        if not is_handle(name):
            return Recalled(self.search_passed_words(name))
        for kind, value in (("lines", lines), ("chars", chars)):
            if value is not None and _parse_range(value) is None:
                return Recalled(prompt("recall_range").render(what=kind))
        return self.read(name, _parse_range(lines), _parse_range(chars), str(path))

    def search_passed_words(self, words: str) -> str:
        """Search for words that were passed as a reference, as small models often do.

        Raises:
            HandleError: Nothing is found.
        """
        passages = self._render_hits(words, "")
        if not passages:
            raise HandleError(words)
        return prompt("recall_meant").render(words=words, found=passages)

    def search(self, query: str, handle: str) -> str:
        return self._render_hits(query, handle) or prompt("recall_nothing").render()

    def _render_hits(self, query: str, handle: str) -> str:
        within = self._visible_spans(handle) if handle else self.within
        searched_spans, note = within, ""
        if unindexed := self.archive.unindexed(self.key):
            state = "read_only" if self.archive.is_read_only else "unindexed"
            note = prompt(f"recall_{state}").render(messages=_format_span(unindexed))
        if within is not None and len(within) > FILTER_ABOVE_SPANS:
            searched_spans = [Span(within[0].first, within[-1].last)]
        hits = self._search_originals(query, searched_spans)
        if unindexed and not self.archive.is_read_only:
            self.archive.index_soon(self.key)
        if within is not searched_spans:
            spans = within or ()
            hits = [
                hit
                for hit in hits
                if any(span.first <= hit.position <= span.last for span in spans)
            ]
        while hits and not self._fits("\n\n".join((render_passages(hits), note))):
            hits.pop()
        return "\n\n".join(filter(None, (render_passages(hits), note)))

    def _search_originals(self, query: str, within: Sequence[Span] | None) -> list[Passage]:
        """Search, skipping earlier calls of this tool, and their results, whose text is in others.

        Otherwise a repeated query would return its last result, which quotes the one before.
        """
        hits: list[Passage] = []
        searched_spans = within
        for _ in range(MAX_SEARCHES):
            hits = self.archive.search(
                self.key, query, within=searched_spans, max_tokens=self.max_tokens, wait=False
            )
            echo_positions = [hit.position for hit in hits if self._is_echo(hit)]
            if not echo_positions:
                break
            searched_spans = _exclude_positions(
                searched_spans or (Span(0, MAX_RANGE_NUMBER),), echo_positions
            )
        return [hit for hit in hits if not self._is_echo(hit)] or hits

    def _is_echo(self, hit: Passage) -> bool:
        """Return whether this is an earlier call of the tool, or its result."""
        return any(
            (hit.speaker.startswith("assistant") and hit.text.startswith(f"{name} {{"))
            or hit.speaker == f"tool {name}"
            for name in (RECALL, self.name)
        )

    def _visible_spans(self, handle: str) -> list[Span]:
        """Resolve a reference to its visible positions.

        Raises:
            HandleError: It refers to nothing, or to nothing that is visible.
            RangeError: It has no such position.
        """
        name, requested = parse_handle(handle)
        whole = self.archive.span(self.key, name)
        spans = intersect_spans(self.within, whole) if self.within is not None else [whole]
        if not spans:
            raise HandleError(handle)
        if requested is None:
            return spans
        is_inside = whole.first <= requested.first <= requested.last <= whole.last
        if not is_inside or not (requested_parts := intersect_spans(spans, requested)):
            positions = ", ".join(map(_format_span, spans[:MAX_LISTED_SPANS]))
            problem = prompt("recall_outside").render(
                asked=_format_span(requested), positions=positions
            )
            raise RangeError(name, problem)
        return requested_parts

    def read(
        self,
        handle: str,
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
    ) -> Recalled:
        """Read a reference, and the media of the part that is shown."""
        spans = self._visible_spans(handle)
        max_chars = max(self.max_tokens * CHARS_PER_TOKEN, 1)
        while True:
            piece = self._read_visible(handle, spans, lines, chars, path, max_chars)
            note, media = self._note_and_media(handle, piece, spans)
            next_hint = piece.reading.next
            next_note = prompt("recall_more").render(how=next_hint) if next_hint else ""
            notes = (text_for_tool(appended_note, self.name) for appended_note in (note, next_note))
            text = "\n\n".join(filter(None, (piece.reading.text, *notes)))
            if max_chars == 1 or self._fits(text):
                return Recalled(text, media)
            used_tokens = self.count(text)
            max_chars = max(
                1,
                min(max_chars * 9 // 10, len(piece.reading.text) * self.max_tokens // used_tokens),
            )

    def _note_and_media(
        self, handle: str, piece: RecalledPiece, spans: Sequence[Span]
    ) -> tuple[str, tuple[Media, ...]]:
        """Return the note on the media of a piece, and those that are returned."""
        if self.room is None:
            return text_only_note([*piece.shown, *piece.further]), ()
        room = self.room
        if piece.is_outline:
            room = replace(room, tokens=min(room.tokens, OUTLINE_TOKENS))
        private = [placed for placed in piece.shown if is_private(placed.part, room.wire)]
        returnable = [placed for placed in piece.shown if placed not in private]
        fits, later, too_large = choose_media(returnable, room, self.count)
        if piece.is_outline:
            later, too_large = sorted([*later, *too_large], key=lambda placed: placed.position), []
        chosen = fits, [*later, *piece.further], too_large
        notes = (
            media_note(handle, chosen, by_chars=_is_single_message(spans)),
            text_only_note(private),
        )
        return "\n".join(filter(None, notes)), tuple(placed.part for placed in fits)

    def _read_visible(
        self,
        handle: str,
        spans: Sequence[Span],
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
        max_chars: int,
    ) -> RecalledPiece:
        """Read a reference without positions that are no longer visible."""
        messages = self._messages(spans)
        if _is_single_message(spans):
            return read_recalled_piece(
                handle, list(messages), lines, chars, path, max_chars, is_single=True
            )
        if lines is not None or chars is not None or path:
            return read_recalled_piece(
                handle, list(messages), lines, chars, path, max_chars, is_single=False
            )
        read_messages: list[tuple[int, Message]] = []
        whole = Span(spans[0].first, spans[-1].last)
        reading = read_numbered(
            handle, whole, yield_and_collect(messages, read_messages), max_chars=max_chars
        )
        if reading.total_chars < 0:
            read_messages = read_messages[: reading.text.count("\n") + 1]
        return RecalledPiece(reading, [*placed_media(read_messages, in_transcript=True)])

    def _messages(self, spans: Sequence[Span]) -> Iterator[tuple[int, Message]]:
        """Yield messages with their positions, read in pages."""
        for span in spans:
            for first in range(span.first, span.last + 1, PAGE_MESSAGES):
                last = min(span.last, first + PAGE_MESSAGES - 1)
                read = map(with_media, self.archive.messages(self.key, first, last))
                yield from enumerate(read, first)

    def bounded(self, text: str) -> str:
        """Cut a text that is still too long: an echoed name, or a result that does not fit."""
        if self._fits(text):
            return text
        low, high = 0, min(len(text), self.max_tokens * CHARS_PER_TOKEN * 4)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(text[:middle]) else (low, middle - 1)
        return text[:low]

    def _fits(self, text: str) -> bool:
        return self.count(text) <= self.max_tokens


def _is_single_message(spans: Sequence[Span]) -> bool:
    return len(spans) == 1 and spans[0].first == spans[0].last


def _format_span(span: Span) -> str:
    return str(span.first) if span.first == span.last else f"{span.first}-{span.last}"
