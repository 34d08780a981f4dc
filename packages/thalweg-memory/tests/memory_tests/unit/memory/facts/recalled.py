"""A small memory in plain dictionaries, for tests of what is pure."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from thalweg_memory.facts.recall.ranking import (
    ItemWeights,
    Ranked,
    RecallItem,
    WordOccurrences,
    ask,
    fact_words,
    links,
    rank,
    shortlist,
    turn_words,
    worth_reading,
)
from thalweg_memory.facts.values import Evidence, Fact, FactId, Statement, Trust


def turn(
    text: str,
    seq: int = 0,
    *,
    day: str = "2023-05-08",
    author: str = "",
    role: Literal["user", "assistant"] = "user",
    thread: str = "t",
) -> Statement:
    """Make a turn."""
    uid = f"{thread}-{seq}"
    return Statement(
        thread, seq, role, text, f"{day}T10:{seq:02}:00Z", Trust.USER, author, seq, uid
    )


def fact(
    content: str, id_: str = "fact-1", *, of: Statement | None = None, quote: str = ""
) -> Fact:
    """Make a fact, learned from a turn where there is one."""
    evidence: tuple[Evidence, ...] = ()
    if of is not None:
        evidence = (Evidence(of.thread, of.uid, quote or of.text, of.said_at, of.trust),)
    return Fact(
        FactId(id_),
        content,
        "knowledge",
        0.9,
        "2023-05-09T10:00:00Z",
        "t",
        evidence=evidence,
        observed_at="2023-05-09T10:00:00Z",
        written_by="learned:m",
    )


@dataclass(slots=True)
class SmallMemory:
    """Turns and facts by number, from 1."""

    items: dict[int, RecallItem]

    @classmethod
    def of(cls, *told: Statement | Fact) -> "SmallMemory":
        """Number the statements and facts."""
        items = {
            number: RecallItem(number, turn=one)
            if isinstance(one, Statement)
            else RecallItem(number, fact=one)
            for number, one in enumerate(told, start=1)
        }
        return cls(items)

    def find(self, words: Sequence[str]) -> WordOccurrences:
        """Find items by words."""
        places: dict[str, dict[int, int]] = defaultdict(dict)
        lengths = {}
        for number, item in self.items.items():
            listed = _words_of(item)
            lengths[number] = len(listed)
            for word, often in Counter(listed).items():
                places[word][number] = often
        return WordOccurrences(
            {word: places.get(word, {}) for word in words},
            {word: len(places.get(word, {})) for word in words},
            lengths,
            len(self.items),
            sum(lengths.values()) / max(1, len(lengths)),
        )

    def beside(self, numbers: Sequence[int]) -> dict[int, list[int]]:
        """List the numbers of the turns near each of those passed."""
        return {
            number: [
                other
                for other, item in self.items.items()
                if other != number
                and item.turn is not None
                and item.turn.thread == asked.thread
                and abs(item.turn.seq - asked.seq) <= 2
            ]
            for number in numbers
            if (asked := self.items[number].turn) is not None
        }

    def rank(self, text: str, *, stale: Mapping[str, Sequence[str]] | None = None) -> list[Ranked]:
        """Rank what is found."""
        question = ask(text)
        scale = ItemWeights(question, self.find(question.words))
        short = shortlist(scale)
        near = links(self.beside(short))
        items = [self.items[number] for number in worth_reading(scale, short, near)]
        return rank(scale, items, near, stale=stale or {})

    def first(self, text: str) -> str:
        """Return the text that is ranked first."""
        return self.rank(text)[0].item.text


def _words_of(item: RecallItem) -> list[str]:
    """List the words that an item is indexed under."""
    if item.fact is not None:
        return fact_words(item.fact)
    return [] if item.turn is None else turn_words(item.turn, item.start, item.end)
