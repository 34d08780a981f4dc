"""Comparison of texts for verbatim copies."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from thalweg.engine.words import words
from thalweg_memory.facts.values import Fact
from thalweg_memory.store.records import normal

LEAST_WORDS = 4
"""A text of fewer words is looked for as a whole only, not inside of others."""


@dataclass(frozen=True, slots=True)
class FactTexts:
    """Texts of facts, without case, spaces and punctuation."""

    whole: frozenset[str]
    """Contents and other wordings."""
    inside: frozenset[str]
    """Texts to search for inside of other texts: these and quotations, if they are long."""
    hints: frozenset[str]
    """A word of each that is looked for inside: a text without any of them need not be read."""

    @classmethod
    def of(cls, facts: Iterable[Fact]) -> Self:
        """Collect the contents of facts, and their quotations."""
        whole: set[str] = set()
        quotes: set[str] = set()
        for fact in facts:
            whole.update(map(normal, (fact.content, *fact.aliases)))
            quotes.update(normal(evidence.quote) for evidence in fact.evidence)
        inside = {text for text in whole | quotes if len(words(text)) >= LEAST_WORDS}
        hints = {max(text.split(), key=len) for text in inside}
        return cls(frozenset(whole - {""}), frozenset(inside), frozenset(hints))

    def are_in(self, text: str) -> bool:
        """Return whether a text is one of them, or contains one of the long ones.

        Example:
            >>> from thalweg_memory.facts.values import FactId
            >>> fact = Fact(FactId("f"), "Ada keeps four bees", "goal", 1, "", "manual")
            >>> said = FactTexts.of([fact])
            >>> said.are_in("I know: ADA keeps  four bees!"), said.are_in("Ada keeps bees")
            (True, False)
        """
        if not self.whole:
            return False
        longest = max(map(len, self.whole))
        folded = unicodedata.normalize("NFKC", text).casefold()
        if len(folded) > 2 * longest + 80 and not any(hint in folded for hint in self.hints):
            return False
        normalized = normal(text)
        return normalized in self.whole or any(part in normalized for part in self.inside)
