"""Reading what was found: turns and facts by the numbers that the index has for them."""

from collections.abc import Sequence

from thalweg.facts.found import Item
from thalweg.facts.values import Turn
from thalweg.memory import threads
from thalweg.memory.index import FACTS, Place
from thalweg.memory.records import read_turn
from thalweg.memory.scoped import Scoped


def items(scoped: Scoped, numbers: Sequence[int]) -> list[Item]:
    """Read items in the order of their numbers as given; see `MemoryStore.items`."""
    places = {place.number: place for place in scoped.index.places(numbers)}
    turns = _turns(scoped, [place for place in places.values() if place.thread != FACTS])
    facts = scoped.numbered([place.seq for place in places.values() if place.thread == FACTS])
    found: list[Item] = []
    for number in dict.fromkeys(numbers):
        place = places.get(number)
        if place is None:
            continue
        if place.thread == FACTS:
            found.append(Item(number, fact=facts[place.seq]))
        else:
            stop = None if place.stop < 0 else place.stop
            turn = turns[place.thread, place.seq]
            found.append(Item(number, turn=turn, start=place.start, end=stop))
    return found


def newest(scoped: Scoped, thread: str, limit: int) -> list[int]:
    """List the newest pieces of a thread; see `MemoryStore.newest`."""
    number = threads.look(scoped.db, scoped.digests, thread).number
    rows = scoped.db.rows(
        "SELECT number FROM memory_item WHERE scope = ? AND thread = ?"
        " ORDER BY seq DESC, place DESC LIMIT ?",
        (scoped.id, number, limit),
    )
    return [found for (found,) in rows] if number else []


def _turns(scoped: Scoped, places: Sequence[Place]) -> dict[tuple[int, int], Turn]:
    """Read turns by thread and `seq`."""
    wanted: dict[int, set[int]] = {}
    for place in places:
        wanted.setdefault(place.thread, set()).add(place.seq)
    names = threads.names(scoped.db, scoped.id) if wanted else {}
    found: dict[tuple[int, int], Turn] = {}
    for thread, seqs in wanted.items():
        rows = scoped.db.rows_by(
            "SELECT seq, body FROM memory_turn WHERE scope = ? AND thread = ? AND seq",
            sorted(seqs),
            (scoped.id, thread),
        )
        for seq, body in rows:
            found[thread, seq] = read_turn(names[thread], seq, body)
    return found
