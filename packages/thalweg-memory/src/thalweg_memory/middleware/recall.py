"""Memory that precedes a message of the user: recalled once a run, rendered the same later."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from thalweg.engine.entries import Message
from thalweg.engine.tokens import exact_counter
from thalweg_memory.clock import utc_now
from thalweg_memory.facts.recall.found import RecallItem
from thalweg_memory.facts.recall.packing import Recalled
from thalweg_memory.facts.recall.rendering import closing, opening, profile_lines
from thalweg_memory.facts.shown import Fate, RecalledPart, ShownFacts
from thalweg_memory.facts.values import HISTORY, NO_FACT, USER_CONTEXT, FactId, Profile, SectionName
from thalweg_memory.middleware.binding import BoundMemory
from thalweg_memory.middleware.rendering import MemoryRenderer
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

NAMES: tuple[SectionName, ...] = (*USER_CONTEXT, *HISTORY)
MOST_WEIGHED = 100
"""Things that were recalled of which it is kept why."""
TURNS = 4
"""Number of the user's newest turns from which the subject of a run is taken."""


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
        here, meter = self._in_thread(bound, message.uid, items, here, meter)
        return RunMemory(here, meter, _shown_facts(message.uid, recalled, here, message.uid))

    def _in_thread(
        self,
        bound: BoundMemory,
        uid: str,
        items: Sequence[RecalledItem],
        here: list[ShownMemory],
        meter: MemoryRewrites,
    ) -> tuple[list[ShownMemory], MemoryRewrites]:
        """Return the items that precede messages, with the new ones before the newest message."""
        now, most = time.time(), bound.settings.max_injection_tokens
        may = meter.allows(most, now)
        decision = choose_items(
            items, here, most=IN_THREAD * most, frame=self._frame, may_restart=may
        )
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

    @property
    def _frame(self) -> int:
        return self._count(opening()) + self._count(closing()) + MESSAGE_TOKENS

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
