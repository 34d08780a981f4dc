"""Stages of an education: a later one ends an earlier, though much is learned side by side."""

import re

_EDUCATION = frozenset(("studi", "education", "studi statu", "school year", "学业", "学习", "学历"))
_STAGES = tuple(
    (re.compile(before), re.compile(after))
    for before, after in (
        ("考研|考博", "录取|考上|^(?:研|硕士?)[1-3一二三]"),
        ("高考|^高[1-3一二三]", "录取|考上|高中毕业|^大[1-4一二三四]"),
        ("(?:^|大学|本科)大[1-4一二三四]", "^毕业|(?:大学|本科).{0,4}毕业"),
        ("^(?:研|硕士?)[1-3一二三]", "^毕业|硕士.{0,4}毕业"),
        (r"\b(?:freshman|sophomor)\b|^(?:\dth|final) year$", r"^(?:\w+ )?graduat(?: \w+)?$"),
    )
)
"""What one is in or works towards, and what one has reached who is no longer."""


def is_reached(attribute: str, was: str, now: str) -> bool:
    """Say whether of two folded values of an education the second is a later stage of it.

    Example:
        >>> is_reached("studi", "大三", "大学毕业"), is_reached("studi", "大学毕业", "大三")
        (True, False)
    """
    return attribute in _EDUCATION and any(
        before.search(was) and after.search(now) for before, after in _STAGES
    )
