"""What the words of two statements have to do with each other, without a claim of either."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements import USER, Claim, Statement, value_words
from thalweg.facts.merging.statements.contrasts import contrast
from thalweg.facts.merging.statements.tables import chinese_words, english_words

_HAN = re.compile(r"[\u3400-\u9fff]")
_HARD = frozenset(("number", "count", "date", "time", "version", "email", "url", "path"))
_NONE = re.compile(r"^(?:no|none?|not|without|nothing|never)\b|^(?:没有|[毫并]?无|不再|没)|\bno$")


def hard_values(statement: Statement) -> frozenset[str]:
    """List the numbers, times and addresses of a statement: what no synonym stands for."""
    return frozenset(value for kind, value in statement.typed if kind.split()[0] in _HARD)


def is_none(value: str) -> bool:
    """Say whether a folded value says that there is none."""
    return bool(_NONE.search(value))


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*$|^[零一二三四五六七八九十百千万两]+$")


def is_quantity(value: str) -> bool:
    """Say whether a folded value is a bare number: of something that is counted."""
    return bool(_NUMBER.match(value))


def are_siblings(one: str, other: str) -> bool:
    """Say whether two values have several parts each, and differ in a number and in the rest.

    What is brought up to date keeps something: `40 in Bern` becomes `45 in Bern`.
    """
    kept, new = value_words(one) - value_words(other), value_words(other) - value_words(one)
    return all(
        any(map(is_quantity, part)) and not all(map(is_quantity, part)) for part in (kept, new)
    )


_DENIALS = frozenset(("not", "never"))


def both_happened(first: Statement, second: Statement) -> bool:
    """Say whether two statements tell what happened: neither takes the place of the other."""
    if happened_apart(first, second):
        return True
    if second.has_cue:
        return False
    return first.modality == "past" or (first.is_event and second.is_event)


def happened_apart(first: Statement, second: Statement) -> bool:
    """Say whether two statements tell of other things that happened at times of their own."""
    if not (first.is_event and second.is_event):
        return False
    pairs = ((_named(first), _named(second)), (hard_values(first), hard_values(second)))
    return all(one and other and one.isdisjoint(other) for one, other in pairs)


def _named(statement: Statement) -> frozenset[str]:
    titles = (value for kind, value in statement.typed if kind == "title")
    return frozenset((*statement.names, *titles))


def denies(second: Statement, value: str) -> bool:
    """Say whether a statement says of a value that it is not the one: `it is not walnuts`."""
    words = value_words(value)
    if not words or re.search(r"\bnot (?:onl[iy]|just)\b", second.text):
        return False
    told = second.ordered
    return any(
        word in _DENIALS and words == frozenset(told[i + 1 : i + 1 + len(words)])
        for i, word in enumerate(told)
    )


def flips(first: Statement, second: Statement) -> bool:
    """Say whether one is told to hold and the other is not."""
    return (first.polarity == "holds") != (second.polarity == "holds")


def is_of_another_time(first: Statement, second: Statement) -> bool:
    """Say whether one tells of a wish or of the past, and the other of what holds."""
    if (first.modality == "wish") != (second.modality == "wish") and not second.old:
        is_past = "past" in {first.modality, second.modality}
        return is_past or (second.modality == "wish" and not second.has_cue)
    return second.modality == "past" and not second.has_cue and first.modality == "fact"


def is_of_one(known: Claim, new: Claim, first: Statement, second: Statement) -> bool:
    """Say whether two claims are of one subject; a change may name it with fewer words."""
    if known.subject == new.subject:
        return True
    if not new.is_change or known.subject == USER:
        return False
    if new.subject == USER:
        told = second.words | second.anchors
        is_named = value_words(known.subject) <= told or value_words(known.value) <= told
        return is_named and not contrast(first, second, frozenset())
    if _HAN.search(known.subject + new.subject):
        return known.subject in new.subject or new.subject in known.subject
    one, other = set(known.subject.split()), set(new.subject.split())
    return one < other or other < one


def are_apart(first: Statement, second: Statement, new: Claim) -> bool:
    """Say whether other words than those of a claim set two statements apart."""
    return bool(contrast(first, second, value_words(new.value)))


_ENOUGH_WORDS, _ENOUGH_LETTERS = 3, 4


def say_the_same(first: Statement, second: Statement) -> bool:
    """Say whether two statements have the same telling words, numbers and names, and both hold."""
    if flips(first, second) or first.modality != second.modality or not first.words:
        return False
    if hard_values(first) != hard_values(second) or _tell_otherwise(first, second):
        return False
    apart, shared = first.words ^ second.words, len(first.words & second.words)
    if first.language == second.language == "zh":
        is_alike = apart <= chinese_words.LIGHT and shared >= _ENOUGH_LETTERS
    else:
        is_alike = (apart <= english_words.LIGHT and shared >= _ENOUGH_WORDS) or (
            apart <= english_words.TOOLS and shared >= _ENOUGH_WORDS - 1
        )
    return (not apart or is_alike) and _are_ordered(first, second)


def _tell_otherwise(first: Statement, second: Statement) -> bool:
    """Say whether two statements have the same words for different values: `tea over coffee`."""
    told = {(c.subject, c.attribute): c.value for c in first.claims if c.is_single}
    return any(told.get((c.subject, c.attribute), c.value) != c.value for c in second.claims)


_TURNED = re.compile("是|由|被|把|拿")


def _are_ordered(first: Statement, second: Statement) -> bool:
    """Say whether names that both have come in the same order, or the same is claimed."""
    if first.language == "zh" and not first.claims and first.ordered[:1] != second.ordered[:1]:
        return bool(_TURNED.search(second.text))
    names = tuple(name for name in first.names if name in second.names)
    others = tuple(name for name in second.names if name in first.names)
    return names == others or set(first.claims) == set(second.claims) != set()


_MANY, _FEW = 2, 4


def ends(first: Statement, second: Statement) -> bool:
    """Say whether the second says that what the first says is over."""
    if not second.old or contrast(first, second, frozenset()) or first.polarity == "over":
        return False
    return any(_is_over(first, over) for over in second.old)


def _is_over(first: Statement, over: frozenset[str]) -> bool:
    shared = over & first.words - english_words.LIGHT
    if shared and (over <= first.words or len(shared) >= _MANY):
        is_told = first.claims or len(over) > 1 or len(first.words) <= _FEW
        return bool(is_told or _HAN.search("".join(over)))
    values = [value_words(claim.value) for claim in first.claims if claim.value]
    return any(value <= over or over <= value for value in values)


_NEGATIONS = frozenset(("not", "no", "never", "longer", "anymor", "不", "没", "无", "别", "再"))
_IDENTIFIER = re.compile(r"(?=.*[a-z])(?=.*[\d_])[a-z0-9_#/-]{4,}")


def contradicts(first: Statement, second: Statement) -> bool:
    """Say whether the second says that what the first says is not so, or is so after all."""
    if not flips(first, second) or contrast(first, second, frozenset()):
        return False
    if any(map(_IDENTIFIER.fullmatch, first.anchors & second.anchors)):
        return second.has_cue
    one = first.words - _NEGATIONS - english_words.LIGHT
    other = second.words - _NEGATIONS - english_words.LIGHT
    return bool(one) and (one == other or (second.has_cue and one < other and len(one) > 1))


# -- a value that changed while the matter stayed ------------------------------------------


def changed_value(first: Statement, second: Statement) -> str:
    """Tell which value changed while the matter stayed, or nothing: a number, a time, a tool."""
    if {"past", "wish"} & {first.modality, second.modality} or second.is_additional:
        return ""
    if first.is_event and second.is_event and not second.has_cue:
        return ""
    changed = {
        (was, now): (
            frozenset(value for kind, value in first.typed if kind == was),
            frozenset(value for kind, value in second.typed if kind == now),
        )
        for was, now in _changed_kinds(first, second)
    }
    matters = {
        "moment" if was in _MOMENTS else (before - after, after - before)
        for (was, _), (before, after) in changed.items()
    }
    for (was, _), (before, after) in changed.items():
        if _is_changed(was, before | after, first, second, is_alone=len(matters) == 1):
            return f"{was} was {_told(before - after)}, is {_told(after - before)}"
    return ""


_MOMENTS = frozenset(("date", "time", "weekday"))


def _told(values: frozenset[str]) -> str:
    return " and ".join(sorted(values))


def _is_changed(
    kind: str, told: frozenset[str], first: Statement, second: Statement, *, is_alone: bool
) -> bool:
    values = frozenset(word for value in told for word in (*value.split(), *value_words(value)))
    if contrast(first, second, values):
        return False
    shared = (first.anchors & second.anchors) - values
    if _differ_in_one(first, second, values) and (shared or first.words & second.words):
        return True
    if kind.startswith("scale") and any(map(_IDENTIFIER.fullmatch, shared)):
        return True
    if not second.has_cue or not is_alone or kind == _LIKING:
        return False
    return _is_one_matter(kind, first, second, shared)


_LIKING = "scale 0"
"""Of `like` and `dislike`: what is liked now says nothing of what else was not."""


def _differ_in_one(first: Statement, second: Statement, values: frozenset[str]) -> bool:
    """Say whether two statements of states differ in one value and in nothing else."""
    is_one = len(first.typed - second.typed) == len(second.typed - first.typed) == 1
    return is_one and not second.is_one_of_many and not (first.words ^ second.words) - values


_PERSONAL = frozenset(
    (
        *("phone-model", "car-make", "editor", "browser", "laptop"),
        *("count kilogram", "count kg", "count 公斤", "count 斤"),
    )
)
"""Kinds of which people tell without a word of what they are: a new phone, 84 kg."""
_LIKINGS = english_words.stems("like dislike want prefer") | {"喜欢", "讨厌", "希望"}
"""Who likes or wants a thing does not have it."""


def _is_one_matter(kind: str, first: Statement, second: Statement, shared: frozenset[str]) -> bool:
    """Say whether a statement that is told as a change is about what the first is about."""
    if (
        kind in _PERSONAL
        and not second.words & _LIKINGS
        and _subjects(first) == _subjects(second) == {USER}
    ):
        return True
    lost = set(first.names) - set(second.names) - {value for _, value in first.typed}
    strangers = set(second.names) - set(first.names) - {value for _, value in second.typed}
    return bool(shared) and not (strangers and lost)


def _subjects(statement: Statement) -> set[str]:
    return {claim.subject for claim in statement.claims} or {USER}


_NUMBERS = frozenset(("number", "count", "version"))


def _changed_kinds(first: Statement, second: Statement) -> Iterator[tuple[str, str]]:
    """List the kinds of which the first has a value that the second has not, and the other way."""
    lost = sorted({kind for kind, _ in first.typed - second.typed})
    gained = sorted({kind for kind, _ in second.typed - first.typed})
    for was in lost:
        for now in gained:
            are_numbers = {was.split()[0], now.split()[0]} <= _NUMBERS and "number" in {was, now}
            if was == now or are_numbers:
                yield was, now
