"""Drives processes that perform runs, kills them, and looks at what came of every run."""

import asyncio
import json
import queue
import random
import signal
import subprocess
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core_tests import forking
from server_tests.e2e.runs_worker import histories, set_up
from thalweg_server.runs.base import ENDED, Event

END_TYPES = {f"run.{status}" for status in ENDED}
Key = tuple[str, str, str]


class Worker:
    """A process that performs runs."""

    def __init__(
        self, address: str, told: Path, pause_s: float, answers: "queue.Queue[Any]"
    ) -> None:
        self.is_ready = False
        self.process = forking.start(
            "server_tests.e2e.runs_worker",
            *(address, told, "--pause", pause_s),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answers = answers
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, **command: object) -> None:
        """Send a command to the process; ignored if it is dead."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(json.dumps(command) + "\n")
            self.process.stdin.flush()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End the process, and wait until it has exited."""
        self.process.send_signal(number)
        self.process.wait(60)
        self._reader.join(60)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("}\n"):  # the last one of who was killed may be cut
                self._answers.put((self, json.loads(line)))


@dataclass
class Stream:
    """What was seen of one run."""

    events: list[Event] = field(default_factory=list)
    at: Worker | None = None
    """Through whom it is followed."""
    performer: int = 0
    """The id of the process that performs it."""
    is_ended: bool = False
    is_started: bool = False
    resumed: int = 0
    """How often it was taken up again at another process."""


class World:
    """Some processes over one database, and one who looks on."""

    def __init__(self, address: str, told: Path, *, pause_s: float = 0.02, words: int = 40) -> None:
        self.address, self.told, self.pause_s, self.words = address, told, pause_s, words
        self.answers: queue.Queue[Any] = queue.Queue()
        self.workers: list[Worker] = []
        self.streams: dict[Key, Stream] = {}
        self.errors: list[str] = []
        self.killed_at: dict[int, float] = {}
        """When processes were killed, by their ids."""
        self.takeovers_s: dict[int, list[float]] = defaultdict(list)
        """Seconds from a kill to the first event of a run's next attempt, by that attempt."""
        self.random = random.Random(5)  # noqa: S311 (moments, the same each time)

    def add_worker(self) -> Worker:
        """Start one more process."""
        worker = Worker(self.address, self.told, self.pause_s, self.answers)
        self.workers.append(worker)
        return worker

    def kill(self, worker: Worker, number: int = signal.SIGKILL) -> None:
        """End one, and follow its streams elsewhere."""
        self.workers.remove(worker)
        worker.kill(number)
        self.killed_at[worker.process.pid] = time.monotonic()
        self.tend()  # what it said before

    def start(self, key: Key, at: Worker | None = None) -> None:
        """Have a run started by a process; by default by any living one."""
        self.streams[key] = Stream(at=at)
        if at is not None:
            at.send(do="start", key=key, request=json.dumps([key[2], self.words]))

    def cancel(self, key: Key) -> None:
        """Request the end of a run at any living process."""
        self.random.choice(self.workers).send(do="cancel", key=key)

    def tend(self, seconds: float = 0.0) -> None:
        """Process the answers of the workers; repeat requests that were sent to dead ones."""
        end = time.monotonic() + seconds
        while True:
            self._ask()
            try:
                worker, answer = self.answers.get(
                    timeout=max(0.0, min(0.05, end - time.monotonic()))
                )
                self._take(worker, answer)
                while True:
                    self._take(*self.answers.get_nowait())
            except queue.Empty:
                pass
            if time.monotonic() >= end:
                return

    def until_streaming(self, count: int) -> None:
        """Wait until some runs are in the midst of it, and a little longer."""
        patience = time.monotonic() + 120
        while sum(len(s.events) > 3 and not s.is_ended for s in self.streams.values()) < count:
            assert time.monotonic() < patience, "no run gets going"
            self.tend(0.05)
        self.tend(self.random.uniform(0.0, 1.0))

    def finish(self, patience_s: float = 180.0) -> None:
        """Follow every run to its end."""
        end = time.monotonic() + patience_s
        while self.under_way:
            assert time.monotonic() < end, f"{self.under_way} runs do not end: {self.errors[-3:]}"
            self.tend(0.2)

    def found(self) -> "Findings":
        """Look at every run, in its stream and in the history of its thread."""
        read = asyncio.run(histories(self.address, self.streams))
        return checked(self.streams, read, self.told)

    def wait_ready(self, count: int = 1) -> None:
        """Wait until processes are at work."""
        patience = time.monotonic() + 120
        while sum(worker.is_ready for worker in self.workers) < count:
            assert time.monotonic() < patience, "no process gets ready"
            assert all(worker.process.poll() is None for worker in self.workers)
            self.tend(0.05)

    @property
    def under_way(self) -> int:
        """How many runs have not been seen to end."""
        return sum(not stream.is_ended for stream in self.streams.values())

    def _ask(self) -> None:
        ready = [worker for worker in self.workers if worker.is_ready]
        for key, stream in self.streams.items():
            if stream.is_ended or stream.at in self.workers or not ready:
                continue
            stream.resumed += stream.at is not None and stream.is_started
            stream.at = self.random.choice(ready)
            if stream.is_started:
                self._follow(key, stream)
            else:
                request = json.dumps([key[2], self.words])
                stream.at.send(do="start", key=key, request=request)

    def _follow(self, key: Key, stream: Stream) -> None:
        assert stream.at is not None
        after = stream.events[-1].seq if stream.events else 0
        stream.at.send(do="follow", key=key, after=after)

    def _take(self, worker: Worker, answer: dict[str, Any]) -> None:
        what = answer["what"]
        if what == "ready":
            worker.is_ready = True
            return
        owner, thread, run = answer["key"]
        key: Key = (owner, thread, run)
        stream = self.streams.get(key)
        if stream is None:
            return
        if what == "error":
            self.errors.append(f"{key}: {answer['notice']}")
            stream.at = None
        if stream.at is not worker:
            return
        if what == "started":
            stream.is_started = True
            stream.at = None  # to be followed anywhere, not only where it is performed
        elif what == "event":
            stream.events.append(Event(answer["seq"], answer["type"], answer["data"]))
            if answer["type"] in {"run.started", "run.resumed"}:
                data = json.loads(answer["data"])
                before, stream.performer = stream.performer, data["worker"]
                if (killed_at := self.killed_at.get(before)) is not None:
                    took_s = time.monotonic() - killed_at
                    self.takeovers_s[data.get("attempt", 1)].append(took_s)
        elif what == "ended":
            stream.is_ended = True


@contextmanager
def world(address: str, told: Path, **given: Any) -> Iterator[World]:  # noqa: ANN401 (passed on)
    """Make a world, and end its processes."""
    asyncio.run(set_up(address))
    made = World(address, told, **given)
    try:
        yield made
    finally:
        for worker in made.workers:
            worker.kill()


@dataclass
class Findings:
    """What came of the runs."""

    problems: list[str] = field(default_factory=list)
    events: int = 0
    withdrawn: int = 0
    repeated_effects: int = 0
    """Effects whose process was killed before they were kept."""
    attempts: Counter[int] = field(default_factory=Counter)


def checked(streams: dict[Key, Stream], histories: dict[Key, list[Any]], told: Path) -> Findings:
    """Check every run.

    Args:
        streams: Their events as observed.
        histories: The messages of their threads, as the checkpointer has them.
        told: Where their tools wrote their effects.
    """
    found = Findings()
    effects: dict[tuple[str, int], list[str]] = defaultdict(list)
    if (told / "effects").exists():
        for line in (told / "effects").read_text().splitlines():
            run, step, token, _ = json.loads(line)
            effects[run, step].append(token)
    for key, stream in streams.items():
        _check_stream(key, stream, histories[key], found)
        _check_effects(key, histories[key], effects, found)
    return found


def _check_stream(key: Key, stream: Stream, history: list[Any], found: Findings) -> None:
    events = stream.events
    found.events += len(events)
    found.attempts[1 + sum(event.type == "run.resumed" for event in events)] += 1
    numbers = [event.seq for event in events]
    if numbers != list(range(1, len(numbers) + 1)):
        found.problems.append(f"{key}: numbers {numbers}")
    ends = [event.type for event in events if event.type in END_TYPES]
    if ends != ["run.completed"] or events[-1].type != "run.completed":
        found.problems.append(f"{key}: ends {ends}, {[e.data for e in events[-1:]]}")
    texts, completed = _told(events)
    found.withdrawn += sum(event.type == "message.withdrawn" for event in events)
    said = {m.id: m.text for m in history if m.type == "ai"}
    if list(completed.items()) != list(said.items()):
        found.problems.append(f"{key}: told {list(completed)} is not history {list(said)}")
    for message, text in texts.items():
        # Who was killed behind a checkpoint left the rest of its message to be completed whole.
        if not said.get(message, "").startswith(text):
            found.problems.append(f"{key}: deltas of {message} are not its text")
    final = [json.loads(event.data)["text"] for event in events if event.type == "run.completed"]
    if final != [message.text for message in history[-1:]]:
        found.problems.append(f"{key}: the final text is not the last message")


def _told(events: list[Event]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the text of deltas and the completed text, of messages not withdrawn."""
    texts: dict[str, str] = {}
    completed: dict[str, str] = {}
    for event in events:
        data = json.loads(event.data)
        match event.type:
            case "message.started":
                texts[data["message"]] = ""
            case "message.delta":
                texts[data["message"]] += data["text"]
            case "message.withdrawn":
                texts.pop(data["message"], None)
                completed.pop(data["message"], None)
            case "message.completed":
                completed[data["message"]] = data["text"]
    return texts, completed


def _check_effects(
    key: Key, history: list[Any], effects: dict[tuple[str, int], list[str]], found: Findings
) -> None:
    kept = [m.text for m in history if m.type == "tool"]
    if len(kept) != 3:
        found.problems.append(f"{key}: {len(kept)} results of tools")
    for step, token in enumerate(kept):
        tokens = effects[key[2], step]
        found.repeated_effects += len(tokens) - 1
        if tokens[-1] != token:
            found.problems.append(f"{key}: step {step} was done again behind its checkpoint")
