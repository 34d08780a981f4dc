"""One thread of 100 million tokens: valid requests, early facts found, and what each task costs.

    uv run python -m benchmarks.endurance FOLDER --tokens 10000000  # again: it continues there
    uv run --group bench python -m benchmarks.endurance FOLDER --table --draw docs/endurance.png

A real agent with a named archive performs one task after the other: it reads sources (those of
`benchmarks.worlds`), then reports values of them and a number that the user stated. A value that
is not visible is searched with `recall`, then read again. Each request is what Anthropic's client
would send, and is checked, counted and priced by `strict_llm` without a server. Each task is a line
of FOLDER/tasks.jsonl; `--table` prints their means by tenth of the run.
"""

import argparse
import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import SecretStr

from benchmarks.contestants import resident_mb
from benchmarks.state import OF_THREAD, bytes_written
from benchmarks.worlds.sources import ID, REACH, Source, read_records, sources
from strict_llm.anthropic import AnthropicDialect
from strict_llm.cache import PromptCache
from strict_llm.counting import TokenCounter
from strict_llm.exchange import RequestTraits
from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, ThreadKey, open_archive, recall
from thalweg.engine.tokens import exact_counter

MODEL, WINDOW, OUTPUT = "claude-sonnet-4-6", 64_000, 4_000
TASK_TOKENS, BATCH, USED = 30_000, 3, 6
"""Tokens of the sources of a task, sources that one step reads, and values that it reports."""
KEY = ThreadKey("local", "endless")
CONFIG: Any = {"configurable": {"thread_id": KEY.thread}, "recursion_limit": 1_000}
MEASURED = Path(__file__).parent / "measured" / "endurance.json"
SHOWN = {
    "cost": "thousands of uncached input tokens",
    "cpu_s": "CPU s, without model and world",
    "written_mb": "MB written, with checkpoints",
    "grown_mb": "MB that the archive grows",
}
SEARCHED = 5
"""All facts of the first task are searched after every so many tasks."""
NAMES = (*SHOWN, "calls", "summaries", "tokens", "invalid", "over", "wrong", "peak", "rss_mb")
WHOLE = {"invalid", "over", "wrong", "peak", "rss_mb", "search_ms"}
_SUMMARY = """## Goal
- The tasks are performed in the order of the requests.
## State of work
- Task {task} began; the sources of the tasks before it were read, and all of their values reported.
- The report of a task names the six values that it asks for, and its seal.
## Next steps
- Read what is left of the sources of task {task}, then report its values."""


@dataclass(slots=True)
class Task:
    """A task, and how far the model is with it."""

    number: int
    sources: dict[str, Source] = field(default_factory=dict)
    facts: dict[str, int] = field(default_factory=dict)
    """Values that are reported, by their ids."""
    places: dict[str, str] = field(default_factory=dict)
    """Names of their sources."""
    request: str = ""
    steps: list[list[str]] = field(default_factory=list)
    """Names of the sources that are still to be read, by step."""
    tried: list[str] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make its sources; the ids in them are of this task alone."""
        dice = Random(f"endurance {self.number}")  # noqa: S311 (not a secret)
        mark = f"-{self.number:05}"
        made = sources(dice, TASK_TOKENS, WINDOW)
        for one in made:
            one.text = ID.sub(rf"\g<0>{mark}", one.text)
            one.name += mark
        self.sources = {one.name: one for one in made}
        for one in dice.sample(made, min(USED, len(made))):
            record = dice.choice(list(one.values))
            self.facts[record + mark] = one.values[record]
            self.places[record + mark] = one.name
        seal = dice.randint(100_000, 999_999)
        names = [*self.sources]
        self.steps = [names[k : k + BATCH] for k in range(0, len(names), BATCH)]
        sought = "; ".join(f"{one} of {place}" for one, place in self.places.items())
        self.request = (
            f"Task {self.number}: read {', '.join(names)}. Then report the values of {sought}. "
            f"The seal of this task is SEA-10000{mark}: {seal}."
        )
        self.facts[f"SEA-10000{mark}"] = seal

    def move(self, texts: Sequence[str]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
        """Return the model's next text and calls, from what it sees."""
        if self.steps:
            names = self.steps.pop(0)
            return "I read the next sources.", [("read", {"name": name}) for name in names]
        for one in self.facts:
            if one not in self.found and (value := visible(texts, one)) is not None:
                self.found[one] = value
        for one in self.facts.keys() - self.found.keys():
            if self.tried.count(one) == 0:
                self.tried.append(one)
                return f"I look for {one}.", [("recall", {"query": one})]
            if self.tried.count(one) == 1 and one in self.places:
                self.tried.append(one)
                return f"I read the source of {one}.", [("read", {"name": self.places[one]})]
        report = ", ".join(f"{one} = {self.found.get(one, 'unknown')}" for one in self.facts)
        return f"Task {self.number} is done: {report}.", []


def visible(texts: Sequence[str], one: str) -> int | None:
    """Return the newest value of an id that a text shows; `None` if none does."""
    for text in reversed(texts):
        at = text.rfind(one)
        while at >= 0:
            following = ID.search(text, at + len(one))
            end = min(at + len(one) + REACH, following.start() if following else len(text))
            passage = text[at:end]
            if place := read_records.__wrapped__(passage).get(one[:9]):
                return int(place[-6:])
            at = text.rfind(one, 0, at)
    return None


class CheckedModel(ChatAnthropic):
    """Plays the current task; what its client would send is checked, counted and priced."""

    task: Any = None
    _counted: Any = None
    _cache: Any = None
    _counter: Any = None

    @property
    def counted(self) -> Any:  # noqa: ANN401 (a `Counter` of integers and floats)
        """Sums since the task began, by output field; private, as a field would be a setting."""
        return self._counted

    def renew(self, task: Task) -> None:
        """Begin a task: clear the counts and caches of texts, keep the cache of the provider."""
        self.task, self._counted, self._counter = task, Counter(), TokenCounter()
        read_records.cache_clear()
        self._cache = self._cache or PromptCache()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> ChatResult:
        del stop, run_manager
        start, counted, dialect = time.thread_time(), self.counted, AnthropicDialect()
        body = self._get_request_payload(messages, **kwargs)
        body.pop("betas", None)
        traits = RequestTraits(window=WINDOW)
        problems = [*dialect.problems(body, traits)]
        measured = self._counter.measure(dialect.pieces(body), 1.0)
        full = dialect.overflow(body, measured, WINDOW)
        counted["calls"] += 1
        counted["invalid"] += bool(problems)
        counted["over"] += full is not None
        for problem in [*problems, *filter(None, [full])]:
            print(f"task {self.task.number}: {problem.message}", file=sys.stderr, flush=True)
        is_next = isinstance(messages[-1], ToolMessage) or self.task.request in messages[-1].text
        counted["summaries"] += not is_next
        texts = [message.text for message in messages]
        text, calls = (
            self.task.move(texts) if is_next else (_SUMMARY.format(task=self.task.number), [])
        )
        wrote = self._counter.text(text + json.dumps(calls))
        now = time.time()
        spent = dialect.spend(self._cache, MODEL, measured, now)
        written = spent.written_5m + spent.written_1h
        plain = spent.input - spent.cached - written
        price = plain + 0.1 * spent.cached + 1.25 * spent.written_5m + 2 * spent.written_1h
        counted["cost"] += (price + 5 * wrote) / 1_000
        counted["input"] += spent.input
        counted["peak"] = max(counted["peak"], spent.input)
        answer = AIMessage(
            text,
            tool_calls=[
                {
                    "name": name,
                    "args": given,
                    "id": f"toolu_{self.task.number}_{time.monotonic_ns()}_{k}",
                }
                for k, (name, given) in enumerate(calls)
            ],
            usage_metadata={
                "input_tokens": spent.input,
                "output_tokens": wrote,
                "total_tokens": spent.input + wrote,
                "input_token_details": {"cache_read": spent.cached, "cache_creation": written},
            },
        )
        counted["model_s"] += time.thread_time() - start
        return ChatResult(generations=[ChatGeneration(message=answer)])


def run(folder: Path, tokens: int, *, ends: bool) -> None:
    """Perform tasks until the thread has so many tokens; then have the agent report the first's."""
    path, count = folder / "tasks.jsonl", exact_counter()
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    if rows and rows[-1]["is_last"]:
        sys.exit(f"{path} has a run that has ended; name another folder, or --table")
    total, first = sum(row["tokens"] for row in rows), Task(1)
    model = CheckedModel(
        model_name=MODEL,
        max_tokens_to_sample=OUTPUT,
        timeout=None,
        stop=None,
        api_key=SecretStr("none"),
    )
    with (
        closing(sqlite3.connect(folder / "saver.db", check_same_thread=False)) as connection,
        open_archive(folder / "archive.db") as archive,
        path.open("a") as lines,
    ):
        policy = ContextPolicy(window=WINDOW, max_output=OUTPUT)
        middleware = ContextMiddleware(policy, archive=archive, state="run")
        agent = create_agent(
            model,
            [
                StructuredTool.from_function(
                    lambda name: model.task.sources[name].text,
                    name="read",
                    description="Read a source by its name.",
                )
            ],
            system_prompt="You perform tasks with the tools that you have.",
            middleware=[middleware],
            checkpointer=SqliteSaver(connection),
        )
        cpu, mb, size = time.process_time(), bytes_written(), _size(folder)
        while True:
            is_last = total >= tokens
            if is_last and not ends:
                return
            own = time.thread_time()
            if is_last:
                task = Task(1)
                task.steps, task.places = [], {}
                task.request = f"Which values had these of task 1: {', '.join(task.facts)}?"
            else:
                task = Task(len(rows) + 1)
            model.renew(task)
            own = time.thread_time() - own
            done = agent.invoke({"messages": [HumanMessage(task.request)]}, CONFIG)
            middleware.flush()
            row: dict[str, Any] = {"task": task.number, "is_last": is_last, **model.counted}
            begun, before = time.thread_time(), bytes_written(OF_THREAD)
            if row["task"] % SEARCHED == 1:
                row |= _search(archive, first) | {"rss_mb": resident_mb()}
            for table in ("checkpoints", "writes"):
                newest = "(SELECT MAX(checkpoint_id) FROM checkpoints)"
                connection.execute(f"DELETE FROM {table} WHERE checkpoint_id < {newest}")  # noqa: S608 (fixed)
            connection.commit()
            row["tokens"] = sum(count(_written(one)) for one in done["messages"])
            row["wrong"] = sum(task.found.get(one) != value for one, value in task.facts.items())
            own += time.thread_time() - begun + model.counted["model_s"]
            row["written_mb"] = (bytes_written() - mb - (bytes_written(OF_THREAD) - before)) / 1e6
            row["cpu_s"] = time.process_time() - cpu - own
            row["grown_mb"] = _size(folder) - size
            cpu, mb, size = time.process_time(), bytes_written(), _size(folder)
            total += row["tokens"]
            rows.append(row)
            print(json.dumps(row), file=lines, flush=True)
            if is_last:
                return


def _search(archive: Archive, first: Task) -> dict[str, Any]:
    spent, found = [], 0
    for one, value in first.facts.items():
        begun = time.process_time()
        text = recall(archive, KEY, query=one)
        spent.append(time.process_time() - begun)
        found += visible([text], one) == value
    return {"search_ms": median(spent) * 1_000, "found": found, "sought": len(first.facts)}


def _written(message: BaseMessage) -> str:
    return message.text + json.dumps(getattr(message, "tool_calls", []) or "")


def _size(folder: Path) -> float:
    return sum(one.stat().st_size for one in folder.glob("archive.db*")) / 1e6


def tenths(folder: Path) -> list[dict[str, Any]]:
    """Return the means per task of each tenth of the run; counts of faults are sums."""
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    rows = [row for row in rows if not row["is_last"]]
    parts = [rows[len(rows) * k // 10 : len(rows) * (k + 1) // 10] for k in range(10)]
    parts = [part for part in parts if part]
    found = []
    for part in parts:
        column = {name: [row.get(name, 0) for row in part] for name in NAMES}
        searches = [row for row in part if "sought" in row]
        found.append(
            {name: mean(column[name]) for name in (*SHOWN, "calls", "summaries")}
            | {name: sum(column[name]) for name in ("tokens", "invalid", "over", "wrong")}
            | {name: max(column[name]) for name in ("peak", "rss_mb")}
            | {name: sum(row[name] for row in searches) for name in ("found", "sought")}
            | {"search_ms": median([row["search_ms"] for row in searches] or [0.0])}
        )
    return found


def print_table(parts: Sequence[dict[str, Any]]) -> None:
    """Print the tenths, and the last one divided by the second, as the first has no cache yet."""
    names = [name for name in parts[0] if name not in {"tokens", "found", "sought"}]
    print("| tokens |", " | ".join([*names, "found"]), "|")
    print("|" + "---:|" * (len(names) + 2))
    total = 0
    for part in parts:
        total += part["tokens"]
        cells = [f"{part[name]:,.{0 if name in WHOLE else 2}f}" for name in names]
        print(f"| {total:,} |", " | ".join([*cells, f"{part['found']} of {part['sought']}"]), "|")
    second = parts[min(1, len(parts) - 1)]
    ratios = {
        name: parts[-1][name] / (second[name] or 1) for name in (*SHOWN, "rss_mb", "search_ms")
    }
    print("last / second tenth:", ", ".join(f"{name} {one:.2f}" for name, one in ratios.items()))


def draw(parts: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw what a task costs, by tenth of the run."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (only this needs the group `bench`)

    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, places = plt.subplots(1, len(SHOWN), figsize=(11, 2.6))
    ends = [sum(part["tokens"] for part in parts[: k + 1]) / 1e6 for k in range(len(parts))]
    for axes, (name, title) in zip(places, SHOWN.items(), strict=True):
        axes.plot(ends, [part[name] for part in parts], color="#0b6e4f", marker="o", markersize=4)
        axes.set_title(title, loc="left", fontsize=8)
        axes.set_xlabel("million tokens of the thread")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color="#e0e0e0", linewidth=0.8)
    figure.suptitle("Of a task of 41,000 tokens, by tenth of the thread", x=0.01, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> int:
    """Run, print or draw; fail on an invalid or too large request, or a fact that is not found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, default=100_000_000)
    parser.add_argument("--pause", action="store_true", help="a later call continues the thread")
    parser.add_argument("--table", action="store_true", help="only print what is in the folder")
    parser.add_argument("--draw", type=Path, help="a picture of what `--save` wrote")
    parser.add_argument("--save", action="store_true", help=f"write the tenths to {MEASURED.name}")
    given = parser.parse_args()
    if not given.table:
        given.folder.mkdir(parents=True, exist_ok=True)
        run(given.folder, given.tokens, ends=not given.pause)
    parts = tenths(given.folder)
    print_table(parts)
    if given.save:
        MEASURED.write_text(json.dumps(parts, indent=1) + "\n")
    if given.draw:
        draw(json.loads(MEASURED.read_text()), given.draw)
    return int(any(part[name] for part in parts for name in ("invalid", "over", "wrong")))


if __name__ == "__main__":
    sys.exit(main())
