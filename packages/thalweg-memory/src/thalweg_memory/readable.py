"""The reading half of `Memory`: recall, facts, profile and history of one scope."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import Counter, exact_counter
from thalweg_memory.base import Clock, Operation, utc_now
from thalweg_memory.facts.by_hand import find
from thalweg_memory.facts.days import local
from thalweg_memory.facts.document import Shape, export
from thalweg_memory.facts.recall.packing import Recalled
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId, Profile, Scope, ShownFacts, Status
from thalweg_memory.opening import attach_document
from thalweg_memory.recalling import MESSAGE_TOKENS, IsKnown, nothing_is_known, recall
from thalweg_memory.store.tables import MemoryStore

_S = TypeVar("_S")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def awaited(
    method: Callable[Concatenate[_S, _P], _R],
) -> Callable[Concatenate[_S, _P], Coroutine[Any, Any, _R]]:
    """Make a method to be awaited of one that blocks: it works in a thread."""

    @wraps(method)
    async def twin(self: _S, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await asyncio.to_thread(method, self, *args, **kwargs)

    twin.__name__ = twin.__qualname__ = f"a{method.__name__.removesuffix('_')}"
    twin.__doc__ = f"See `{method.__name__}`."
    return twin


class ReadableMemory:
    """What can be read of the memory of one owner; see `thalweg_memory.Memory`."""

    def __init__(
        self,
        store: MemoryStore,
        scope: Scope,
        *,
        settings: MemorySettings | None = None,
        count: Counter | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self.settings = settings or MemorySettings()
        attach_document(store, self.settings)
        self.store = store
        self.scope = scope
        self.count = count or exact_counter()
        self.clock = clock

    def recall(
        self,
        query: str | Sequence[Message],
        *,
        budget_tokens: int | None = None,
        as_of: str = "",
        explain: bool = False,
        thread: str = "",
        is_known: IsKnown = nothing_is_known,
    ) -> Recalled:
        """Return the items that answer a question, or relate to a conversation.

        Args:
            query: A question or some words; or the newest messages of a thread, oldest first.
            budget_tokens: Bound on `Recalled.text`; `max_injection_tokens` by default.
            as_of: A time in ISO 8601: facts valid then, instead of now.
            explain: Include omitted items with the reasons.
            thread: The current thread, whose latest turns are omitted.
            is_known: Returns whether the caller already has an item: it is omitted, and no space
                is reserved for it.
        """
        if not self.settings.enabled:
            return Recalled()
        return recall(
            self.store,
            self.scope,
            query,
            settings=self.settings,
            budget=self.settings.max_injection_tokens if budget_tokens is None else budget_tokens,
            count=self.count,
            now=local(self.clock(), self.settings.time_zone),
            as_of=as_of,
            explain=explain,
            thread=thread,
            is_known=is_known,
        )

    def recall_for_run(
        self,
        messages: Sequence[Message],
        *,
        as_of: str = "",
        explain: bool = False,
        thread: str = "",
        is_known: IsKnown = nothing_is_known,
    ) -> Recalled:
        """Recall memory for a run that begins with the last of some messages.

        An agent gets its block here, and `search` and `explain` show the same: facts and turns that
        answer, best first, then the facts that matter for any question, in `max_injection_tokens`
        with the message around them. See `recall` for the arguments.
        """
        return self.recall(
            messages,
            budget_tokens=self.settings.max_injection_tokens - MESSAGE_TOKENS,
            as_of=as_of,
            explain=explain,
            thread=thread,
            is_known=is_known,
        )

    def search(self, words: str, *, as_of: str = "") -> Recalled:
        """Return the recalled memory for a run that begins with words; see `recall_for_run`."""
        return self.recall_for_run([_user_message(words)], as_of=as_of)

    def explain(self, query: str | Sequence[Message], *, as_of: str = "") -> Recalled:
        """Return the result of `search`, and omitted candidates with the reasons.

        Args:
            query: Words, or the newest messages of a thread, oldest first.
            as_of: See `recall`.
        """
        messages = [_user_message(query)] if isinstance(query, str) else query
        return self.recall_for_run(messages, as_of=as_of, explain=True)

    def shown_facts(self, thread: str) -> list[ShownFacts]:
        """Return the items recalled for the newest messages of a thread, and why.

        Facts that were forgotten since are not included.
        """
        return self.store.shown_facts(self.scope, thread)

    def facts(self, *statuses: Status) -> list[Fact]:
        """Return facts of some statuses, oldest first; the valid ones by default."""
        return self.store.facts(self.scope, statuses=statuses or ("active",))

    def fact(self, id_: str) -> Fact:
        """Return one fact of any status, with its evidence.

        Raises:
            NoSuchFactError: There is none.
        """
        return find(self.store.facts(self.scope, ids=[FactId(id_)], statuses=None), FactId(id_))

    def review(self) -> list[Fact]:
        """List the facts that wait for the user's word: they are never recalled."""
        return self.facts("quarantined")

    def profile(self) -> Profile:
        """Read the profile."""
        return self.store.profile(self.scope)

    def history(self, fact: str = "", *, limit: int | None = None) -> list[Operation]:
        """List the changes, newest first: of one fact, or of all."""
        id_ = FactId(fact) if fact else None
        return self.store.operations(self.scope, fact=id_, limit=limit)

    def export(self, *, shape: Shape = "seeds") -> str:
        """Write the memory as a document: what holds, and the profile."""
        return export(self.facts(), self.profile(), shape=shape, now=self.clock())

    arecall = awaited(recall)
    arecall_for_run = awaited(recall_for_run)
    asearch = awaited(search)
    aexplain = awaited(explain)
    ashown_facts = awaited(shown_facts)
    afacts = awaited(facts)
    afact = awaited(fact)
    areview = awaited(review)
    aprofile = awaited(profile)
    ahistory = awaited(history)
    aexport = awaited(export)


def _user_message(words: str) -> Message:
    return Message("user", (Text(words),))
