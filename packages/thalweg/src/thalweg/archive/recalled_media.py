"""The media that one call of `recall` returns: those that the text of its result names.

Two rules: the returned media fit their limits; each one that is not returned is named, with how to
read it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.compaction.hard_limit import forbidding_limit
from thalweg.engine.entries import Media, Message
from thalweg.engine.media.labels import media_label
from thalweg.engine.media.table import MediaLimits
from thalweg.engine.prompts import prompt
from thalweg.engine.tokens import Counter, measure
from thalweg.engine.transcript import as_text, as_transcript, media_spans

MAX_LISTED = 10
"""Most media that a note names."""
OUTLINE_TOKENS = 8_000
"""Most tokens of media that come with an outline: its reader may want only one of its messages."""


NO_LIMITS = MediaLimits()


@dataclass(frozen=True, slots=True)
class MediaRoom:
    """How much media one call may return."""

    tokens: int
    """Tokens of all of it."""
    bytes: int
    """Bytes of all of it in a request, which are those of its base64."""
    number: int
    """Images, documents and sounds."""
    model: str = ""
    """The model that decides how media count, see `measure`."""
    limits: MediaLimits = NO_LIMITS
    """What its provider accepts of one file."""
    wire: str = "langchain"
    """The dialect of the messages: a file that another provider stores cannot be returned."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """The result of one call of `recall`."""

    text: str
    media: tuple[Media, ...] = ()
    """Media that the text names, as they were received, in its order."""


@dataclass(frozen=True, slots=True)
class PlacedMedia:
    """An image, a document or a sound of a thread, and its place in the text of a reference."""

    position: int
    """Position of its message."""
    part: Media
    start: int
    """Index of the first character of the line that names it; 0 in an outline."""
    end: int
    """Index after the last one."""

    @property
    def label(self) -> str:
        """Its position and its label."""
        return f"#{self.position} {media_label(self.part)}"


def placed_media(
    messages: Iterable[tuple[int, Message]], *, in_transcript: bool
) -> Iterator[PlacedMedia]:
    """Yield the media of messages with their places in the text of one, or in a transcript."""
    message_start = 0
    for position, message in messages:
        text = as_transcript([message], position) if in_transcript else as_text(message)
        text_start = message_start + len(text) - len(as_text(message))
        for start, end, part in media_spans(message):
            yield PlacedMedia(position, part, text_start + start, text_start + end)
        message_start += len(text) + 2


def choose_media(
    shown: Sequence[PlacedMedia], room: MediaRoom, count: Counter
) -> tuple[list[PlacedMedia], list[PlacedMedia], list[PlacedMedia]]:
    """Choose the media to return, in order: at least one, if the least that it may cost fits.

    Returns:
        Media to return, media for a later call, and media that no call can return.
    """
    fits, later, too_large = list[PlacedMedia](), list[PlacedMedia](), list[PlacedMedia]()
    tokens_left, bytes_left, count_left = room.tokens, room.bytes, room.number
    for placed in shown:
        cost = measure(Message("user", (placed.part,)), count, room.model)
        is_large = cost.tokens - cost.slack > room.tokens or cost.bytes > room.bytes
        if is_large or not room.number or forbidding_limit(room.limits, placed.part) is not None:
            too_large.append(placed)
        elif later or (
            fits and (cost.tokens > tokens_left or cost.bytes > bytes_left or not count_left)
        ):
            later.append(placed)
        else:
            fits.append(placed)
            tokens_left, bytes_left, count_left = (
                tokens_left - cost.tokens,
                bytes_left - cost.bytes,
                count_left - 1,
            )
    return fits, later, too_large


def media_note(
    handle: str,
    chosen: tuple[Sequence[PlacedMedia], Sequence[PlacedMedia], Sequence[PlacedMedia]],
    *,
    by_chars: bool,
) -> str:
    """Write which media a result has, and how to read the others; empty without any.

    Args:
        handle: The reference that was read.
        chosen: As `choose_media` returns it.
        by_chars: Whether the others are in the same message, so that characters of it name them.
    """
    fits, later, too_large = chosen
    lines: list[str] = []
    if fits:
        lines.append(prompt("recall_media").render(listed=_list_labels(fits)))
    if later:
        recall_arguments = f'handle="{handle.partition("#")[0]}#POSITION"'
        if by_chars:
            recall_arguments = f'handle="{handle}", chars=[{later[0].start}, {later[-1].end}]'
        lines.append(
            prompt("recall_media_later").render(listed=_list_labels(later), how=recall_arguments)
        )
    if too_large:
        lines.append(prompt("recall_media_large").render(listed=_list_labels(too_large)))
    return "\n".join(lines)


def text_only_note(media: Sequence[PlacedMedia]) -> str:
    """Write that a result has only the names of its media; empty without any."""
    return prompt("recall_media_text").render(listed=_list_labels(media)) if media else ""


def _list_labels(media: Sequence[PlacedMedia]) -> str:
    more = [f"{len(media) - MAX_LISTED} more"] if len(media) > MAX_LISTED else []
    return "; ".join([*(placed.label for placed in media[:MAX_LISTED]), *more])
