"""What English clauses claim: each sentence of the table that fits gives one."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from thalweg.facts.merging.statements.attributes import is_single
from thalweg.facts.merging.statements.claims import USER, Claim, Manner
from thalweg.facts.merging.statements.english import cues
from thalweg.facts.merging.statements.english.slots import SLOT, slots, uses
from thalweg.facts.merging.statements.english.tokens import KIND_OF, subject_words, telling
from thalweg.facts.merging.statements.english.values import SCALE_OF
from thalweg.facts.merging.statements.english.wording import part_moment, part_value
from thalweg.facts.merging.statements.tables.english_sentences import SENTENCES
from thalweg.facts.merging.statements.tables.english_words import stems
from thalweg.facts.merging.statements.tables.nouns import OCCUPATIONS
from thalweg.facts.merging.statements.tables.rows import rows

_OCCUPATION = stems(OCCUPATIONS)
_NO_JOB = stems("member lover mother father customer user beginner partner runner")
_MARITAL = stems("single married divorced engaged widowed separated")
_DIETARY = stems("vegetarian vegan omnivore pescatarian carnivore keto")
_FEW_WORDS = 3


def _is_job(value: str) -> bool:
    words = set(value.split())
    return bool(words & _OCCUPATION) and not words & _NO_JOB


def _is_where(value: str) -> bool:
    words = value.split()
    is_told_by_words = not value[:1].isdigit() and "@" not in value
    return is_told_by_words and words[-1] not in SLOT and len(words) <= _FEW_WORDS


_CHECKS: dict[str, Callable[[str], bool]] = {
    "": bool,
    "job": _is_job,
    "number": lambda value: value.split()[0].replace(".", "").isdigit(),
    "date": lambda value: bool(re.match(r"@(?:\d{4}-)?\d\d-\d\d(?!\S)", value)),
    "day": lambda value: bool(
        re.match(r"(?:on |at |next )?(?:@|\d\d:\d\d|\S+dai\b)", value)
    ),
    "year": lambda value: bool(re.fullmatch(r"(?:19|20)\d\d", value)),
    "place": lambda value: not value[:1].isdigit() and not value.startswith("@"),
    "where": _is_where,
    "phone": lambda value: KIND_OF.get(value.split()[0]) == "phone-model",
    "car": lambda value: any(KIND_OF.get(word) == "car-make" for word in value.split()),
    "scale": lambda value: value in SCALE_OF,
    "marital": lambda value: value in _MARITAL,
    "dietary": lambda value: value in _DIETARY,
}  # fmt: skip
_NO_VERB = r"(?!(?:be|get|hav|do|lik|use) )\S+"
_PLACEHOLDERS = {
    "S": rf"(?P<s>{_NO_VERB}(?: {_NO_VERB}){{0,6}}?)",
    "P": rf"(?P<v>{_NO_VERB}(?: {_NO_VERB})?)",
    "V": r"(?P<v>.+)",
    "O": r"(?P<o>.+?)",
    "X": r"(?:\S+(?: \S+)*?)",
    "W": r"(?P<w>\S+(?: \S+){0,4}?)",
    "U": r"(?:user|team)",
    "N": r"(?P<v>\d[\d.]*)",
}
_PLACEHOLDER = re.compile(r"(?<!\(\?)(?<![\\<\w:])([SVOXWNPU])(?![\w>])")


@dataclass(frozen=True, slots=True)
class _Sentence:
    attribute: str
    pattern: re.Pattern[str]
    check: str
    affirms: bool


def _sentences() -> Iterator[_Sentence]:
    for row in rows(SENTENCES):
        attribute, _, text = row.partition(" | ")
        check = re.search(r"\bV:(\w+)", text)
        text = text.replace(check[0], "V") if check else text
        pattern = cues.folded(text).replace(" a? ", " (?:a )?")
        pattern = _PLACEHOLDER.sub(lambda match: _PLACEHOLDERS[match[1]], pattern)
        end = "$" if pattern.endswith("(?P<v>.+)") else ""
        yield _Sentence(
            attribute.removeprefix("+"),
            re.compile(rf"^(?:{pattern}{end})"),
            check[1] if check else "",
            attribute.startswith("+"),
        )


_SENTENCES = tuple(_sentences())


def claims(clause: str, *, is_corrected: bool = False) -> Iterator[Claim]:
    """List what a clause claims.

    Args:
        clause: Of folded words.
        is_corrected: Whether the statement is told as a correction.
    """
    if cues.WISH.search(clause) and not _ASKS.search(clause):
        return
    bare, manner = cues.bare(clause), _manner(clause, is_corrected=is_corrected)
    seen: set[str] = set()
    for sentence in _SENTENCES:
        found = sentence.pattern.match(bare)
        claim = _claim(sentence, found, manner, bool(seen)) if found else None
        if claim and claim.attribute not in seen:
            seen.add(claim.attribute)
            yield claim
    if not seen:
        yield from tuple(slots(bare, manner)) or uses(bare, manner)


_ASKS = re.compile(cues.folded("answer|would like"))


def _manner(clause: str, *, is_corrected: bool) -> Manner:
    is_over, is_negated = cues.OVER.search(clause), cues.NEGATION.search(clause)
    return Manner(
        "over" if is_over else "not" if is_negated else "holds",
        is_change=is_corrected or cues.is_change(clause),
        is_correction=is_corrected,
    )


def _claim(
    sentence: _Sentence,
    found: re.Match[str],
    manner: Manner,
    has_more: bool,  # noqa: FBT001
) -> Claim | None:
    """Read the claim of a sentence that fits; nothing where its value cannot be one."""
    groups, attribute = found.groupdict(), sentence.attribute
    subject = groups.get("s") or ("team" if attribute == "size" else USER)
    value, rest = part_value(attribute, groups["v"])
    if sentence.check == "day":
        value, rest = part_moment(value, rest)
    if not value or value in {USER, "it"} or not _CHECKS[sentence.check](value):
        return None
    if _is_out_of_place(sentence, subject, has_more):
        return None
    if attribute == "prefers":
        pair = sorted((value, part_value(attribute, groups["o"])[0]))
        attribute = f"preferred of {pair[0]} and {pair[1]}"
    elif attribute.startswith("relation:"):
        attribute, subject = "name", f"{subject} 's {groups['w']}"
    elif groups.get("w"):
        subject = f"{subject} {groups['w']}"
    return Claim(
        subject=subject_words(subject),
        attribute=attribute,
        value=value,
        is_single=_is_single(attribute, subject),
        polarity="holds" if sentence.affirms else manner.polarity,
        rest=telling(rest.split()),
        is_change=manner.is_change,
        is_instead=attribute == "name" and manner.is_correction,
    )


def _is_out_of_place(sentence: _Sentence, subject: str, has_more: bool) -> bool:  # noqa: FBT001
    """Say whether a sentence that fits nearly anything fits only because others do not."""
    if sentence.attribute == "age":
        return bool(set(subject.split()) & (SLOT | {"of"}))
    if sentence.attribute == "job title":
        return subject.rsplit(maxsplit=1)[-1] in SLOT
    if sentence.check == "where":
        return has_more or subject.rsplit(maxsplit=1)[-1] == USER
    return has_more and (sentence.attribute == "like" or sentence.attribute.startswith("relation:"))


_SEVERAL = frozenset(
    ("plays", "fear", "allergy", "like", "dislike", "speaks", "learning", "school", "degree")
)
_ONE_AT_A_TIME = frozenset(("car", "whereabouts", "when", "salary"))
_ONE_OF_A_THING = frozenset(("deployment", "when"))


def _is_single(attribute: str, subject: str) -> bool:
    is_users = subject_words(subject) == USER
    if attribute == "name":
        return is_users
    if attribute in _ONE_OF_A_THING:
        return not is_users
    if attribute in _SEVERAL:
        return False
    is_known = attribute in _ONE_AT_A_TIME or attribute.startswith("preferred of")
    return is_known or is_single(attribute)
