"""How a journal writes events: validated on entry, joined while they wait, packed after the end."""

import json
import zlib
from base64 import b85decode, b85encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from thalweg_server.runs.base import Draft, Event

PACKED = "packed"
"""The type of a row that holds several events, up to the number of the row."""
PACK_CHARS = 1_000_000
"""A page of events unpacks one row: this bounds its time, about 0.2 s."""


def sound(data: str) -> str:
    r"""Return JSON that every database accepts: a lone surrogate is escaped.

    A line that a database refuses would fail the writes of other runs in the transaction.

    Raises:
        ValueError: It is no JSON.

    Example:
        >>> sound('{"text": "ok"}')
        '{"text": "ok"}'
        >>> sound('{"text": "\ud800"}') == r'{"text": "\ud800"}'
        True
    """
    try:
        is_sound = "\0" not in data and (data.isascii() or bool(data.encode()))
    except UnicodeEncodeError:
        is_sound = False
    return data if is_sound else json.dumps(json.loads(data))


def joined(waiting: Iterable[Sequence[Draft]]) -> tuple[list[Draft], list[int]]:
    """Join the deltas that wait in a row.

    Args:
        waiting: The drafts of each append, in order.

    Returns:
        The drafts to write, and for each append how many of them contain all drafts up to its end.

    Example:
        >>> a, b = Draft("d", '{"text": "a"}', "m"), Draft("d", '{"text": "b"}', "m")
        >>> drafts, ends = joined([[a], [b, Draft("e", "{}")]])
        >>> [draft.data for draft in drafts], ends
        (['{"text": "ab"}', '{}'], [1, 2])
    """
    rows: list[list[Draft]] = []
    ends: list[int] = []
    for drafts in waiting:
        for draft in drafts:
            if rows and _joins(rows[-1][0], draft):
                rows[-1].append(draft)
            else:
                rows.append([draft])
        ends.append(len(rows))
    return [_one(row) for row in rows], ends


def _joins(first: Draft, draft: Draft) -> bool:
    return bool(draft.joins) and (draft.joins, draft.type) == (first.joins, first.type)


def _one(row: Sequence[Draft]) -> Draft:
    if len(row) == 1:
        return row[0]
    whole = json.loads(row[0].data)
    whole["text"] = "".join(json.loads(draft.data)["text"] for draft in row)
    return replace(row[0], data=sound(json.dumps(whole, ensure_ascii=False)))


def portions(events: Iterable[Event]) -> Iterator[Sequence[Event]]:
    """Split events into rows to pack, of about `PACK_CHARS` each at most."""
    portion: list[Event] = []
    size = 0
    for event in events:
        if portion and size + len(event.data) > PACK_CHARS:
            yield portion
            portion, size = [], 0
        portion.append(event)
        size += len(event.data)
    if portion:
        yield portion


def pack(events: Sequence[Event]) -> str:
    """Return events with consecutive numbers in one string, compressed."""
    rows = json.dumps([(event.type, event.data) for event in events], ensure_ascii=False)
    return b85encode(zlib.compress(rows.encode(), 9)).decode()


def unpack(event: Event, after: int = 0) -> Sequence[Event]:
    """Return the events after a number of a row; only a packed one has several.

    Example:
        >>> events = [Event(3, "a", "{}"), Event(4, "b", '{"text": "hello"}')]
        >>> unpack(Event(4, PACKED, pack(events)), 3) == events[1:]
        True
    """
    if event.type != PACKED:
        return [event]
    rows: list[tuple[str, str]] = json.loads(zlib.decompress(b85decode(event.data)))
    numbered = enumerate(rows, start=event.seq - len(rows) + 1)
    return [Event(seq, type_, data) for seq, (type_, data) in numbered if seq > after]
