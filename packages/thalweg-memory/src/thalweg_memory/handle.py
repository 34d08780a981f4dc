"""`Memory`: what people and agents do with the memory of one owner; and how a memory is opened."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import wraps
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from thalweg.archive.paths import home
from thalweg.engine.entries import Message, Text
from thalweg.engine.extras import needs_extra
from thalweg.engine.tokens import Counter, exact_counter
from thalweg.errors import ConfigError, FactRefusedError, MemoryOffError
from thalweg_memory.deciding import Decider, plan_room, similar_facts
from thalweg_memory.document_files import DocumentFiles
from thalweg_memory.facts.by_hand import (
    find,
    plan_clear,
    plan_delete,
    plan_edit,
    plan_remember,
    plan_review,
    stated_fact,
)
from thalweg_memory.facts.document import Shape, export, plan_document, read_document
from thalweg_memory.facts.gates import (
    MAX_FACT_CHARS,
    ValidationRefusedError,
    clean_content,
    first_day,
    judge_statement,
    last_day,
)
from thalweg_memory.facts.learning.lesson import SECTION_CHARS, folded
from thalweg_memory.facts.merging import has_same_wording
from thalweg_memory.facts.recall.ranking import content_words
from thalweg_memory.facts.recall.rendering import Recalled
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Category,
    Change,
    Fact,
    FactId,
    Hide,
    Mode,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    Scope,
    SectionName,
    ShownFacts,
    Statement,
    Status,
    Trust,
    WriteSection,
    local,
)
from thalweg_memory.recalling import MESSAGE_TOKENS, IsKnown, nothing_is_known, recall
from thalweg_memory.store.records import Clock, Operation, Receipt, Selection, new_fact_id, utc_now
from thalweg_memory.store.sqlite import SqliteMemory
from thalweg_memory.store.tables import MemoryStore


def open_memory(url_or_path: str | PathLike[str], *, secret: bytes | None = None) -> MemoryStore:
    """Open the memory at an address; a new one is made if there is none.

    Args:
        url_or_path: A file, which may hold an archive, too; `:memory:` for a memory that ends
            with the process; or `postgresql://user:password@host:port/database` (extra
            `postgres`).
        secret: The key of the digests of forgotten texts. `None` takes the memory's own,
            made at random when the memory is.

    Raises:
        ConfigError: Nothing can be opened there.
        StorageError: Another process holds it, or the server cannot be reached.

    Example:
        >>> from thalweg_memory.facts.values import Scope
        >>> with open_memory(":memory:") as memory:
        ...     memory.version(Scope("ada"))
        0
    """
    address = fspath(url_or_path)
    scheme, separator, _ = address.partition("://")
    if not separator:
        return SqliteMemory(address, secret=secret)
    if scheme in {"postgres", "postgresql"}:
        return _open_postgres(address, secret)
    kind = f"{scheme}://"
    problem = "there is no such kind of memory"
    raise ConfigError(kind, problem, "pass a path to a SQLite file, or postgresql://…")


def _open_postgres(url: str, secret: bytes | None) -> MemoryStore:
    with needs_extra("postgresql://"):
        from thalweg_memory.store.postgres import PostgresMemory  # noqa: PLC0415 (an extra)
    return PostgresMemory(url, secret=secret)


def attach_document(store: MemoryStore, settings: MemorySettings, *, owner: str = "local") -> None:
    """Keep the document of the settings equal to a store, from now on.

    A store has one document: an existing one is kept.

    Args:
        store: The memory.
        settings: The settings `storage` and `storage_path`.
        owner: The owner of the document; see `DocumentFiles`.
    """
    if settings.storage == "json" and store.documents is None:
        path = Path(settings.storage_path) if settings.storage_path else home() / "memory.json"
        store.documents = DocumentFiles(store, path, owner=owner)


def documents_of(store: MemoryStore) -> DocumentFiles | None:
    """Return the documents of a store, if it has any."""
    return store.documents if isinstance(store.documents, DocumentFiles) else None


MOST_WAITING = 100
"""Facts that wait for review which one more is compared with, the newest."""


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


class Memory:
    """The memory of one owner, or of one agent for one owner.

    It is bound to its scope: no call can read or change another. Its methods block; each has an
    async twin, with an `a` before its name.

    Args:
        store: The store; see `open_memory`.
        scope: The scope of the authenticated caller.
        settings: See `MemorySettings`.
        count: Counts tokens.
        clock: Returns the time.

    Example:
        >>> from thalweg_memory import Scope, open_memory
        >>> with open_memory(":memory:") as store:
        ...     memory = Memory(store, Scope("ada"))
        ...     _ = memory.remember("User lives in Berlin")
        ...     [fact.content for fact in memory.facts()]
        ['User lives in Berlin']
    """

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
        explain: bool = False,
        thread: str = "",
        is_known: IsKnown = nothing_is_known,
    ) -> Recalled:
        """Return the items that answer a question, or relate to a conversation.

        Args:
            query: A question or some words; or the newest messages of a thread, oldest first.
            budget_tokens: Bound on `Recalled.text`; `max_injection_tokens` by default.
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
            explain=explain,
            thread=thread,
            is_known=is_known,
        )

    def recall_for_run(
        self,
        messages: Sequence[Message],
        *,
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
            explain=explain,
            thread=thread,
            is_known=is_known,
        )

    def search(self, words: str) -> Recalled:
        """Return the recalled memory for a run that begins with words; see `recall_for_run`."""
        return self.recall_for_run([_user_message(words)])

    def explain(self, query: str | Sequence[Message]) -> Recalled:
        """Return the result of `search`, and omitted candidates with the reasons.

        Args:
            query: Words, or the newest messages of a thread, oldest first.
        """
        messages = [_user_message(query)] if isinstance(query, str) else query
        return self.recall_for_run(messages, explain=True)

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

    # -- remember --------------------------------------------------------------------------

    def remember(
        self,
        content: str,
        *,
        category: Category = "knowledge",
        confidence: float = 1.0,
        stated_at: str = "",
        since: str = "",
        until: str = "",
        protected: bool = False,
    ) -> Fact:
        """Store a statement of the user, in any wording.

        The same words are stored once. Nothing is superseded: facts that may be about the same
        subject are linked, and recalled together, newer first, with both dates. `edit` corrects a
        fact.

        Args:
            content: One statement, in any language: "User prefers tea".
            category: Its category.
            confidence: 0 to 1.
            stated_at: The time of the statement; now by default.
            since: The first day on which it is valid (`2026-03-02`, `2026-03`), if available.
            until: The last day on which it is valid. After it the fact is not recalled as current.
            protected: Never dropped for lack of space, never changed by extraction.

        Returns:
            The stored fact.

        Raises:
            FactRefusedError: It is not allowed, or a date is invalid; the error has the reason.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        now = self.clock()
        first, last = first_day(since), last_day(until)
        for stated, day in ((since, first), (until, last)):
            if stated and not day:
                raise FactRefusedError(content, f"{stated!r} is not a date such as 2026-03-02")
        new = stated_fact(
            judge_statement(content, category=category), new_fact_id(), now=now, by="user"
        )
        new = replace(
            new,
            confidence=confidence,
            observed_at=stated_at or now,
            valid_from=first,
            valid_to=last,
            protected=protected,
        )
        return self._take_in(new, actor="user")

    def remember_as_agent(
        self,
        content: str,
        *,
        category: Category,
        turns: Sequence[Statement],
        least: Trust,
        quote: str = "",
    ) -> Fact:
        """Store an agent's statement; it waits for the user's review if necessary.

        Args:
            content: One statement.
            category: Its category.
            turns: The turns of the run.
            least: The least trust of all content that the run had read.
            quote: The user's words that it rests on; see `judge_statement`.

        Returns:
            The stored fact, told as the user's own words until a learner has verified it;
            `quarantined` if it rests on none.

        Raises:
            FactRefusedError: It is not allowed; the error has the reason.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        verdict = judge_statement(
            content, turns, author="agent", lowest_trust=least, category=category, quote=quote
        )
        new = stated_fact(verdict, new_fact_id(), now=self.clock(), by="agent")
        return self._take_in(new, actor="agent")

    def _take_in(self, new: Fact, *, actor: str) -> Fact:
        """Merge a fact, and return its resulting version."""
        done = self._decider.take_in(lambda: self._planned(new), actor=actor, why="told")
        if done is not None:
            there = [change.fact for change in done.changes if isinstance(change, PutFact)]
        else:
            there = self._near(new)
        for fact in sorted(there, key=lambda one: one.id != new.id):
            if fact.id == new.id or has_same_wording(fact, new):
                return fact
        problem = "it was forgotten, and an agent cannot add forgotten facts again"
        raise FactRefusedError(new.content, problem)

    def _near(self, new: Fact) -> list[Fact]:
        near = similar_facts(self.store, self.scope, new.statement)
        if new.status == "quarantined":
            waiting = self.store.facts(self.scope, statuses=("quarantined",), limit=MOST_WAITING)
            near += waiting
        return near

    def _planned(self, new: Fact) -> Sequence[Change]:
        changes = plan_remember(self._near(new), new)
        room = plan_room(self.store, self.scope, changes, self.settings, self.clock())
        return folded([*changes, *room])

    @property
    def _decider(self) -> Decider:
        return Decider(self.store, self.scope, self.clock)

    def _check_writable(self) -> None:
        if not self.settings.enabled:
            raise MemoryOffError(where="memory.enabled is false", fix="set it to true")
        if self.settings.read_only:
            raise MemoryOffError(where="memory.read_only is true", fix="set it to false")

    # -- change by hand --------------------------------------------------------------------

    def edit(
        self,
        id_: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
        protected: bool | None = None,
    ) -> Fact:
        """Edit a fact. The history keeps its former text.

        Raises:
            NoSuchFactError: There is none.
            FactRefusedError: The new content is not allowed.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        now = self.clock()
        if content is not None:
            content = self._clean(content)
        self._decider.change(
            lambda known: plan_edit(
                known.facts,
                FactId(id_),
                content=content,
                category=category,
                confidence=confidence,
                protected=protected,
                now=now,
            ),
            why="edited",
            ids=[id_],
        )
        return self.fact(id_)

    def _clean(self, text: str, most: int = MAX_FACT_CHARS) -> str:
        """Validate a text of the user's, and return it as stored."""
        try:
            return clean_content(text, is_manual=True, most=most)
        except ValidationRefusedError as refused:
            raise FactRefusedError(text, f"it {refused}") from None

    def delete(self, *ids: str) -> Operation | None:
        """Take facts out, and recall no more the turns they were learned from.

        `undo` brings them back, and `forget` is for good.

        Raises:
            NoSuchFactError: One of them is not there; none was taken out.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        return self._decider.change(
            lambda known: plan_delete(known.facts, ids), why="deleted", ids=ids
        )

    def hide(self, query: str, *, asked_in: Sequence[str] = (), by: str = "user") -> int:
        """Take out facts, and recall no more the messages, that have every word of a query.

        `undo` brings them back, and `forget` is for good.

        Args:
            query: Words. Word forms are folded, as in a search.
            asked_in: Ids of messages (`Statement.uid`) that asked for it: they are hidden as well.
            by: Who does it: `user` or `agent`.

        Returns:
            How many facts and messages had the words.

        Raises:
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        words = content_words(query)
        counted = 0

        def plan() -> Sequence[Change]:
            nonlocal counted
            found = self.store.find(self.scope, words, limit=sys.maxsize, most_words=len(words))
            places = found.places
            numbers = set.intersection(*(set(places.get(word, ())) for word in words or [""]))
            items = self.store.items(self.scope, sorted(numbers))
            facts = [item.fact for item in items if item.fact and not item.fact.protected]
            waiting = self.review() if words else []
            facts += [one for one in waiting if {*words} <= {*content_words(one.statement)}]
            uids = {item.turn.uid for item in items if item.turn} - {*asked_in}
            counted = len(facts) + len(uids)
            removed = [RemoveFact(fact.id, "the user requested it") for fact in facts]
            uids |= {*asked_in} if counted else set()
            hidden = [Hide("the user requested it", uids=tuple(sorted(uids)))] if uids else []
            return [*removed, *hidden]

        self._decider.take_in(plan, actor=by, why="hidden")
        return counted

    def clear(self) -> Operation | None:
        """Remove all facts and the profile, and exclude all earlier turns from recall.

        Pending turns are not processed any more. `undo` restores everything; `forget` is permanent.

        Returns:
            The operation: a `RemoveFact` for each fact, a `WriteSection` for each section, a `Hide`
            with the number of turns. `None` if the memory was empty.

        Raises:
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        now = self.clock()
        return self._decider.change(
            lambda known: plan_clear(known.facts, known.profile, now=now), why="cleared"
        )

    def accept(self, id_: str) -> None:
        """Take a fact in that waited for the user's word.

        Raises:
            NoSuchFactError: No such fact waits.
            MemoryOffError: Memory is off or read-only.
        """
        self._review(id_, accepted=True)

    def reject(self, id_: str) -> None:
        """Take out a fact that waited for the user's word; see `accept`."""
        self._review(id_, accepted=False)

    def _review(self, id_: str, *, accepted: bool) -> None:
        self._check_writable()
        held = self.fact(id_)

        def plan() -> Sequence[Change]:
            waiting = self.store.facts(self.scope, ids=[held.id], statuses=None)
            near = similar_facts(self.store, self.scope, held.content)
            return plan_review([*waiting, *near], held.id, accepted=accepted)

        why = "accepted" if accepted else "rejected"
        self._decider.take_in(plan, actor="user", why=why)

    def write_profile(self, name: SectionName, text: str) -> None:
        """Write a section of the profile; an empty text takes it out.

        Raises:
            FactRefusedError: The text may not be remembered.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        now = self.clock()
        if text:
            text = self._clean(text, SECTION_CHARS)
        written = WriteSection(ProfileSection(name, text, now), "written by hand")
        self._decider.change(lambda _: [written], why=written.why)

    def undo(self, operation: int) -> Operation:
        """Put back what one change replaced; see `MemoryStore.undo`."""
        self._check_writable()
        return self.store.undo(self.scope, operation, now=self.clock())

    def restore(self, operation: int) -> list[Operation]:
        """Restore the memory's state after one change; see `MemoryStore.restore`."""
        self._check_writable()
        return self.store.restore(self.scope, operation, now=self.clock())

    def forget(
        self,
        *facts: str,
        threads: Sequence[str] = (),
        messages: Sequence[str] = (),
        query: str = "",
        everything: bool = False,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete permanently, also if memory is off or read-only.

        Args:
            facts: Ids of facts.
            threads: Threads whose turns are deleted, with facts that have no other evidence.
            messages: Ids of messages (`Statement.uid`), likewise.
            query: Facts of every status, deleted ones included, and turns that have every word of
                it. Word forms are folded, as in a search.
            everything: The whole memory of this scope.
            dry_run: Change nothing, and return what would be deleted.

        Raises:
            ConfigError: Nothing is selected.
            NoSuchFactError: A selected fact does not exist.
        """
        if not (facts or threads or messages or query or everything):
            problem, fix = "nothing to forget is named", "name facts, threads or a query"
            raise ConfigError("forget", problem, fix)
        for id_ in facts:
            if not self.store.operations(self.scope, fact=FactId(id_), limit=1):
                self.fact(id_)
        selection = Selection(
            facts=tuple(map(FactId, facts)),
            threads=tuple(threads),
            uids=tuple(messages),
            words=query,
            everything=everything,
        )
        return self.store.forget(self.scope, selection, now=self.clock(), dry_run=dry_run)

    def set_mode(self, thread: str, mode: Mode) -> None:
        """Set what memory does with a thread: `on`, `read_only`, `incognito` or `off`."""
        self.store.set_mode(self.scope, thread, mode)

    # -- documents -------------------------------------------------------------------------

    def import_(self, text: str, *, where: str = "memory.json") -> Operation | None:
        """Import a document: its items are added, or replace those with the same id.

        Args:
            text: The document, in either shape.
            where: Its name in errors.

        Returns:
            The operation; `None` if there is nothing new.

        Raises:
            DocumentError: It is invalid; nothing was changed.
            MemoryOffError: Memory is off or read-only.
        """
        self._check_writable()
        document = read_document(text, where)
        return self._decider.change(
            lambda known: plan_document(
                document, known.facts, known.profile, now=self.clock(), new_id=new_fact_id
            ),
            actor="import",
            why=f"imported {where}",
        )

    def reload(self) -> Operation | None:
        """Import manual edits of the document, and rewrite it (`storage: json`).

        Every read does so as well. This returns the operation, and raises errors of the document.

        Returns:
            The operation; `None` if nothing was edited.

        Raises:
            ConfigError: This memory has no document.
            DocumentError: It is invalid; memory and document did not change.
        """
        documents = documents_of(self.store)
        if documents is None:
            fix = "set storage: json, and storage_path where it is not in Thalweg's folder"
            raise ConfigError("storage", "this memory has no document", fix)
        return documents.reload(self.scope)

    # -- twins -----------------------------------------------------------------------------

    aremember = awaited(remember)
    aedit = awaited(edit)
    adelete = awaited(delete)
    ahide = awaited(hide)
    aclear = awaited(clear)
    aaccept = awaited(accept)
    areject = awaited(reject)
    awrite_profile = awaited(write_profile)
    aundo = awaited(undo)
    arestore = awaited(restore)
    aforget = awaited(forget)
    aset_mode = awaited(set_mode)
    aimport = awaited(import_)
    areload = awaited(reload)


def _user_message(words: str) -> Message:
    return Message("user", (Text(words),))
