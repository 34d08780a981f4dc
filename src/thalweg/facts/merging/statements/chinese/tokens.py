"""The words of Chinese statements, with numbers and times spelt one way."""

import re
import unicodedata
from functools import lru_cache

from thalweg.facts.dates.chinese import number
from thalweg.facts.merging.statements.tables.chinese_words import CLASS_OF, WEAK, WORD
from thalweg.facts.merging.statements.tables.kinds import KINDS

_NUMERAL = "零〇一二两三四五六七八九十百千"
_LARGE = {"万": 10_000, "千": 1_000, "亿": 100_000_000}
_UNIT = (
    "个|人|天|岁|次|楼|年|点|块|元|号|分|秒|小时|周|月|条|只|名|辆|套|杯|公斤|斤|米|厘米|毫秒|位|口|层|度|"
    "公里|遍|门|本|部|台|家|倍|票|轮|期|章|页|班|级|季|季度|日|位|成|折|居室|平"
)
_HALF: dict[str, int] = {
    **dict.fromkeys(("上午", "早上", "早晨", "清晨", "凌晨", "中午", "早"), 0),
    **dict.fromkeys(("下午", "傍晚", "晚上", "夜里", "晚"), 12),
}
"""Hours that a part of the day adds to an hour before noon."""
_USER = re.compile("用户(?!名|数|群|量|体验|界面|端|协议|表|中心)")
_LIKE = re.compile("(?<![可亲热])爱(?=[吃喝看听玩])")
_SPACE = re.compile(r"(?<=[\u3400-\u9fff])\s+|\s+(?=[\u3400-\u9fff])")
_CLOCK = re.compile(
    rf"({'|'.join(_HALF)})?的?(?:(\d{{1,2}})[::](\d\d)|(\d{{1,2}}|[{_NUMERAL}]{{1,3}})[点时]"
    rf"(?:(半)|([一三]刻)|(\d{{1,2}}|[{_NUMERAL}]{{1,3}})分?)?(?!\d))"
)
_DATE = re.compile(
    rf"(?:(\d{{2,4}})年)?(\d{{1,2}}|[{_NUMERAL}]{{1,3}})月(\d{{1,2}}|[{_NUMERAL}]{{1,3}})[日号]"
    r"|(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})"
)
_BIG = re.compile(rf"(\d{{1,12}}(?:\.\d{{1,6}})?|[{_NUMERAL}]+)([万亿])")
_SMALL = re.compile(rf"([{_NUMERAL}]+)(?={_UNIT})")
_ONE = re.compile(r"一(?=[个名位只款种家份套辆条些样直般起定共台])")
_A_BIT = re.compile("(?<=[说懂学])一点(?!钟)")
_WEEKDAY = re.compile(r"(?:星期|礼拜|周)([一二三四五六日天])(?![次个遍回场轮])")
_WEEKDAYS = "一二三四五六日"


def _clock(match: re.Match[str]) -> str:
    hour = int(match[2]) if match[2] else number(match[4])
    if match[3]:
        minute = int(match[3])
    elif match[5]:
        minute = 30
    elif match[6]:
        minute = 15 if match[6][0] == "一" else 45
    else:
        minute = number(match[7]) if match[7] else 0
    if match[1] and _HALF.get(match[1]) and hour < 12:  # noqa: PLR2004
        hour += 12
    return f" {hour:02d}:{minute:02d} "


def _date(match: re.Match[str]) -> str:
    if match[4]:
        return f" @{match[4]}-{int(match[5]):02d}-{int(match[6]):02d} "
    year = f"{match[1] if len(match[1]) > 2 else '20' + match[1]}-" if match[1] else ""  # noqa: PLR2004
    return f" @{year}{number(match[2]):02d}-{number(match[3]):02d} "


def _big(match: re.Match[str]) -> str:
    amount = float(match[1]) if match[1][0].isdigit() else number(match[1])
    return str(int(amount * _LARGE[match[2]]))


def spelt(content: str) -> str:
    """Write a statement in lower case, with numbers, days and times of day spelt one way.

    Example:
        >>> spelt("用户每天早上五点半起床")
        '我每天05:30起床'
    """
    text = unicodedata.normalize("NFKC", content).strip().lower()
    text = _A_BIT.sub("", _SPACE.sub("", text))
    for pattern, form in ((_DATE, _date), (_CLOCK, _clock), (_BIG, _big)):
        text = pattern.sub(form, text)
    text = _WEEKDAY.sub(lambda m: f"周{_WEEKDAYS.find(m[1].replace('天', '日')) + 1}", text)
    text = _ONE.sub("", text)
    text = _SMALL.sub(lambda m: str(number(m[1])), text)
    text = _LIKE.sub("喜欢", _USER.sub("我", text))
    return _SPACE.sub("", re.sub(r"\s+", " ", text).strip())


_LATIN = re.compile(r"@?[a-z0-9][a-z0-9.+#/@:_-]*[a-z0-9+#]|[a-z0-9]|周[1-7]")
_PIECE = re.compile(f"({_LATIN.pattern}|{WORD.pattern}|[\\u3400-\\u9fff])")
_WEAK = frozenset(WEAK)


@lru_cache(maxsize=1 << 12)
def tokens(text: str) -> tuple[str, ...]:
    """List the telling words of a spelt text; letters that are in no word stand alone.

    Example:
        >>> tokens(spelt("用户非常讨厌香菜"))
        ('讨厌', '香', '菜')
    """
    found = (CLASS_OF.get(piece, piece) for piece in _PIECE.findall(text))
    return tuple(piece for piece in found if piece and piece not in _WEAK)


def _members() -> dict[str, str]:
    found: dict[str, str] = {}
    for kind, members in KINDS.items():
        for member in members:
            found.setdefault(spelt(member), kind)
    return found


KIND_OF = _members()
"""The kind of a thing by its name in lower case."""
KIND = re.compile(
    r"(?<![a-z0-9])(?:"
    + "|".join(map(re.escape, sorted(KIND_OF, key=len, reverse=True)))
    + r")(?![a-z])"
)
