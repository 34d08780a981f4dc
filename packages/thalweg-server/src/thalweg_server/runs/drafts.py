"""Drafts of events on their way into a journal: validated on entry, joined while they wait."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from thalweg_server.runs.base import Draft


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
