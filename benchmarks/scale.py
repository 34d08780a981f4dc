"""What a turn, a resume and a search cost in long threads, with many, and with many at once.

    uv run --group arena python -m benchmarks.scale FOLDER [--sizes 1000,10000] [--save]
    uv run --group arena python -m benchmarks.scale FOLDER --many [--threads 10000] [--at-once 1000]
    uv run --group bench --group arena python -m benchmarks.scale --draw docs/scale.png

A thread gets all but its newest messages in bulk, with an engine snapshot that counts them as
compacted; the newest are of real runs, through an `EngineSlot` whose framework passes the whole
thread, or through `ContextMiddleware` with `state="run"` over LangGraph's SQLite saver. Each step
is a process of its own. CPU is that of all its threads until a second after the return, and a turn
has two model calls and four new messages. The first search is in a thread without an index.
`--many` compares turns of threads that are opened in turn in an archive with few threads and in one
with many, and turns of a thousand threads at once: with the middleware, deepagents, and neither.
"""

import argparse
import asyncio
import json
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import count, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.state import KILOBYTE, answer, look
from benchmarks.threads import made_up_thread
from thalweg import ContextMiddleware
from thalweg.archive import Logged, Span, ThreadKey, open_archive, recall
from thalweg.archive.threads.journal import THIS_TURN, ThreadBranch, TurnRecord, append_page
from thalweg.archive.threads.session import StateDigest
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.serialization import snapshot_to_bytes
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget
from thalweg.engine.wires import WIRES
from thalweg.testing import ScriptedModel
from thalweg_integrations.slot import EngineSlot, HostCall

POLICY = ContextPolicy(window=65_536, summarize=False)
HOST = HostCall("openai:gpt-6-sol", "openai-chat")
KEY = ThreadKey("local", "t")
POOL, CHUNK, RUN = 4_000, 1_000, 90
"""Messages that are made up (longer threads repeat them, numbered), that are appended at once, and
that a run begins with."""
NEWEST = 10 * RUN
"""Messages of a thread that come in real runs."""
SIZE = 1_000
"""Messages of the smallest thread; the other sizes are multiples of it."""
TURNS, RESUMES, SEARCHES = 5, 3, 4
MOST_INDEXED = 10_000
"""In longer threads, the index of messages that came in bulk is left out: it takes half a
millisecond of each."""
OF_MANY, TRIED = 20, 200
"""Messages of each thread of an archive with many, and threads that are opened in turn."""
MEASURED = Path(__file__).parent / "measured" / "scale.json"
WAYS = {"run": 'ContextMiddleware, state="run"', "slot": "EngineSlot"}
SHOWN = {
    "turn_ms": "turn",
    "resume_ms": "resume",
    "first_search_ms": "first search",
    "search_ms": "search",
}


def messages(first: int, end: int) -> Iterator[Message]:
    """Yield the messages of a thread at some positions, each with its own number."""
    pool = [*made_up_thread(POOL + 1)][1:]
    for number in range(first, end):
        made = pool[number % POOL]
        words, *calls = made.parts
        text = words.text if isinstance(words, Text) else ""
        yield replace(made, parts=(Text(f"{number}: {text}"), *calls), uid=f"m{number}")


def append(path: Path, size: int) -> None:
    """Append the older messages of a thread to a new archive."""
    older = (Logged(message) for message in messages(0, size - NEWEST))
    with open_archive(path) as archive:
        while some := [*islice(older, CHUNK)]:
            archive.append(KEY, some)


def append_compaction(path: Path, size: int, way: str) -> None:
    """Add an import to the journal whose engine has compacted all messages of the log."""
    first, length = [*messages(0, min(size, 1_000) - NEWEST)], size - NEWEST
    engine = Engine(
        budget=Budget(window=POLICY.window or 0),
        policy=RentOrBuy(TARIFFS["openai"]),
        count=exact_counter(),
        name_span=lambda _first, _last: "",
    )
    for message in first:
        engine.receive(message)
    for _ in engine.steps(is_requested=True):
        pass
    standing = engine.standing()
    if standing.fold is None:
        msg = "the first messages were not compacted"
        raise RuntimeError(msg)
    fold = replace(standing.fold, last=length - 1)
    record = replace(standing.record, last=length - 1, messages=length)
    line = ThreadBranch((Span(0, length - 1),))
    page = TurnRecord(
        kind="import", at=time.time(), length=length, line=line, base=THIS_TURN,
        held=line.spans if way == "slot" else (),
        held_digest=StateDigest().of([*messages(0, length)]) if way == "slot" else "",
    )  # fmt: skip
    state = snapshot_to_bytes(replace(standing, fold=fold, record=record))
    with open_archive(path) as archive:
        append_page(archive, KEY, page, length=length, state=state)


class SlotThread:
    """A framework that passes the whole thread to an `EngineSlot`."""

    def __init__(self, path: Path) -> None:
        with open_archive(path) as archive:
            older = max(0, archive.length(KEY) // SIZE * SIZE - NEWEST)
            self.messages = [*messages(0, older), *archive.messages(KEY, older)]
        self._slot = EngineSlot(POLICY, archive=path)

    def run(self, new: Sequence[Message]) -> None:
        """Have a turn: a request after some messages, a call, its result, an answer."""
        place, words = len(self.messages), (Text(f"{time.time()} {KILOBYTE}"),)
        call = ToolCall(f"look{place}", "look", '{"topic": "t"}')
        request, result = (
            Message("user", words),
            Message("tool", words, answers=call.id, name="look"),
        )
        for more in ((*new, request), (Message("assistant", (*words, call)), result)):
            self.messages += more
            self._slot.view(KEY.thread, self.messages, HOST)
        self.messages.append(Message("assistant", words))
        self._slot.log(KEY.thread, self.messages)

    def search(self, query: str) -> str:
        """Search in the thread."""
        return self._slot.recall(KEY.thread, query=query)

    def close(self) -> None:
        """Close the archive."""
        self._slot.close()


class MiddlewareThread:
    """An agent with `ContextMiddleware` whose state keeps a run."""

    def __init__(self, path: Path) -> None:
        self._saver = sqlite3.connect(path.with_suffix(".saver"), check_same_thread=False)
        self._middleware = ContextMiddleware(POLICY, archive=path, state="run")
        self._archive = open_archive(path)
        self._agent = agent_of([self._middleware], SqliteSaver(self._saver))

    def run(self, new: Sequence[Message]) -> None:
        """Have a turn: a request after some messages, a call, its result, an answer."""
        written: list[BaseMessage] = WIRES["langchain"].write(new)
        request = HumanMessage(f"{time.time()} {KILOBYTE}")
        self._agent.invoke({"messages": [*written, request]}, config(KEY.thread))

    def search(self, query: str) -> str:
        """Search in the thread."""
        whole = [Span(0, self._archive.length(KEY) - 1)]
        return recall(self._archive, KEY, query=query, within=whole)

    def close(self) -> None:
        """Close the archive."""
        self._middleware.close()
        self._archive.close()
        self._saver.close()


class Model(ScriptedModel):
    """A scripted model that counts no tokens."""

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_as_answer(self.script(messages)))])

    async def _agenerate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        return self._generate(messages)


def _as_answer(answer: AIMessage | str) -> AIMessage:
    return AIMessage(answer) if isinstance(answer, str) else answer


def agent_of(middleware: Sequence[Any], saver: Any) -> Any:  # noqa: ANN401 (LangGraph's)
    """Make an agent with a scripted model."""
    model = Model(script=answer)
    return create_agent(model, [look], middleware=middleware, checkpointer=saver)


def config(thread: str) -> Any:  # noqa: ANN401 (LangGraph's)
    """Return the config of a run of a thread."""
    return {"configurable": {"thread_id": thread}}


THREADS: dict[str, Callable[[Path], SlotThread | MiddlewareThread]] = {
    "slot": SlotThread,
    "run": MiddlewareThread,
}


def run_newest(way: str, path: Path, size: int) -> None:
    """Have the runs with the newest messages."""
    host = THREADS[way](path)
    newest = messages(size - NEWEST, size)
    while new := [*islice(newest, RUN)]:
        host.run(new)
    host.close()


def spent_ms(action: Callable[[], object]) -> float:
    """Return the CPU of all threads of this process until a second after an action."""
    begun = time.process_time()
    action()
    time.sleep(1)
    return (time.process_time() - begun) * 1_000


def measure_first_search(way: str, path: Path) -> dict[str, float]:
    """Measure the first search in a process that has had a turn in a small thread."""
    host, query = THREADS[way](path), "which quibace file was changed"
    with open_archive(":memory:") as archive:
        archive.append(KEY, [Logged(message) for message in messages(0, 10)])
        recall(archive, KEY, query=query)
    spent: list[float] = []

    def search() -> None:
        begun = time.process_time()
        host.search(query)
        spent.append((time.process_time() - begun) * 1_000)

    whole = spent_ms(search)
    host.close()
    return {"first_search_ms": whole, "first_search_alone_ms": spent[0]}


def measure_turns(way: str, path: Path) -> dict[str, float]:
    """Measure turns and searches of a thread whose index is complete."""
    host = THREADS[way](path)
    host.run(())  # opens it
    before = _memory_mb("VmRSS")
    turns = [spent_ms(lambda: host.run(())) for _ in range(TURNS)]
    host.search("index what the turns added")
    words = (f"quibace {number} pero lo" for number in count(17, 31))
    found = [spent_ms(lambda: host.search(next(words))) for _ in range(SEARCHES)]
    host.close()
    return {
        "turn_ms": median(turns),
        "search_ms": median(found),
        "opened_mb": before,
        "peak_mb": _memory_mb("VmHWM"),
    }


def measure_resume(way: str, path: Path) -> dict[str, float]:
    """Measure the first turn of a process that has had a turn of another thread."""
    other = path.with_name("other.db")
    warm = THREADS[way](other)
    warm.run(())
    warm.close()
    host = THREADS[way](path)
    before = _memory_mb("VmRSS")
    spent = spent_ms(lambda: host.run(()))
    host.close()
    return {"resume_ms": spent, "resume_mb": _memory_mb("VmHWM") - before}


def _memory_mb(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def complete_index(path: Path, size: int) -> dict[str, float]:
    """Index a thread, or let the index begin after its last message if it is very long."""
    begun = time.process_time()
    if size > MOST_INDEXED:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE archive_thread SET indexed = length")
    with open_archive(path) as archive:
        archive.update_index(KEY.owner)
        archive.prune()
    return {"index_s": time.process_time() - begun}


def run_in_process(action: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401 (as the action returns)
    """Perform a step in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(action, *arguments).result()


def grow(folder: Path, size: int) -> Iterator[dict[str, Any]]:
    """Yield what threads of so many messages cost, by way."""
    base, path = folder / "base.db", folder / "thread.db"
    run_in_process(append, base, size)
    found: dict[str, dict[str, float]] = {way: {} for way in WAYS}
    for is_indexed in (False, True):
        if is_indexed:
            indexed = run_in_process(complete_index, base, size)
        for way, row in found.items():
            _remove(path)
            shutil.copy(base, path)
            run_in_process(append_compaction, path, size, way)
            if not is_indexed:
                row.update(run_in_process(measure_first_search, way, path))
                continue
            run_in_process(run_newest, way, path, size)
            row.update(run_in_process(measure_turns, way, path) | indexed)
            resumes = [run_in_process(measure_resume, way, path) for _ in range(RESUMES)]
            row.update({name: median(one[name] for one in resumes) for name in resumes[0]})
            row["bytes"] = path.stat().st_size / size
            if size > MOST_INDEXED:
                del row["search_ms"]
            yield {"way": way, "messages": size, **{k: round(n, 1) for k, n in row.items()}}
    _remove(base)
    _remove(path)


def _remove(path: Path) -> None:
    for file in path.parent.glob(f"{path.stem}.*"):
        file.unlink()
    for file in path.parent.glob("other.*"):
        file.unlink()


def make_many(path: Path, threads: int) -> None:
    """Make an archive of short threads, each with an import in its journal."""
    logged = [Logged(message) for message in messages(0, OF_MANY)]
    line = ThreadBranch((Span(0, OF_MANY - 1),))
    page = TurnRecord(kind="import", at=time.time(), length=OF_MANY, line=line)
    with open_archive(path) as archive:
        for number in range(threads):
            append_page(archive, ThreadKey(KEY.owner, f"t{number}"), page, length=0, log=logged)


def measure_in_turn(path: Path, threads: int) -> dict[str, float]:
    """Measure the first turns of threads of an archive, one after the other."""
    with closing(ContextMiddleware(POLICY, archive=path, state="run")) as middleware:
        agent, walls = agent_of([middleware], InMemorySaver()), list[float]()
        agent.invoke({"messages": "warm"}, config("another"))
        begun = time.process_time()
        for number in range(0, threads, threads // TRIED):
            start = time.perf_counter()
            agent.invoke({"messages": f"turn {KILOBYTE}"}, config(f"t{number}"))
            walls.append((time.perf_counter() - start) * 1_000)
        spent = (time.process_time() - begun) * 1_000
    return _percentiles(walls, spent)


def measure_at_once(kind: str, path: Path, threads: int) -> dict[str, float]:
    """Measure turns that begin at once: with an archive, of deepagents, or of a plain agent."""
    is_ours, walls = kind == "thalweg", list[float]()
    given = [ContextMiddleware(POLICY, archive=path, state="run")] if is_ours else []
    if kind == "deepagents":
        from deepagents import create_deep_agent  # noqa: PLC0415 (of the group `arena`)

        model, saver = Model(script=answer), InMemorySaver()
        agent: Any = create_deep_agent(model=model, tools=[look], checkpointer=saver)
    else:
        agent = agent_of(given, InMemorySaver())

    async def turn(thread: str) -> None:
        start = time.perf_counter()
        await agent.ainvoke({"messages": f"turn {KILOBYTE}"}, config(thread))
        walls.append((time.perf_counter() - start) * 1_000)

    async def all_turns() -> None:
        await asyncio.gather(*(turn(f"t{number}") for number in range(threads)))

    agent.invoke({"messages": "warm"}, config("another"))
    spent = spent_ms(lambda: asyncio.run(all_turns()))
    for middleware in given:
        middleware.close()
    return _percentiles(walls, spent)


def _percentiles(walls: list[float], spent: float) -> dict[str, float]:
    ordered = sorted(walls)
    return {
        "p50_ms": median(ordered),
        "p99_ms": ordered[len(ordered) * 99 // 100],
        "cpu_ms": spent / len(ordered),
        "peak_mb": _memory_mb("VmHWM"),
    }


def many(folder: Path, threads: int, at_once: int) -> None:
    """Print what turns cost with many threads in an archive, and with many at once."""
    print(f"{'':44} {'p50 ms':>9} {'p99 ms':>9} {'CPU ms a turn':>14} {'peak MB':>9}")
    for size in (TRIED, threads):
        path = folder / f"many{size}.db"
        run_in_process(make_many, path, size)
        _print(f"in turn, of {size:,} threads", run_in_process(measure_in_turn, path, size))
    for number in (at_once // 10, at_once):
        run_in_process(make_many, folder / "once.db", number)
        for kind in ("thalweg", "deepagents", "plain"):
            row = run_in_process(measure_at_once, kind, folder / "once.db", number)
            _print(f"{number:,} at once, {kind}", row)
        _remove(folder / "once.db")
    for size in (TRIED, threads):
        _remove(folder / f"many{size}.db")


def _print(name: str, row: dict[str, float]) -> None:
    print(f"{name:44} " + " ".join(f"{number:9,.1f}" for number in row.values()), flush=True)


def table(rows: Sequence[dict[str, Any]]) -> None:
    """Print the figures."""
    columns = (*SHOWN, "first_search_alone_ms", "opened_mb", "peak_mb", "resume_mb", "bytes")
    print(f"{'':32} {'messages':>9} " + " ".join(f"{name[:14]:>14}" for name in columns))
    for row in rows:
        cells = " ".join(f"{row.get(name, float('nan')):14,.1f}" for name in columns)
        print(f"{WAYS[row['way']]:32} {row['messages']:9,} {cells}", flush=True)


def save(rows: Sequence[dict[str, Any]]) -> None:
    """Store figures in the place of older ones of the same sizes."""
    older = json.loads(MEASURED.read_text()) if MEASURED.exists() else []
    by_name = {(row["way"], row["messages"]): row for row in (*older, *rows)}
    MEASURED.write_text(json.dumps([by_name[name] for name in sorted(by_name)], indent=1) + "\n")


def draw(path: Path) -> None:
    """Draw CPU and memory against the length of the thread, on logarithmic scales."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (only this needs the bench group)

    rows = json.loads(MEASURED.read_text())
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.8))
    for axes, (way, title) in zip(panels, WAYS.items(), strict=False):
        for name, label in SHOWN.items():
            _line(axes, [row for row in rows if row["way"] == way], name, label)
        axes.set_title(f"{title}: CPU ms", loc="left", fontsize=10)
        axes.legend(frameon=False, fontsize=8)
    for way, title in WAYS.items():
        _line(panels[2], [row for row in rows if row["way"] == way], "peak_mb", title)
    panels[2].set_title("peak memory, MB", loc="left", fontsize=10)
    panels[2].legend(frameon=False, fontsize=8)
    for axes in panels:
        axes.set_yscale("log")
        axes.set_ylim(10, 20_000)
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.yaxis.set_minor_formatter("")
    figure.tight_layout()
    figure.savefig(path, dpi=160)


def _line(axes: Any, rows: Sequence[dict[str, Any]], name: str, label: str) -> None:  # noqa: ANN401 (matplotlib's)
    known = [(row["messages"], row[name]) for row in rows if name in row]
    axes.plot(*zip(*known, strict=True), marker="o", markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("messages in the thread")
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.8)


def main() -> int:
    """Measure or draw."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="for the archives; emptied afterwards")
    parser.add_argument("--sizes", default="1000,10000", help="messages of the threads")
    parser.add_argument("--save", action="store_true", help="store the figures")
    parser.add_argument("--many", action="store_true", help="many threads instead of long ones")
    parser.add_argument("--threads", type=int, default=10_000, help="of --many, in one archive")
    parser.add_argument("--at-once", type=int, default=1_000, help="of --many, turns at once")
    parser.add_argument("--draw", type=Path, help="a picture of the stored figures")
    given = parser.parse_args()
    if given.folder is None and given.draw is None:
        parser.error("FOLDER is required")
    if given.draw:
        draw(given.draw)
    if given.folder:
        given.folder.mkdir(parents=True, exist_ok=True)
    if given.many and given.folder:
        many(given.folder, given.threads, given.at_once)
    elif given.folder:
        for size in map(int, given.sizes.split(",")):
            for row in grow(given.folder, size):
                table([row])
                if given.save:
                    save([row])
    return 0


if __name__ == "__main__":
    sys.exit(main())
