"""Sources of a world: results of tools, of several forms and sizes, with records.

A record has an id and a value of six digits. In each form the value follows its id, and no other
number of six digits does before the next id; so one rule reads all forms, and every preview that
keeps an id with its value.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import exp, log
from random import Random

from thalweg.engine.tokens import exact_counter

ID = re.compile(r"\b[A-Z]{3}-\d{5}\b")
_VALUE = re.compile(r"\b\d{6}\b")
_BREAK = re.compile(r"\n\s*(?:\n|#\d|…)|…\s*\n|truncated|omitted|difference| by ")
"""What separates an id from a value that follows it and is not its own: the end of a passage, a
cut, a line of the plan."""
REACH = 300
"""Most characters from an id to its value."""
LEAST_TOKENS, MOST_TOKENS = 300, 12_000
"""Limits of a source, in tokens."""
SHARE = 1 / 8
"""Most of a window that one source fills."""
COMMON_TOKENS = 2_400
"""Tokens of a list of about sixty JSON items, the most common source."""
SAMPLE = 8
"""Records by which the tokens of a form are measured."""
_TEXT = (
    "harbour crane pallet customs vessel berth manifest tariff storage rail gate weight seal "
    "inspection delay reefer driver booking terminal dock cargo broker release hold invoice "
    "amended pending partial urgent split returned damaged cleared checked standby night"
)
_WORDS = _TEXT.split()


@dataclass(slots=True)
class Source:
    """A text that a tool reads."""

    name: str
    tool: str
    text: str
    values: dict[str, int]
    """Values of its records by their ids."""


def _prose(dice: Random, least: int, most: int) -> str:
    return " ".join(dice.choices(_WORDS, k=dice.randint(least, most)))


def _items(dice: Random, ids: list[str], *, indent: int | None = None) -> str:
    rows = [
        {
            "id": one,
            "customer": {"name": _prose(dice, 2, 3).title(), "city": dice.choice(_WORDS)},
            "total": number(dice),
            "status": dice.choice(("open", "paid", "disputed")),
            "lines": dice.randint(1, 40),
            "note": _prose(dice, 2, 18),
        }
        for one in ids
    ]
    return json.dumps(rows, indent=indent)


def _indented(dice: Random, ids: list[str]) -> str:
    return _items(dice, ids, indent=2)


def _csv(dice: Random, ids: list[str]) -> str:
    rows = [
        f"{one},{dice.choice(_WORDS)},{number(dice)},{dice.randint(1, 99)},{_prose(dice, 1, 3)}"
        for one in ids
    ]
    return "\n".join(["sku,place,units,shelf,remark", *rows])


def _log(dice: Random, ids: list[str]) -> str:
    lines = []
    for number_of_line, one in enumerate(ids):
        hour, second = divmod(number_of_line * 7, 60)
        level = dice.choice(("INFO", "INFO", "INFO", "WARN", "ERROR"))
        lines.append(
            f"2026-11-03T{hour % 24:02}:14:{second:02}Z {level} worker-{dice.randint(1, 9)} "
            f"job={one} duration_us={number(dice)} {_prose(dice, 3, 12)}"
        )
    return "\n".join(lines)


def _listing(dice: Random, ids: list[str]) -> str:
    return "\n".join(
        f"-rw-r--r-- build  archive/{dice.choice(_WORDS)}/{one}.bin  {number(dice)} bytes  3 Nov"
        for one in ids
    )


def _text(dice: Random, ids: list[str]) -> str:
    paragraphs = [
        f"{_prose(dice, 6, 20).capitalize()}. Of record {one} the measured load was {number(dice)} "
        f"kilograms. {_prose(dice, 12, 40).capitalize()}."
        for one in ids
    ]
    return "\n\n".join(paragraphs)


_FORMS: dict[str, tuple[str, str, Callable[[Random, list[str]], str]]] = {
    "items": ("INV", "list_items", _items),
    "indented": ("ORD", "search_orders", _indented),
    "csv": ("SKU", "query_table", _csv),
    "log": ("JOB", "fetch_log", _log),
    "listing": ("OBJ", "list_files", _listing),
    "text": ("REC", "read_page", _text),
}
FORMS = tuple(_FORMS)
TOOLS = tuple(tool for _, tool, _ in _FORMS.values())


def number(dice: Random) -> int:
    """Return a value: six digits."""
    return dice.randint(100_000, 999_999)


def sources(
    dice: Random, tokens: int, window: int, share: float = SHARE, forms: tuple[str, ...] = FORMS
) -> list[Source]:
    """Return sources whose texts have about this many tokens in total.

    Args:
        dice: Draws forms, sizes, ids and values.
        tokens: Of all texts.
        window: Tokens that the model accepts.
        share: Most of it that one source fills.
        forms: Names of the forms that they have.
    """
    most = int(min(MOST_TOKENS, share * window))
    least = min(LEAST_TOKENS, most // 2)
    unused: dict[str, Iterator[int]] = {}
    made: list[Source] = []
    total = 0
    while total < tokens:
        form = dice.choice(forms)
        prefix, tool, render = _FORMS[form]
        numbers = unused.setdefault(form, iter(range(dice.randint(10_000, 20_000), 100_000, 5)))
        size = int(exp(dice.uniform(log(least), log(most))))
        if dice.random() < SHARE and most > COMMON_TOKENS:
            size = COMMON_TOKENS
        per_record = _tokens_of_record(form)
        ids = [f"{prefix}-{next(numbers)}" for _ in range(max(2, round(size / per_record)))]
        text = render(dice, ids)
        name = f"{form}-{len(made) + 1:03}"
        made.append(Source(name, tool, text, read_values(text)))
        total += round(per_record * len(ids))
    return made


@lru_cache
def _tokens_of_record(form: str) -> float:
    prefix, _, render = _FORMS[form]
    ids = [f"{prefix}-{10_000 + 7 * k}" for k in range(SAMPLE)]
    return exact_counter()(render(Random(form), ids)) / SAMPLE  # noqa: S311 (not a secret)


def read_values(text: str) -> dict[str, int]:
    """Return the values of all records in a text, by their ids."""
    return {one: int(place[-6:]) for one, place in read_records(text).items()}


@lru_cache(maxsize=20_000)
def read_records(text: str) -> dict[str, str]:
    """Return the passages from the ids in a text to their values; the last one of each id."""
    found: dict[str, str] = {}
    places = list(ID.finditer(text))
    for k, place in enumerate(places):
        end = places[k + 1].start() if k + 1 < len(places) else len(text)
        end = min(end, place.end() + REACH)
        value = _VALUE.search(text, place.end(), end)
        if value is not None and not _BREAK.search(text, place.end(), value.start()):
            found[place[0]] = text[place.start() : value.end()]
    return found
