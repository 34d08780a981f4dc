"""The format of values in rows: JSON in UTF-8, with verbatim texts."""

import json
from dataclasses import fields
from functools import lru_cache

from thalweg.database.base import decode, encode
from thalweg_memory.facts.shown import RecalledPart, ShownFacts
from thalweg_memory.facts.values import Evidence, Fact, ProfileSection, Statement, Trust

_JSON = json.JSONDecoder()
_TRUST = {trust.value: trust for trust in Trust}
_FIELDS = {
    kind: tuple(field.name for field in fields(kind))
    for kind in (Evidence, Fact, ProfileSection, RecalledPart, ShownFacts, Statement)
}
"""Not `asdict`, which copies every value."""
_AS_IN_FACTS = {"evidence", "aliases", "supersedes", "related", "trust"}


def write_fact(fact: Fact) -> bytes:
    r"""Write a fact.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> fact = Fact(FactId("f"), "\ud83d 你好", "goal", 0.5, "", "manual", aliases=("a", "b"))
        >>> read_fact(write_fact(fact)) == fact
        True
    """
    evidence = [_plain(each) for each in fact.evidence]
    return _written({**_plain(fact), "evidence": evidence})


@lru_cache(maxsize=8_192)
def read_fact(body: bytes) -> Fact:
    """Read the output of `write_fact`. The result is cached until anything is forgotten."""
    read = json.loads(decode(body))
    evidence = tuple(
        Evidence(**{**each, "trust": Trust(each["trust"])}) for each in read["evidence"]
    )
    plain = {name: value for name, value in read.items() if name not in _AS_IN_FACTS}
    return Fact(
        **plain,
        evidence=evidence,
        aliases=tuple(read["aliases"]),
        supersedes=tuple(read["supersedes"]),
        related=tuple(read.get("related", ())),
        trust=Trust(read["trust"]),
    )


def write_turn(turn: Statement) -> bytes:
    """Write a turn, but for its thread and its place there."""
    body = _plain(turn)
    del body["thread"], body["seq"]
    return _written(body)


def read_turn(thread: str, seq: int, body: bytes) -> Statement:
    """Read what `write_turn` wrote, also by earlier versions."""
    read, _ = _JSON.raw_decode(decode(body))
    read.pop("is_withheld", None)  # of earlier versions
    read["trust"] = _TRUST[read["trust"]]
    return Statement(thread, seq, **read)


def write_section(section: ProfileSection) -> bytes:
    """Write a section of the profile."""
    return _written(_plain(section))


def read_section(body: bytes) -> ProfileSection:
    """Read what `write_section` wrote."""
    read = json.loads(decode(body))
    return ProfileSection(**{**read, "cites": tuple(read["cites"])})


def write_shown(shown: ShownFacts) -> bytes:
    """Write the items shown for a message, without empty fields."""
    weighed = [
        {name: value for name, value in _plain(one).items() if value} for one in shown.weighed
    ]
    return _written({**_plain(shown), "weighed": weighed})


def read_shown(body: bytes) -> ShownFacts:
    """Read what `write_shown` wrote."""
    read = json.loads(decode(body))
    return ShownFacts(**{**read, "weighed": tuple(RecalledPart(**one) for one in read["weighed"])})


def _plain(
    value: Evidence | Fact | ProfileSection | RecalledPart | ShownFacts | Statement,
) -> dict[str, object]:
    return {name: getattr(value, name) for name in _FIELDS[type(value)]}


def _written(value: dict[str, object]) -> bytes:
    return encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
