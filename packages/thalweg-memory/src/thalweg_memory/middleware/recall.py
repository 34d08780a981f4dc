"""Memory that precedes a message of the user: recalled once a run, rendered the same later.

It is rendered again from the ids of its items: the same text, except for forgotten items.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from thalweg.engine.entries import Message
from thalweg.engine.tokens import exact_counter
from thalweg_memory.base import Operation, utc_now
from thalweg_memory.facts.recall.found import RecallItem
from thalweg_memory.facts.recall.packing import Recalled
from thalweg_memory.facts.recall.rendering import (
    closing,
    is_quoted,
    opening,
    profile_lines,
    render_tail,
)
from thalweg_memory.facts.recall.seeds import MOST, render_system
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    HISTORY,
    NO_FACT,
    USER_CONTEXT,
    Fact,
    FactId,
    Fate,
    Profile,
    ProfileSection,
    PutFact,
    RecalledPart,
    Scope,
    SectionName,
    ShownFacts,
    WriteSection,
)
from thalweg_memory.handle import Memory
from thalweg_memory.middleware.binding import BoundMemory
from thalweg_memory.middleware.shown import (
    IN_PROMPT,
    IN_THREAD,
    Decision,
    Key,
    MemoryRewrites,
    RecalledItem,
    ShownMemory,
    choose_items,
)
from thalweg_memory.recalling import MESSAGE_TOKENS
from thalweg_memory.store.tables import MemoryStore

REMEMBERED = 1_024
"""Texts that are kept in memory: to make one again asks the store."""
LOOKED_BACK = 200
"""Operations of the log that are searched for the state of a memory when something was shown."""
_BY_PEOPLE = frozenset({"user", "import", "undo"})
"""Sources whose changes apply at once: a text that a person corrected is not shown as it was."""
NAMES: tuple[SectionName, ...] = (*USER_CONTEXT, *HISTORY)
MOST_WEIGHED = 100
"""Things that were recalled of which it is kept why."""
TURNS = 4
"""Number of the user's newest turns from which the subject of a run is taken."""


class MemoryRenderer:
    """Writes shown items, each time the same; safe to share between threads."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[Scope, int, str, ShownMemory], str] = OrderedDict()
        self._lock = Lock()

    def render(self, memory: Memory, shown: Sequence[ShownMemory]) -> dict[str, str]:
        """Return the texts that precede messages, by their ids; without forgotten items."""
        if not shown:
            return {}
        version = memory.store.version(memory.scope)
        texts: dict[str, str] = {}
        past: PastMemory | None = None
        for one in shown:
            key = (memory.scope, version, memory.settings.time_zone, replace(one, tokens=0))
            with self._lock:
                text = self._texts.get(key)
            if text is None:
                past = past or PastMemory(memory.store, memory.scope)
                text = past.text(one, memory.settings)
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

    def text(self, shown: ShownMemory, settings: MemorySettings) -> str:
        """Return the text that was shown, without forgotten items.

        Args:
            shown: The shown items.
            settings: The tokens of a block in the system prompt, and the time zone.
        """
        facts = self._store.facts(self._scope, ids=shown.facts, statuses=None)
        vouched = (fact for fact in facts if fact.status != "quarantined")
        there = {fact.id: self._fact(fact, shown.at) for fact in vouched}
        past_facts = [there[id_] for id_ in shown.facts if id_ in there]
        profile = self._profile(shown)
        if shown.uid == IN_PROMPT:
            return in_prompt(profile, past_facts, settings.max_injection_tokens)
        pieces = self._store.items(self._scope, shown.pieces)
        items = [*(RecallItem(0, fact=fact) for fact in past_facts), *pieces]
        return render_tail(items, profile, settings.time_zone)

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


def recent(messages: Sequence[Message], turns: int = TURNS) -> list[Message]:
    """Return the newest turns of a thread: the user's messages and the final answers.

    Example:
        >>> from thalweg.engine.entries import Text
        >>> said = [Message("user", (Text(text),)) for text in "abcde"]
        >>> [message.text for message in recent(said)]
        ['b', 'c', 'd', 'e']
    """
    taken: list[Message] = []
    for message in reversed(messages):
        if message.is_request:
            turns -= 1
        elif message.role != "assistant" or message.calls or message.kind != "said":
            continue
        taken.append(message)
        if not turns:
            break
    return taken[::-1]


def new_request(messages: Sequence[Message]) -> Message | None:
    """Return the user's message that a run begins with; `None` if there is no new one."""
    for message in reversed(messages):
        if message.is_request:
            return message if message.uid else None
        if message.role == "assistant":
            return None
    return None


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The memory that a run is shown."""

    shown: list[ShownMemory]
    """What precedes messages from now on."""
    meter: MemoryRewrites
    outcome: ShownFacts
    """The recalled items, and the result for each."""


class RecallRenderer:
    """Chooses the memory to show, and renders it."""

    def __init__(self) -> None:
        self._teller = MemoryRenderer()
        self._count = exact_counter()

    def begin(
        self,
        bound: BoundMemory,
        messages: Sequence[Message],
        live: Sequence[ShownMemory],
        meter: MemoryRewrites,
    ) -> "RunMemory | None":
        """Recall memory for the newest message of the user, and choose the new items.

        Args:
            bound: The memory.
            messages: The available messages of the thread.
            live: The items that precede messages.
            meter: Of the thread.

        Returns:
            `None` if there is no new message of the user.
        """
        message = new_request(messages)
        if message is None or any(shown.uid == message.uid for shown in live):
            return None
        in_prompt = bound.tells_in_prompt
        recalled = bound.memory.recall_for_run(
            recent(messages),
            explain=True,
            thread="" if in_prompt else bound.thread,
            is_known=partial(_is_known, bound.thread, {one.uid for one in messages}),
        )
        items = self._recalled_items(recalled)
        if in_prompt:
            shown = [self._shown(bound, IN_PROMPT, [one.key for one in items])]
            return RunMemory(shown, meter, _shown_facts(message.uid, recalled, shown, IN_PROMPT))
        here = [shown for shown in live if shown.uid != IN_PROMPT]
        frame = self._frame_tokens(recalled)
        here, meter = self._in_thread(bound, message.uid, items, here, meter, frame)
        return RunMemory(here, meter, _shown_facts(message.uid, recalled, here, message.uid))

    def _in_thread(
        self,
        bound: BoundMemory,
        uid: str,
        items: Sequence[RecalledItem],
        here: list[ShownMemory],
        meter: MemoryRewrites,
        frame: int,
    ) -> tuple[list[ShownMemory], MemoryRewrites]:
        """Return the items that precede messages, with the new ones before the newest message."""
        now, most = time.time(), bound.settings.max_injection_tokens
        may = meter.allows(most, now)
        decision = choose_items(items, here, most=IN_THREAD * most, frame=frame, may_restart=may)
        if decision.restarts:
            here, meter = [], meter.rewritten(now)
        return [*here, *self._fitting(bound, uid, decision)], meter

    def _recalled_items(self, recalled: Recalled) -> list[RecalledItem]:
        """List the recalled items, the most important first."""
        about = [
            RecalledItem(section.name, sum(map(self._count, profile_lines(Profile((section,))))))
            for section in recalled.profile.sections
        ]
        found = [one for one in recalled.placed if one.fate == "shown"]
        return [*about, *(RecalledItem(_key(one.ranked.item), one.tokens) for one in found)]

    def _frame_tokens(self, recalled: Recalled) -> int:
        quoted = any(is_quoted(one.ranked.item) for one in recalled.placed if one.fate == "shown")
        return self._count(opening(quoted=quoted)) + self._count(closing()) + MESSAGE_TOKENS

    def _fitting(self, bound: BoundMemory, uid: str, decision: Decision) -> Iterator[ShownMemory]:
        """Yield the chosen items that fit; headings may use up the space of the last ones."""
        keys = list(decision.chosen)
        while keys:
            shown = self._shown(bound, uid, keys)
            if shown.tokens <= decision.room:
                yield shown
                return
            keys.pop()

    def _shown(self, bound: BoundMemory, uid: str, keys: Sequence[Key]) -> ShownMemory:
        newest = bound.memory.store.operations(bound.memory.scope, limit=1)
        shown = ShownMemory(
            uid,
            at=newest[0].id if newest else 0,
            facts=tuple(FactId(key) for key in keys if isinstance(key, str) and key not in NAMES),
            pieces=tuple(key for key in keys if isinstance(key, int)),
            sections=tuple(name for name in NAMES if name in keys),
        )
        text = self._teller.render(bound.memory, [shown]).get(uid, "")
        return replace(shown, tokens=self._count(text) + MESSAGE_TOKENS)

    def write(self, bound: BoundMemory, shown: Sequence[ShownMemory]) -> dict[str, str]:
        """Render the text before messages, by their ids, and the text in the system prompt."""
        return self._teller.render(bound.memory, shown)


def _shown_facts(
    uid: str, recalled: Recalled, shown: Sequence[ShownMemory], here: str
) -> ShownFacts:
    """Return the outcome of each recalled item.

    Args:
        uid: Id of the message that it was recalled for.
        recalled: The recalled items.
        shown: The items that now precede messages.
        here: The place of the new items.
    """
    new = next((one for one in shown if one.uid == here), ShownMemory(here))
    old = set[Key]().union(*(one.keys for one in shown if one.uid != here))

    def fate(key: Key) -> Fate:
        return "told" if key in new.keys else "told before" if key in old else "no room"

    sections = [RecalledPart(fate(one.name), section=one.name) for one in recalled.profile.sections]
    items = [
        RecalledPart(
            fate(_key(item)) if placed.fate == "shown" else placed.fate,
            fact=item.fact.id if item.fact is not None else NO_FACT,
            uid=item.turn.uid if item.turn is not None else "",
            score=round(placed.ranked.score, 4),
            tokens=placed.tokens,
        )
        for placed in recalled.placed[:MOST_WEIGHED]
        for item in (placed.ranked.item,)
    ]
    return ShownFacts(uid, utc_now(), new.tokens, (*sections, *items))


def _key(item: RecallItem) -> Key:
    return item.fact.id if item.fact is not None else item.number


def _is_known(thread: str, uids: set[str], item: RecallItem) -> bool:
    """Return whether messages of the thread itself contain a recalled item."""
    turn, fact = item.turn, item.fact
    if turn is not None:
        return turn.thread == thread and turn.uid in uids
    evidence = fact.evidence if fact is not None else ()
    return bool(evidence) and all(one.thread == thread and one.uid in uids for one in evidence)
