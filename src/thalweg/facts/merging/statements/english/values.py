"""Values that English statements tell by their looks: times, numbers, names, things of a kind."""

import re
from collections.abc import Iterator

from thalweg.facts.merging.statements.english.tokens import KIND, KIND_OF
from thalweg.facts.merging.statements.tables.english_words import WEAK, class_of, lemma, stem
from thalweg.facts.merging.statements.tables.scales import SCALES

SCALE_OF: dict[str, int] = {
    class_of(" ".join(map(lemma, part.split()))): number
    for number, line in enumerate(SCALES.splitlines())
    for part in line.split("|")
}
"""Conditions with the number of the scale that they are on."""
_SCALE = re.compile(
    r"(?<!\S)(?:" + "|".join(sorted(map(re.escape, SCALE_OF), key=len, reverse=True)) + r")(?!\S)"
)
_LOOKS = (
    ("date", re.compile(r"(?<!\S)@\S+")),
    ("time", re.compile(r"(?<!\S)\d\d:\d\d(?!\S)")),
    ("version", re.compile(r"(?<!\S)\d+\.\d+(?:\.\d+)*(?!\S)")),
    ("ordinal", re.compile(r"(?<!\S)\d+th(?!\S)")),
    ("email", re.compile(r"(?<!\S)[\w.+-]+@[\w.-]+(?!\S)")),
    ("url", re.compile(r"(?<!\S)https?://\S+")),
    ("path", re.compile(r"(?<!\S)[~/][\w./-]+")),
)
_COUNTED = re.compile(r"(?<!\S)(\d+(?:\.\d+)?)(?!\S)(?: (?!@)([a-z]\S*))?")


def typed(text: str) -> Iterator[tuple[str, str]]:
    """List the values in folded words, each after its kind."""
    for kind, look in _LOOKS:
        yield from ((kind, value) for value in look.findall(text))
    for number, unit in _COUNTED.findall(text):
        yield (f"count {unit}" if unit and unit not in WEAK else "number", number)
    for member in KIND.findall(text):
        yield KIND_OF[member], member
    for word in _SCALE.findall(text):
        yield f"scale {SCALE_OF[word]}", word


_CAPITAL = re.compile(r"\b[A-Z][\w'\u2019-]*")
_NO_NAMES = frozenset(
    (
        *("I", "I'm", "I've", "I'd", "I'll", "User", "The", "My", "Our", "We", "A", "An", "In"),
        *("On", "At", "It", "It's", "This", "That", "He", "She", "They", "His", "Her", "Their"),
        *("There", "When", "Since", "After", "Before", "No", "Not", "Every", "Each", "From"),
        *("For", "With", "As", "Actually", "Also", "Now", "Please"),
    )
)


def names(content: str) -> tuple[str, ...]:
    """List the words that are written with a capital, folded, in their order."""
    found = (re.sub(r"['\u2019]s$", "", match) for match in _CAPITAL.findall(content))
    return tuple(stem(name.lower()) for name in found if name not in _NO_NAMES)
