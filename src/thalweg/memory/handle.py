"""Stand-in until the handle is there."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.entries import Message
from thalweg.facts.found import Item, index_words
from thalweg.facts.rendering import render_tail
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Scope
from thalweg.memory.base import MemoryStore
from thalweg.tokens import exact_counter


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """One item that was recalled."""

    item: Item
    score: float
    tokens: int


@dataclass(frozen=True, slots=True)
class Recalled:
    """What a question recalled."""

    text: str
    items: tuple[RecalledItem, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of one scope."""

    store: MemoryStore
    scope: Scope
    settings: MemorySettings = MemorySettings()

    def recall(
        self,
        query: str | Sequence[Message],
        *,
        budget_tokens: int | None = None,
        as_of: str = "",
        explain: bool = False,
    ) -> Recalled:
        """Recall."""
        del as_of, explain
        count = exact_counter()
        text = query if isinstance(query, str) else " ".join(message.text for message in query)
        words = list(dict.fromkeys(index_words(text)))
        found = self.store.find(self.scope, words)
        scores: dict[int, float] = {}
        for word, places in found.places.items():
            for number in places:
                scores[number] = scores.get(number, 0) + 1 / found.counts[word]
        ranked = sorted(scores, key=lambda number: (-scores[number], -number))
        items = {item.number: item for item in self.store.items(self.scope, ranked)}
        most = budget_tokens or self.settings.max_injection_tokens
        kept: list[RecalledItem] = []
        for number in ranked:
            if number in items:
                tokens = count(items[number].text) + 3
                if tokens <= most:
                    most -= tokens
                    kept.append(RecalledItem(items[number], scores[number], tokens))
        shown = render_tail([one.item for one in kept])
        return Recalled(shown, tuple(kept), count(shown))
