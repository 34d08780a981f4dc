"""Lists of items in texts of several formats: JSON, JSON lines, CSV, TSV, tables of characters."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

PARSED_CHARS = 20_000_000
"""A longer text is not parsed."""
MAX_KEYS = 100
"""A JSON object with more keys is a list of their values."""
_FEW_KEYS = 20
"""The same if nearly all values are objects or lists."""
FEW_ITEMS = 5
"""Items of a list up to which lists inside them are lists of their own."""
_LONG_CHARS = 1_000
"""Characters of a JSON string from which it is a text of its own."""
_SHORT_CHARS = 120
"""Characters of a value that is not divided."""
_MAX_DEPTH = 8
_HEADING = re.compile(r"[^\W\d][\w .()%/#:-]{0,40}")
_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")
_REPR_CHARS = 1_000_000
"""A longer text is not parsed as Python's notation."""
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|(\"(?:[^\"\\]|\\.)*\")|([^'\"]+)", re.DOTALL)
_NAMES = {"(": "[", ")": "]", "True": "true", "False": "false", "None": "null"}
_EDGE = re.compile(r"\s*\+?[-=+]+\+\s*")


class Note(str):
    """A text of ours among the values of a JSON text."""

    __slots__ = ()


@dataclass(frozen=True)
class ItemList:
    """A list of items inside a text, each with its fields."""

    path: str
    """Where it is in a JSON text; empty for the text itself."""
    values: Sequence[object]
    keys: Sequence[str] | None = None
    """The names of the items, if they are the values of a JSON object."""

    def fields(self, index: int, *, is_deep: bool = False) -> dict[str, object]:
        """Return the fields of an item by their path; `is_deep` includes those of inner lists."""
        key = {} if self.keys is None else {"key": self.keys[index]}
        value = self.values[index]
        if isinstance(value, dict) and "key" in value:
            key = {f"({name})": text for name, text in key.items()}
        return {**key, **dict(_flat(value, "", 0, is_deep=is_deep))}

    def name(self, index: int) -> str:
        """Return the path of an item."""
        return f"{self.path}[{index if self.keys is None else json.dumps(self.keys[index])}]"

    @cached_property
    def texts(self) -> list[str]:
        """The text of each item, to search."""
        shown = (v if isinstance(v, str) else _compact(v) for v in self.values)
        return [
            f"{self.keys[k]} {text}" if self.keys is not None else text
            for k, text in enumerate(shown)
        ]


@dataclass(frozen=True)
class ParsedText:
    """The content of a text: lists of items, long texts inside it, and the rest."""

    kind: str
    lists: Sequence[ItemList]
    texts: Mapping[str, str]
    """Long strings by their path."""
    rest: object = None
    """The JSON value, with a note in place of each list and long string; `None` if it has no more.
    """


def parse(text: str) -> ParsedText | None:
    """Parse a text with lists of items or a JSON object; `None` for any other text."""
    if len(text) > PARSED_CHARS:
        is_list = text[:_LONG_CHARS].lstrip().startswith(("[", "{"))
        return ParsedText("JSON", [], {}, Note("too long to be parsed")) if is_list else None
    return _json(text) or _json_lines(text) or _bars(text) or _separated(text)


def _json(text: str) -> ParsedText | None:
    """Parse JSON or Python's notation of it, with few lines around."""
    start = re.search(r"^[ \t]*(?=[\[{(])", text[:_LONG_CHARS], re.MULTILINE)
    if start is None:
        return None
    try:
        value, end = json.JSONDecoder().raw_decode(text, start.end())
    except (ValueError, RecursionError):
        value, end = _literal(text[start.end() :]), len(text)
        if value is None:
            return _cut_json(text)
    around = f"{text[: start.end()]}{text[end:]}".strip()
    if not isinstance(value, dict | list) or len(around) * 5 > len(text):
        return None
    lists, texts = list[ItemList](), {"other text": around} if around else {}
    rest = _without_lists(value, "", lists, texts, 0)
    return ParsedText("JSON", lists, texts, None if isinstance(rest, Note) else rest)


def _cut_json(text: str) -> ParsedText | None:
    """Parse the whole items of a JSON list whose end is missing."""
    start = re.search(r"\[\s*(?=[\[{])", text[:_LONG_CHARS])
    if start is None:
        return None
    decode, end, values = json.JSONDecoder().raw_decode, start.end(), list[object]()
    with suppress(ValueError, RecursionError):
        while end < len(text):
            value, end = decode(text, end)
            values.append(value)
            comma = re.compile(r"\s*,\s*").match(text, end)
            if comma is None:
                break
            end = comma.end()
    around = f"{text[: start.start()]} … {text[end:]}"
    if len(values) <= 1 or len(around) * 2 > len(text):
        return None
    return ParsedText("JSON, its end is missing", [ItemList("", values)], {"other text": around})


def _literal(text: str) -> object:
    """Parse a list or dictionary as Python prints it, not what only Python has."""
    if len(text) > _REPR_CHARS or "'" not in text[:_LONG_CHARS]:
        return None
    translated = _STRING.sub(_json_token, text)
    try:
        return json.loads(translated)
    except (ValueError, RecursionError):
        return None


def _json_token(found: re.Match[str]) -> str:
    single, double, other = found.groups()
    if other is not None:
        other = re.sub(r"\b(?:True|False|None)\b|[()]", lambda name: _NAMES[name[0]], other)
        return re.sub(r",\s*\]", "]", other)
    body = double[1:-1] if single is None else single.replace("\\'", "'").replace('"', '\\"')
    return '"' + re.sub(r"\\x([0-9a-f]{2})", r"\\u00\1", body) + '"'


def _without_lists(
    value: object, path: str, lists: list[ItemList], texts: dict[str, str], depth: int
) -> object:
    """Collect the lists and long strings of a JSON value; return it with notes in their place."""
    if isinstance(value, str) and len(value) > _LONG_CHARS:
        texts[path] = value
        return Note(f"{len(value):,} characters")
    if depth >= _MAX_DEPTH or not isinstance(value, dict | list):
        return value
    if depth and len(value) <= _FEW_KEYS and len(_compact(value)) <= _SHORT_CHARS:
        return value
    if isinstance(value, dict) and not _is_mapping_of_items(value):
        return {
            key: _without_lists(inner, _joined(path, key), lists, texts, depth + 1)
            for key, inner in value.items()
        }
    if isinstance(value, list) and len(value) <= 1:
        return [_without_lists(v, f"{path}[0]", lists, texts, depth + 1) for v in value]
    items = ItemList(path, value) if isinstance(value, list) else (
        ItemList(path, list(value.values()), list(value))
    )  # fmt: skip
    lists.append(items)
    for k, inner in enumerate(items.values if len(items.values) <= FEW_ITEMS else ()):
        _without_lists(inner, items.name(k), lists, texts, depth + 1)
    return Note(f"{len(value):,} items")


def _is_mapping_of_items(value: dict[str, object]) -> bool:
    nested = sum(isinstance(inner, dict | list) for inner in value.values())
    return len(value) > (_FEW_KEYS if nested * 10 >= len(value) * 9 else MAX_KEYS)


def _json_lines(text: str) -> ParsedText | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    values = list[object]()
    try:
        values = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
    return ParsedText("JSON lines", [ItemList("", values)], {}) if len(values) > 1 else None


def _bars(text: str) -> ParsedText | None:
    """Parse a text that is one table drawn with bars, as in Markdown."""
    lines = [line for line in text.split("\n") if line.strip() and not _EDGE.fullmatch(line)]
    is_drawn = any(map(_RULE.fullmatch, lines[1:20])) or text.lstrip().startswith("+-")
    if not is_drawn or sum("|" in line for line in lines) < len(lines) * 9 // 10:
        return None
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in lines
        if "|" in line and not _RULE.fullmatch(line)
    ]
    others = [line for line in lines if "|" not in line and not _RULE.fullmatch(line)]
    return _table("table", rows, others)


def _separated(text: str) -> ParsedText | None:
    """Parse a text whose rows have as many fields as its first line has names."""
    first = text.lstrip("\n").split("\n", 1)[0]
    for separator in sorted("\t,;|", key=lambda mark: -first.count(mark)):
        if not all(map(_HEADING.fullmatch, first.strip().split(separator)[:2])):
            continue
        try:
            rows = [row for row in csv.reader(io.StringIO(text, ""), delimiter=separator) if row]
        except csv.Error:
            continue
        if table := _table("TSV" if separator == "\t" else "CSV", rows, []):
            return table
    return None


def _table(kind: str, rows: Sequence[Sequence[str]], others: list[str]) -> ParsedText | None:
    """Make a list of rows with the names of a first row, if nearly all have as many fields."""
    head, *body = rows or [[]]
    wrong = sum(len(row) != len(head) for row in body)
    is_head = len(set(head)) == len(head) > 1 and all(map(_HEADING.fullmatch, head))
    if not is_head or len(body) < len(head[:2]) or wrong * 20 > len(body):
        return None
    values = [
        dict(zip(head, row, strict=True)) if len(row) == len(head) else " | ".join(row)
        for row in body
    ]
    texts = {"other text": "\n".join(others)} if others else {}
    return ParsedText(kind, [ItemList("", values)], texts)


def _flat(value: object, path: str, depth: int, *, is_deep: bool) -> Iterator[tuple[str, object]]:
    """Yield the leaves of a JSON value by path; the number of items for an inner list."""
    if isinstance(value, dict) and value and depth < _MAX_DEPTH:
        for key, inner in value.items():
            yield from _flat(inner, _joined(path, key), depth + 1, is_deep=is_deep)
    elif isinstance(value, list) and value and depth < _MAX_DEPTH and (is_deep or not depth):
        for k, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{k}]", depth + 1, is_deep=is_deep)
    else:
        yield path, value


def _joined(path: str, key: str) -> str:
    name = key if re.fullmatch(r"[^.\[\]\"|\s]+(?: [^.\[\]\"|\s]+)*", key) else _compact(key)
    return f"{path}.{name}" if path else name


def cell(value: object) -> str:
    """Return the text of a field: unchanged if that is unambiguous in a row, else as JSON."""
    if isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        return f"({len(value)} items)"
    if isinstance(value, dict) and value:
        return f"({len(value)} keys)"
    is_plain = isinstance(value, str) and re.fullmatch(r"\S(?:[^|\n\r]*\S)?", value)
    return str(value) if is_plain else _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
