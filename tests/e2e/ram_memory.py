"""A store of memories in the process."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.errors import MemoryStoreError
from thalweg.facts.changes import Change, Put
from thalweg.facts.found import Found, Item, index_words, item_words
from thalweg.facts.values import Fact, FactId, Profile, Scope, Status, Turn
from thalweg.memory.base import Operation, Receipt, Selection


@dataclass
class _Room:
    items: dict[int, Item] = field(default_factory=dict)
    operations: list[Operation] = field(default_factory=list)
    captured: dict[str, int] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    noted: list[str] = field(default_factory=list)
    version: int = 0
    number: int = 0


class RamStore:
    """Enough of a store for an agent's runs."""

    def __init__(self) -> None:
        self.rooms: dict[Scope, _Room] = {}
        self.is_down = False
        self.calls: list[str] = []

    def _room(self, scope: Scope) -> _Room:
        if self.is_down:
            msg = "the disk is gone"
            raise MemoryStoreError(msg)
        return self.rooms.setdefault(scope, _Room())

    def capture(
        self, scope: Scope, thread: str, turns: Sequence[Turn], *, upto: int | None = None
    ) -> int:
        room = self._room(scope)
        known = {i.turn.uid for i in room.items.values() if i.turn}
        new = [turn for turn in turns if turn.uid not in known]
        for turn in new:
            room.number += 1
            seq = len(self.turns(scope, thread))
            room.items[room.number] = Item(room.number, turn=replace(turn, seq=seq))
        if upto is not None:
            room.captured[thread] = upto
        return len(new)

    def captured(self, scope: Scope, thread: str) -> int:
        return self._room(scope).captured.get(thread, 0)

    def turns(
        self, scope: Scope, thread: str, first: int = 0, last: int | None = None
    ) -> list[Turn]:
        del first, last
        items = self._room(scope).items.values()
        return [i.turn for i in items if i.turn and i.turn.thread == thread]

    def version(self, scope: Scope) -> int:
        self.calls.append("version")
        return self._room(scope).version

    def facts(
        self,
        scope: Scope,
        *,
        ids: Sequence[FactId] | None = None,
        statuses: Sequence[Status] | None = ("active",),
    ) -> list[Fact]:
        found = [i.fact for i in self._room(scope).items.values() if i.fact]
        found = [fact for fact in found if ids is None or fact.id in ids]
        return [fact for fact in found if statuses is None or fact.status in statuses]

    def profile(self, scope: Scope) -> Profile:
        self._room(scope)
        return Profile()

    def commit(
        self, scope: Scope, changes: Sequence[Change], *, actor: str = "user", **_: Any
    ) -> Operation:
        room = self._room(scope)
        for change in changes:
            if isinstance(change, Put):
                old = [n for n, i in room.items.items() if i.fact and i.fact.id == change.fact.id]
                room.number += not old
                number = old[0] if old else room.number
                room.items[number] = Item(number, fact=change.fact)
        room.version += 1
        operation = Operation(room.version, "", actor, "", tuple(changes))
        room.operations.insert(0, operation)
        return operation

    def find(self, scope: Scope, words: Sequence[str], **_: Any) -> Found:
        places: dict[str, dict[int, int]] = {}
        items = self._room(scope).items
        for number, item in items.items():
            if item.fact and item.fact.status != "active":
                continue
            for word in item_words(item):
                if word in words:
                    places.setdefault(word, {})[number] = 1
        counts = {word: len(there) for word, there in places.items()}
        return Found(places, counts, {}, len(items), 10.0, {})

    def items(self, scope: Scope, numbers: Sequence[int]) -> list[Item]:
        items = self._room(scope).items
        return [items[number] for number in numbers if number in items]

    def operations(
        self, scope: Scope, *, fact: FactId | None = None, limit: int | None = None
    ) -> list[Operation]:
        found = [
            one
            for one in self._room(scope).operations
            if fact is None or any(isinstance(c, Put) and c.fact.id == fact for c in one.changes)
        ]
        return found[:limit]

    def forget(self, scope: Scope, selection: Selection, **_: Any) -> Receipt:
        room = self._room(scope)
        room.items = {
            n: i
            for n, i in room.items.items()
            if not (i.fact and i.fact.id in selection.facts)
            and not (i.turn and i.turn.uid in selection.uids)
        }
        room.operations = [
            replace(one, changes=())
            if any(isinstance(c, Put) and c.fact.id in selection.facts for c in one.changes)
            else one
            for one in room.operations
        ]
        room.version += 1
        return Receipt(selection.facts, 0, 0, 0, (), ())

    def set_mode(self, scope: Scope, thread: str, mode: str) -> None:
        self._room(scope).modes[thread] = mode

    def mode(self, scope: Scope, thread: str) -> str:
        return self._room(scope).modes.get(thread, "on")

    def note(self, scope: Scope, thread: str, **_: Any) -> None:
        self._room(scope).noted.append(thread)


__all__ = ["RamStore", "index_words"]
