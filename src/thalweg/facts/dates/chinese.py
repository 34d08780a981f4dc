"""Times as Chinese tells them, and how a day is written in Chinese."""

import re
from collections.abc import Callable
from datetime import date, timedelta

from thalweg.facts.dates import spans
from thalweg.facts.dates.spans import Season, Span, Unit, relative

Match = re.Match[str]
Reader = Callable[[Match, date, bool], Span]
"""See `english.Reader`."""

_DIGITS = {
    "〇": 0, "零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7,
    "八": 8, "九": 9,
}  # fmt: skip
_NUMBER = r"(?:\d{1,4}|[〇零一二两三四五六七八九十百]{1,5}|几)"
_TIMES = {"十": 10, "百": 100, "千": 1_000}
_YEARS_AWAY = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}
_YEAR = (
    r"(?:(?P<year>\d{4}|[〇零一二三四五六七八九]{4})\s*年|(?<!\d)(?P<short>\d{2})\s*年(?=\d|的|底|初)"
    r"|(?P<away>大前年|前年|去年|今年|本年|明年|后年))的?"
)
_NEAR = r"(?P<near>上上个?|上个?|这个?|本|当|下下个?|下个?)"
_THIRD = r"(?P<third>初|上旬|中旬|下旬|底|末)"
_THIRDS = {"初": 0, "上旬": 0, "中旬": 1, "下旬": 2, "底": 2, "末": 2}
_SEASONS: dict[str, Season] = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_DAYS_AWAY = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨": -1, "今天": 0, "今日": 0,
    "今": 0, "明天": 1, "明日": 1, "明": 1, "后天": 2, "大后天": 3,
}  # fmt: skip
_PART = r"的?(?P<part>早上|上午|中午|下午|傍晚|晚上|夜里|凌晨|深夜)?"
_SHORT_PARTS = {"晚": "晚上", "夜": "夜里", "早": "早上", "晨": "早上"}
_UNITS: dict[str, Unit] = {"天": "day", "日": "day", "周": "week", "星": "week", "礼": "week",
                           "月": "month", "季": "quarter", "年": "year"}  # fmt: skip
_UNIT = r"(?P<unit>天|日|个?星期|周|个?礼拜|个月|个季度|年)"
_HOLIDAYS = {
    "元旦": (1, 1), "情人节": (2, 14), "妇女节": (3, 8), "劳动节": (5, 1), "五一": (5, 1),
    "儿童节": (6, 1), "教师节": (9, 10), "国庆节": (10, 1), "国庆": (10, 1), "双十一": (11, 11),
    "平安夜": (12, 24), "圣诞节": (12, 25), "圣诞": (12, 25),
}  # fmt: skip
_MOON_HOLIDAYS = {
    "春节": ((1, 21), (2, 20)), "过年": ((1, 21), (2, 20)), "元宵节": ((2, 4), (3, 6)),
    "端午节": ((5, 28), (6, 25)), "端午": ((5, 28), (6, 25)), "中秋节": ((9, 8), (10, 7)),
    "中秋": ((9, 8), (10, 7)),
}  # fmt: skip
"""Between which days the moon may put them."""

FUTURE = re.compile("将|打算|计划|准备|即将|截止|下次|明[天年]|预定|上线")


def number(text: str) -> int:
    """Read a number in digits or in Chinese, below ten thousand; a year digit by digit.

    Example:
        >>> [number(text) for text in ("三", "十二", "二十", "两", "8", "二〇二三")]
        [3, 12, 20, 2, 8, 2023]
    """
    if text.isdigit() and text.isascii():
        return int(text)
    if text == "几":
        return 3
    if all(letter in _DIGITS for letter in text):
        return int("".join(str(_DIGITS[letter]) for letter in text))
    total, digit = 0, 0
    for letter in text:
        if letter in _TIMES:
            total += (digit or 1) * _TIMES[letter]
            digit = 0
        else:
            digit = _DIGITS[letter]
    return total + digit


def _told_year(match: Match, today: date) -> tuple[int, bool] | None:
    """Read the year of a match, and whether it was told from today; nothing where it has none."""
    groups = match.groupdict()
    if groups.get("year"):
        return number(match["year"]), False
    if groups.get("short"):
        short = int(match["short"])
        return (2000 if short <= (today.year + 10) % 100 else 1900) + short, False
    if groups.get("away"):
        return today.year + _YEARS_AWAY[match["away"]], True
    return None


def _marked(span: Span, *, is_relative: bool) -> Span:
    return relative(span) if is_relative else span


def _dated(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    told, month, day = _told_year(match, today), number(match["month"]), match["day"]
    if told:
        return _marked(_within(told[0], month, day, match["third"]), is_relative=told[1])
    choices = [
        _within(year, month, day, match["third"])
        for year in (today.year - 1, today.year, today.year + 1)
        if not day or number(day) <= spans.month(year, month).last.day
    ]
    if not choices:
        raise ValueError(match[0])
    return spans.latest(choices, today, is_future=is_future)


def _within(year: int, month: int, day: str | None, third: str | None) -> Span:
    if day:
        return spans.day(date(year, month, number(day)))
    found = spans.month(year, month)
    return spans.third(found, _THIRDS[third]) if third else found


def _iso(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del today, is_future
    return spans.day(date(int(match["y"]), int(match["m"]), int(match["d"])))


def _step(near: str) -> int:
    way = -1 if near.startswith("上") else 1 if near.startswith("下") else 0
    return way * (2 if near[:2] in {"上上", "下下"} else 1)


def _near_month(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    base = spans.other(today, _step(match["near"]), "month").first
    return relative(_within(base.year, base.month, match["day"], match["third"]))


def _in_year(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    told = _told_year(match, today)
    if told is None:
        raise ValueError(match[0])
    year, is_relative = told
    found = spans.year(year)
    if match["season"]:
        found = spans.season(year, _SEASONS[match["season"]])
    elif match["half"]:
        first = 1 if match["half"] == "上" else 7
        found = Span(date(year, first, 1), spans.month(year, first + 5).last, "range")
    elif match["quarter"]:
        found = spans.quarter(year, number(match["quarter"]))
    elif match["third"]:
        found = spans.third(found, _THIRDS[match["third"]])
    return _marked(found, is_relative=is_relative)


def _in_season(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    choices = [spans.season(today.year + n, _SEASONS[match["season"]]) for n in (-2, -1, 0, 1)]
    return spans.latest(choices, today, is_future=is_future)


def _near_week(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    found = spans.other(today, _step(match["near"]), "week")
    day = match["weekday"]
    if not day:
        return relative(found)
    if day == "末":
        return relative(spans.weekend(found.first))
    return relative(spans.day(found.first + timedelta(days=_weekday_number(day)), _part(match)))


def _weekday_number(day: str) -> int:
    return "一二三四五六日".index("日" if day == "天" else day)


def _part(match: Match) -> str:
    part = match["part"] or ""
    return _SHORT_PARTS.get(part, part)


def _weekday(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    here = today + timedelta(days=_weekday_number(match["weekday"]) - today.weekday())
    week = timedelta(weeks=1)
    if is_future:
        return spans.day(here if here > today else here + week)
    return spans.day(here if here <= today else here - week)


def _near_day(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    return relative(spans.day(today + timedelta(days=_DAYS_AWAY[match["near"]]), _part(match)))


def _ago(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    unit = _unit(match["unit"])
    count = number(match["count"]) * (-1 if match["way"] == "前" else 1)
    if unit == "day" and match["count"] == "几":
        return relative(spans.about(today + timedelta(days=count), 2))
    return spans.away(today, count, unit)


def _unit(text: str) -> Unit:
    return _UNITS[text.removeprefix("个")[0]]


def _half_ago(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    step = -1 if match["way"] == "前" else 1
    if match["unit"] == "年":
        return spans.away(today, 6 * step, "month")
    return relative(spans.about(today + timedelta(days=15 * step), 3))


def _past_units(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    half = match["count"] == "半"
    unit: Unit = "month" if half else _unit(match["unit"])
    count = 6 if half else number(match["count"])
    return spans.past(today, -count if match["way"].startswith("未来") else count, unit)


def _some_days_ago(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del match, is_future
    return relative(spans.about(today - timedelta(days=4), 3))


def _near_quarter(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    del is_future
    return relative(spans.other(today, _step(match["near"]), "quarter"))


def _holiday(match: Match, today: date, is_future: bool) -> Span:  # noqa: FBT001
    name = match["holiday"]
    first, last = _MOON_HOLIDAYS.get(name) or (_HOLIDAYS[name], _HOLIDAYS[name])
    grain: spans.Grain = "day" if first == last else "range"

    def of(year: int) -> Span:
        return Span(date(year, *first), date(year, *last), grain)

    told = _told_year(match, today)
    if told:
        return _marked(of(told[0]), is_relative=told[1] and grain == "day")
    return spans.latest([of(today.year + n) for n in (-1, 0, 1)], today, is_future=is_future)


def _any(*names: object) -> str:
    return "|".join(sorted(map(str, names), key=len, reverse=True))


_DAY_WORDS = _any(
    "大前天", "前天", "前日", "昨天", "昨日", "今天", "今日", "明天", "明日", "后天", "大后天"
)
Forms = tuple[tuple[re.Pattern[str], Reader], ...]
_FORMS: Forms = tuple(
    (re.compile(pattern), reader)
    for pattern, reader in (
        (r"(?<![\d.-])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d.])", _iso),
        (
            (
                rf"(?:{_YEAR}\s*)?(?<![\d一二两三四五六七八九十几])(?P<month>\d{{1,2}}|[一二三四五六七八九]"
                rf"|十[一二]?)\s*月份?的?(?:\s*(?P<day>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\s*[日号]"
                rf"|{_THIRD})?"
            ),
            _dated,
        ),
        (
            rf"{_NEAR}月份?的?(?:(?P<day>\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\s*[日号]|{_THIRD})?",
            _near_month,
        ),
        (
            (
                rf"{_YEAR}(?:(?P<season>[春夏秋冬])(?:天|季|日)?|(?P<half>[上下])半年"
                rf"|第?(?P<quarter>[一二三四1-4])季度|年?{_THIRD})?"
            ),
            _in_year,
        ),
        (r"(?P<season>[春夏秋冬])[天季]", _in_season),
        (rf"{_NEAR}(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?{_PART}", _near_week),
        (rf"(?<![每个上下这本])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天]){_PART}", _weekday),
        (rf"(?P<near>{_DAY_WORDS}){_PART}", _near_day),
        (r"(?P<near>[昨今明])(?P<part>晚|夜|早|晨)上?", _near_day),
        (rf"(?P<count>{_NUMBER})多?{_UNIT}多?(?:之|以)?(?P<way>前|后)", _ago),
        (r"半个?(?P<unit>年|月)(?:之|以)?(?P<way>前|后)", _half_ago),
        (
            (
                rf"(?P<way>在?过去的?|最近这?|近|未来)(?P<count>{_NUMBER}|半)(?P<unit>天|日|个?星期|周"
                r"|个?礼拜|个月|年)(?:里|内|以来|来|间)?"
            ),
            _past_units,
        ),
        (r"前(?:几|些|两|段)(?:天|日子|时间)", _some_days_ago),
        (r"(?P<near>上个?|这个?|本|下个?)季度", _near_quarter),
        (rf"(?:{_YEAR})?(?P<holiday>{_any(*_HOLIDAYS, *_MOON_HOLIDAYS)})", _holiday),
    )
)
_HINT = re.compile(
    r"\d|年|月|周|星期|礼拜|天|昨|前|后|今|明|季|春|夏|秋|冬|节|元旦|五一|双十一|平安夜|圣诞|国庆"
)
FAMILIES: tuple[tuple[re.Pattern[str], Forms], ...] = ((_HINT, _FORMS),)
"""See `english.FAMILIES`."""


def told_day(of: date) -> str:
    """Write a day as Chinese has it: `2023年5月5日`."""
    return f"{of.year}年{of.month}月{of.day}日"


def written(span: Span, said: date) -> str:
    """Write a span so that it is understood on any day."""
    if span.grain == "range":
        return _third_of(span) if span.part else _stretch(span, said)
    first = span.first
    day = told_day(first)
    names = {
        "day": day + span.part,
        "days": f"{told_day(first + (span.last - first) / 2)}前后",
        "week": f"{day}那一周",
        "weekend": f"{day}那个周末",
        "month": f"{first.year}年{first.month}月",
        "quarter": f"{first.year}年第{'一二三四'[(first.month - 1) // 3]}季度",
        "season": f"{first.year}年{'春夏秋冬'[first.month // 3 - 1]}天",
        "year": f"{first.year}年",
    }
    return names[span.grain]


def _stretch(span: Span, said: date) -> str:
    """Name a stretch of days: from its beginning, where it goes on to the day it was said on."""
    if span.last == said:
        return f"自{written(spans.coarse(span.first, span), said)}以来"
    if span.first == said:
        return f"在{written(spans.coarse(span.last, span), said)}之前"
    return f"{told_day(span.first)}至{told_day(span.last)}"


def _third_of(span: Span) -> str:
    number = int(span.part)
    if (span.last - span.first).days > spans.MONTHS_OF_YEAR:
        return f"{span.first.year}年{'初中底'[number]}"
    return f"{span.first.year}年{span.first.month}月{'上中下'[number]}旬"
