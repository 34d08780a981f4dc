"""Words for times, which a fact may write as a date."""

import re

from thalweg.engine.words import fold

RELATIVE = re.compile(
    r"\b\d{1,2}(?:st|nd|rd|th)\b|\b(?:today|tonight|yesterday|tomorrow|tmrw|last|next"
    r"|this (?:week|month|year|morning|evening|spring|summer|autumn|fall|winter|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday)|ago|since|for|now|in|by|until|year|years|month"
    r"|months|week|weeks|weekend|day|days|recently|monday|tuesday|wednesday|thursday|friday"
    r"|saturday|sunday|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|heute|gestern|vorgestern|morgen|übermorgen|letzt\w*|nächst\w*|vor|seit"
    r"|jahr\w*|monat\w*|woche\w*|hier|demain|avant-hier|dernier\w*|prochain\w*|depuis|il y a|hoy"
    r"|ayer|mañana|pasad[oa]|próxim[oa]|hace|desde|hoje|ontem|amanhã|oggi|ieri|domani|scors[oa]"
    r"|prossim[oa]|сегодня|вчера|завтра|прошл\w+|следующ\w+|назад)\b|今天|今早|今晚|昨天|昨晚"
    r"|前天|明天|明早|后天|大后天|上周|这周|本周|下周|上个?月|这个?月|本月|下个?月|去年|今年|明年"
    r"|前年|后年|年初|年底|月底|周末|年前|月前|天前|天后|以后|以来|刚刚?|最近"
    r"|周[一二三四五六日天]|星期|昨日|今日|明日|先週|来週|先月|来月|어제|오늘|내일|지난|다음",
    re.IGNORECASE,
)
"""Words for times that a date may replace."""

TIME_NAMES = frozenset(
    fold(word)
    for word in (
        "january february march april may june july august september october november december "
        "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday "
        "friday saturday sunday januar februar märz mai juni juli oktober dezember janvier "
        "février mars avril juin juillet août septembre octobre novembre décembre enero febrero "
        "marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre date today "
        "yesterday tomorrow year month week day ago since"
    ).split()
)
