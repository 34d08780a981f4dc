"""The first and the last day that a date without a day may name."""

import re
from calendar import monthrange
from datetime import date


def first_day(text: str) -> str:
    """Return the first day of a date, a month or a year in ISO 8601; empty for anything else.

    Example:
        >>> first_day("2026-03"), first_day("2026"), first_day("soon")
        ('2026-03-01', '2026-01-01', '')
    """
    found = _DAY.match(text)
    if found is None:
        return ""
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)).isoformat()
    except ValueError:
        return ""


def last_day(text: str) -> str:
    """Return the end of the last day of a date, a month or a year in ISO 8601.

    Example:
        >>> last_day("2026-02"), last_day("soon")
        ('2026-02-28T23:59:59Z', '')
    """
    found = _DAY.match(text)
    if found is None or not first_day(text):
        return ""
    year, month = int(found[1]), int(found[2] or 12)
    day = int(found[3] or monthrange(year, month)[1])
    return f"{date(year, month, day).isoformat()}T23:59:59Z"


_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d-])")
