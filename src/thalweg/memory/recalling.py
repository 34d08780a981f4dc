"""Stand-in until the recall is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from thalweg.entries import Message
from thalweg.facts.found import Item
from thalweg.facts.packing import Placed, pack
from thalweg.facts.question import ask
from thalweg.facts.ranking import Scale, links, rank, shortlist, worth_reading
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Profile, Scope
from thalweg.memory.base import MemoryStore
from thalweg.tokens import exact_counter


@dataclass(frozen=True, slots=True)
class Recalled:
    """What was recalled."""

    text: str
    tokens: int
    placed: tuple[Placed, ...] = ()
    profile: Profile = Profile()

    @property
    def items(self) -> tuple[Item, ...]:
        """What is in the block, best first."""
        return tuple(one.ranked.item for one in self.placed if one.fate == "shown")


def recall(
    store: MemoryStore,
    scope: Scope,
    query: str | Sequence[Message],
    settings: MemorySettings,
    budget: int,
) -> Recalled:
    """Recall."""
    del settings
    texts = [query] if isinstance(query, str) else [m.text for m in reversed(query)]
    question = ask(texts[0], *texts[1:], today=date(2026, 9, 1))
    found = store.find(scope, question.words)
    scale = Scale(question, found)
    short = shortlist(scale)
    near = links(store.beside(scope, short))
    numbers = worth_reading(scale, short, near)
    ranked = rank(scale, store.items(scope, numbers), near)
    packed = pack(ranked, budget, exact_counter(), profile=store.profile(scope))
    return Recalled(packed.text, packed.tokens, packed.placed, packed.profile)
