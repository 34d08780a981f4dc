"""Previews of archived texts: of every item what identifies it, and the items of a request.

A list shows each item as a row of the same fields, shortened alike; if not all fit, a count of the
others. The fields are those whose values name an item, then those of the request.
"""

import json
import re
from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, product
from math import fsum

from thalweg.engine.compaction.item_lists import MAX_KEYS, ItemList, Note, ParsedText, cell, parse
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
_SCANNED_CHARS, _SEARCHED_CHARS = 40_000, 1_000_000
"""Characters at each end in which errors, and words of a request, are searched for."""
MAX_ERROR_LINES = 3
"""Most lines shown because they report an error."""
MAX_REQUESTED_LINES = 3
"""Most lines shown because of their words."""
_REQUEST_CHARS = 4_000
"""Characters at the end of a request whose words are searched for."""
_LEAST_SCORE = 0.25
"""A line is shown if it has a word that at most four lines have, or several less rare ones."""
MAX_REQUESTED_ITEMS = 3
"""Most items of a list shown with all fields because of their words."""
MAX_LISTS = 6
"""Most lists of one text that are shown; the others are counted."""
_CELL_WIDTHS = (400, 200, 80, 40)
"""Characters a field of a row may have, most generous first."""
_NARROW_WIDTHS = (24, 16, 10)
"""The same where few fields fit."""
_WORDLESS_WIDTHS = (100, 60, 40)
"""Characters a line may have without the words of most lines."""
_NAME_CHARS = 100
"""Characters of a field that are compared with a request."""
_MATCH_SIZES = (
    (3, 99, 200), (3, 40, 200), (3, 20, 99), (1, 20, 99), (3, 8, 60), (1, 8, 60), (1, 4, 40),
)  # fmt: skip
"""Items with words of the request, their fields, and characters of a field, most generous first."""
_SAMPLE = 200
"""Items by which fields are compared."""
_MOST_CHARS = 8
"""Characters of a token, at most, in a text worth counting."""
_ALIKE = 1.2
"""Most characters of a token in a text, relative to another rendering of the same items."""
_MAX_FIELDS = 12
MIN_ROWS = 4
"""Fewest rows of a list that is not shown whole: fewer would stand for the others."""
MAX_PATHS = 60
"""Most fields that are compared."""
_FREQUENT = 0.6
"""Share of lines with a word from which it is stated once for all of them."""
_NAMING = re.compile(
    r"(?:^|[._\\W])(?:id|uid|uuid|key|name|title|number|no|code|sku|slug|path|file|email|login|ref)$|Id$|_id$",
)
"""Paths of fields that name an item in most interfaces."""


def preview(
    text: str,
    tokens: int,
    count: Counter,
    pointer: str,
    max_lines: int = DEFAULT_LINES,
    request: str = "",
) -> str:
    """Render a list's items, or a text's head and tail with some lines between.

    Items and lines with the rarest words of the request are shown in full: a request for one
    figure of a long list or log needs no second call.

    Args:
        text: The whole text.
        tokens: Most tokens of the preview, pointer included.
        count: Counter of tokens.
        pointer: How to read the whole, for the model.
        max_lines: Most lines of plain text from head and tail together; at most `DEFAULT_LINES`
            if not all of them fit.
        request: The last request of the user, and arguments of the call that the text answers.

    Returns:
        At most `tokens` tokens, always with the pointer; only the pointer if nothing more fits.
    """
    head = prompt("moved").render(size=_size_text(text), pointer=pointer)
    room = tokens - count(head) - 2
    if room <= 0:
        return head
    parsed = parse(text)
    if parsed is None:
        body = _plain_preview(text, room, count, max_lines, request)
    else:
        body = _parsed_preview(parsed, room, count, request)
    return f"{head}\n{body}" if body and count(f"{head}\n{body}") <= tokens else head


def _size_text(text: str) -> str:
    lines = text.count("\n")
    return f"{lines + 1:,} line{'s' * bool(lines)}, {len(text):,} characters"


def requested_lines(text: str, request: str, max_lines: int = MAX_REQUESTED_LINES) -> list[str]:
    r"""Return the lines of a text with the rarest words of a request, in their order.

    Example:
        >>> log = "begin\nall is well\nharbor: p95 is 181 ms\nbye"
        >>> requested_lines(log, "Run the check harbor and tell me its p95.")
        ['harbor: p95 is 181 ms']
    """
    lines = list(dict.fromkeys(_end_lines(text, _SEARCHED_CHARS)))
    return [lines[k] for k in sorted(RequestWords(request).best(lines, max_lines))]


class RequestWords:
    """The words of a request, to find in texts."""

    def __init__(self, request: str) -> None:
        self._terms = set(words(request[-_REQUEST_CHARS:])) - STOP_WORDS
        # A word begins as its stem does, but for the y that became an i: most texts need no split.
        starts = sorted({re.escape(t[: 2 if t[2:3] == "i" else 3]) for t in self._terms})
        self._may_match = re.compile("|".join(starts)).search
        self._other_tokens = set[str]()

    def within(self, text: str) -> set[str]:
        """Return the words that a text has."""
        found = set[str]()
        if not self._terms or (
            text.isascii() and not self._may_match(text.lower().translate(_JOINTS))
        ):
            return found
        for token in set(find_tokens(text)) - self._other_tokens:
            if terms := self._terms.intersection(token_words(token)):
                found |= terms
            else:
                self._other_tokens.add(token)
        return found

    def best(self, texts: Sequence[str], most: int) -> list[int]:
        """Return the indices of the texts with the rarest of these words, best first."""
        found = {k: within for k, text in enumerate(texts) if (within := self.within(text))}
        counts = Tally(chain.from_iterable(found.values()))
        scores = {k: fsum(1 / counts[t] for t in within) for k, within in found.items()}
        best = sorted(scores, key=lambda k: (-scores[k], k))[:most]
        return [k for k in best if scores[k] >= _LEAST_SCORE]


_JOINTS = {ord(mark): None for mark in "._-'"}


def _end_lines(text: str, chars: int) -> list[str]:
    ends_text = text if len(text) <= 2 * chars else f"{text[:chars]}\n{text[-chars:]}"
    return [line.strip() for line in ends_text.split("\n")]


def _first_fitting(bodies: Iterator[str], room: int, count: Counter) -> str:
    """Return the first text that fits; empty if none does.

    A text much longer than the last one that did not fit, less its excess, is not counted.
    """
    max_chars = float(room * _MOST_CHARS)
    for body in bodies:
        if len(body) > max_chars:
            continue
        tokens = count(body)
        if tokens <= room:
            return body
        max_chars = len(body) * room / tokens * _ALIKE
    return ""


# -- lists of items ---------------------------------------------------------------------


def _parsed_preview(parsed: ParsedText, room: int, count: Counter, request: str) -> str:
    """Render each list of a parsed text, its long texts and its other values."""
    rest, asked = parsed.rest, RequestWords(request)
    shapes = (
        f"{parsed.kind}: {_shape(rest, width, 3, most)}"
        for most, width in product((MAX_KEYS, 20, 5), LINE_WIDTHS)
    )
    outline = _first_fitting(shapes, room // 3 if parsed.lists else room, count)
    sections = [
        *(partial(_list_preview, parsed.kind, items, asked) for items in parsed.lists[:MAX_LISTS]),
        *(partial(_text_preview, *text, request) for text in [*parsed.texts.items()][:MAX_LISTS]),
    ]
    omitted = len(parsed.lists) + len(parsed.texts) - len(sections)
    parts = [outline] * (rest is not None) + [f"… {omitted} more lists and texts"] * bool(omitted)
    room -= count("\n".join(parts)) + 1
    for left in range(len(sections), 0, -1):
        part = sections[-left](room // left, count)
        parts.append(part)
        room -= count(part) + 1
    return "\n".join(filter(None, parts))


def _text_preview(path: str, text: str, request: str, room: int, count: Counter) -> str:
    if len(text) <= LINE_WIDTHS[1] and "\n" not in text:
        return _first_fitting(iter([f"{path}: {text}"]), room, count)
    head = f"{path}: {_size_text(text)}"
    body = _plain_preview(text, room - count(head) - 1, count, DEFAULT_LINES, request)
    return f"{head}\n{body}" if body else ""


def _list_preview(
    kind: str, items: ItemList, asked: RequestWords, room: int, count: Counter
) -> str:
    """Render the rows of a list that fit, and the items with words of the request."""
    title = f"{items.path or kind}: {len(items.values):,} items"
    matches = [
        (items.name(k), _requested_first(items, k, asked))
        for k in asked.best(items.texts, MAX_REQUESTED_ITEMS)
    ]
    matched = _first_fitting(
        (
            "\n".join(f"{name} = {_some(pairs, *size)}" for name, pairs in matches[:most])
            for most, *size in _MATCH_SIZES
        ),
        room // 3,
        count,
    )
    left = room - count(matched) - 2
    rows = _first_fitting(_row_choices(title, items, left, asked), left, count)
    return "\n".join(part for part in (rows, matched) if part)


def _requested_first(items: ItemList, index: int, asked: RequestWords) -> list[str]:
    """Render all fields of an item; those first whose neighbors have words of the request."""
    fields = items.fields(index, is_deep=True)
    parents = {
        path.rpartition(".")[0]
        for path, value in fields.items()
        if asked.within(f"{path} {str(value)[:_NAME_CHARS]}")
    }
    ordered = sorted(fields, key=lambda path: path.rpartition(".")[0] not in parents)
    return [f"{path}: {_clip_cell(cell(fields[path]), LINE_WIDTHS[1])}" for path in ordered]


def _some(pairs: Sequence[str], most: int, width: int) -> str:
    omitted = [f"… {len(pairs) - most} more fields"] if len(pairs) > most else []
    return ", ".join([*(_clip_cell(pair, width) for pair in pairs[:most]), *omitted])


def _row_choices(title: str, items: ItemList, room: int, asked: RequestWords) -> Iterator[str]:
    """Yield a list's rows: all of them with ever fewer fields, then ever fewer rows."""
    size = len(items.values)
    if size * 2 <= room:
        fields = _cells(items, range(size))
        paths = _ranked_paths(fields, asked)
        choices = chain(
            product(range(min(len(paths), _MAX_FIELDS), 2, -1), _CELL_WIDTHS),
            product((4, 3, 2), _NARROW_WIDTHS[:2]),
            product((1,), (_CELL_WIDTHS[-1], *_NARROW_WIDTHS)),
        )
        for most, width in choices:
            yield _rows(_noted(title, paths, most), fields, paths[:most], width)
    sample = _cells(items, range(0, size, max(1, size // _SAMPLE)))
    paths = _ranked_paths(sample, asked)
    shown = min(size, room // 2)
    while shown >= MIN_ROWS:
        first, last = (shown + 1) // 2, shown // 2
        chosen = [*range(first), *range(size - last, size)]
        fields = _cells(items, chosen)
        for most in (2, 1):
            noted, width = _noted(title, paths, most), _NARROW_WIDTHS[0]
            yield _rows(noted, fields, paths[:most], width, size - len(chosen))
        shown = shown * 2 // 3
    yield f"{title}, each with: {', '.join(_clip(path, 40) for path in paths[:MAX_KEYS])}"
    yield title


def _noted(title: str, paths: Sequence[str], most: int) -> str:
    return f"{title} ({len(paths) - most} more fields)" if len(paths) > most else title


def _cells(items: ItemList, indices: Iterable[int]) -> list[dict[str, str]]:
    return [{path: cell(value) for path, value in items.fields(k).items()} for k in indices]


def _rows(
    title: str, fields: Sequence[dict[str, str]], paths: Sequence[str], width: int, omitted: int = 0
) -> str:
    """Render rows of the fields `paths`, with the number of items omitted in their middle."""
    shown = [path for path in dict.fromkeys(chain.from_iterable(fields)) if path in paths]
    lines = [
        " | ".join(_clip_cell(item[p], width) if p in item else "" for p in shown)
        for item in fields
    ]
    middle = [f"… {omitted:,} more items …"] * bool(omitted)
    names = f", {' | '.join(shown)}" if any(shown) else ""
    half = (len(lines) + 1) // 2
    return "\n".join([f"{title}{names}:", *lines[:half], *middle, *lines[half:]])


def _ranked_paths(fields: Sequence[dict[str, str]], asked: RequestWords) -> list[str]:
    """Return the paths of fields, those first that name an item, then those of the request."""
    sample = fields[:: max(1, len(fields) // _SAMPLE)]
    paths = list(dict.fromkeys(chain.from_iterable(sample)))
    if len(paths) > MAX_PATHS:
        paths = paths[:MAX_PATHS]
    texts = {path: [item[path] for item in sample if path in item] for path in paths}

    def naming(path: str) -> float:
        values = texts[path]
        is_short = sum(map(len, values)) <= 60 * len(values)
        is_unique = len(set(values)) * 10 >= len(sample) * 9
        return is_unique * is_short * (1 + 2 * bool(_NAMING.search(path)) + (path == "key"))

    def varies(path: str) -> bool:
        return len(set(texts[path])) > 1

    order = sorted(paths, key=lambda path: (-naming(path), path.count("."), paths.index(path)))
    best = [path for path in order[:1] if naming(path)]
    few = max(1, len(sample) // 10)
    requested = [
        path
        for path in paths
        if asked.within(path) or 0 < sum(map(bool, map(asked.within, texts[path]))) <= few
    ]
    named = [path for path in order[1:3] if naming(path) > 1]
    by_depth = sorted(paths, key=lambda p: (not varies(p), p.count("."), paths.index(p)))
    return list(dict.fromkeys([*best, *requested, *named, *by_depth]))


def _clip_cell(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    tail = width // 3
    return f"{text[: width - tail - 1]}…{text[len(text) - tail :]}"


# -- lines ------------------------------------------------------------------------------


def _plain_preview(text: str, room: int, count: Counter, max_lines: int, request: str) -> str:
    """Render every line if they fit when all are shortened alike, else head, tail and some more."""
    errors = _error_lines(text) if text.count("\n") >= min(max_lines, DEFAULT_LINES) else []
    requested = requested_lines(text, request)
    limits = sorted({max_lines, min(max_lines, DEFAULT_LINES), min(max_lines, 4)}, reverse=True)
    whole_widths = (LINE_WIDTHS[1], 0) if requested else (0,)
    some = (
        _some_lines(text, width, most, (errors, requested), max(width, whole_width))
        for most, whole_width, width in product(limits, whole_widths, LINE_WIDTHS)
    )
    asked = {line: f"… {_clip(line, LINE_WIDTHS[0])}" for line in requested}
    asked_tokens = count("\n".join(asked.values()))
    if asked_tokens > room // 3:
        asked, asked_tokens = {}, room // 3
    every = (
        "\n".join([lines, *(shown for line, shown in asked.items() if line not in lines)])
        for lines in _every_line(text, room - asked_tokens - 1)
    )
    return _first_fitting(chain(every, some), room, count)


def _every_line(text: str, room: int) -> Iterator[str]:
    """Yield all lines, ever shorter; none if they are too many."""
    if text.count("\n") * 2 > room:
        return
    lines = text.split("\n")
    for width in LINE_WIDTHS[:3]:
        yield "\n".join(_clip(line, width) for line in lines)
    split = [re.split(r"(\s+)", line) for line in lines]
    tally = Tally(word for parts in split for word in dict.fromkeys(parts) if word.strip())
    frequent = [
        word
        for word, number in tally.items()
        if number >= len(lines) * _FREQUENT and not word.isdecimal()
    ]
    note = (
        f"In most lines, and left out of them: {_clip(' '.join(frequent), 200)}\n"
        if frequent
        else ""
    )
    dropped = frozenset(frequent)
    rare = [
        re.sub(r"…(?:\s*…)+", "…", "".join("…" if word in dropped else word for word in parts))
        for parts in split
    ]
    for shortened, width in product(
        (rare, [re.sub(r"\s*…\s*", " ", line) for line in rare]), _WORDLESS_WIDTHS
    ):
        yield note + "\n".join(_clip_cell(line.strip(), width) for line in shortened)


def _some_lines(
    text: str,
    width: int,
    max_lines: int,
    extra_lines: tuple[list[str], list[str]],
    requested_width: int,
) -> str:
    lines = text.split("\n", max_lines * 20)[: max_lines * 20]
    if len(lines) <= max_lines and "\n" not in lines[-1]:
        return "\n".join(_clip(line, width) for line in lines)
    errors, requested = extra_lines

    def shortened(line: str) -> str:
        return _clip(line, requested_width if line.strip() in requested else width)

    tail = max_lines // 2
    ends = [*lines[: max_lines - tail], *text.rsplit("\n", tail)[1:]]
    first_errors = islice({shortened(line): line for line in errors}.values(), MAX_ERROR_LINES)
    at_ends = {line.strip() for line in ends}
    others = dict.fromkeys((*first_errors, *requested))
    middle = [f"… {shortened(line)}" for line in others if line not in at_ends]
    omitted = text.count("\n") + 1 - len(ends) - len(middle)
    shown_ends = [shortened(line) for line in ends]
    first, last = shown_ends[: max_lines - tail], shown_ends[max_lines - tail :]
    gap = [f"… {omitted:,} more lines …"] * bool(omitted)
    return "\n".join([*first, *middle, *gap, *last])


def _clip(line: str, width: int) -> str:
    cut = f"{line[: width * 2 // 3]} […{len(line) - width:,}…] {line[-width // 3 :]}"
    return line if len(line) <= len(cut) else cut


def _error_lines(text: str) -> list[str]:
    return [line for line in _end_lines(text, _SCANNED_CHARS) if _ERROR.search(line)]


def _shape(value: object, width: int, depth: int, most: int) -> str:
    """Render a JSON value, at most `most` keys of each object."""
    match value:
        case Note():
            return str(value)
        case dict() if depth:
            shown = [
                f"{k}: {_shape(v, width, depth - 1, most)}" for k, v in islice(value.items(), most)
            ]
            omitted = [f"… {len(value) - most} more keys"] if len(value) > most else []
            return "{" + ", ".join(shown + omitted) + "}"
        case list() if depth and len(value) == 1:
            return f"[{_shape(value[0], width, depth - 1, most)}]"
        case list() | dict():
            return _clip_cell(cell(value), width)
        case _:
            return _clip(json.dumps(value, ensure_ascii=False), width)
