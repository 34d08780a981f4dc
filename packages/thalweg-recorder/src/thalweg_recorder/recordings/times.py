"""Parse the time formats of logs to ISO 8601."""

import re
from datetime import UTC, datetime

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_MILLISECONDS_FROM = 100_000_000_000
"""As seconds, this is the year 5138; larger numbers are milliseconds."""


def iso_time(value: object) -> str:
    """Return a time in ISO 8601, or an empty string if it is none.

    Args:
        value: ISO 8601 (a blank may replace the `T`), or seconds or milliseconds since 1970.

    Example:
        >>> iso_time("2026-05-05 12:44:46"), iso_time(1763681581544)
        ('2026-05-05T12:44:46', '2025-11-20T23:33:01.544000+00:00')
    """
    if isinstance(value, str):
        text = value.strip()
        return text.replace(" ", "T", 1) if _ISO.match(text) else ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    return ""


def _from_number(number: float) -> str:
    try:
        seconds = number / 1000 if number >= _MILLISECONDS_FROM else number
        return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""
