"""The tool `recall`, with which a model reads references and searches by words.

Every result is bounded, and an error is a sentence for the model. A result has the part of a
reference that was read, and the places of media in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thalweg.archive.base import Archive, Passage, Reading, Span, ThreadKey, render_passages
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
from thalweg.engine.entries import RECALL, Media, Message, Opaque, Part
from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.engine.transcript import as_text, as_transcript
from thalweg.engine.window.references import refer
from thalweg.engine.wires.fields import reopen
from thalweg.engine.wires.media_blocks import is_private, unknown_media
from thalweg.errors import ArchiveError, HandleError, RangeError

CHARS_PER_TOKEN = 4
"""First estimate of characters per token; less is read if the tokens are more."""
PAGE = 32
"""Messages that are read at once."""
MANY = 100
"""Number of spans above which results are filtered: each span costs a search of its own."""
MAX_SEARCHES = 8
"""Most searches for one call."""
SPANS = 20
"""Most spans of positions that an error names."""
MOST = 10**15
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


def piece_of(
    handle: str,
    messages: Sequence[tuple[int, Message]],
    lines: tuple[int, int] | None,
    chars: tuple[int, int] | None,
    path: str,
    most: int,
    *,
    is_one: bool,
) -> RecalledPiece:
    """Read a piece of one message's text, or of a transcript, by lines, characters or path.

    Raises:
        RangeError: As for `Archive.read`.
    """
    texts = (as_text(m) if is_one else as_transcript([m], position) for position, m in messages)
    whole = "\n\n".join(texts)
    reading = read_piece(handle, whole, lines=lines, chars=chars, path=path, max_chars=most)
    if path:
        return RecalledPiece(reading)
    end = reading.start + len(reading.text)
    found = [*placed_media(messages, in_transcript=not is_one)]
    shown = [one for one in found if one.start < end and reading.start < one.end]
    return RecalledPiece(reading, shown, [one for one in found if one.start >= end])


def with_media(message: Message) -> Message:
    """Return a message whose blocks of unknown types are media if they hold base64.

    They are since 2026-11-28; older messages are in the log with their JSON.
    """
    if message.role == "assistant" or not any(isinstance(p, Opaque) for p in message.parts):
        return message
    return replace(message, parts=tuple(map(_as_media, message.parts)))


def _as_media(part: Part) -> Part:
    media = unknown_media(part.wire, reopen(part)) if isinstance(part, Opaque) else None
    return part if media is None else media


def kept(
    messages: Iterable[tuple[int, Message]], into: list[tuple[int, Message]]
) -> Iterator[tuple[int, Message]]:
    """Yield messages, and keep those that were taken."""
    for one in messages:
        into.append(one)
        yield one


def _range(name: str) -> dict[str, Any]:
    whole = {"type": "integer", "minimum": 0}
    description = prompt(name).render()
    return {
        "type": "array",
        "items": whole,
        "minItems": 2,
        "maxItems": 2,
        "description": description,
    }


def _text(name: str) -> dict[str, Any]:
    return {"type": "string", "description": prompt(name).render()}


RECALL_TOOL: dict[str, Any] = {
    "name": RECALL,
    "description": prompt("recall_tool").render(),
    "parameters": {
        "type": "object",
        "properties": {
            "handle": _text("recall_handle"),
            "query": _text("recall_query"),
            "lines": _range("recall_lines"),
            "chars": _range("recall_chars"),
            "path": _text("recall_path"),
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
    bound, counter = max(max_tokens, 0), count or exact_counter()
    call = _RecallCall(archive, key, within, bound, counter, name, None)
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
    bound, counter = max(max_tokens, 0), count or exact_counter()
    call = _RecallCall(archive, key, within, bound, counter, name, room)
    return call.result(handle or "", query or "", lines, chars, path or "")


def _pair(given: object) -> tuple[int, int] | None:
    match given:
        case [int(first), int(last)] if max(abs(first), abs(last)) <= MOST:
            return int(first), int(last)
    return None


def _without(spans: Sequence[Span], positions: Sequence[int]) -> list[Span]:
    """Return spans without some positions.

    Example:
        >>> _without([Span(0, 9)], [4, 9])
        [Span(first=0, last=3), Span(first=5, last=8)]
    """
    left: list[Span] = []
    for span in spans:
        first = span.first
        for position in sorted(positions):
            if first <= position <= span.last:
                if position > first:
                    left.append(Span(first, position - 1))
                first = position + 1
        if first <= span.last:
            left.append(Span(first, span.last))
    return left


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
            found = self._answer(handle, query, lines, chars, path)
        except (HandleError, RangeError) as error:
            found = Recalled(str(error))
        except ArchiveError:
            found = Recalled(prompt("recall_failed").render())
        return replace(found, text=self.bounded(found.text))

    def _answer(
        self, handle: object, query: object, lines: object, chars: object, path: object
    ) -> Recalled:
        texts = (("handle", handle), ("query", query), ("path", path))
        no_text = next((name for name, given in texts if not isinstance(given, str)), "")
        if no_text:
            return Recalled(prompt("recall_text").render(what=no_text))
        if query:
            ranged = lines is not None or chars is not None or path
            found = (
                prompt("recall_no_range").text if ranged else self.search(str(query), str(handle))
            )
            return Recalled(found)
        if not handle:
            return Recalled(prompt("recall_which").text)
        name = str(handle)
        if not is_handle(name):
            return Recalled(self.meant(name))
        for kind, given in (("lines", lines), ("chars", chars)):
            if given is not None and _pair(given) is None:
                return Recalled(prompt("recall_range").render(what=kind))
        return self.read(name, _pair(lines), _pair(chars), str(path))

    def meant(self, words: str) -> str:
        """Search for words that were passed as a reference, as small models often do.

        Raises:
            HandleError: Nothing is found.
        """
        found = self._found(words, "")
        if not found:
            raise HandleError(words)
        return prompt("recall_meant").render(words=words, found=found)

    def search(self, query: str, handle: str) -> str:
        return self._found(query, handle) or prompt("recall_nothing").render()

    def _found(self, query: str, handle: str) -> str:
        within = self._parts(handle) if handle else self.within
        there = within
        if within is not None and len(within) > MANY:
            there = [Span(within[0].first, within[-1].last)]
        found = self._originals(query, there)
        if within is not there:
            spans = within or ()
            found = [one for one in found if any(s.first <= one.position <= s.last for s in spans)]
        while found and not self._fits(render_passages(found)):
            found.pop()
        return render_passages(found)

    def _originals(self, query: str, within: Sequence[Span] | None) -> list[Passage]:
        """Search, skipping earlier calls of this tool, and their results, whose text is in others.

        Otherwise a repeated query would return its last result, which quotes the one before.
        """
        found: list[Passage] = []
        there = within
        for _ in range(MAX_SEARCHES):
            found = self.archive.search(self.key, query, within=there, max_tokens=self.max_tokens)
            echoes = [one.position for one in found if self._is_echo(one)]
            if not echoes:
                break
            there = _without(there or (Span(0, MOST),), echoes)
        return [one for one in found if not self._is_echo(one)] or found

    def _is_echo(self, found: Passage) -> bool:
        """Return whether this is an earlier call of the tool, or its result."""
        return any(
            (found.speaker == "assistant" and found.text.startswith(f"{name} {{"))
            or found.speaker == f"tool {name}"
            for name in (RECALL, self.name)
        )

    def _parts(self, handle: str) -> list[Span]:
        """Resolve a reference to its visible positions.

        Raises:
            HandleError: It refers to nothing, or to nothing that is visible.
            RangeError: It has no such position.
        """
        name, requested = parse_handle(handle)
        whole = self.archive.span(self.key, name)
        parts = _common(self.within, whole) if self.within is not None else [whole]
        if not parts:
            raise HandleError(handle)
        if requested is None:
            return parts
        is_inside = whole.first <= requested.first <= requested.last <= whole.last
        if not is_inside or not (requested_parts := _common(parts, requested)):
            positions = ", ".join(map(_positions, parts[:SPANS]))
            problem = prompt("recall_outside").render(
                asked=_positions(requested), positions=positions
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
        parts = self._parts(handle)
        most = max(self.max_tokens * CHARS_PER_TOKEN, 1)
        while True:
            piece = self._piece(handle, parts, lines, chars, path, most)
            note, media = self._media(handle, piece, parts)
            how = piece.reading.next
            more = prompt("recall_more").render(how=how) if how else ""
            notes = (refer(one, self.name) for one in (note, more))
            text = "\n\n".join(filter(None, (piece.reading.text, *notes)))
            if most == 1 or self._fits(text):
                return Recalled(text, media)
            spent = self.count(text)
            most = max(1, min(most * 9 // 10, len(piece.reading.text) * self.max_tokens // spent))

    def _media(
        self, handle: str, piece: RecalledPiece, parts: Sequence[Span]
    ) -> tuple[str, tuple[Media, ...]]:
        """Return the note on the media of a piece, and those that are returned."""
        if self.room is None:
            return text_only_note([*piece.shown, *piece.further]), ()
        room = self.room
        if piece.is_outline:
            room = replace(room, tokens=min(room.tokens, OUTLINE_TOKENS))
        private = [one for one in piece.shown if is_private(one.part, room.wire)]
        open_to_all = [one for one in piece.shown if one not in private]
        fits, later, large = choose_media(open_to_all, room, self.count)
        if piece.is_outline:
            later, large = sorted([*later, *large], key=lambda one: one.position), []
        chosen = fits, [*later, *piece.further], large
        notes = media_note(handle, chosen, by_chars=_is_one(parts)), text_only_note(private)
        return "\n".join(filter(None, notes)), tuple(one.part for one in fits)

    def _piece(
        self,
        handle: str,
        parts: Sequence[Span],
        lines: tuple[int, int] | None,
        chars: tuple[int, int] | None,
        path: str,
        most: int,
    ) -> RecalledPiece:
        """Read a reference without positions that are no longer visible."""
        messages = self._messages(parts)
        if _is_one(parts):
            return piece_of(handle, list(messages), lines, chars, path, most, is_one=True)
        if lines is not None or chars is not None or path:
            return piece_of(handle, list(messages), lines, chars, path, most, is_one=False)
        read: list[tuple[int, Message]] = []
        whole = Span(parts[0].first, parts[-1].last)
        reading = read_numbered(handle, whole, kept(messages, read), max_chars=most)
        if reading.total_chars < 0:
            read = read[: reading.text.count("\n") + 1]
        return RecalledPiece(reading, [*placed_media(read, in_transcript=True)])

    def _messages(self, parts: Sequence[Span]) -> Iterator[tuple[int, Message]]:
        """Yield messages with their positions, read in pages."""
        for part in parts:
            for first in range(part.first, part.last + 1, PAGE):
                last = min(part.last, first + PAGE - 1)
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


def _is_one(parts: Sequence[Span]) -> bool:
    return len(parts) == 1 and parts[0].first == parts[0].last


def _common(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return what spans have of another one."""
    return [
        Span(max(whole.first, one.first), min(whole.last, one.last))
        for one in spans
        if one.first <= whole.last and whole.first <= one.last
    ]


def _positions(span: Span) -> str:
    return str(span.first) if span.first == span.last else f"{span.first}-{span.last}"
