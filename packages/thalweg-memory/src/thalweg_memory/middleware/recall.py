"""Memory that precedes a message of the user: recalled once a run, rendered the same later.

It is rendered again from the ids of its items: the same text, except for forgotten items.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import count
from threading import Lock
from typing import Any

from thalweg.engine.entries import Message
from thalweg.engine.tokens import exact_counter
from thalweg_memory.facts.recall.ranking import RecallItem
from thalweg_memory.facts.recall.rendering import (
    Recalled,
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
    Profile,
    ProfileSection,
    PutFact,
    RecalledPart,
    RecallOutcome,
    Scope,
    SectionName,
    ShownFacts,
    WriteSection,
)
from thalweg_memory.handle import Memory
from thalweg_memory.middleware.capture import BoundMemory
from thalweg_memory.recalling import MESSAGE_TOKENS
from thalweg_memory.store.records import Operation, utc_now
from thalweg_memory.store.tables import MemoryStore

ItemKey = FactId | int | SectionName
"""A fact, a piece of a turn by its number, or a section of the profile."""
SYSTEM_PROMPT_PLACE = ""
"""The place of the system prompt, instead of a message's id."""
MESSAGE_SHARE, MIN_SHARE = 1 / 2, 1 / 8
"""Maximum share of the remaining budget for one message, and the share always allowed.

The latter is of the whole budget. So a later question on another subject has space, too.
"""
THREAD_BUDGET_FACTOR = 2
"""Times `max_injection_tokens` that all messages of a thread show at most: a first run gets
`max_injection_tokens`, which is `MESSAGE_SHARE` of it, and later ones a share of the rest."""
REWRITE_SHARE = 0.01
"""Tokens that may be rewritten for memory's sake, of all that are sent."""
COLD_S = 3_600
"""After so many seconds without a request no provider has its beginning any more."""


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """What precedes one message."""

    uid: str = SYSTEM_PROMPT_PLACE
    """Of the message."""
    at: int = 0
    """The newest operation of the memory at that time: later facts are not shown."""
    facts: tuple[FactId, ...] = ()
    pieces: tuple[int, ...] = ()
    """Pieces of turns, by their numbers in the store."""
    sections: tuple[SectionName, ...] = ()
    tokens: int = 0
    """Of the whole message, its frame included."""

    @property
    def keys(self) -> set[ItemKey]:
        """All that is in it."""
        return {*self.facts, *self.pieces, *self.sections}


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """Something that was recalled."""

    key: ItemKey
    tokens: int
    """Of its line."""


@dataclass(frozen=True, slots=True)
class MemoryRewrites:
    """The tokens that a thread sent, and those that were rewritten for memory's sake."""

    sent: int = 0
    lost: int = 0
    size: int = 0
    """Of the last request."""
    at: float = 0.0
    """When it was sent, in seconds since 1970."""

    def with_request(self, size: int, at: float) -> "MemoryRewrites":
        """Count a request."""
        return MemoryRewrites(self.sent + size, self.lost, size, at)

    def allows(self, max_tokens: int, now: float) -> bool:
        """Return whether the next request may have another prefix than the last.

        Args:
            max_tokens: Of memory in one context: as many may be rewritten in a young thread.
            now: As `at`.
        """
        return self.is_cold(now) or self.lost + self.size <= max_tokens + REWRITE_SHARE * self.sent

    def is_cold(self, now: float) -> bool:
        """Return whether a cache miss on the prefix of the last request is expected anyway."""
        return now - self.at > COLD_S

    def with_rewrite(self, now: float) -> "MemoryRewrites":
        """Charge a request that begins otherwise than the last."""
        return self if self.is_cold(now) else replace(self, lost=self.lost + self.size)


@dataclass(frozen=True, slots=True)
class RecallSelection:
    """The memory to show before the newest message."""

    chosen: tuple[ItemKey, ...] = ()
    """In the order of recall; empty if nothing new is worth showing."""
    max_tokens: int = 0
    """Tokens it may take, its frame included."""
    replaces_shown: bool = False
    """Whether all items shown before are removed."""


def choose_items(
    items: Sequence[RecalledItem],
    live: Sequence[ShownMemory],
    *,
    max_tokens: int,
    frame_tokens: int,
    may_restart: bool,
) -> RecallSelection:
    """Decide which recalled items are shown.

    Args:
        items: The recalled items, the most important first.
        live: Items before messages that are still sent, oldest first.
        max_tokens: Of memory that the thread may show.
        frame_tokens: Of the markup around the lines of one message.
        may_restart: Whether items shown before may be removed.

    Example:
        >>> live = [ShownMemory("m1", facts=(FactId("a"),), tokens=60)]
        >>> items = [RecalledItem(FactId("a"), 20), RecalledItem(FactId("b"), 20)]
        >>> choose_items(items, live, max_tokens=200, frame_tokens=30, may_restart=False).chosen
        ('b',)
    """
    left = max_tokens - sum(shown.tokens for shown in live)
    budget, whole = _message_budget(left, max_tokens), _message_budget(max_tokens, max_tokens)
    core = _within(items, whole - frame_tokens)
    news = _unseen(core, live)
    fitting = _within(news, budget - frame_tokens)
    if len(fitting) < len(news) and live and may_restart:
        return RecallSelection(tuple(one.key for one in core), whole, replaces_shown=True)
    return RecallSelection(tuple(one.key for one in fitting), budget)


def _message_budget(left: int, max_tokens: int) -> int:
    return min(left, max(int(left * MESSAGE_SHARE), int(max_tokens * MIN_SHARE)))


def _unseen(items: Iterable[RecalledItem], live: Iterable[ShownMemory]) -> list[RecalledItem]:
    seen = set[ItemKey]().union(*(shown.keys for shown in live))
    return [one for one in items if one.key not in seen]


def _within(items: Iterable[RecalledItem], max_tokens: int) -> list[RecalledItem]:
    """Return the items that fit, and skip those that do not."""
    fitting: list[RecalledItem] = []
    for one in items:
        if one.tokens <= max_tokens:
            max_tokens -= one.tokens
            fitting.append(one)
    return fitting


def to_plain(shown: Iterable[ShownMemory]) -> list[dict[str, Any]]:
    """Write them for a state, as values that any checkpointer keeps."""
    return [
        {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(one).items() if v}
        for one in shown
    ]


def from_plain(plain: object) -> list[ShownMemory]:
    """Read the output of `to_plain`; an empty list if a state has none.

    Fields that only another version has are skipped.
    """
    known = {field.name for field in fields(ShownMemory)}
    shown: list[ShownMemory] = []
    for one in plain if isinstance(plain, list) else ():
        read: dict[str, Any] = {
            n: tuple(v) if isinstance(v, list) else v for n, v in one.items() if n in known
        }
        shown.append(ShownMemory(**read))
    return shown


MAX_CACHED_TEXTS = 1_024
"""Texts that are kept in memory: to make one again asks the store."""
MAX_SEARCHED_OPERATIONS = 200
"""Operations of the log that are searched for the state of a memory when something was shown."""
_BY_PEOPLE = frozenset({"user", "import", "undo"})
"""Sources whose changes apply at once: a text that a person corrected is not shown as it was."""
SECTION_NAMES: tuple[SectionName, ...] = (*USER_CONTEXT, *HISTORY)
MAX_STORED_OUTCOMES, MAX_STORED_MISSES = 100, 10
"""Recalled items whose result is stored; of those that are not shown the best only."""
QUERY_TURNS, SEEDS_QUERY_TURNS = 4, 3
"""How many of the user's newest turns memory is recalled for; three with `retrieval: seeds`, as in
DeerFlow."""


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
                    while len(self._texts) > MAX_CACHED_TEXTS:
                        self._texts.popitem(last=False)
            if text:
                texts[one.uid] = text
        return texts


class PastMemory:
    """A past state of a memory, as far as the shown items need it."""

    def __init__(self, store: MemoryStore, scope: Scope) -> None:
        self._store, self._scope = store, scope
        self._operations = store.operations(scope, limit=MAX_SEARCHED_OPERATIONS)

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
        if shown.uid == SYSTEM_PROMPT_PLACE:
            return render_system_block(profile, past_facts, settings.max_injection_tokens)
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
        if not any(fact.id in _put_fact_ids(one) for one in self._since(at)):
            return fact
        own = self._store.operations(self._scope, fact=fact.id)
        if any(one.id > at and one.actor in _BY_PEOPLE for one in own):
            return fact
        before = (change.fact for one in own if one.id <= at for change in _put_facts(one))
        return next((then for then in before if then.id == fact.id), fact)

    def _since(self, at: int) -> Iterable[Operation]:
        return (one for one in self._operations if one.id > at)


def render_system_block(profile: Profile, facts: Sequence[Fact], max_tokens: int) -> str:
    """Write DeerFlow's block for a system prompt, with its order and its limits."""
    count = exact_counter()
    frame = "<memory>\n{}\n</memory>"
    text = render_system(profile, facts[:MOST], max_tokens - count(frame), count)
    return frame.format(text) if text else ""


def _put_facts(operation: Operation) -> Iterable[PutFact]:
    return (change for change in reversed(operation.changes) if isinstance(change, PutFact))


def _put_fact_ids(operation: Operation) -> set[str]:
    return {change.fact.id for change in _put_facts(operation)}


def query_turns(bound: BoundMemory) -> int:
    """Return how many of the newest turns memory is recalled for."""
    return SEEDS_QUERY_TURNS if bound.settings.retrieval == "seeds" else QUERY_TURNS


def recent(messages: Sequence[Message], turns: int = QUERY_TURNS) -> list[Message]:
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
        earlier: Callable[[], Sequence[Message]] = tuple,
    ) -> "RunMemory | None":
        """Recall memory for the newest message of the user, and choose the new items.

        Args:
            bound: The memory.
            messages: The available messages of the thread.
            live: The items that precede messages.
            meter: Of the thread.
            earlier: Returns those before them, which the state no longer has.

        Returns:
            `None` if there is no new message of the user.
        """
        message = new_request(messages)
        if message is None or any(shown.uid == message.uid for shown in live):
            return None
        in_prompt = bound.is_before_conversation
        recalled = bound.memory.recall_for_run(
            recent([*earlier(), *messages], query_turns(bound)),
            explain=True,
            thread="" if in_prompt else bound.thread,
            is_known=partial(_is_known, bound.thread, {one.uid for one in messages}),
        )
        items = self._recalled_items(recalled)
        if in_prompt:
            shown = [self._shown(bound, SYSTEM_PROMPT_PLACE, [one.key for one in items])]
            return RunMemory(
                shown, meter, _shown_facts(message.uid, recalled, shown, SYSTEM_PROMPT_PLACE)
            )
        here = [shown for shown in live if shown.uid != SYSTEM_PROMPT_PLACE]
        frame_tokens = self._frame_tokens(recalled)
        here, meter = self._in_thread(bound, message.uid, items, here, meter, frame_tokens)
        return RunMemory(here, meter, _shown_facts(message.uid, recalled, here, message.uid))

    def _in_thread(
        self,
        bound: BoundMemory,
        uid: str,
        items: Sequence[RecalledItem],
        here: list[ShownMemory],
        meter: MemoryRewrites,
        frame_tokens: int,
    ) -> tuple[list[ShownMemory], MemoryRewrites]:
        """Return the items that precede messages, with the new ones before the newest message."""
        now, budget = time.time(), bound.settings.max_injection_tokens
        may, most = meter.allows(budget, now), THREAD_BUDGET_FACTOR * budget
        decision = choose_items(
            items, here, max_tokens=most, frame_tokens=frame_tokens, may_restart=may
        )
        if decision.replaces_shown:
            here, meter = [], meter.with_rewrite(now)
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

    def _fitting(
        self, bound: BoundMemory, uid: str, decision: RecallSelection
    ) -> Iterator[ShownMemory]:
        """Yield the chosen items that fit; headings may use up the space of the last ones."""
        keys = list(decision.chosen)
        while keys:
            shown = self._shown(bound, uid, keys)
            if shown.tokens <= decision.max_tokens:
                yield shown
                return
            keys.pop()

    def _shown(self, bound: BoundMemory, uid: str, keys: Sequence[ItemKey]) -> ShownMemory:
        newest = bound.memory.store.operations(bound.memory.scope, limit=1)
        shown = ShownMemory(
            uid,
            at=newest[0].id if newest else 0,
            facts=tuple(
                FactId(key) for key in keys if isinstance(key, str) and key not in SECTION_NAMES
            ),
            pieces=tuple(key for key in keys if isinstance(key, int)),
            sections=tuple(name for name in SECTION_NAMES if name in keys),
        )
        text = self._teller.render(bound.memory, [shown]).get(uid, "")
        return replace(shown, tokens=self._count(text) + MESSAGE_TOKENS)

    def write(
        self,
        bound: BoundMemory,
        shown: Sequence[ShownMemory],
        messages: Callable[[], Sequence[Message]],
    ) -> dict[str, str]:
        """Render the text before messages, by their ids, and the text in the system prompt.

        Args:
            bound: The memory.
            shown: The items that were chosen for the run.
            messages: Returns those of the thread: with `retrieval: seeds` the text in the system
                prompt is recalled again for each model call.
        """
        if shown and bound.is_before_conversation and bound.settings.retrieval == "seeds":
            recalled = bound.memory.recall_for_run(
                recent(messages(), query_turns(bound)), explain=True
            )
            keys = [one.key for one in self._recalled_items(recalled)]
            shown = [self._shown(bound, SYSTEM_PROMPT_PLACE, keys)]
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
    old = set[ItemKey]().union(*(one.keys for one in shown if one.uid != here))

    def fate(key: ItemKey) -> RecallOutcome:
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
        for placed in recalled.placed[:MAX_STORED_OUTCOMES]
        for item in (placed.ranked.item,)
    ]
    left_out = count()
    shows = {"told", "told before"}
    stored = [item for item in items if item.fate in shows or next(left_out) < MAX_STORED_MISSES]
    return ShownFacts(uid, utc_now(), new.tokens, (*sections, *stored))


def _key(item: RecallItem) -> ItemKey:
    return item.fact.id if item.fact is not None else item.number


def _is_known(thread: str, uids: set[str], item: RecallItem) -> bool:
    """Return whether messages of the thread itself contain a recalled item."""
    turn, fact = item.turn, item.fact
    if turn is not None:
        return turn.thread == thread and turn.uid in uids
    evidence = fact.evidence if fact is not None else ()
    return bool(evidence) and all(one.thread == thread and one.uid in uids for one in evidence)
