"""Write texts of any size from the phrases of a language, and dice."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from benchmarks.arena.workloads.phrases import Medium, Phrases, WorkloadFact

_SLOT = re.compile(r"<(\w+)>")
_NUMBERS: dict[str, tuple[int, int]] = {
    "n1": (1, 9),
    "n2": (10, 99),
    "n2a": (10, 28),
    "n3": (100, 999),
    "n4": (1_000, 9_999),
    "n5": (10_000, 99_999),
    "n6": (100_000, 999_999),
}
_PARAGRAPH = (2, 6)
"""Sentences of a paragraph, least and most."""
_LIKENESSES = 160
"""How many sentences of a thread look like a fact that is asked for, and are none."""
_LIKENESS = 0.01
"""Share of lines that do, until then."""

NEARBY = 12
"""How many paths are."""


@dataclass(slots=True)
class Writer:
    """Writes in one language; what must be unique in a thread is drawn once."""

    phrases: Phrases
    dice: Random
    taken: set[str] = field(default_factory=set)
    nearby: deque[str] = field(default_factory=lambda: deque(maxlen=NEARBY))
    """Paths used last; `<path>` is drawn from them, since files mention related files."""
    _likenesses: int = 0
    _templates: dict[str, list[str]] = field(default_factory=dict)

    def fill(self, template: str, **given: str) -> str:
        """Fill a template with the passed values, and others with drawn ones.

        `<Word>` is a drawn `<word>` with a capital.
        """
        pieces = self._templates.get(template)
        if pieces is None:
            pieces = self._templates[template] = _SLOT.split(template)
        if len(pieces) == 1:
            return template
        words = (given.get(name) or self._draw(name) for name in pieces[1::2])
        return "".join(
            text for pair in zip(pieces[::2], (*words, ""), strict=True) for text in pair
        )

    def unique(self, template: str) -> str:
        """Fill a template until what comes out was never drawn like this before."""
        while (drawn := self.fill(template)) in self.taken:
            pass
        self.taken.add(drawn)
        return drawn

    def pick(self, templates: tuple[str, ...], **given: str) -> str:
        """Fill one of some templates."""
        return self.fill(self.dice.choice(templates), **given)

    def lines(self, medium: Medium, chars: int) -> list[str]:
        """Write lines until they have about so many characters; at least one."""
        lines: list[str] = []
        while chars > 0:
            line = self._likeness(medium) or self._line(medium)
            lines.append(line)
            chars -= len(line) + 1
        return lines

    def state(self, fact: WorkloadFact) -> tuple[str, str, str]:
        """Return a new fact: its statement, its question, and the answer."""
        subject = self.unique("<subject>")
        answer = self.unique(self.phrases.answers[fact.answer])
        says = self.fill(fact.says, subject=subject, answer=answer)
        return says, self.fill(fact.asks, subject=subject), answer

    def _line(self, medium: Medium) -> str:
        templates = self.phrases.media[medium]
        if medium != "doc":
            return self.pick(templates)
        sentences = (self.pick(templates) for _ in range(self.dice.randint(*_PARAGRAPH)))
        return self.phrases.gap.join(sentences) + "\n"

    def _likeness(self, medium: Medium) -> str:
        if self._likenesses >= _LIKENESSES or self.dice.random() > _LIKENESS:
            return ""
        self._likenesses += 1
        return self.state(self.dice.choice([f for f in self.phrases.facts if f.medium == medium]))[
            0
        ]

    def _draw(self, name: str) -> str:
        if (words := self.phrases.words.get(name)) is not None:
            return self.fill(self.dice.choice(words))
        if name in _NUMBERS:
            return str(self.dice.randint(*_NUMBERS[name]))
        if name in _MADE:
            return _MADE[name](self.dice)
        if name == "path":
            return self.dice.choice(self.nearby)
        word = self._draw(name.lower())
        return word[0].upper() + word[1:]


def _hex(dice: Random) -> str:
    """Seven signs of a hash, letters and digits among them, as people quote a commit."""
    return dice.choice("abcdef") + "".join(dice.choices("0123456789abcdef", k=5)) + _digit(dice)


def _digit(dice: Random) -> str:
    return str(dice.randint(0, 9))


def _time(dice: Random) -> str:
    return f"{dice.randint(0, 23):02}:{dice.randint(0, 59):02}:{dice.randint(0, 59):02}"


def _date(dice: Random) -> str:
    return f"2026-{dice.randint(1, 12):02}-{dice.randint(1, 28):02}"


_MADE: dict[str, Callable[[Random], str]] = {"hex": _hex, "time": _time, "date": _date}
