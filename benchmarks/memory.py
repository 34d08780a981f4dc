"""What recalling and remembering cost, however much a memory holds.

Run `python -m benchmarks.memory recall`, `… seeds`, `… write`, `… remember`, `… learn` or
`… owners`; see the README here.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from benchmarks.memories import Chat
from core_tests.postgres import fresh_database, running_server
from memory_tests.learning import Clock, answer, learner, say
from thalweg.engine.tokens import exact_counter
from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryStore, open_memory
from thalweg_memory.facts.learning.questions import Kind, LearnerRequest
from thalweg_memory.facts.recall.ranking import (
    REACH,
    ItemWeights,
    ask,
    links,
    rank,
    shortlist,
    worth_reading,
)
from thalweg_memory.facts.recall.seeds import render_system, top_facts
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId, Profile, PutFact, Scope, Statement
from thalweg_memory.jobs.learner import Respondent, StructuredAnswer
from thalweg_memory.store.records import Job

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
QUESTIONS = 200
THREAD = 400
"""Turns of a thread at most."""
FACT_CHARS = 200
STORED = 500
WRITTEN = 100
REMEMBERED = (50, 5_000, 50_000)
OWNERS = 1_000
BUDGET = 2_000
SCOPE = Scope("ada")
NOW = "2026-03-02T10:00:00Z"


class Place:
    """Where a memory is measured: a store, and what its server has used of the processors."""

    def __init__(self, name: str, store: MemoryStore, server: psycopg.Connection | None) -> None:
        self.name = name
        self.store = store
        self._server = server

    def server_ms(self) -> float:
        """Sum the CPU time of the server's processes for this database; it counts in 10 ms."""
        if self._server is None:
            return 0.0
        rows = self._server.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        )
        return sum(_cpu_ms(pid) for (pid,) in rows.fetchall())


def _cpu_ms(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


@contextmanager
def opened(name: str, folder: str | None) -> Iterator[Place]:
    """Open an empty memory on `sqlite` or `postgres`."""
    if name == "sqlite":
        with (
            tempfile.TemporaryDirectory(dir=folder) as here,
            open_memory(f"{here}/memory.db") as store,
        ):
            yield Place(name, store, None)
        return
    with (
        running_server() as server,
        fresh_database(server) as url,
        psycopg.connect(url, autocommit=True) as watching,
        open_memory(url) as store,
    ):
        yield Place(name, store, watching)


class Filling:
    """A scope that grows, thread by thread, and what may be asked about it."""

    def __init__(self, store: MemoryStore, scope: Scope, seed: int = 1) -> None:
        self._store = store
        self._scope = scope
        self._chat = Chat(seed)
        self._turns = 0
        self._some: list[Statement] = []

    def to(self, items: int) -> None:
        """Fill it until about so many items can be found; a long turn is two or three."""
        while (held := self._store.find(self._scope, ()).total) < items:
            turns = [*self._chat.turns(min(THREAD, max(1, (items - held) * 3 // 4)))]
            self._store.capture(self._scope, f"thread-{self._turns}", turns)
            self._turns += len(turns)
            self._some += turns[:: max(1, THREAD // 8)]

    def questions(self) -> list[str]:
        """Ask for turns from all over it."""
        step = max(1, len(self._some) // QUESTIONS)
        return [self._chat.question(turn) for turn in self._some[::step]][:QUESTIONS]


def search(store: MemoryStore, text: str) -> None:
    """Recall up to the ranking: everything but the block that a model reads."""
    question = ask(text)
    with store.view(SCOPE):
        scale = ItemWeights(question, store.find(SCOPE, question.words))
        short = shortlist(scale)
        near = links(store.neighbours(SCOPE, short, REACH))
        items = store.items(SCOPE, worth_reading(scale, short, near))
    rank(scale, items, near)


def warm(act: Callable[[str], object], texts: Sequence[str]) -> None:
    """Have a process at work as one that has served for a while: its memory has been touched."""
    for text in texts:
        act(text)


def measured(act: Callable[[str], object], texts: Sequence[str]) -> tuple[float, float]:
    """Measure the CPU time of a call in ms: the median, and the value that 95 in 100 are below."""
    times = []
    for text in texts:
        began = time.process_time()
        act(text)
        times.append((time.process_time() - began) * 1_000)
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def recall(names: Sequence[str], most: int, folder: str | None) -> None:
    """Time recall in one scope that grows."""
    print("| database | items | search p50 | p95 | its server | with the block p50 | p95 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        with opened(name, folder) as place:
            filling = Filling(place.store, SCOPE)
            memory = Memory(place.store, SCOPE)
            for size in (size for size in SIZES if size <= most):
                filling.to(size)
                texts = filling.questions()
                warm(memory.recall, texts)
                before = place.server_ms()
                found = measured(lambda text: search(place.store, text), texts)
                server = (place.server_ms() - before) / len(texts)
                whole = measured(memory.recall, texts)
                print(
                    f"| {name} | {size:,} | {found[0]:.1f} ms | {found[1]:.1f} ms"
                    f" | {server:.1f} ms | {whole[0]:.1f} ms | {whole[1]:.1f} ms |",
                    flush=True,
                )


def facts(number: int) -> list[Fact]:
    """Make up facts."""
    turns = [turn for turn in Chat(2).turns(2 * number) if len(turn.text) < FACT_CHARS][:number]
    return [
        Fact(
            id=FactId(f"fact-{n}"),
            content=turn.text,
            category="knowledge",
            confidence=0.7 + n % 4 / 10,
            created_at=NOW,
            source="manual",
        )
        for n, turn in enumerate(turns)
    ]


def put(store: MemoryStore, scope: Scope, made: Sequence[Fact]) -> None:
    """Put facts into a scope in one commit."""
    changes = [PutFact(fact, "measured") for fact in made]
    version = store.version(scope)
    store.commit(scope, changes, expected=version, actor="import", now=NOW)


def seeds(names: Sequence[str], most: int, folder: str | None) -> None:
    """Time DeerFlow's formula, fitted again for each context, next to recall of the same facts."""
    count = exact_counter()
    fit = _fit()
    print("| facts | database | recall p50 | formula p50 | formula with scikit-learn p50 |")
    print("| ---: | --- | ---: | ---: | ---: |")
    for size in (size for size in SIZES if size <= min(most, 10_000)):
        made = facts(size)
        chat = Chat(3)
        texts = [chat.question(turn) for turn in chat.turns(20)]

        def formula(text: str, made: Sequence[Fact] = made) -> str:
            top = [fact for _, fact in top_facts(made, text)]
            return render_system(Profile(), top, BUDGET, count)

        warm(formula, texts[:2])
        theirs, _ = measured(formula, texts)
        contents = [fact.content for fact in made]
        real = f"{measured(lambda text: fit(contents, text), texts)[0]:.1f} ms" if fit else "none"  # noqa: B023 (called at once)
        for name in names:
            with opened(name, folder) as place:
                put(place.store, SCOPE, made)
                memory = Memory(place.store, SCOPE)
                warm(memory.recall, texts)
                ours, _ = measured(memory.recall, texts)
            print(f"| {size:,} | {name} | {ours:.1f} ms | {theirs:.1f} ms | {real} |", flush=True)


def _fit() -> Callable[[Sequence[str], str], object] | None:
    """Return what DeerFlow calls for each context, where scikit-learn is installed."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415
        from sklearn.metrics.pairwise import cosine_similarity  # noqa: PLC0415
    except ModuleNotFoundError:
        return None

    def fit(contents: Sequence[str], text: str) -> object:
        matrix = TfidfVectorizer().fit_transform([*contents, text])
        return cosine_similarity(matrix[-1:], matrix[:-1])

    return fit


def write(names: Sequence[str], folder: str | None) -> None:
    """Time the writing of one fact with many stored."""
    print("| database | stored | write p50 | p95 | wall p50 | its server |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    made = facts(STORED + WRITTEN)
    for name in names:
        with opened(name, folder) as place:
            put(place.store, SCOPE, made[:STORED])
            walls: list[float] = []
            by_content = {fact.content: fact for fact in made[STORED:]}

            def one(content: str, place: Place = place, walls: list[float] = walls) -> None:
                began = time.perf_counter()
                put(place.store, SCOPE, [by_content[content]])  # noqa: B023 (called at once)
                walls.append((time.perf_counter() - began) * 1_000)

            before = place.server_ms()
            middle, high = measured(one, [*by_content])
            server = (place.server_ms() - before) / WRITTEN
        print(
            f"| {name} | {STORED} | {middle:.1f} ms | {high:.1f} ms"
            f" | {statistics.median(walls):.1f} ms | {server:.1f} ms |"
        )


def remember(names: Sequence[str], most: int, folder: str | None) -> None:
    """Time `Memory.remember` and recall with more and more facts stored; nothing is evicted."""
    print("| database | stored | remember p50 | p95 | its server | recall p50 | p95 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    chat = Chat(3)
    questions = [chat.question(turn) for turn in chat.turns(20)]
    sizes = [size for size in REMEMBERED if size <= most]
    made = facts(max(sizes) + WRITTEN * len(sizes))
    for name in names:
        with opened(name, folder) as place:
            settings = MemorySettings(max_facts=2 * len(made))
            memory = Memory(place.store, SCOPE, settings=settings)
            stored, fresh = 0, iter(made[max(sizes) :])
            for size in sizes:
                put(place.store, SCOPE, made[stored:size])
                stored = size
                texts = [f"Record {size}.{n}: {next(fresh).content}" for n in range(WRITTEN)]
                before = place.server_ms()
                middle, high = measured(memory.remember, texts)
                server = (place.server_ms() - before) / WRITTEN
                warm(memory.recall, questions[:3])
                found = measured(memory.recall, questions)
                print(
                    f"| {name} | {size:,} | {middle:.1f} ms | {high:.1f} ms | {server:.1f} ms"
                    f" | {found[0]:.1f} ms | {found[1]:.1f} ms |",
                    flush=True,
                )


class Asking(Respondent):
    """A respondent that adds up the CPU time of its model's calls."""

    ms = 0.0

    def ask(self, question: LearnerRequest, kind: Kind) -> StructuredAnswer:
        """See `Respondent.ask`."""
        began = time.process_time()
        try:
            return super().ask(question, kind)
        finally:
            self.ms += (time.process_time() - began) * 1_000


def learn(names: Sequence[str], most: int, folder: str | None) -> None:
    """Time a job that learns one fact from one turn with more and more facts stored.

    The scripted model is called for facts, for verdicts where a stored fact may be touched, and for
    the profile. What its calls cost, LangChain's part included, is subtracted in the first columns.
    """
    print("| database | stored | learn p50 | p95 | with the model's calls p50 | its server |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    sizes = [size for size in REMEMBERED if size <= most]
    made = facts(max(sizes))
    for name in names:
        with opened(name, folder) as place:
            clock = Clock()
            mine = learner(place.store, clock, settings=MemorySettings(max_facts=2 * len(made)))
            asking = Asking(ScriptedModel(script=answer), len, name="scripted")
            mine.respondent = asking
            stored = 0

            def one(text: str, place: Place = place, clock: Clock = clock) -> Job:
                say(place.store, SCOPE, text, clock=clock, thread=text)
                clock.forward(60)
                job = place.store.lease(now=clock(), lease_s=1e9, worker="w")
                assert job is not None
                return job

            for size in sizes:
                put(place.store, SCOPE, made[stored:size])
                stored = size
                texts = [f"I keep the map in drawer {size}-{n}." for n in range(WRITTEN)]
                jobs = {text: one(text) for text in texts}
                before = place.server_ms()
                whole: list[float] = []
                own: list[float] = []
                for text in texts:
                    asking.ms, began = 0.0, time.process_time()
                    report = mine.learn(jobs[text])
                    whole.append((time.process_time() - began) * 1_000)
                    own.append(whole[-1] - asking.ms)
                    assert report.changed["active"], report
                server = (place.server_ms() - before) / WRITTEN
                print(
                    f"| {name} | {size:,} | {statistics.median(own):.1f} ms"
                    f" | {statistics.quantiles(own, n=20)[-1]:.1f} ms"
                    f" | {statistics.median(whole):.1f} ms | {server:.1f} ms |",
                    flush=True,
                )


def owners(names: Sequence[str], folder: str | None) -> None:
    """Time recall in one scope of a thousand, each with a thousand items."""
    print("| database | scopes | items of each | search p50 | p95 | its server |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in names:
        with opened(name, folder) as place:
            for n in range(OWNERS - 1):
                Filling(place.store, Scope(f"owner-{n}"), seed=n % 7).to(1_000)
            filling = Filling(place.store, SCOPE)
            filling.to(1_000)
            texts = filling.questions()
            warm(lambda text: search(place.store, text), texts)
            before = place.server_ms()
            middle, high = measured(lambda text: search(place.store, text), texts)
            server = (place.server_ms() - before) / len(texts)
            print(
                f"| {name} | {OWNERS:,} | 1,000 | {middle:.1f} ms | {high:.1f} ms"
                f" | {server:.1f} ms |",
                flush=True,
            )


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["recall", "seeds", "write", "remember", "learn", "owners"])
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgres"])
    parser.add_argument("--most", type=int, default=SIZES[-1], help="items at most")
    parser.add_argument("--folder", help="where the SQLite file is made")
    told = parser.parse_args()
    match told.what:
        case "recall":
            recall(told.databases, told.most, told.folder)
        case "seeds":
            seeds(told.databases, told.most, told.folder)
        case "remember":
            remember(told.databases, told.most, told.folder)
        case "learn":
            learn(told.databases, told.most, told.folder)
        case "write":
            write(told.databases, told.folder)
        case _:
            owners(told.databases, told.folder)


if __name__ == "__main__":
    main()
