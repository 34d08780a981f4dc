"""Whether a new fact says a known one again, brings it up to date, or tells something else.

Rules decide, never likeness: an update differs from what it replaces in one word, and so do two
facts that have nothing to do with each other. Where no rule is sure both facts are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from thalweg.facts import chinese, chinese_claims, english, english_claims
from thalweg.facts.attributes import attribute_key, is_single
from thalweg.facts.contrasts import contrast
from thalweg.facts.statements import read_statement
from thalweg.facts.claims import USER, Claim, Statement
from thalweg.facts.synonyms import CHINESE_LIGHT, ENGLISH_LIGHT, ENGLISH_TOOLS
from thalweg.facts.values import Fact

Kind = Literal["same", "update", "narrower", "other"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a new fact is to a known one."""

    kind: Kind
    """`narrower`: it says more than the known one, and both hold."""
    why: str


_OTHER = Comparison("other", "another matter")
_HAN = re.compile(r"[\u3400-\u9fff]")


def compare(known: Fact, new: Fact) -> Comparison:
    """Say what a new fact is to a known one, by what both tell and what a learner read in them.

    Args:
        known: What is remembered.
        new: What was said after it. The order of their dates is not looked at.
    """
    first, second = read_statement(known.content, known.language), read_statement(
        new.content, new.language
    )  # fmt: skip
    told, retold = _learned(known), _learned(new)
    if told and retold:
        if told.subject != retold.subject:
            return _OTHER
        if told.attribute == retold.attribute:
            return _by_fields(told, retold, first, second)
    return _by_text(_with(first, told), _with(second, retold), has_fields=bool(told and retold))


def claims_of(fact: Fact) -> tuple[Claim, ...]:
    """List what a fact claims, by its words and as a learner read it."""
    return _with(read_statement(fact.content, fact.language), _learned(fact)).claims


@lru_cache(maxsize=1 << 12)
def subject_key(subject: str) -> str:
    """Fold a subject: `the user's Dog` and `dog` are one."""
    if _HAN.search(subject):
        return chinese_claims.subject_of(subject)
    return english_claims.subject_of(subject)


@lru_cache(maxsize=1 << 13)
def value_key(value: str) -> str:
    """Fold a value, so that the same value in other spelling is the same."""
    if _HAN.search(value):
        return "".join(chinese.tokens(chinese.spelt(value))) or value
    words = english_claims.telling(english.tokens(value))
    return " ".join(sorted(words)) or value.strip().lower()


def _learned(fact: Fact) -> Claim | None:
    """Give what a learner read in a fact."""
    if not (fact.subject and fact.attribute):
        return None
    return Claim(
        subject_key(fact.subject), attribute_key(fact.attribute), value_key(fact.value),
        is_single(fact.attribute),
    )  # fmt: skip


def _with(statement: Statement, learned: Claim | None) -> Statement:
    if learned is None:
        return statement
    from dataclasses import replace

    return replace(statement, claims=(learned, *statement.claims))


_NONE = re.compile(r"^(?:no|none|not|without|nothing|never)\b|^(?:没有|无|不再|没)")


def _by_fields(told: Claim, retold: Claim, first: Statement, second: Statement) -> Comparison:
    """Compare values of one attribute of one subject, as a learner gave them."""
    if _is_of_another_time(first, second):
        return _OTHER
    values = _words(told.value) | _words(retold.value)
    opposed = contrast(first, second, values, has_subject=True)
    if told.value == retold.value:
        return _of_one_value(told, first, second, opposed)
    if _says_the_same(first, second):
        return Comparison("same", "the same words")
    if not told.is_single:
        if _NONE.match(retold.value) or _ends(first, second):
            return Comparison("update", f"it ends what was known of {told.attribute}")
        if second.has_cue and _words(told.value) & _words(retold.value) and not opposed:
            return Comparison(
                "update", f"{told.attribute} {told.value!r} goes on as {retold.value!r}"
            )
        return Comparison("other", f"{told.attribute} may have several values")
    if opposed or second.is_additional:
        return Comparison("other", opposed or "told to hold beside it")
    less = _words(retold.value) < _words(told.value)
    if less and not second.has_cue and first.polarity == second.polarity:
        return Comparison("same", f"{told.attribute}, told with fewer words")
    return Comparison("update", f"{told.attribute} was {told.value!r}, is {retold.value!r}")


def _of_one_value(told: Claim, first: Statement, second: Statement, opposed: str) -> Comparison:
    if _flips(first, second):
        return Comparison("update", f"{told.attribute} {told.value!r} holds no more")
    if opposed:
        return Comparison("other", opposed)
    if first.is_event and _hard(first) != _hard(second):
        return Comparison("other", "it happened at another time")
    return Comparison("same", f"the same {told.attribute}")


def _is_of_another_time(first: Statement, second: Statement) -> bool:
    """Say whether one tells of a wish or of the past, and the other of what holds."""
    if (first.modality == "wish") != (second.modality == "wish") and not second.old:
        return bool({first.modality, second.modality} & {"past"}) or (
            second.modality == "wish" and not second.has_cue
        )
    return second.modality == "past" and not second.has_cue and first.modality == "fact"


def _words(value: str) -> frozenset[str]:
    return frozenset(chinese.tokens(value) if _HAN.search(value) else value.split())


def _hard(statement: Statement) -> frozenset[str]:
    """List the numbers, times and names of a statement: what no synonym stands for."""
    return frozenset(
        value for kind, value in statement.typed
        if kind.split()[0] in {"number", "count", "date", "time", "version", "email", "url", "path"}
    )  # fmt: skip


def _flips(first: Statement, second: Statement) -> bool:
    """Say whether one says that what the other says is not so."""
    return (first.polarity == "holds") != (second.polarity == "holds")


def _by_text(first: Statement, second: Statement, *, has_fields: bool) -> Comparison:
    """Compare two statements by their own words."""
    if _says_the_same(first, second):
        return Comparison("same", "the same words")
    if second.modality == "wish" and first.modality != "wish" and not second.old:
        return Comparison("other", "a wish changes nothing that holds")
    for known, new in _pairs(first, second):
        found = _by_claims(known, new, first, second)
        if found:
            return found
    if _ends(first, second):
        return Comparison("update", "it says that this is over")
    if _contradicts(first, second):
        return Comparison("update", "it says the contrary")
    found = None if has_fields else _by_values(first, second)
    if found:
        return found
    if first.words and first.words < second.words and not _flips(first, second):
        return Comparison("narrower", "it says more")
    return _OTHER


def _says_the_same(first: Statement, second: Statement) -> bool:
    """Say whether two statements have the same telling words, numbers and names, and both hold."""
    if _flips(first, second) or first.modality != second.modality or not first.words:
        return False
    if _hard(first) != _hard(second) or _tells_otherwise(first, second):
        return False
    if first.language == second.language == "zh":
        apart = set(first.ordered) ^ set(second.ordered)
        shared = set(first.ordered) & set(second.ordered)
        is_alike = not apart or (apart <= CHINESE_LIGHT and len(shared) >= _ENOUGH_LETTERS)
        return is_alike and _is_ordered(first, second)
    apart = first.words ^ second.words
    shared = first.words & second.words
    is_alike = (
        not apart
        or (apart <= ENGLISH_LIGHT and len(shared) >= _ENOUGH_SHARED)
        or (apart <= ENGLISH_TOOLS and len(shared) >= _ENOUGH_SHARED - 1)
    )
    return is_alike and _is_ordered(first, second)


_ENOUGH_SHARED = 3
_ENOUGH_LETTERS = 4


_TURNED = re.compile("是|由|被|把|拿")


def _tells_otherwise(first: Statement, second: Statement) -> bool:
    """Say whether two statements have the same words for different values: `tea over coffee`."""
    told = {
        (claim.subject, claim.attribute): claim.value for claim in first.claims if claim.is_single
    }
    return any(
        told.get((claim.subject, claim.attribute), claim.value) != claim.value
        for claim in second.claims
    )


def _is_ordered(first: Statement, second: Statement) -> bool:
    """Say whether names that both have come in the same order, or the same is claimed."""
    if (
        first.language == "zh" and not first.claims and first.ordered[:1] != second.ordered[:1]
        and not _TURNED.search(second.text)
    ):  # fmt: skip
        return False
    names = tuple(n for n in first.names if n in second.names)
    others = tuple(n for n in second.names if n in first.names)
    return names == others or set(first.claims) == set(second.claims) != set()


def _pairs(first: Statement, second: Statement) -> Iterator[tuple[Claim, Claim]]:
    for known in first.claims:
        for new in second.claims:
            if known.attribute == new.attribute and _is_of_one(known, new, first, second):
                yield known, new


def _is_of_one(known: Claim, new: Claim, first: Statement, second: Statement) -> bool:
    """Say whether two claims are of one subject; a change may name it with fewer words."""
    if known.subject == new.subject:
        return True
    if not new.is_change:
        return False
    if new.subject == USER:
        told = second.words | second.anchors
        return bool(_words(known.subject) <= told or _words(known.value) <= told) and not contrast(
            first, second, frozenset()
        )
    if known.subject == USER:
        return False
    if _HAN.search(known.subject + new.subject):
        return known.subject in new.subject or new.subject in known.subject
    one, other = set(known.subject.split()), set(new.subject.split())
    return one < other or other < one


def _by_claims(known: Claim, new: Claim, first: Statement, second: Statement) -> Comparison | None:
    """Compare two claims about one attribute of one subject; nothing where they tell nothing."""
    if known.value == new.value:
        if (known.polarity == "holds") != (new.polarity == "holds"):
            return None if known.polarity != "holds" else Comparison(
                "update", f"{known.attribute} {known.value!r} holds no more"
            )  # fmt: skip
        if _adds_nothing(known, new, first, second):
            return Comparison("same", f"the same {known.attribute}")
        return None
    if not (known.is_single and new.is_single) or new.polarity != "holds":
        return None
    if second.is_additional or second.modality == "past" or first.modality != "fact":
        return None
    values = _words(known.value) | _words(new.value)
    if contrast(first, second, values) or not _holds_alone(known, new):
        return None
    one, other = _words(known.value), _words(new.value)
    if (one < other or other < one) and not new.is_change:
        return Comparison("narrower", f"the same {known.attribute}, not told as exactly")
    if _is_part_of_another(known.value, new.value):
        return None
    return Comparison("update", f"{known.attribute} was {known.value!r}, is {new.value!r}")


def _holds_alone(known: Claim, new: Claim) -> bool:
    """Say whether what is told beside two values does not set them apart."""
    if known.attribute in english_claims.REST_FREE:
        return True
    return known.rest == new.rest or (new.is_change and not (known.rest and new.rest))


def _is_part_of_another(one: str, other: str) -> bool:
    """Say whether one value is a country and the other is none: a city is no update of it."""
    kinds = [
        "country" in {english.KIND_OF.get(value), chinese.KIND_OF.get(value)} for value in (one, other)
    ]  # fmt: skip
    return kinds[0] != kinds[1]


def _adds_nothing(known: Claim, new: Claim, first: Statement, second: Statement) -> bool:
    """Say whether a statement that tells a known value again tells nothing more."""
    if first.modality != second.modality and known.attribute not in _FOR_GOOD:
        return False
    if not _hard(second) <= _hard(first) | _words(new.value):
        return False
    if contrast(first, second, _words(new.value)) or second.old:
        return False
    if not new.rest <= known.rest | _TRIFLES:
        return False
    told = {(claim.attribute, claim.value) for claim in first.claims}
    return all((claim.attribute, claim.value) in told for claim in second.claims)


_FOR_GOOD = frozenset({"birthplace", "birth year", "birthday", "degree", "name"})
"""Attributes that are told in the past and the present alike."""
_TRIFLES = frozenset({"morn", "daili", "even", "night", "everi"})


def _ends(first: Statement, second: Statement) -> bool:
    """Say whether the second says that what the first says is over."""
    if contrast(first, second, frozenset()) or first.polarity == "over":
        return False
    for over in second.old:
        shared = over & first.words - ENGLISH_LIGHT
        if shared and (over <= first.words or len(shared) >= _MANY):
            return (
                bool(first.claims)
                or len(over) > 1
                or len(first.words) <= _FEW
                or _HAN.search("".join(over)) is not None
            )
        values = [_words(claim.value) for claim in first.claims if claim.value]
        if any(value <= over or over <= value for value in values):
            return True
    return False


_MANY, _FEW = 2, 4


def _contradicts(first: Statement, second: Statement) -> bool:
    if not _flips(first, second) or contrast(first, second, frozenset()):
        return False
    negations = {"not", "no", "never", "longer", "anymor", "不", "没", "无", "别", "再"}
    one = first.words - negations - ENGLISH_LIGHT
    other = second.words - negations - ENGLISH_LIGHT
    if any(_IDENTIFIER.fullmatch(word) for word in first.anchors & second.anchors):
        return second.has_cue
    return bool(one) and (one == other or (second.has_cue and one < other and len(one) > 1))


_IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*\d)[a-z0-9_#/-]{4,}")


def _by_values(first: Statement, second: Statement) -> Comparison | None:
    """Look for a value that changed while the matter stayed: a number, a time, a tool of a kind."""
    if {"past", "wish"} & {first.modality, second.modality} or second.is_additional:
        return None
    if first.is_event and second.is_event and not second.has_cue:
        return None
    for kind in _changed_kinds(first, second):
        before = {value for k, value in first.typed if k == kind[0]}
        after = {value for k, value in second.typed if k == kind[1]}
        values = frozenset(
            word for value in before | after for word in (value.split() + list(chinese.tokens(value)))
        )  # fmt: skip
        if contrast(first, second, values):
            continue
        is_only = len(first.typed - second.typed) == len(second.typed - first.typed) == 1
        lost = first.words - second.words - values
        gained = second.words - first.words - values
        shared = (first.anchors & second.anchors) - values
        why = f"{kind[0]} was {_told(before - after)}, is {_told(after - before)}"
        if (
            is_only
            and not lost
            and not gained
            and not second.is_one_of_many
            and (shared or first.words & second.words)
        ):
            return Comparison("update", why)
        if second.has_cue and not kind[0] == "scale 0" and _is_one_matter(
            kind[0], first, second, shared
        ):  # fmt: skip
            return Comparison("update", why)
    return None


def _told(values: set[str]) -> str:
    return " and ".join(sorted(values))


_PERSONAL = frozenset({"phone-model", "car-make", "editor", "browser", "count kilogram", "count kg",
                       "count 公斤", "count 斤"})  # fmt: skip
"""Kinds of which people tell without a word of what they are: a new phone, 84 kg."""


def _is_one_matter(kind: str, first: Statement, second: Statement, shared: frozenset[str]) -> bool:
    subjects = {claim.subject for claim in first.claims} or {USER}
    if kind in _PERSONAL and subjects == {USER} == ({c.subject for c in second.claims} or {USER}):
        return True
    if not shared:
        return False
    strangers = set(second.names) - set(first.names) - {v for _, v in second.typed}
    return not (strangers and set(first.names) - set(second.names) - {v for _, v in first.typed})


def _changed_kinds(first: Statement, second: Statement) -> Iterator[tuple[str, str]]:
    """List the kinds of which the first has a value that the second has not, and the other way."""
    lost = sorted({kind for kind, value in first.typed - second.typed})
    gained = sorted({kind for kind, value in second.typed - first.typed})
    for one in lost:
        for other in gained:
            if one == other or (
                {one.split()[0], other.split()[0]} <= {"number", "count", "version"}
                and "number" in {one, other}
            ):  # fmt: skip
                yield one, other


def is_possible(earlier: Fact, later: Fact, relation: Literal["same", "update"]) -> bool:
    """Say whether nothing speaks against what a learner takes the later fact for."""
    first = _with(read_statement(earlier.content, earlier.language), _learned(earlier))
    second = _with(read_statement(later.content, later.language), _learned(later))
    if not first.claims or not second.claims or contrast(first, second, frozenset()):
        return False
    if first.subject != second.subject or _is_of_another_time(first, second):
        return False
    if relation == "same":
        return not _flips(first, second) and _hard(first) == _hard(second)
    is_one = first.attribute == second.attribute or first.anchors & second.anchors
    return bool(is_one) and not second.is_additional
