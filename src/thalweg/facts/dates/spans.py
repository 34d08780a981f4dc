"""Stretches of days: a month, the week of a day, two weeks ago, with how exactly they are meant."""

import calendar
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

Grain = Literal["day", "days", "week", "weekend", "month", "season", "quarter", "year", "range"]
"""How exactly a time was told. `days` is about a day, give or take a few."""
Season = Literal["spring", "summer", "autumn", "winter"]
SEASONS: tuple[Season, ...] = ("spring", "summer", "autumn", "winter")
_FIRST_OF_SEASON: dict[Season, int] = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
MONTHS_OF_YEAR = 12
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Span:
    """Days from the first to the last, both included."""

    first: date
    last: date
    grain: Grain = "day"
    is_relative: bool = False
    """Told from the day it was said on: without that day nobody knows what it means."""
    part: str = ""
    """Of the day (`morning`, `晚上`), as it was told; or the number of the `third`."""


def day(of: date, part: str = "") -> Span:
    """Give one day."""
    return Span(of, of, "day", part=part)


def about(of: date, days: int) -> Span:
    """Give the days around one."""
    margin = timedelta(days=days)
    return Span(of - margin, of + margin, "days")


def week(of: date) -> Span:
    """Give the week that a day is in, from Monday."""
    monday = of - timedelta(days=of.weekday())
    return Span(monday, monday + timedelta(days=6), "week")


def weekend(of: date) -> Span:
    """Give the Saturday and Sunday of the week that a day is in."""
    saturday = week(of).first + timedelta(days=SATURDAY)
    return Span(saturday, saturday + timedelta(days=1), "weekend")


def month(year_number: int, number: int) -> Span:
    """Give a month."""
    last = calendar.monthrange(year_number, number)[1]
    return Span(date(year_number, number, 1), date(year_number, number, last), "month")


def third(of: Span, number: int) -> Span:
    """Give the first, second or third (0 to 2) part of a month or a year."""
    if of.grain == "year":
        months = (month(of.first.year, 1 + number * 4), month(of.first.year, 4 + number * 4))
        return Span(months[0].first, months[1].last, "range", part=str(number))
    first = of.first.replace(day=1 + number * 10)
    last = of.last if number == 2 else first + timedelta(days=9)  # noqa: PLR2004
    return Span(first, last, "range", part=str(number))


def year(number: int) -> Span:
    """Give a year."""
    return Span(date(number, 1, 1), date(number, 12, 31), "year")


def season(year_number: int, name: Season) -> Span:
    """Give a season of the northern year; a winter ends in the year after."""
    first = month(year_number, _FIRST_OF_SEASON[name])
    return Span(first.first, month_of(add_months(first.first, 2)).last, "season")


def quarter(year_number: int, number: int) -> Span:
    """Give a quarter of a year, from 1."""
    first = month(year_number, number * 3 - 2)
    return Span(first.first, month(year_number, number * 3).last, "quarter")


def month_of(of: date) -> Span:
    """Give the month that a day is in."""
    return month(of.year, of.month)


def add_months(of: date, months: int) -> date:
    """Go some months on, or back; the 31st becomes the last day of a shorter month."""
    count = of.year * MONTHS_OF_YEAR + of.month - 1 + months
    last = month(count // MONTHS_OF_YEAR, count % MONTHS_OF_YEAR + 1).last
    return last.replace(day=min(of.day, last.day))


def relative(span: Span) -> Span:
    """Mark a span as told from the day it was said on."""
    return replace(span, is_relative=True)


Unit = Literal["day", "week", "weekend", "month", "quarter", "season", "year"]


def away(today: date, count: int, unit: Unit) -> Span:
    """Give what lies so many units after today, before it where the count is negative.

    The longer the unit, the less exactly it is meant: a day, about a day, a month, a year.
    """
    if unit == "day":
        return relative(day(today + timedelta(days=count)))
    if unit == "week":
        return relative(about(today + timedelta(weeks=count), 3))
    if unit == "month":
        return relative(month_of(add_months(today, count)))
    return relative(other(today, count, unit))


def other(today: date, count: int, unit: Unit) -> Span:
    """Give the calendar's unit so many after this one: last month is -1, this week 0."""
    match unit:
        case "day":
            return day(today + timedelta(days=count))
        case "week":
            return week(today + timedelta(weeks=count))
        case "weekend":
            return weekend(today + timedelta(weeks=count))
        case "month":
            return month_of(add_months(today.replace(day=1), count))
        case "quarter":
            start = add_months(today.replace(day=1), 3 * count)
            return quarter(start.year, (start.month + 2) // 3)
        case "season" | "year":
            return year(today.year + count)


def past(today: date, count: int, unit: Unit) -> Span:
    """Give the units up to today, or from today where the count is negative."""
    days = {"day": 1, "week": 7, "weekend": 7}
    if unit in days:
        edge = today - timedelta(days=days[unit] * count)
    else:
        months = {"month": 1, "quarter": 3}.get(unit, MONTHS_OF_YEAR)
        edge = add_months(today, -months * count)
    return Span(min(edge, today), max(edge, today), "range", is_relative=True)


_DAYS_OF_YEAR, _DAYS_OF_MONTH = 365, 28


def coarse(edge: date, of: Span) -> Span:
    """Tell the edge of a long stretch as exactly as its length says: a year, a month, a day."""
    days = (of.last - of.first).days
    if days >= _DAYS_OF_YEAR:
        return year(edge.year)
    return month_of(edge) if days >= _DAYS_OF_MONTH else day(edge)


def latest(spans: list[Span], today: date, *, is_future: bool) -> Span:
    """Pick, of a time that comes again, the last one that began, or the next one to end."""
    spans = sorted(spans, key=lambda span: span.first)
    if is_future:
        return next((span for span in spans if span.last >= today), spans[-1])
    begun = [span for span in spans if span.first <= today]
    return begun[-1] if begun else spans[0]
