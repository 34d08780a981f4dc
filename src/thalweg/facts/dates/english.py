"""Times as English tells them, and how a day is written in English."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from thalweg.facts.dates import spans
from thalweg.facts.dates.spans import Season, Span, Unit, relative

Match = re.Match[str]
Reader = Callable[[Match, date, bool], Span]
"""Reads what a pattern matched; told are today, and whether the text speaks of what will be.

A `ValueError` or `OverflowError` of the calendar means that there is no such day.
"""

_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH_NUMBERS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS = (
    "mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?"
    "|sat(?:urday)?|sun(?:day)?"
)
_FULL_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_DAY_NUMBERS = {name: n for n, name in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_SEASON_NAMES: dict[str, Season] = {
    "spring": "spring", "summer": "summer", "autumn": "autumn", "fall": "autumn",
    "winter": "winter",
}  # fmt: skip
_SMALL = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3,
    "several": 4,
}  # fmt: skip
_COUNT = (
    r"(?:about |around |roughly |over |almost |nearly |some |only )?"
    r"(?P<count>\d{1,3}|(?:a )?couple(?: of)?|(?:a )?few|several|an?|one|two|three|four|five|six"
    r"|seven|eight|nine|ten|eleven|twelve)"
)
_UNIT = r"(?P<unit>day|weekend|week|month|quarter|year)s?"
_PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
_YEAR = r"(?:19|20)\d\d"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_THIRDS = {
    "early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2,
}  # fmt: skip
_THIRD = r"(?:(?:the )?(?P<third>early|mid|late|beginning|start|middle|end)(?: of)?(?: in)?[\s-]+)?"
_NOT_A_VERB = (
    r"(?!\s+(?:be|have|has|not|well|or|need|want|also|i|you|he|she|it|they|we|get|take|go)\b)"
)
_HOLIDAYS = {
    "new year's day": (1, 1), "valentine's day": (2, 14), "independence day": (7, 4),
    "halloween": (10, 31), "christmas eve": (12, 24), "christmas day": (12, 25),
    "christmas": (12, 25), "xmas": (12, 25), "boxing day": (12, 26), "new year's eve": (12, 31),
}  # fmt: skip

FUTURE = re.compile(
    r"\b(?:will|shall|going to|plans?|planning|upcoming|tomorrow|due|deadline|hopes? to|wants? to"
    r"|scheduled|booked|starts|begins|launch(?:es)?)\b|'ll\b|\bnext\b",
    re.IGNORECASE,
)


def _month_number(name: str) -> int:
    return _MONTH_NUMBERS[name[:3].lower()]


def _season_name(name: str) -> Season:
    return _SEASON_NAMES[name.lower()]


def _unit(name: str) -> Unit:
    units: tuple[Unit, ...] = ("day", "weekend", "week", "month", "quarter", "year")
    return next(unit for unit in units if name.lower().startswith(unit))


def _count(text: str) -> int:
    words = text.lower().removesuffix(" of").split()
    return int(words[-1]) if words[-1].isdigit() else _SMALL[words[-1]]


def _step(word: str) -> int:
    """Tell which way a word leads: -1 back, 1 on, 0 for `this`."""
    return {"last": -1, "past": -1, "previous": -1, "next": 1, "coming": 1}.get(word.lower(), 0)


def _iso(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del today, is_future
    return spans.day(date(int(match["y"]), int(match["m"]), int(match["d"])))


def _numeric(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    """Read 5/8/2023: the month comes first, unless it cannot be one."""
    del today, is_future
    first, second = int(match["m"]), int(match["d"])
    if first > spans.MONTHS_OF_YEAR:
        first, second = second, first
    return spans.day(date(int(match["y"]), first, second))


def _dated(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    number = _month_number(match["month"])
    if match["year"]:
        return spans.day(date(int(match["year"]), number, int(match["day"])))
    days = [
        spans.day(date(year, number, int(match["day"])))
        for year in (today.year - 1, today.year, today.year + 1)
        if int(match["day"]) <= spans.month(year, number).last.day
    ]
    if not days:
        raise ValueError(match[0])
    return spans.latest(days, today, is_future=is_future)


def _in_month(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    number = _month_number(match["month"])
    if match["year"]:
        found = spans.month(int(match["year"]), number)
    else:
        months = [spans.month(today.year + n, number) for n in (-1, 0, 1)]
        found = spans.latest(months, today, is_future=is_future)
    return spans.third(found, _THIRDS[match["third"].lower()]) if match["third"] else found


def _relative_month(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    """Read `last May`: the last one that is over; `next May`, the first to begin."""
    del is_future
    number, step = _month_number(match["month"]), _step(match["which"])
    months = [spans.month(today.year + n, number) for n in (-1, 0, 1)]
    return relative(_one_of(months, today, step))


def _one_of(choices: list[Span], today: date, step: int) -> Span:
    if step < 0:
        return [span for span in choices if span.last < today][-1]
    if step > 0:
        return next(span for span in choices if span.first > today)
    return next(span for span in choices if span.first.year == today.year)


def _in_season(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    name = _season_name(match["season"])
    if match["year"]:
        return spans.season(int(match["year"]), name)
    choices = [spans.season(today.year + n, name) for n in (-2, -1, 0, 1)]
    if match["which"] and match["which"].lower() not in {"the", "in", "during"}:
        return relative(_one_of(choices, today, _step(match["which"])))
    return spans.latest(choices, today, is_future=is_future)


def _in_quarter(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    if match["year"]:
        return spans.quarter(int(match["year"]), int(match["quarter"]))
    quarters = [spans.quarter(today.year + n, int(match["quarter"])) for n in (-1, 0, 1)]
    return spans.latest(quarters, today, is_future=is_future)


def _decade(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del today, is_future
    short = int(match["decade"][-2:])
    century = match["decade"][:-2] or ("19" if short >= 30 else "20")  # noqa: PLR2004
    first = int(century) * 100 + short
    return Span(date(first, 1, 1), date(first + 9, 12, 31), "range")


def _in_year(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del today, is_future
    found = spans.year(int(match["year"]))
    return spans.third(found, _THIRDS[match["third"].lower()]) if match["third"] else found


def _years(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del today, is_future
    return Span(spans.year(int(match["from"])).first, spans.year(int(match["to"])).last, "range")


def _weekday(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    """Read a day of the week.

    `next Friday`, said before a Friday, is the one of next week; `last Friday` is the latest.
    """
    number = _DAY_NUMBERS[match["weekday"][:3].lower()]
    here = today + timedelta(days=number - today.weekday())
    which = (match["which"] or "").lower()
    before = here if here < today else here - timedelta(weeks=1)
    coming = here if here > today else here + timedelta(weeks=1)
    if which in {"last", "this past", "past", "previous"}:
        return relative(spans.day(before, match["part"] or ""))
    if which == "next":
        return relative(spans.day(here + timedelta(weeks=1), match["part"] or ""))
    if which == "this":
        return relative(spans.day(here if here >= today else coming, match["part"] or ""))
    if which:
        return relative(spans.day(coming, match["part"] or ""))
    return spans.day(coming if is_future else (here if here == today else before))


def _before_last(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    name = match["what"].lower()
    if name[:3] in _DAY_NUMBERS:
        here = today + timedelta(days=_DAY_NUMBERS[name[:3]] - today.weekday())
        return relative(spans.day(here - timedelta(weeks=1 if here < today else 2)))
    return relative(spans.other(today, -2, _unit(name)))


_NEAR_DAYS = {
    "day before yesterday": -2, "yesterday": -1, "last night": -1, "today": 0, "tonight": 0,
    "this": 0, "tomorrow": 1, "day after tomorrow": 2,
}  # fmt: skip


def _near_day(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    words = match["near"].lower()
    part = match["part"] or ("night" if words in {"last night", "tonight"} else "")
    found = spans.day(today + timedelta(days=_NEAR_DAYS[words]), part.lower())
    return relative(found)


def _ago(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    step = -1 if match["way"] and match["way"].lower() in {"ago", "back", "earlier"} else 1
    unit, count = _unit(match["unit"]), _count(match["count"])
    if unit == "day" and "few" in match["count"].lower():
        return relative(spans.about(today + timedelta(days=4 * step), 2))
    return spans.away(today, step * count, unit)


def _half_a_year(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    return spans.away(today, -6 if match["way"] else 6, "month")


def _past_units(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    count = _count(match["count"]) if match["count"] else 1
    return spans.past(today, -count if match["which"].lower() == "next" else count,
                      _unit(match["unit"]))  # fmt: skip


def _unit_beside(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    return relative(spans.other(today, _step(match["which"]), _unit(match["unit"])))


def _other_day(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del match, is_future
    return relative(Span(today - timedelta(days=7), today - timedelta(days=1), "days"))


def _holiday(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    number, day = _HOLIDAYS[re.sub(r"\s+", " ", match["holiday"].lower().replace("\u2019", "'"))]
    if match["year"]:
        return spans.day(date(int(match["year"]), number, day))
    days = [spans.day(date(today.year + n, number, day)) for n in (-1, 0, 1)]
    which = (match["which"] or "").lower()
    if which:
        return relative(_one_of(days, today, _step(which)))
    return spans.latest(days, today, is_future=is_future)


def _day_of_month(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    number = int(match["day"])
    if match["which"]:
        base = spans.other(today, _step(match["which"]), "month").first
        return relative(spans.day(base.replace(day=number)))
    near = (spans.other(today, n, "month").last for n in (-1, 0, 1))
    days = [spans.day(last.replace(day=number)) for last in near if number <= last.day]
    return spans.latest(days, today, is_future=is_future)


_WHICH = r"(?P<which>last|past|previous|this|next|coming)"
_EDGE = r"early|mid|late|(?:the )?(?:beginning|start|middle|end) "
_NUMERIC = (
    (r"(?<![\d.-])(?P<y>\d{4})[-/](?P<m>\d{1,2})[-/](?P<d>\d{1,2})(?!\d)", _iso),
    (r"(?<![\d/.])(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>(?:19|20)\d\d)(?![\d/])", _numeric),
    (rf"\bq(?P<quarter>[1-4])\b(?:,?\s*(?:of\s+)?(?P<year>{_YEAR})\b)?", _in_quarter),
    (r"\bthe\s+(?:early\s+|late\s+|mid-?\s*)?(?P<decade>(?:19|20)?\d0)'?s\b", _decade),
    (r"\b(?P<decade>(?:19|20)\d0)'?s\b", _decade),
    (rf"(?<![\d.:/-])(?P<from>{_YEAR})\s?[-\u2013]\s?(?P<to>{_YEAR})(?![\d-])", _years),
    (
        (
            r"(?:\b(?:in|since|during|until|till|year|by|before|after|back in|around)\s+|(?=\b(?:"
            rf"{_EDGE})))(?P<told>{_THIRD}(?P<year>{_YEAR})\b(?![-/:]\d))"
        ),
        _in_year,
    ),
    (
        (
            r"(?:\b(?:of|from|to|and|between)\s+|,\s|\()(?P<told>(?P<third>)"
            rf"(?P<year>{_YEAR})(?=\s*[.,;?!)](?:\s|$)|\s*$|\s+(?:and|to|until)\b))"
        ),
        _in_year,
    ),
    (
        (
            r"\b(?:on\s+)?the\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)\b\s+of\s+"
            r"(?P<which>last|this|next)\s+month\b"
        ),
        _day_of_month,
    ),
    (
        r"\bon\s+the\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)\b(?P<which>)(?=\s*(?:[.,;?!]|$))",
        _day_of_month,
    ),
)
_MONTHLY = (
    (rf"\b{_DAY}\s+(?:of\s+)?(?P<month>{_MONTHS})\b\.?(?:,?\s+(?P<year>{_YEAR})\b)?", _dated),
    (rf"\b(?P<month>{_MONTHS})\b\.?\s+{_DAY}\b(?![:.]\d)(?:,?\s+(?P<year>{_YEAR})\b)?", _dated),
    (rf"\b{_THIRD}(?P<month>{_MONTHS})\b\.?,?\s+(?:of\s+)?(?P<year>{_YEAR})\b", _in_month),
    (rf"\b{_WHICH}\s+(?P<month>{_MONTHS})\b(?!\s+\d)", _relative_month),
    (
        (
            r"(?:\b(?:in|of|since|until|till|by|during|from|to|and|before|after|between|around)\s+"
            rf"|(?=\b(?:{_EDGE})))(?P<told>{_THIRD}(?P<month>{_MONTHS})\b(?P<year>)"
            rf"{_NOT_A_VERB}(?!\s+\d))"
        ),
        _in_month,
    ),
)
_SEASONAL = (
    (
        (
            r"\b(?:(?P<which>last|past|previous|this|next|coming|the|in|during)\s+)"
            rf"(?:the\s+)?(?P<season>spring|summer|autumn|fall|winter)(?:\s+(?:of\s+)?"
            rf"(?P<year>{_YEAR}))?\b"
        ),
        _in_season,
    ),
    (
        (
            rf"\b(?P<which>)(?P<season>spring|summer|autumn|fall|winter)\s+(?:of\s+)?"
            rf"(?P<year>{_YEAR})\b"
        ),
        _in_season,
    ),
    (
        (
            rf"\b(?:{_WHICH}\s+)?(?P<holiday>new year['\u2019]s (?:eve|day)|christmas(?: eve| day)?"
            rf"|xmas|halloween|valentine['\u2019]s day|boxing day|independence day)\b"
            rf"(?:,?\s+(?P<year>{_YEAR})\b)?"
        ),
        _holiday,
    ),
)
_OF_THE_WEEK = (
    (
        (
            rf"\b(?:(?P<which>last|past|this past|previous|this|next|coming|this coming)\s+)"
            rf"(?P<weekday>{_DAYS})\b{_PART}"
        ),
        _weekday,
    ),
    (rf"(?<!every )\b(?P<which>)(?P<weekday>{_FULL_DAYS})\b(?P<part>)", _weekday),
)
_NEAR = (
    (
        (
            r"\b(?:the\s+)?(?P<near>day before yesterday|day after tomorrow|yesterday|tomorrow"
            rf"|last night|tonight|today|this(?=\s+(?:morning|afternoon|evening)))\b{_PART}"
        ),
        _near_day,
    ),
    (r"\bthe\s+other\s+day\b", _other_day),
)
_COUNTED = (
    (
        rf"\b(?:the\s+)?(?P<what>day|weekend|week|month|year|{_FULL_DAYS})\s+before\s+last\b",
        _before_last,
    ),
    (rf"\b{_COUNT}\s+{_UNIT}\s+(?P<way>ago|back|earlier|from now|from today)\b", _ago),
    (rf"\b(?:in|within)\s+{_COUNT}\s+{_UNIT}(?P<way>)\b(?!'|\s+of\b)", _ago),
    (r"\bhalf a year\s+(?P<way>ago)\b", _half_a_year),
    (
        (
            r"\b(?:(?:for|over|during|in|within)\s+)?the\s+(?P<which>last|past)\s+"
            rf"(?:{_COUNT}\s+)?{_UNIT}\b"
        ),
        _past_units,
    ),
    (rf"\b(?P<which>last|past)\s+{_COUNT}\s+{_UNIT}\b", _past_units),
    (
        rf"\b(?:(?:for|over|during|in|within)\s+)?(?:the\s+)?(?P<which>next)\s+{_COUNT}\s+{_UNIT}\b",
        _past_units,
    ),
    (rf"\b{_WHICH}\s+(?P<unit>weekend|week|month|quarter|year)\b", _unit_beside),
)
Forms = tuple[tuple[re.Pattern[str], Reader], ...]
FAMILIES: tuple[tuple[re.Pattern[str], Forms], ...] = tuple(
    (
        re.compile(hint, re.IGNORECASE),
        tuple((re.compile(pattern, re.IGNORECASE), reader) for pattern, reader in forms),
    )
    for hint, forms in (
        (r"\d", _NUMERIC),
        (rf"\b(?:{_MONTHS})\b", _MONTHLY),
        (r"spring|summer|autumn|fall|winter|mas\b|new year|valentine|halloween|day", _SEASONAL),
        (rf"\b(?:{_DAYS})\b", _OF_THE_WEEK),
        (r"day\b|night|tomorrow|\bthis\b", _NEAR),
        (r"day|week|month|quarter|year", _COUNTED),
    )
)
"""Kinds of times, each with what a text must have for one of them to be there."""

_PREPOSITIONS = frozenset(
    "on in at by until till since from before after for of to around about during between due than"
    " through".split()
)


def told_day(of: date) -> str:
    """Write a day as English has it: `5 May 2023`."""
    return f"{of.day} {MONTH_NAMES[of.month - 1]} {of.year}"


def written(span: Span, said: date, before: str, after: str) -> str:
    """Write a span so that it is understood on any day.

    Args:
        span: What to write.
        said: When it was said.
        before: The text that comes before it; says whether a preposition is there.
        after: The text behind it; a possessive wants the bare name.
    """
    preposition, name = _names(span, said)
    if after.startswith(("'s", "\u2019s")):
        return name
    last_word = re.search(r"(\w+)\s*$", before)
    if last_word and last_word[1].lower() in _PREPOSITIONS:
        return name
    text = f"{preposition} {name}"
    return text[0].upper() + text[1:] if not before.strip() else text


def _names(span: Span, said: date) -> tuple[str, str]:
    """Give a span's preposition and its name."""
    if span.grain == "range":
        return _stretch(span, said)
    first = span.first
    middle = first + (span.last - first) / 2
    month = f"{MONTH_NAMES[first.month - 1]} {first.year}"
    day = told_day(first)
    names = {
        "day": ("on", f"the {span.part} of {day}" if span.part else day),
        "days": ("around", told_day(middle)),
        "week": ("in", f"the week of {day}"),
        "weekend": ("on", f"the weekend of {day}"),
        "month": ("in", month),
        "quarter": ("in", f"Q{(first.month + 2) // 3} {first.year}"),
        "season": ("in", f"{spans.SEASONS[first.month // 3 - 1]} {first.year}"),
        "year": ("in", str(first.year)),
    }
    return names[span.grain]


def _stretch(span: Span, said: date) -> tuple[str, str]:
    """Name a stretch of days: from its beginning, where it goes on to the day it was said on."""
    if span.last == said:
        return "since", _names(spans.coarse(span.first, span), said)[1]
    if span.first == said:
        return "until", _names(spans.coarse(span.last, span), said)[1]
    return "between", f"{told_day(span.first)} and {told_day(span.last)}"
