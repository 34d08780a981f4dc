"""What one call of `recall` reads of a reference, with the places of media in it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from thalweg.archive.base import Reading
from thalweg.archive.reading import read_piece
from thalweg.archive.recalled_media import PlacedMedia, placed_media
from thalweg.engine.entries import Message, Opaque, Part
from thalweg.engine.transcript import as_text, as_transcript
from thalweg.engine.wires.fields import reopen
from thalweg.engine.wires.media_blocks import unknown_media


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
