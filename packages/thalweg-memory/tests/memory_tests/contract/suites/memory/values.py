"""Facts, turns and commits for the tests of a store of memories."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from thalweg.database import jobs
from thalweg_memory.facts.recall.ranking import index_words
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    Scope,
    Statement,
    Trust,
    WriteSection,
)
from thalweg_memory.store.records import Job, Learned, Operation, Selection
from thalweg_memory.store.scoped import CONTENT
from thalweg_memory.store.tables import MemoryStore

Reopen = Callable[[], MemoryStore]
"""Opens the store under test again, as another process would."""
Gate = Callable[[], object]
SCOPED = (*CONTENT, "memory_tombstone", "memory_item", "memory_word", "memory_posting")
"""Tables of which every statement names the scope. Jobs are searched across scopes."""
ADA = Scope("ada")
"""The scope of most tests."""
OTHERS = (Scope("ada", "coder"), Scope("bob"), Scope("ada\0coder"), Scope(""))
"""Scopes that must not be confused with it."""
NOW = "2026-03-01T10:00:00Z"
"""The time of most tests."""
LATER = "2026-03-01T11:00:00Z"
ODD = (
    "half an emoji \ud83d, a NUL \0, two ends \r\n, and 'quotes\"",
    "我对花生过敏，请记住这一点。" * 90,
    "",
    "𝔘nusual " * 900,
)


def said(text: str, uid: str = "", role: str = "user", thread: str = "t1") -> Statement:
    """Make a turn."""
    assert role in {"user", "assistant"}
    known = Statement(thread, 0, "user", text, NOW, Trust.USER, author="Ada", uid=uid)
    return known if role == "user" else replace(known, role="assistant", trust=Trust.ASSISTANT)


def fact(id_: str, content: str, *quotes: tuple[str, str], thread: str = "t1") -> Fact:
    """Make a fact, with its evidence as ids of turns and quotations."""
    evidence = tuple(
        Evidence(thread, uid, quote, NOW, Trust.USER, position)
        for position, (uid, quote) in enumerate(quotes)
    )
    source = thread if quotes else "manual"
    return Fact(FactId(id_), content, "knowledge", 0.9, NOW, source, evidence=evidence)


def put(*facts: Fact) -> list[Change]:
    """Make changes that put facts."""
    return [PutFact(each, "learned") for each in facts]


def mind(text: str, *facts: str) -> WriteSection:
    """Make a change that writes what is on top of the user's mind, with the facts that it cites."""
    cites = tuple(map(FactId, facts))
    return WriteSection(ProfileSection("topOfMind", text, NOW if cites else "", cites), "w")


def ids(facts: Iterable[Fact]) -> list[str]:
    """Name facts."""
    return [each.id for each in facts]


def commit(
    memory: MemoryStore,
    changes: Sequence[Change],
    *,
    scope: Scope = ADA,
    learned: Learned | None = None,
    lease: jobs.Job | None = None,
    now: str = NOW,
    actor: str = "user",
) -> Operation | None:
    """Commit changes to a scope as it is."""
    return memory.commit(
        scope,
        changes,
        expected=memory.version(scope),
        actor=actor,
        now=now,
        learned=learned,
        lease=lease,
    )


def done(
    memory: MemoryStore, changes: Sequence[Change], *, scope: Scope = ADA, now: str = NOW
) -> Operation:
    """Commit changes that change something."""
    operation = commit(memory, changes, scope=scope, now=now)
    assert operation is not None
    return operation


def forget(memory: MemoryStore, *facts: str, scope: Scope = ADA, **named: Sequence[str]) -> None:
    """Forget facts, threads or turns."""
    selection = Selection(facts=tuple(FactId(id_) for id_ in facts))
    for name, values in named.items():
        selection = replace(selection, **{name: tuple(values)})  # type: ignore[arg-type]  # tuples all
    memory.forget(scope, selection, now=LATER)


def leased(memory: MemoryStore, second: float, lease_s: float = 60, worker: str = "w") -> Job:
    """Lease the job that is due."""
    job = memory.lease(now=at(second), lease_s=lease_s, worker=worker)
    assert job is not None
    return job


def superseding(old: Fact, new: Fact) -> tuple[Fact, Fact]:
    """Let one fact supersede another."""
    ended = replace(old, status="superseded", valid_to=LATER, superseded_by=new.id)
    return ended, replace(new, supersedes=(*new.supersedes, old.id))


def at(second: float) -> str:
    """Return a time, in seconds after a fixed one."""
    whole = int(second)
    part = f".{round((second - whole) * 1_000_000):06}" if second != whole else ""
    return f"2026-03-01T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}{part}Z"


def found(memory: MemoryStore, question: str, scope: Scope = ADA) -> set[str]:
    """List what is found by the words of a question."""
    places = memory.find(scope, index_words(question)).places
    numbers = sorted({number for items in places.values() for number in items})
    return {item.text for item in memory.items(scope, numbers)}


def everything(memory: MemoryStore, scope: Scope) -> tuple[object, ...]:
    """Return everything that can be read of a scope."""
    threads = ("t1", "t2", "日本")
    return (
        memory.version(scope),
        memory.facts(scope, statuses=None),
        memory.profile(scope),
        memory.operations(scope),
        [memory.turns(scope, thread) for thread in threads],
        [memory.captured(scope, thread) for thread in threads],
        [memory.learned(scope, thread) for thread in threads],
        [memory.mode(scope, thread) for thread in threads],
        memory.items(scope, range(1, 50)),
        memory.neighbours(scope, range(1, 50)),
    )
