"""Recalled memory, rendered again from its ids: the same text, except for forgotten items."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from threading import Lock

from thalweg.engine.tokens import exact_counter
from thalweg_memory.base import MemoryStore, Operation
from thalweg_memory.facts.changes import PutFact, WriteSection
from thalweg_memory.facts.recall.found import RecallItem
from thalweg_memory.facts.recall.rendering import render_tail
from thalweg_memory.facts.recall.seeds import MOST, render_system
from thalweg_memory.facts.values import Fact, Profile, ProfileSection, Scope
from thalweg_memory.handle import Memory
from thalweg_memory.middleware.shown import IN_PROMPT, ShownMemory

REMEMBERED = 1_024
"""Texts that are kept in memory: to make one again asks the store."""
LOOKED_BACK = 200
"""Operations of the log that are searched for the state of a memory when something was shown."""
_BY_PEOPLE = frozenset({"user", "import", "undo"})
"""Sources whose changes apply at once: a text that a person corrected is not shown as it was."""


class MemoryRenderer:
    """Writes shown items, each time the same; safe to share between threads."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[Scope, int, ShownMemory], str] = OrderedDict()
        self._lock = Lock()

    def render(self, memory: Memory, shown: Sequence[ShownMemory]) -> dict[str, str]:
        """Return the texts that precede messages, by their ids; without forgotten items."""
        if not shown:
            return {}
        version = memory.store.version(memory.scope)
        texts: dict[str, str] = {}
        past: PastMemory | None = None
        for one in shown:
            key = (memory.scope, version, replace(one, tokens=0))
            with self._lock:
                text = self._texts.get(key)
            if text is None:
                past = past or PastMemory(memory.store, memory.scope)
                text = past.text(one, memory.settings.max_injection_tokens)
                with self._lock:
                    self._texts[key] = text
                    while len(self._texts) > REMEMBERED:
                        self._texts.popitem(last=False)
            if text:
                texts[one.uid] = text
        return texts


class PastMemory:
    """A past state of a memory, as far as the shown items need it."""

    def __init__(self, store: MemoryStore, scope: Scope) -> None:
        self._store, self._scope = store, scope
        self._operations = store.operations(scope, limit=LOOKED_BACK)

    def text(self, shown: ShownMemory, most: int) -> str:
        """Return the text that was shown, without forgotten items.

        Args:
            shown: The shown items.
            most: Maximum tokens of a block in the system prompt, which is truncated to them.
        """
        facts = self._store.facts(self._scope, ids=shown.facts, statuses=None)
        vouched = (fact for fact in facts if fact.status != "quarantined")
        there = {fact.id: self._fact(fact, shown.at) for fact in vouched}
        past_facts = [there[id_] for id_ in shown.facts if id_ in there]
        profile = self._profile(shown)
        if shown.uid == IN_PROMPT:
            return in_prompt(profile, past_facts, most)
        pieces = self._store.items(self._scope, shown.pieces)
        return render_tail([*(RecallItem(0, fact=fact) for fact in past_facts), *pieces], profile)

    def _profile(self, shown: ShownMemory) -> Profile:
        """Return the sections that were shown, each in the version that `_fact` selects."""
        if not shown.sections:
            return Profile()
        now = self._store.profile(self._scope)
        there = (section for section in now.sections if section.name in shown.sections)
        return Profile(tuple(self._section(section, shown.at) for section in there))

    def _section(self, section: ProfileSection, at: int) -> ProfileSection:
        written = [
            (one, change.section)
            for one in self._operations
            for change in one.changes
            if isinstance(change, WriteSection)
            and change.name == section.name
            and change.section.text
        ]
        if any(one.id > at and one.actor in _BY_PEOPLE for one, _ in written):
            return section
        return next((then for one, then in written if one.id <= at), section)

    def _fact(self, fact: Fact, at: int) -> Fact:
        """Return a fact in its former version, or in the current one if a person changed it since.

        A fact that was superseded keeps its former text.
        """
        if not any(fact.id in _facts(one) for one in self._since(at)):
            return fact
        own = self._store.operations(self._scope, fact=fact.id)
        if any(one.id > at and one.actor in _BY_PEOPLE for one in own):
            return fact
        before = (change.fact for one in own if one.id <= at for change in _puts(one))
        return next((then for then in before if then.id == fact.id), fact)

    def _since(self, at: int) -> Iterable[Operation]:
        return (one for one in self._operations if one.id > at)


def in_prompt(profile: Profile, facts: Sequence[Fact], most: int) -> str:
    """Write DeerFlow's block for a system prompt, with its order and its limits."""
    count = exact_counter()
    frame = "<memory>\n{}\n</memory>"
    text = render_system(profile, facts[:MOST], most - count(frame), count)
    return frame.format(text) if text else ""


def _puts(operation: Operation) -> Iterable[PutFact]:
    return (change for change in reversed(operation.changes) if isinstance(change, PutFact))


def _facts(operation: Operation) -> set[str]:
    return {change.fact.id for change in _puts(operation)}
