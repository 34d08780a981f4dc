"""Whether a new fact says a known one again, brings it up to date, or tells something else.

Rules decide, never likeness: an update differs from what it replaces in one word, and so do two
facts that have nothing to do with each other. Where no rule is sure both facts are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from thalweg.facts.merging.statements import (
    Claim,
    Statement,
    read_statement,
    subject_key,
    value_key,
    value_words,
)
from thalweg.facts.merging.statements.attributes import attribute_key, is_known, is_single
from thalweg.facts.merging.statements.contrasts import contrast
from thalweg.facts.merging.statements.english.wording import REST_FREE
from thalweg.facts.merging.statements.kinds import kind_of
from thalweg.facts.merging.statements.stages import is_reached
from thalweg.facts.merging.wordings import (
    are_apart,
    are_siblings,
    both_happened,
    changed_value,
    contradicts,
    denies,
    ends,
    flips,
    happened_apart,
    hard_values,
    is_none,
    is_of_another_time,
    is_of_one,
    is_quantity,
    say_the_same,
)
from thalweg.facts.values import Fact

Kind = Literal["same", "update", "narrower", "other"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a new fact is to a known one."""

    kind: Kind
    """`narrower`: it says more than the known one, and both hold."""
    why: str


_OTHER = Comparison("other", "another matter")
_SAME_WORDS = Comparison("same", "the same words")


def compare(known: Fact, new: Fact) -> Comparison:
    """Say what a new fact is to a known one, by what both tell and what a learner read in them.

    Args:
        known: What is remembered.
        new: What was said after it. The order of their dates is not looked at.
    """
    first = read_statement(known.content, known.language)
    second = read_statement(new.content, new.language)
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


def is_possible(earlier: Fact, later: Fact, relation: Literal["same", "update"]) -> bool:
    """Say whether nothing speaks against what a learner takes the later fact for."""
    first = _with(read_statement(earlier.content, earlier.language), _learned(earlier))
    second = _with(read_statement(later.content, later.language), _learned(later))
    if not first.claims or first.subject != second.subject or is_of_another_time(first, second):
        return False
    if contrast(first, second, frozenset()) or happened_apart(first, second):
        return False
    if relation == "same":
        return not flips(first, second) and hard_values(first) == hard_values(second)
    if _is_mere_wish(first, second):
        return False
    if second.is_additional or not (
        first.attribute == second.attribute or first.anchors & second.anchors
    ):
        return False
    return second.has_cue or _may_be_replaced(_learned(earlier), _learned(later), first, second)


def _is_mere_wish(first: Statement, second: Statement) -> bool:
    """Say whether the second is a wish of another attribute than what holds."""
    is_wish = second.modality == "wish" and first.modality != "wish" and not second.old
    return is_wish and first.attribute != second.attribute


def _may_be_replaced(
    told: Claim | None, retold: Claim | None, first: Statement, second: Statement
) -> bool:
    """Say whether a value may take another's place although nothing is said of a change."""
    if told is None or retold is None:
        return True
    if told.attribute != retold.attribute:
        return False
    if is_quantity(told.value) and is_quantity(retold.value):
        return True
    if is_known(told.attribute):
        return True
    return told.is_single and not _are_two(told, retold, first, second)


def _are_two(told: Claim, retold: Claim, first: Statement, second: Statement) -> bool:
    """Say whether both happened, or more of them differs than a value that changed."""
    if both_happened(first, second):
        return True
    return are_siblings(told.value, retold.value) and not second.has_cue


def _learned(fact: Fact) -> Claim | None:
    """Give what a learner read in a fact."""
    if not (fact.subject and fact.attribute):
        return None
    return Claim(
        subject=subject_key(fact.subject),
        attribute=attribute_key(fact.attribute),
        value=value_key(fact.value),
        is_single=is_single(fact.attribute),
    )


def _with(statement: Statement, learned: Claim | None) -> Statement:
    if learned is None:
        return statement
    return replace(statement, claims=(learned, *statement.claims))


# -- by what a learner read ----------------------------------------------------------------


def _by_fields(told: Claim, retold: Claim, first: Statement, second: Statement) -> Comparison:
    """Compare values of one attribute of one subject, as a learner gave them."""
    if is_of_another_time(first, second):
        return _OTHER
    values = value_words(told.value) | value_words(retold.value)
    opposed = contrast(first, second, values, has_subject=True)
    if told.value == retold.value:
        return _of_one_value(told, first, second, opposed)
    if say_the_same(first, second):
        return _SAME_WORDS
    counted = is_quantity(told.value) and is_quantity(retold.value)
    is_open = not is_known(told.attribute) and not counted
    if is_open and _are_two(told, retold, first, second):
        return Comparison("other", f"both happened, or more than {told.attribute} differs")
    compared = _of_one_slot if told.is_single or counted else _of_several
    return compared(told, retold, first, second, opposed)


def _of_one_value(
    told: Claim, first: Statement, second: Statement, opposed: str
) -> Comparison:  # fmt: skip
    if flips(first, second):
        return Comparison("update", f"{told.attribute} {told.value!r} holds no more")
    if opposed:
        return Comparison("other", opposed)
    if first.is_event and hard_values(first) != hard_values(second):
        return Comparison("other", "it happened at another time")
    return Comparison("same", f"the same {told.attribute}")


def _of_several(
    told: Claim, retold: Claim, first: Statement, second: Statement, opposed: str
) -> Comparison:
    """Compare two values of an attribute that has several: one is no update of another."""
    if is_none(retold.value) or ends(first, second) or denies(second, told.value):
        return Comparison("update", f"it ends what was known of {told.attribute}")
    if is_reached(told.attribute, told.value, retold.value) and not opposed:
        return _was_and_is(told.attribute, told.value, retold.value)
    is_shared = bool(value_words(told.value) & value_words(retold.value))
    if second.has_cue and is_shared and not opposed:
        return Comparison("update", f"{told.attribute} {told.value!r} became {retold.value!r}")
    return Comparison("other", f"{told.attribute} may have several values")


def _of_one_slot(
    told: Claim, retold: Claim, first: Statement, second: Statement, opposed: str
) -> Comparison:
    """Compare two values of an attribute that has one at a time."""
    if opposed or second.is_additional:
        return Comparison("other", opposed or "told to hold beside it")
    tells_less = frozenset() < value_words(retold.value) < value_words(told.value)
    if tells_less and not second.has_cue and first.polarity == second.polarity:
        return Comparison("same", f"{told.attribute}, told with fewer words")
    return _was_and_is(told.attribute, told.value, retold.value)


def _was_and_is(attribute: str, was: str, now: str) -> Comparison:
    return Comparison("update", f"{attribute} was {was!r}, is {now!r}")


# -- by their own words --------------------------------------------------------------------


def _by_text(first: Statement, second: Statement, *, has_fields: bool) -> Comparison:
    """Compare two statements by their own words: the first rule that knows decides."""
    if say_the_same(first, second):
        return _SAME_WORDS
    if second.modality == "wish" and first.modality != "wish" and not second.old:
        return Comparison("other", "a wish changes nothing that holds")
    return next(_found(first, second, has_fields=has_fields), _OTHER)


def _found(first: Statement, second: Statement, *, has_fields: bool) -> Iterator[Comparison]:
    """Give what each rule makes of two statements, the surest first."""
    yield from _by_claims(first, second)
    if ends(first, second):
        yield Comparison("update", "it says that this is over")
    if contradicts(first, second):
        yield Comparison("update", "it says the contrary")
    changed = "" if has_fields else changed_value(first, second)
    if changed:
        yield Comparison("update", changed)
    if first.words and first.words < second.words and not flips(first, second):
        yield Comparison("narrower", "it says more")


def _by_claims(first: Statement, second: Statement) -> Iterator[Comparison]:
    """Compare claims about one attribute of one subject."""
    for known in first.claims:
        for new in second.claims:
            if known.attribute == new.attribute and is_of_one(known, new, first, second):
                rule = _of_same_value if known.value == new.value else _of_other_value
                found = rule(known, new, first, second)
                if found:
                    yield found


def _of_same_value(
    known: Claim, new: Claim, first: Statement, second: Statement
) -> Comparison | None:
    if (known.polarity == "holds") != (new.polarity == "holds"):
        over = Comparison("update", f"{known.attribute} {known.value!r} holds no more")
        return over if known.polarity == "holds" else None
    if _adds_nothing(known, new, first, second):
        return Comparison("same", f"the same {known.attribute}")
    return None


def _of_other_value(
    known: Claim, new: Claim, first: Statement, second: Statement
) -> Comparison | None:
    """Compare two values of an attribute, of which there may be one at a time."""
    is_one_at_a_time = new.is_instead or (known.is_single and new.is_single)
    if not is_one_at_a_time or new.polarity != "holds":
        return None
    if second.is_additional or second.modality == "past" or first.modality != "fact":
        return None
    one, other = value_words(known.value), value_words(new.value)
    if contrast(first, second, one | other) or not _holds_alone(known, new):
        return None
    if (one < other or other < one) and not new.is_change:
        return Comparison("narrower", f"the same {known.attribute}, not told as exactly")
    if ("country" in kind_of(known.value)) != ("country" in kind_of(new.value)):
        return None  # a city is no update of the country that it may lie in
    return _was_and_is(known.attribute, known.value, new.value)


def _holds_alone(known: Claim, new: Claim) -> bool:
    """Say whether what is told beside two values does not set them apart."""
    if known.attribute in REST_FREE:
        return True
    return known.rest == new.rest or (new.is_change and not (known.rest and new.rest))


_FOR_GOOD = frozenset(("birthplace", "birth year", "birthday", "degree", "name"))
"""Attributes that are told in the past and the present alike."""
_TRIFLES = frozenset(("morn", "daili", "even", "night", "everi"))


def _adds_nothing(known: Claim, new: Claim, first: Statement, second: Statement) -> bool:
    """Say whether a statement that tells a known value again tells nothing more."""
    if first.modality != second.modality and known.attribute not in _FOR_GOOD:
        return False
    if not hard_values(second) <= hard_values(first) | value_words(new.value):
        return False
    if second.old or are_apart(first, second, new) or not new.rest <= known.rest | _TRIFLES:
        return False
    told = {(claim.attribute, claim.value) for claim in first.claims}
    return all((claim.attribute, claim.value) in told for claim in second.claims)
