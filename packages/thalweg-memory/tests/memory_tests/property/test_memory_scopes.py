"""Laws of the store of memories: what is called for one scope never sees or changes another."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from core_tests.postgres import fresh_database
from memory_tests.contract.suites.memory import NOW, at, everything, fact, found, said, superseding
from memory_tests.contract.suites.memory.values import SCOPED
from thalweg.errors import NoSuchOperationError, StaleWriteError
from thalweg_memory.facts.values import (
    Change,
    FactId,
    ProfileSection,
    PutFact,
    RemoveFact,
    Scope,
    WriteSection,
)
from thalweg_memory.handle import open_memory
from thalweg_memory.store.records import Learned, Selection
from thalweg_memory.store.sqlite import SqliteMemory
from thalweg_memory.store.tables import MemoryStore

_NUMBERS = count()
TEXTS = ("I love Rome", "I love Bern", "Rome is no more", "我对花生过敏", "x")
IDS = ("a", "b", "c")
THREADS = ("t1", "t2")
Act = Callable[[MemoryStore, Scope, str], None]
"""Does something under a scope; the last argument is put into every text."""


def capture(
    memory: MemoryStore, scope: Scope, mark: str, thread: str, texts: Sequence[str]
) -> None:
    turns = [said(f"{mark} {text}", f"{thread} {text}", thread=thread) for text in texts]
    memory.capture(scope, thread, turns, upto=len(texts))


def put(memory: MemoryStore, scope: Scope, mark: str, id_: str, text: str) -> None:
    new = fact(id_, f"{mark} {text}", (f"t1 {text}", text))
    learned = Learned("t1", memory.learned(scope, "t1"), 1)
    expected = memory.version(scope)
    memory.commit(
        scope, [PutFact(new, mark)], expected=expected, actor="user", now=NOW, learned=learned
    )


def supersede(memory: MemoryStore, scope: Scope, mark: str, id_: str, new: str) -> None:
    for old in memory.facts(scope, ids=[FactId(id_)]):
        pair = superseding(old, fact(new, f"{mark} newer"))
        changes: list[Change] = (
            [PutFact(each, mark) for each in pair] if new != id_ else [RemoveFact(old.id, mark)]
        )
        changes.append(WriteSection(ProfileSection("topOfMind", mark, NOW, (FactId(new),)), mark))
        memory.commit(scope, changes, expected=memory.version(scope), actor="user", now=NOW)


def forget(memory: MemoryStore, scope: Scope, mark: str, selection: Selection) -> None:
    told = memory.forget(scope, selection, now=NOW, dry_run=True)
    receipt = memory.forget(scope, selection, now=NOW)
    assert replace(receipt, left=(), dry_run=True) == told
    assert mark not in repr(receipt)


def undo(memory: MemoryStore, scope: Scope, _mark: str, number: int, whole: bool) -> None:  # noqa: FBT001 (drawn)
    with suppress(NoSuchOperationError, StaleWriteError):
        if whole:
            memory.restore(scope, number, now=NOW)
        else:
            memory.undo(scope, number, now=NOW)


def work(memory: MemoryStore, scope: Scope, mark: str, thread: str) -> None:
    memory.note(scope, thread, now=at(1), debounce_s=1, max_wait_s=2)
    memory.set_mode(scope, thread, "incognito" if mark == "alpha" else "read_only")


def acts() -> st.SearchStrategy[tuple[Act, tuple[object, ...]]]:
    ids, threads, texts = st.sampled_from(IDS), st.sampled_from(THREADS), st.sampled_from(TEXTS)
    selections = st.one_of(
        st.builds(lambda id_: Selection(facts=(FactId(id_),)), ids),
        st.builds(lambda thread: Selection(threads=(thread,)), threads),
        st.builds(lambda text: Selection(uids=(f"t1 {text}",)), texts),
        st.just(Selection(everything=True)),
    )
    some = st.lists(texts, min_size=1, max_size=3)
    return st.one_of(
        st.tuples(st.just(capture), st.tuples(threads, some)),
        st.tuples(st.just(put), st.tuples(ids, texts)),
        st.tuples(st.just(supersede), st.tuples(ids, ids)),
        st.tuples(st.just(forget), st.tuples(selections)),
        st.tuples(st.just(undo), st.tuples(st.integers(0, 6), st.booleans())),
        st.tuples(st.just(work), st.tuples(threads)),
    )


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def memory(request: pytest.FixtureRequest) -> Iterator[MemoryStore]:
    """Yield a store for all examples: each has scopes of its own, and strangers next to them."""
    if request.param == "sqlite":
        with open_memory(":memory:") as memory:
            yield memory
        return
    server: str = request.getfixturevalue("postgres_server")
    with fresh_database(server) as url, open_memory(url) as memory:
        yield memory


@pytest.mark.slow
@given(
    data=st.lists(st.tuples(st.booleans(), acts()), min_size=4, max_size=14),
    agents=st.sampled_from([("", "coder"), ("x", "x\0"), ("", "日本\ud800")]),
)
@settings(max_examples=15, suppress_health_check=[*HealthCheck], database=None)
def test_a_scope_never_sees_or_changes_another(
    memory: MemoryStore,
    data: list[tuple[bool, tuple[Act, tuple[object, ...]]]],
    agents: tuple[str, str],
) -> None:
    """Under any calls: each has what it alone received, as if the other did not exist."""
    owner = f"o{next(_NUMBERS)}"
    scopes = (Scope(owner, agents[0]), Scope(owner, agents[1]))
    marks = ("alpha", "omega")
    held = {scope: everything(memory, scope) for scope in scopes}
    with open_memory(":memory:") as alone:
        for is_second, (act, given_) in data:
            scope, other = scopes[is_second], scopes[not is_second]
            mark = marks[is_second]
            event(act.__name__)
            act(memory, scope, mark, *given_)
            assert everything(memory, other) == held[other]
            held[scope] = everything(memory, scope)
            assert marks[not is_second] not in repr(held[scope])
            if is_second:
                act(alone, scope, mark, *given_)
        assert held[scopes[1]] == everything(alone, scopes[1])
        assert found(memory, "love Rome newer 过敏", scopes[1]) == found(
            alone, "love Rome newer 过敏", scopes[1]
        )


@given(data=st.lists(acts(), min_size=3, max_size=16))
@settings(suppress_health_check=[*HealthCheck])
def test_whatever_was_done_and_forgotten_the_rest_can_be_undone(
    data: list[tuple[Act, tuple[object, ...]]],
) -> None:
    """This leads back to the beginning: what remains was changed in the log as it was itself."""
    scope = Scope("ada")
    with open_memory(":memory:") as memory:
        for act, given_ in data:
            act(memory, scope, "alpha", *given_)
        memory.restore(scope, 0, now=NOW)
        assert memory.facts(scope, statuses=None) == []
        assert memory.profile(scope).sections == ()


_ALONE = re.compile(r"\b(?:scope = |\(scope, )")


def test_every_statement_names_its_scope() -> None:
    """The queue of jobs has no content."""
    told: list[str] = []
    with SqliteMemory(":memory:") as memory:
        with memory._database.connection() as connection:  # noqa: SLF001 (what it runs is the point)
            connection.set_trace_callback(told.append)
        for act, given_ in (
            (capture, ("t1", TEXTS)),
            (put, ("a", TEXTS[0])),
            (put, ("b", TEXTS[1])),
            (supersede, ("a", "c")),
            (undo, (3, False)),
            (undo, (1, True)),
            (work, ("t1",)),
        ):
            act(memory, Scope("ada"), "alpha", *given_)
        job = memory.lease(now=at(9), lease_s=9, worker="w")
        assert job is not None
        memory.finish(job, now=at(10))
        everything(memory, Scope("ada"))
        found(memory, "love Rome", Scope("ada"))
        memory.is_forgotten(Scope("ada"), TEXTS)
        whole = len(told)
        memory.forget(Scope("ada"), Selection(everything=True), now=NOW)
        begun = next(n for n in range(whole, len(told)) if "TEMP TABLE" in told[n])
    of_scopes = [one for one in told[:begun] if any(f"{table} " in f"{one} " for table in SCOPED)]
    assert len(of_scopes) > 100
    for statement in of_scopes:
        is_bound = _ALONE.search(statement) or re.search(r"VALUES \(1, ", statement)
        assert is_bound, statement
