"""Stand-in until the handle is there."""

from collections.abc import Sequence

from thalweg.entries import Message
from thalweg.facts.settings import MemorySettings
from thalweg.facts.values import Scope
from thalweg.memory.base import MemoryStore
from thalweg.memory.recalling import Recalled, recall


class Memory:
    """A memory of one scope."""

    def __init__(
        self, store: MemoryStore, scope: Scope, *, settings: MemorySettings | None = None
    ) -> None:
        self.store = store
        self.scope = scope
        self.settings = settings or MemorySettings()

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
        most = self.settings.max_injection_tokens if budget_tokens is None else budget_tokens
        return recall(self.store, self.scope, query, self.settings, most)
