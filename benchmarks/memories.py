"""Memories made up for measuring: any number of turns, the same for the same seed.

Words are as frequent as in recorded chats of two people: fifty make up half of all words, two
thousand nearly all of it, and new ones never cease. Turns have 4 to 40 words; one in twelve is a
long answer of 60 to 300. Questions ask for some of the words of one turn, and name its speaker.
"""

import random
from collections.abc import Iterator
from itertools import accumulate

from thalweg_memory.facts.values import Statement, Trust

STOP_WORDS = 100
"""The most frequent words, which a question about a turn is not made of."""
_NAMES = ("Caroline", "Melanie")
_VOCABULARY = 60_000
_FREQUENT = """
i you the to and it a that of in is for my so me was we have on be with do this but are just like
they your what at about not really all can good been how out some up time get one know great had
from love too it's make if there them feel when an think more going thanks he her their new would
has life things see work or way other through wow that's yeah i'm who got take now am awesome as
help day him by people much always i've did could our being doing lot hey she here something very
want find keep family were pretty amazing sounds hope sure even let right us because back definitely
friends nice look cool glad made fun any need art yes art home music still maybe remember happy
started trying sharing kids best dream game job first last week thing every place better favorite
world support special proud after over important play dance painting book hard enjoy nature having
well sound next never these where before thought read long watch big story enough learn years while
little went found creating writing start both beautiful dog city team hiking trip wait than stuff
heard school health night moment hang journey goals ago road car talk passion only try movie food
bring guess share those each super cooking weekend into together challenge believe mind year few
""".split()  # noqa: SIM905 (as it is read)
_SYLLABLES = (
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "sha",
    "tre", "un", "ver", "wo", "zel", "ar", "en", "is", "or",
)  # fmt: skip


class Chat:
    """An endless chat of two people, and questions about it."""

    def __init__(self, seed: int = 1) -> None:
        self._dice = random.Random(seed)  # noqa: S311 (not a secret)
        spelled = dict.fromkeys(_FREQUENT)
        while len(spelled) < _VOCABULARY:
            spelled["".join(self._dice.choices(_SYLLABLES, k=self._dice.randint(2, 4)))] = None
        self._words = list(spelled)
        # Zipf's law as Mandelbrot mended it: the first ranks are not so far apart.
        self._weights = list(accumulate(1 / (rank + 40) ** 1.8 for rank in range(_VOCABULARY)))
        self._stop_words = frozenset(self._words[:STOP_WORDS])
        self._said = 0

    def turns(self, number: int) -> Iterator[Statement]:
        """Make up the next messages, twenty turns a day."""
        for n in range(self._said, self._said + number):
            size = self._dice.randint(60, 300) if n % 12 == 0 else self._dice.randint(4, 40)
            day = n // 20
            yield Statement(
                thread="",
                seq=0,
                role="user" if n % 2 == 0 else "assistant",
                text=self._sentences(self._draw(size)),
                said_at=f"{2000 + day // 336}-{1 + day // 28 % 12:02}-{1 + day % 28:02}T10:00:00Z",
                trust=Trust.USER,
                author=_NAMES[n % 2],
                uid=f"turn-{n}",
            )
        self._said += number

    def question(self, turn: Statement) -> str:
        """Ask for a turn; a few of the words were not in it."""
        told = turn.text.replace(".", "").lower().split()
        words = [word for word in told if word not in self._stop_words]
        some = self._dice.sample(words, min(len(words), self._dice.randint(2, 6)))
        others = [w for w in self._draw(self._dice.randint(0, 3)) if w not in self._stop_words]
        return f"What did {turn.author} say about {' '.join((*some, *others))}?"

    def _draw(self, number: int) -> list[str]:
        return self._dice.choices(self._words, cum_weights=self._weights, k=number)

    def _sentences(self, words: list[str]) -> str:
        cut = [words[at : at + 11] for at in range(0, len(words), 11)]
        return " ".join(f"{' '.join(some).capitalize()}." for some in cut)
