"""The agents that are measured against each other, and one of them at work in its own process."""

import cProfile
import ctypes
import gc
import itertools
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langgraph.checkpoint.sqlite import SqliteSaver

from benchmarks.scripted import WINDOW, Script, ScriptedModel, look_tool, request_of, turns
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.last_check import LastCheck, RequestGuard
from thalweg.engine.settings import ContextPolicy
from thalweg_agent import ThreadState

Params = ParamSpec("Params")
Done = TypeVar("Done")
OURS, DEEP, SUMMARIZING, BARE = "thalweg", "deepagents", "SummarizationMiddleware", "create_agent"
OURS_SUMMARIZING = "thalweg, summaries"
SYSTEM = " ".join(f"Rule {n}: say what you saw in step {n} and why." for n in range(90))
THREAD = {"configurable": {"thread_id": "bench"}, "recursion_limit": 10_000}


@dataclass(slots=True)
class Contestant:
    """One agent over files of its own, with the script it follows."""

    name: str
    folder: Path
    script: Script
    agent: Any
    connection: sqlite3.Connection

    @classmethod
    def open(cls, name: str, folder: Path, script: Script) -> "Contestant":
        """Make the agent, on the files in a folder, made where there are none."""
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
        model = ScriptedModel(script=script, profile={"max_input_tokens": WINDOW})
        common = {
            "model": model,
            "tools": [look_tool(script)],
            "system_prompt": SYSTEM,
            "checkpointer": SqliteSaver(connection),
        }
        return cls(name, folder, script, _agent(name, folder, common), connection)

    def close(self) -> None:
        """Close its files; the archive's own are closed with the process."""
        self.connection.close()


def _agent(name: str, folder: Path, common: dict[str, Any]) -> Any:  # noqa: ANN401 (LangGraph's)
    if name == DEEP:
        from deepagents import create_deep_agent  # noqa: PLC0415 (only this needs the bench group)

        return create_deep_agent(**common)
    middleware: list[Any] = []
    if name in {OURS, OURS_SUMMARIZING}:
        policy = ContextPolicy(summarize=name == OURS_SUMMARIZING)
        middleware = [ContextMiddleware(policy, archive=folder / "archive.db")]
    if name == SUMMARIZING:
        middleware = [
            SummarizationMiddleware(
                common["model"], trigger=("fraction", 0.85), keep=("messages", 20)
            )
        ]
    return create_agent(**common, middleware=middleware)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one turn cost."""

    cpu_s: float
    """CPU time of the whole process, all threads, less what the scripted model took."""
    written: int
    """Bytes passed to `write` and its kin (`wchar` of /proc/self/io): nothing is omitted."""
    writes: int
    """How many such calls."""


@dataclass(frozen=True, slots=True)
class Block:
    """Some turns in a row."""

    turns: Sequence[Measured]
    peak_tokens: int
    """Tokens of the largest request, its tools included; 0 where they were not counted."""
    calls: int
    summaries: int
    rss_mb: float
    """Resident memory afterwards, garbage collected and free pages returned."""
    files_mb: float


WHOLE = (SUMMARIZING, BARE)
"""Contestants of which every checkpoint holds the whole state: older ones are deleted between
blocks, or they would fill the disk."""


class Driver:
    """Drives one agent through the conversation, turn by turn."""

    def __init__(self, name: str, folder: str, *, counts: bool) -> None:
        self._turns = turns()
        self._script = Script(next(turns()), counts=counts)
        self._contestant = Contestant.open(name, Path(folder), self._script)

    def skip(self, number: int) -> None:
        """Pass over turns that another process had."""
        for _ in itertools.islice(self._turns, number):
            pass

    def move(self, folder: str) -> None:
        """Go on with the files of another folder."""
        self._contestant.close()
        self._contestant = Contestant.open(self._contestant.name, Path(folder), self._script)

    def drive(self, number: int) -> Block:
        """Have so many turns, and return what each cost."""
        script = self._script
        script.peak_tokens = script.calls = script.summaries = 0
        block = [self._one() for _ in range(number)]
        if self._contestant.name in WHOLE:
            self._forget()
        return Block(
            block,
            script.peak_tokens,
            script.calls,
            script.summaries,
            resident_mb(),
            self._files_mb(),
        )

    def _forget(self) -> None:
        db = self._contestant.connection
        newest = "(SELECT MAX(checkpoint_id) FROM checkpoints)"
        for table in ("checkpoints", "writes"):
            db.execute(f"DELETE FROM {table} WHERE checkpoint_id < {newest}")  # noqa: S608 (fixed)
        db.commit()

    def resume(self, number: int) -> list[float]:
        """Open the thread again so many times, and continue for a turn each time.

        Returns:
            CPU seconds from new objects to the first request.
        """
        spent: list[float] = []
        for _ in range(number):
            name, folder = self._contestant.name, self._contestant.folder
            self._contestant.close()
            self._script.turn = next(self._turns)
            self._script.asked_s = 0.0
            gc.collect()
            start = time.process_time()
            self._contestant = Contestant.open(name, folder, self._script)
            self._contestant.agent.invoke(request_of(self._script.turn), THREAD)
            spent.append(self._script.asked_s - start)
        return spent

    def _one(self) -> Measured:
        script = self._script
        script.turn = next(self._turns)
        said = request_of(script.turn)
        before, written, writes = script.spent_s, *_written()
        start = time.process_time()
        self._contestant.agent.invoke(said, THREAD)
        spent = time.process_time() - start
        now, calls = _written()
        return Measured(spent - (script.spent_s - before), now - written, calls - writes)

    def _files_mb(self) -> float:
        return sum(file.stat().st_size for file in self._contestant.folder.iterdir()) / 1e6


def _written() -> tuple[int, int]:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["wchar"]), int(fields["syscw"])


def resident_mb() -> float:
    """Return the memory of this process, garbage collected and free pages returned."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def work(pipe: Connection, name: str, folder: str, *, counts: bool) -> None:
    """Drive one agent by instructions from a pipe: a method of `Driver` and its argument."""
    driver = Driver(name, folder, counts=counts)
    while (told := pipe.recv()) is not None:
        method, number = told
        pipe.send(getattr(driver, method)(number))


class Worker:
    """A `Driver` in a process of its own."""

    def __init__(self, name: str, folder: Path, *, counts: bool = False) -> None:
        spawn = get_context("spawn")
        self._pipe, theirs = spawn.Pipe()
        self._process_id = spawn.Process(
            target=work, args=(theirs, name, str(folder)), kwargs={"counts": counts}, daemon=True
        )
        self._process_id.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.send(None)
        self._process_id.join()

    def skip(self, turns: int) -> None:
        """See `Driver.skip`."""
        self._ask("skip", turns)

    def move(self, folder: Path) -> None:
        """See `Driver.move`."""
        self._ask("move", str(folder))

    def drive(self, turns: int) -> Block:
        """See `Driver.drive`."""
        block: Block = self._ask("drive", turns)
        return block

    def resume(self, times: int) -> list[float]:
        """See `Driver.resume`."""
        spent: list[float] = self._ask("resume", times)
        return spent

    def _ask(self, method: str, number: int | str) -> Any:  # noqa: ANN401 (as the method gives)
        self._pipe.send((method, number))
        return self._pipe.recv()


@dataclass(slots=True)
class OwnTime:
    """CPU time inside of `ContextMiddleware`, without what it calls to send a request.

    The checks that it performs while the model is called count.
    """

    spent_s: float = 0.0
    _inside: list[bool] = field(default_factory=lambda: [False])

    def of(self, call: Callable[Params, Done], *, is_ours: bool) -> Callable[Params, Done]:
        """Return a function whose time is added if it is ours, or else taken off its caller's."""

        @wraps(call)
        def timed(*args: Params.args, **kwargs: Params.kwargs) -> Done:
            differs = self._inside[-1] != is_ours
            self._inside.append(is_ours)
            start = time.thread_time()
            try:
                return call(*args, **kwargs)
            finally:
                spent = time.thread_time() - start
                self._inside.pop()
                self.spent_s += spent * (differs and (1 if is_ours else -1))

        return timed


class TimedMiddleware(ContextMiddleware):
    """A `ContextMiddleware` whose own time is measured."""

    def __init__(self, policy: ContextPolicy, archive: Path, own: OwnTime) -> None:
        super().__init__(policy, archive=archive)
        self._own = own
        self._timed_call = own.of(super().wrap_model_call, is_ours=True)
        self._timed_end = own.of(super().after_agent, is_ours=True)

    def wrap_model_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """Send a request; see `ContextMiddleware`."""
        return self._timed_call(request, self._own.of(handler, is_ours=False))

    def after_agent(self, state: Any, runtime: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """End a run; see `ContextMiddleware`."""
        return self._timed_end(state, runtime)


class Pair:
    """An agent with `ContextMiddleware` and the same one without, in one process.

    Both keep their messages in a `DeltaChannel`, so that the checkpoints of hundreds of messages,
    which both of them write, do not hide what the middleware costs.
    """

    def __init__(self, folder: Path, window: int) -> None:
        self.own, self.profile = OwnTime(), cProfile.Profile(time.thread_time)
        policy = ContextPolicy(window=window, summarize=False)
        for kind, name in ((LastCheck, "check"), (RequestGuard, "on_chat_model_start")):
            setattr(kind, name, self.own.of(getattr(kind, name), is_ours=True))
        ours = TimedMiddleware(policy, folder / "archive.db", self.own)
        self._sides = [
            self._made(folder / side, own) for side, own in (("with", [ours]), ("without", []))
        ]
        self._turns = turns()

    def _made(self, folder: Path, middleware: list[Any]) -> tuple[Any, Script]:
        folder.mkdir()
        script = Script(next(turns()))
        agent = create_agent(
            ScriptedModel(script=script, profile={"max_input_tokens": WINDOW}),
            [look_tool(script)],
            system_prompt=SYSTEM,
            middleware=middleware,
            state_schema=ThreadState,
            checkpointer=SqliteSaver(sqlite3.connect(folder / "saver.db", check_same_thread=False)),
        )
        return agent, script

    def turn(self, *, profiled: bool = False) -> tuple[float, float, float]:
        """Have a turn on both sides.

        Returns:
            CPU seconds with the middleware, without, and of the middleware's own part.
        """
        turn, own = next(self._turns), self.own.spent_s
        spent: list[float] = []
        for agent, script in self._sides:
            script.turn, before = turn, script.spent_s
            start = time.process_time()
            if profiled and not spent:
                self.profile.runcall(agent.invoke, request_of(turn), THREAD)
            else:
                agent.invoke(request_of(turn), THREAD)
            spent.append(time.process_time() - start - (script.spent_s - before))
        return spent[0], spent[1], self.own.spent_s - own
