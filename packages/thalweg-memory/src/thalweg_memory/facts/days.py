"""Days as people write them, in the user's time zone; facts valid now and at a time.

Which of two facts is the newer one is decided when they are merged and by their dates, never by
how well it answers a question.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from thalweg_memory.facts.values import Fact, Trust

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


_END_OF_DAY = "T23:59:59Z"
_DAY_CHARS = len("2026-03-02")


def holds(fact: Fact, at: str = "", *, now: str = "") -> bool:
    """Return whether a fact holds now, or held at a time.

    Args:
        fact: One that is trusted, or not: quarantined facts never hold.
        at: A time or a day in ISO 8601, its end; empty for now.
        now: The time: what ended before it does not hold. Empty: nothing ended.

    Example:
        >>> from thalweg_memory.facts.values import Fact, FactId
        >>> fact = Fact(
        ...     FactId("a"), "User lives in Berlin", "context", 1, "2025-01-01", "manual",
        ...     valid_from="2025-01-01T00:00:00Z", valid_to="2026-03-02T00:00:00Z",
        ...     status="superseded",
        ... )
        >>> holds(fact), holds(fact, "2025-06-01"), holds(fact, "2026-03-02")
        (False, True, False)
    """  # fmt: skip
    if fact.trust < Trust.IMPORT or fact.status == "quarantined":
        return False
    if not at:
        return fact.status == "active" and not (fact.valid_to and fact.valid_to < now)
    moment = _end_of(at)
    return _since(fact) <= moment and (
        moment < fact.valid_to if fact.valid_to else fact.status == "active"
    )


def current(facts: Iterable[Fact], at: str = "", *, now: str = "") -> tuple[list[Fact], list[Fact]]:
    """Part facts into those valid now and those valid before, each in the order passed.

    Args:
        facts: Of one memory. Those that are not trusted are in neither list.
        at: See `holds`.
        now: See `holds`.
    """
    moment = _end_of(at)
    trusted = [f for f in facts if f.trust >= Trust.IMPORT and f.status != "quarantined"]
    trusted = [fact for fact in trusted if not moment or _since(fact) <= moment]
    holding = [fact for fact in trusted if holds(fact, at, now=now)]
    ids = {fact.id for fact in holding}
    return holding, [fact for fact in trusted if fact.id not in ids]


def _end_of(at: str) -> str:
    return f"{at}{_END_OF_DAY}" if len(at) == _DAY_CHARS else at


def _since(fact: Fact) -> str:
    return fact.valid_from or fact.observed_at or fact.created_at
