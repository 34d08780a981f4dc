"""Numbers and dates in a fact, and which of them its sources contain."""

import re
from datetime import UTC, datetime

from thalweg_memory.facts.gates.orders import ADDRESS
from thalweg_memory.facts.patterns import read_patterns

RELATIVE = re.compile(read_patterns(__package__, "numbers")["relative"], re.IGNORECASE)
"""Words for times that a date may replace."""
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
DATE = re.compile(
    r"(?<!\d)\d{4}-\d\d?(?:-\d\d?)?(?!\d)|\b(?:19|20)\d\d\b|\b\d\d? ?(?:\w{3,9}\.? )(?:\d{4})\b"
    r"|\d{2,4} ?年|\d\d? ?月(?: ?\d\d? ?[日号])?|\d\d?\. ?(?:\d\d?\.|\w{3,9}) ?\d{2,4}"
    r"|\b\w{3,9} \d\d?(?:st|nd|rd|th)?,? \d{4}\b",
)


def numbers(text: str) -> set[str]:
    """List the numbers of a text.

    Example:
        >>> sorted(numbers("2 cats, at 5:30 pm"))
        ['17', '2', '30', '5', '5:30']
    """
    numerals = NUMBER.findall(text)
    found = {number.replace(",", "") for number in numerals}
    found |= {part for number in numerals for part in re.split(r"[.,:]", number)}
    for hour, minute in _AFTERNOON.findall(text):
        found |= {str(int(hour) % 12 + 12), minute or "00"}
    return found


_AFTERNOON = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?p\.?m\b", re.IGNORECASE)


def new_number(content: str, text: str, stated_at: str) -> str:
    """Return a number that the text lacks; dates may replace times relative to today.

    Example:
        >>> new_number("User has 3 cats", "I have 2 cats", "")
        '3'
        >>> new_number("since 2025", "since last year", "2026-03-02T09:00:00Z")
        ''
    """
    in_text = numbers(text)
    dated = _dates_near(stated_at) if RELATIVE.search(text) else set()
    dates = [found.span() for found in DATE.finditer(content)]
    addresses = [found.span() for found in ADDRESS.finditer(content)]
    for found in NUMBER.finditer(content):
        number = found[0].replace(",", "")
        parts = set(re.split(r"[.,:]", found[0]))
        if (
            number in in_text
            or number.lstrip("0") in in_text
            or (len(parts) > 1 and parts <= in_text)
        ):
            continue
        if _is_in(dates, found) and number.lstrip("0") in dated:
            continue
        if _is_in(addresses, found):
            continue
        return found[0]
    return ""


def _is_in(places: list[tuple[int, int]], found: re.Match[str]) -> bool:
    return any(start <= found.start() < end for start, end in places)


def _moment(stated_at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stated_at).astimezone(UTC)
    except ValueError:
        return None


def _dates_near(stated_at: str) -> set[str]:
    """Return years, months and days that words like `yesterday` or `last year` may mean."""
    moment = _moment(stated_at)
    if moment is None:
        return set()
    years = {str(moment.year + n) for n in range(-60, 11)}
    return years | {str(n) for n in range(1, 32)}
