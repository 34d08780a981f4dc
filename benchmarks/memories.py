"""Memories made up for measuring: any number of turns and facts, the same for the same seed.

Words are as frequent as in recorded chats of two people: fifty make up half of what is said, two
thousand nearly all of it, and new ones never cease. Turns have 4 to 40 words; one in twelve is a
long answer of 60 to 300. Questions ask for some of the words of one item.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

NAMES = ("Caroline", "Melanie", "John", "Maria", "Joanna", "Nate", "Deborah", "Tim")
STOP_WORDS = 100
"""The most frequent words, which a question about an item is not made of."""
_VOCABULARY = 60_000
_SYLLABLES = (
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "sha",
    "tre", "un", "ver", "wo", "zel", "ar", "en", "is", "or",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """A turn that was made up."""

    author: str
    text: str
    said_at: str


class Chat:
    """An endless chat of two people, and questions about it."""

    def __init__(self, seed: int = 1) -> None:
        self._dice = random.Random(seed)  # noqa: S311 (not a secret)
        spelled: dict[str, None] = {}
        while len(spelled) < _VOCABULARY:
            # Frequent words are short.
            size = self._dice.randint(1, 2 if len(spelled) < STOP_WORDS else 4)
            spelled["".join(self._dice.choices(_SYLLABLES, k=size))] = None
        self._words = list(spelled)
        # Zipf's law as Mandelbrot mended it: the first ranks are less far apart.
        self._weights = list(accumulate(1 / (rank + 40) ** 1.8 for rank in range(_VOCABULARY)))
        self._stop_words = frozenset(self._words[:STOP_WORDS])
        self._names = NAMES[:2]

    def turns(self, number: int) -> Iterator[Said]:
        """Make up what is said next, a few turns a day."""
        for n in range(number):
            size = self._dice.randint(60, 300) if n % 12 == 11 else self._dice.randint(4, 40)
            text = " ".join(self._dice.choices(self._words, cum_weights=self._weights, k=size))
            day = n // 20
            year, month = 2000 + day // 336 % 100, 1 + day // 28 % 12
            at = f"{year}-{month:02}-{1 + day % 28:02}T10:00:00Z"
            yield Said(self._names[n % 2], text, at)

    def question(self, said: Said) -> str:
        """Ask for something that was said: who, and a few words that tell something."""
        telling = [word for word in said.text.split() if word not in self._stop_words]
        some = self._dice.sample(telling, min(len(telling), self._dice.randint(2, 6)))
        return " ".join((said.author, *some, *self._other(self._dice.randint(0, 3))))

    def _other(self, number: int) -> list[str]:
        """Take words that were not said there: people ask in words of their own."""
        drawn = self._dice.choices(self._words, cum_weights=self._weights, k=number)
        return [word for word in drawn if word not in self._stop_words]
