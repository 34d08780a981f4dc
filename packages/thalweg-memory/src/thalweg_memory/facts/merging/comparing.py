"""The changes allowed for two facts, for any verdict of a model: the structural guard.

A model reads, code guards: a verdict to supersede or to merge is taken only if the facts are of
one subject and share an attribute, or if the new one names the value of the old one. The guard
needs no language.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from thalweg.engine.words import STOP_WORDS, find_tokens, stem, words
from thalweg_memory.facts.values import Fact

Verdict = Literal["same", "replaces", "ends", "narrows", "beside", "contests"]
"""The relation of a new fact to an existing one.

`replaces`: the existing one was true and is not any more, or was wrong. `ends`: it is over.
`narrows`: the new one states the same more exactly. `beside`: both are valid. `contests`: it would
change the existing one, but is in one message with words of others; no model answers so.
"""


def folded(text: str) -> str:
    """Fold a text to its words: case, spaces and punctuation do not matter.

    Example:
        >>> folded("Ada  likes TEA.") == folded("ada likes tea")
        True
    """
    return " ".join(find_tokens(text.casefold())) or text.casefold().strip()


def has_same_wording(known: Fact, new: Fact) -> bool:
    """Return whether one of the wordings of an existing fact is that of the new one."""
    return folded(new.statement) in {folded(text) for text in (known.statement, *known.aliases)}


def are_of_two_subjects(known: Fact, new: Fact) -> bool:
    """Return whether two facts are about different subjects.

    One that names no subject is about any, and so is one whose subject the other one mentions: a
    fact about the user's dog Rex may be about `user` or about `rex`. A subject that neither the
    fact nor its quotes mention is a label of the learner's (`user`, `household`, `assistant`): two
    such labels are one subject.
    """
    one, other = folded(known.subject), folded(new.subject)
    if not (one and other) or one == other:
        return False
    if not (_names_its_subject(known) or _names_its_subject(new)):
        return False
    return not (_mentions(known, new.subject) or _mentions(new, known.subject))


def may_merge(known: Fact, new: Fact) -> bool:
    """Return whether two facts may be one, stated twice.

    They have the same numbers, or one of them has none: it may spell them out.
    """
    one, other = _numbers(known), _numbers(new)
    return not are_of_two_subjects(known, new) and (one == other or not (one and other))


def _mentions(fact: Fact, subject: str, *quotes: str) -> bool:
    words = set(words_of(subject))
    return bool(words) and words <= set(words_of(" ".join((fact.statement, fact.value, *quotes))))


def _names_its_subject(fact: Fact) -> bool:
    return _mentions(fact, fact.subject, *(each.quote for each in fact.evidence))


def may_supersede(known: Fact, new: Fact, *, is_named: bool = False) -> bool:
    """Return whether a new fact may replace an existing one.

    Args:
        known: The existing one.
        new: The later statement.
        is_named: Whether its learner, before it was asked for a verdict, had named the existing
            fact as the one that it updates: two readings agree.

    Example:
        >>> from dataclasses import replace
        >>> from thalweg_memory.facts.values import FactId
        >>> old = Fact(FactId("a"), "User lives in Bonn", "context", 1, "", "t",
        ...            subject="user", attribute="home city", value="bonn")
        >>> new = replace(old, id=FactId("b"), content="User moved to Kiel", value="kiel")
        >>> may_supersede(old, new), may_supersede(
        ...     old, replace(new, subject="ben", content="Ben moved to Kiel"))
        (True, False)
    """  # fmt: skip
    if are_of_two_subjects(known, new):
        return False
    if is_named or _attribute(known) & _attribute(new):
        return True
    new_words = set(words_of(" ".join((new.statement, *(each.quote for each in new.evidence)))))
    named = set(words_of(known.value))
    if named:
        return named <= new_words
    # Without fields, the content itself has to be about the same: most of its words are shared.
    content, shared = set(words_of(known.statement)), new_words & set(words_of(known.statement))
    return bool(shared) and 2 * len(shared) >= len(content)


def sharing_most(facts: Iterable[Fact], new: Fact) -> Iterator[Fact]:
    """Yield the facts that share with a new one half of the words of the one with fewer, or more.

    Example:
        >>> from thalweg_memory.facts.values import FactId
        >>> tea = Fact(FactId("a"), "User prefers green tea", "preference", 1, "", "t")
        >>> mate = Fact(FactId("b"), "User prefers mate tea", "preference", 1, "", "t")
        >>> next(sharing_most([tea], mate)) == tea
        True
    """
    new_words = set(words_of(new.statement))
    for fact in facts:
        known_words = set(words_of(fact.statement))
        if 2 * len(new_words & known_words) >= min(len(new_words), len(known_words)) > 1:
            yield fact


def words_of(text: str) -> list[str]:
    """List the words of a text that carry content, stemmed, each once."""
    found = dict.fromkeys(stem(word) for word in words(text) if word not in STOP_WORDS)
    return [word for word in found if word not in _USER]


_USER = {stem(word) for word in words("user users user's the用户")} | {"用户"}


def _attribute(fact: Fact) -> set[str]:
    return set(words_of(fact.attribute)) or {folded(fact.attribute)} - {""}


def _numbers(fact: Fact) -> set[str]:
    return {word for word in words(f"{fact.statement} {fact.value}") if word.isdigit()}
