"""How a Chinese statement is meant, and the clauses it is made of."""

import re

from thalweg.facts.merging.statements.tables import chinese_cues as tables

NOW = re.compile(tables.NOW)
CHANGE = re.compile(tables.CHANGE)
CORRECTION = re.compile(tables.CORRECTION)
OVER = re.compile(tables.OVER)
WISH = re.compile(tables.WISH)
ADDITION = re.compile(tables.ADDITION)
PAST = re.compile(tables.PAST)
EVENT = re.compile(tables.EVENT)
_NEGATION = re.compile(tables.NEGATION)
_NOT_NEGATION = re.compile(tables.NOT_NEGATION)


def is_change(text: str) -> bool:
    """Say whether something is told as new, as a change or as a correction."""
    return bool(NOW.search(text) or CHANGE.search(text) or CORRECTION.search(text))


def is_negated(text: str) -> bool:
    """Say whether something is told not to be so."""
    return bool(_NEGATION.search(_NOT_NEGATION.sub("", text)))


_BREAK = re.compile(r"[,。;!?:、]\s*|\s*—+\s*|但是?|然后|而且|并且?")
_LEAD_IN = re.compile(f"^(?:{tables.LEAD_INS})+")


def clauses(text: str) -> list[str]:
    """Split a spelt statement into clauses."""
    parts = (_LEAD_IN.sub("", part.strip(" .")) for part in _BREAK.split(text))
    return [part for part in parts if len(part) > 1]


_NO_MORE = re.compile(r"^(.{0,10}?)不(吃|喝|用|在|住|去|做)(.*?)了$")
_ONCE = re.compile("不再|曾经?|以前|过去|从前")
_FILLERS = re.compile(
    "上上?个?(?:月|周|星期)|前几天|前不久|去年|今年|昨[天晚]|前天|不久前|今[早晚]|正好|一直|通常|主要|平时|非常|其实|全部|都"
)


def bare(clause: str) -> str:
    """Take the words of time, doubt and denial out of a clause."""
    clause = ADDITION.sub("", _ONCE.sub("", NOW.sub("", clause)))
    clause = re.sub("了$", "", _NO_MORE.sub(r"\1\2\3", clause))
    return _FILLERS.sub("", clause).strip(" ,")
