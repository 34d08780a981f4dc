"""Where a value in an English sentence ends, and what stands beside it."""

import re

_TAIL = re.compile(
    r" (?:since|because|becaus|so|when|while|until|after|before|although|which|who|where|as|with"
    r"|and|,|but"
    r"|last|next|yesterday|today|tomorrow|again|\d+ \S+ ago"
    r"|for @?\d|in @?(?:19|20)\d\d|instead|rather|not|now|for good)(?: .*)?$"
)
_SHORT_TAIL = re.compile(r" (?:in|at|on|for|from|by|every|near|to|of user) .*$")
_HEAD = re.compile(r"^(?:a|on|at|in|by|team 's|user 's) ")
_MOMENT = re.compile(r"(?<!\S)(?:@\S+|\d\d:\d\d|\S+dai)(?!\S)")
SHORT = frozenset(
    (
        *("employer", "job title", "home", "birthplace", "spouse", "partner", "manager", "name"),
        *("owner", "car", "phone", "wake time", "bedtime", "allergy", "speaks", "lead"),
        *("nickname", "commute"),
    )
)
"""Attributes whose values have no prepositions in them."""
REST_FREE = frozenset(
    (
        *("employer", "job title", "home", "age", "name", "birthday", "spouse", "manager"),
        *("marital status", "weight", "height", "diet", "birthplace", "nickname", "birth year"),
        *("partner", "car", "phone", "owner", "size", "commute", "native language"),
        *("answer length", "answer language", "deadline"),
    )
)
"""Attributes that are one person's or thing's whatever else is told beside them."""


def part_value(attribute: str, text: str) -> tuple[str, str]:
    """Part a value from what is told beside it."""
    whole = text.strip(" ,.")
    cut = _TAIL.sub("", whole)
    if attribute in SHORT:
        cut = _SHORT_TAIL.sub("", cut)
    value = re.sub(r" ,.*$", "", _HEAD.sub("", cut.strip(" ,.")))
    return value, whole[len(cut) :]


def part_moment(value: str, rest: str) -> tuple[str, str]:
    """Part a day and a time of day from the words beside them."""
    found = _MOMENT.findall(value)
    return (" ".join(found), f"{_MOMENT.sub(' ', value)} {rest}") if found else (value, rest)
