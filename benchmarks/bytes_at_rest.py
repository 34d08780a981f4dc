"""Bytes that a run leaves in the databases of a gateway, by table.

    python -m benchmarks.bytes_at_rest [--runs 60] [--threads 6] [--postgres] [--new-words]

Each run has a message of 400 characters and an answer of 800 from a scripted model: consecutive
parts of the pages in `docs`. With `--new-words`, the message is the same in each run and every word
of the answer is a number that occurs once, the worst case for an index of words.
"""

import argparse
import asyncio
import re
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path

import psycopg
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from core_tests.postgres import fresh_database, running_server
from core_tests.ticking import TickingModel
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app
from thalweg_server.settings import Settings

MESSAGE = "What did we decide? " * 20
WORDS = 40
LEAST = 0.05
PAGES = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
PROSE = " ".join(re.findall(r"[\w.,:;'()-]+", " ".join(page.read_text() for page in PAGES)))
"""The pages without what only Markdown reads."""
PART = 1_200
NUMBERS = count()
ME = "benchmarks.bytes_at_rest"


class ProseModel(TickingModel):
    """Answers with the next 800 characters of the pages, word by word."""

    def _generate(self, *_arguments: object, **_options: object) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok"))])

    async def _astream(
        self,
        *_arguments: object,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_options: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        first = next(NUMBERS) * PART
        for word in PROSE[first + 400 : first + PART].split(" "):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
            if run_manager is not None:
                await run_manager.on_llm_new_token(f"{word} ", chunk=chunk)
            yield chunk


async def perform(settings: Settings, given: argparse.Namespace, first: int) -> int:
    """Perform half of the runs one after another; return the characters of the last message."""
    async with open_app(settings) as app:
        tenant = app.tenant("ada")
        for number in range(first, first + given.runs // 2):
            thread, run = f"thread {number % given.threads}", f"run-{number}"
            prose = PROSE[number * PART : number * PART + 400]
            message = MESSAGE if given.new_words else prose
            await tenant.runs.start(thread, NewRun(id=run, message=message))
            ended = await tenant.runs.wait(thread, run)
            assert ended.status == "completed", ended
        history = await tenant.threads.history("thread 0")
        return len(history.items[-1].model_dump_json())


def sqlite_sizes(home: Path) -> dict[str, float]:
    """Return the bytes of each table with its indexes."""
    sizes: dict[str, float] = {}
    for name in ("thalweg.db", "runs.db"):
        with closing(sqlite3.connect(home / name)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for table, payload in database.execute(
                "SELECT tbl_name, sum(pgsize - unused) FROM dbstat"
                " JOIN sqlite_master ON sqlite_master.name = dbstat.name GROUP BY 1"
            ):
                sizes[table] = sizes.get(table, 0) + payload
    return sizes


def postgres_sizes(address: str) -> dict[str, float]:
    """Return the bytes of each table with its indexes and long values."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        rows = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return {name: float(size) for name, size in rows}


def main() -> int:
    """Measure it, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--new-words", action="store_true", help="no word of an answer recurs")
    parser.add_argument("--postgres", action="store_true", help="a server that is started here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if not given.postgres:
            measure(home, "", given)
            return 0
        with running_server() as server, fresh_database(server) as address:
            measure(home, address, given)
    return 0


def measure(home: Path, address: str, given: argparse.Namespace) -> None:
    """Perform runs twice, and print what the second half added to each table."""
    storage = {"home": str(home), **({"url": address} if address else {})}
    use = f"{TickingModel.__module__}:TickingModel" if given.new_words else f"{ME}:ProseModel"
    model = {"name": "ticking", "use": use, "window": 32_000}
    settings = Settings.from_mapping(
        {
            "models": [{**model, "rate": 10_000.0, "ticks": WORDS}],
            "memory": {"debounce_seconds": 300},
            "storage": storage,
        }
    )
    half = given.runs // 2
    sizes: list[Mapping[str, float]] = []
    for first in (0, half):
        length = asyncio.run(perform(settings, given, first))
        sizes.append(postgres_sizes(address) if address else sqlite_sizes(home))
    rows = {name: (sizes[1][name] - sizes[0].get(name, 0)) / half / 1024 for name in sizes[1]}
    for name, kib in sorted(rows.items(), key=lambda row: -row[1]):
        if kib >= LEAST:
            print(f"{name:28} {kib:6.2f} KiB")
    print(f"{'a run':28} {sum(rows.values()):6.2f} KiB, 400 + {length} characters")


if __name__ == "__main__":
    sys.exit(main())
