"""What a turn costs by what the graph's state keeps, next to `create_agent`: CPU and bytes.

    uv run python -m benchmarks.state                 # 400 and 4,000 messages
    uv run python -m benchmarks.state --sizes 50000   # one size; "whole" and plain take minutes

A turn is a question, a tool call, its result and an answer of about 1 kB each, over LangGraph's
SQLite saver in a file. CPU is the process's, the median of the turns measured; all rows of a size
are measured in one run, so compare them with each other. Bytes are what `write` was asked to
write, by the saver and by the archive. `delta` is the state schema with LangGraph's
`DeltaChannel`. The turns before are enough for that channel to write all messages once.
"""

import argparse
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive.sqlite import SqliteArchive
from thalweg.archive.table_rows import ArchiveRows
from thalweg.context.arguments import KeptState
from thalweg.testing import ScriptedModel
from thalweg_agent import ThreadState

CONFIG: Any = {"configurable": {"thread_id": "t"}}
WORDS = "a thousand bytes of something that was said "
KILOBYTE = (WORDS * 30)[:1_000]
TURNS = 12
WARM_UP = 16
OF_THREAD = "/proc/thread-self/io"


@tool
def look(topic: str) -> str:
    """Look something up."""
    return f"{topic} {KILOBYTE}"


def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Look something up for each question, then answer it."""
    if messages[-1].type == "human":
        call = {"name": "look", "args": {"topic": "t"}, "id": f"c{time.monotonic_ns()}"}
        return AIMessage(KILOBYTE, tool_calls=[call])
    return KILOBYTE


@dataclass(frozen=True)
class Row:
    """One way to keep a thread."""

    name: str
    keeps: KeptState | None
    """`state=` of the middleware; `None` for none."""
    is_delta: bool
    is_whole: bool = True
    """Whether the state grows with the thread."""


ROWS = (
    Row("plain create_agent", None, is_delta=False),
    Row("plain, delta", None, is_delta=True),
    Row("state=400", 400, is_delta=False, is_whole=False),
    Row("state=400, delta", 400, is_delta=True, is_whole=False),
    Row("state=run", "run", is_delta=False, is_whole=False),
    Row("state=run, delta", "run", is_delta=True, is_whole=False),
    Row("state=whole", "whole", is_delta=False),
    Row("state=whole, delta", "whole", is_delta=True),
)


class CountingArchive(SqliteArchive):
    """An archive that counts the bytes that it writes."""

    written = 0

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        write = self._database.writing

        @contextmanager
        def writing(owner: str | None) -> Iterator[ArchiveRows]:
            before = bytes_written(OF_THREAD)
            with write(owner) as rows:
                yield rows
            self.written += bytes_written(OF_THREAD) - before

        self._database.writing = writing  # type: ignore[assignment]


def bytes_written(where: str = "/proc/self/io") -> int:
    """Count what this process asked to write so far."""
    lines = Path(where).read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


@dataclass(frozen=True)
class Cost:
    """What a turn costs."""

    cpu_ms: float
    saver_kb: float
    archive_kb: float
    shown: int
    """Messages in the state."""


def measure(row: Row, messages: int, folder: Path) -> Cost:
    """Measure the turns of a thread of so many messages."""
    with (
        closing(sqlite3.connect(folder / "saver.db", check_same_thread=False)) as connection,
        CountingArchive(folder / "archive.db") as archive,
    ):
        middleware: list[AgentMiddleware[Any, Any, Any]] = []
        if row.keeps is not None:
            policy = ContextPolicy(window=32_000, summarize=False)
            middleware = [ContextMiddleware(policy, archive=archive, state=row.keeps)]
        agent = create_agent(
            ScriptedModel(script=answer),
            [look],
            middleware=middleware,
            checkpointer=SqliteSaver(connection),
            state_schema=ThreadState if row.is_delta else AgentState,
        )
        said: list[AnyMessage] = []
        for n in range(0, messages, 2):
            question = HumanMessage(f"question {n} {KILOBYTE}", id=f"h{n}")
            said += [question, AIMessage(KILOBYTE, id=f"a{n}")]
        agent.update_state(CONFIG, {"messages": said})
        costs: list[tuple[float, int, int]] = []
        for n in range(WARM_UP + TURNS):
            if n == WARM_UP:
                archive.prune()  # what the whole thread left in the write-ahead log
            bytes_before, archive_before = bytes_written(), archive.written
            began = time.process_time()
            agent.invoke({"messages": [HumanMessage(f"turn {n} {KILOBYTE}")]}, CONFIG)
            took = time.process_time() - began
            by_archive = archive.written - archive_before
            costs.append((took, bytes_written() - bytes_before - by_archive, by_archive))
        shown = len(agent.get_state(CONFIG).values["messages"])
    cpu, saver, archived = zip(*costs[WARM_UP:], strict=True)
    return Cost(
        median(cpu) * 1_000, sum(saver) / TURNS / 1_000, sum(archived) / TURNS / 1_000, shown
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 4_000])
    parser.add_argument("--rows", nargs="+", help="Only rows with these names.")
    asked = parser.parse_args()
    print(
        f"{'messages':>8}  {'row':20} {'CPU ms':>8} {'saver kB':>9} {'archive kB':>10} {'shown':>6}"
    )
    for size in asked.sizes:
        for row in ROWS:
            if asked.rows and row.name not in asked.rows:
                continue
            with tempfile.TemporaryDirectory() as folder:
                cost = measure(row, size, Path(folder))
            print(
                f"{size:8}  {row.name:20} {cost.cpu_ms:8.1f} {cost.saver_kb:9.0f}"
                f" {cost.archive_kb:10.1f} {cost.shown:6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
