"""Days and times as people write them, in the time zone of the user."""

from datetime import UTC, date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


END_OF_DAY = "T23:59:59Z"
"""Of a day that ends a fact: a day, not a moment, so it is the same in every zone."""


@lru_cache(maxsize=4_096)
def local(at: str, zone: str) -> str:
    """Write a time in a zone, without its offset; a day and an unknown time stay as they are.

    Args:
        at: A time or a day in ISO 8601.
        zone: An IANA name; empty for UTC.

    Example:
        >>> local("2026-03-01T19:00:00Z", "Pacific/Auckland"), local("2026-03-01", "Asia/Tokyo")
        ('2026-03-02T08:00:00Z', '2026-03-01')
    """
    if not zone or len(at) <= len("2026-03-01") or at.endswith(END_OF_DAY):
        return at
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return at
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M:%SZ}"


def day_in_words(at: str) -> str:
    """Write the day of a time as people write it; empty if the time is unknown.

    Example:
        >>> day_in_words("2023-05-08T13:56:00Z"), day_in_words("")
        ('8 May 2023 Monday', '')
    """
    try:
        day = date.fromisoformat(at[:10])
    except ValueError:
        return ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"
