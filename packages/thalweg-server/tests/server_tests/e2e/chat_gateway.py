"""A gateway whose agent answers by a script, for tests of who talks to it."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse

from thalweg_server.api.catalogue import Model, Models, Usage
from thalweg_server.api.events import (
    END_EVENTS,
    EVENT,
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    Notice,
    RunCancelled,
    RunCompleted,
    RunStarted,
    SubagentEvent,
    ThinkingDelta,
    ToolCompleted,
    ToolStarted,
    UsageReported,
)
from thalweg_server.api.runs import NewRun, Run
from thalweg_server.api.threads import (
    History,
    HistoryItem,
    Message,
    State,
    Thread,
    Threads,
)

NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
RIVERS = """\
# Rivers

Three of them **meet** here, in this order; the first is by far the longest of all, and the \
others are short:

1. the *Elbe*, which comes from the mountains
2. the Havel
3. the Saale

```python
def meet(rivers: list[str]) -> str:
    return " and ".join(rivers)
```

| river | km |
|---|---|
| Elbe | 1094 |
| Havel | 334 |
"""
MODELS = tuple(
    Model(name=name, window=window, is_default=window == 16_000)
    for name, window in (("small", 16_000), ("large", 200_000))
)
SPENT = Usage(calls=2, input_tokens=12_400, cached_tokens=9_000, output_tokens=310, cost=0.0123)


class Gateway:
    """Threads and runs, in memory; a run is a list of events that grows."""

    def __init__(self, pace_s: float = 0.02) -> None:
        self.pace_s = pace_s
        self.said: dict[str, list[tuple[str, str]]] = {}
        self.runs: dict[str, list[Event]] = {}
        self.current: dict[str, str] = {}
        self.cancelled: set[str] = set()
        self.asked: list[NewRun] = []
        self.tasks: set[asyncio.Task[None]] = set()
        self.grew = asyncio.Condition()

    def start(self, thread: str, new: NewRun) -> Run:
        """Begin a run, if it is not there."""
        run = str(new.id)
        if run not in self.runs:
            self.asked.append(new)
            self.runs[run] = []
            self.current[thread] = run
            task = asyncio.create_task(self._perform(thread, run, new))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return self.run(thread, run)

    def run(self, thread: str, run: str) -> Run:
        """Return the state of a run."""
        ended = any(event.type in END_EVENTS for event in self.runs[run])
        status = "completed" if ended else "running"
        return Run.model_validate(
            {
                "id": run,
                "thread": thread,
                "status": status,
                "created": NOW,
                "last_event": len(self.runs[run]),
            }
        )

    def thread(self, thread: str) -> Thread:
        """Return a thread's record."""
        said = self.said.get(thread, [])
        title = said[0][1] if said else ""
        run = self.current.get(thread)
        return Thread(
            id=thread, title=title, created=NOW, updated=NOW, model_calls=len(said) // 2, run=run
        )

    async def follow(self, run: str, after: int) -> AsyncIterator[str]:
        """Yield the frames of the events after a number."""
        seq = after
        while True:
            events = self.runs[run]
            while seq < len(events):
                event = events[seq]
                seq += 1
                data = EVENT.dump_json(event).decode()
                yield f"id: {seq}\nevent: {event.type}\ndata: {data}\n\n"
                if event.type in END_EVENTS:
                    return
            async with self.grew:
                if seq == len(self.runs[run]):
                    await self.grew.wait()

    async def _perform(self, thread: str, run: str, new: NewRun) -> None:
        asked = new.message or ""
        self.said.setdefault(thread, []).append(("user", asked))
        await self._tell(run, RunStarted(run=run, thread=thread, model=new.model or "small"))
        async for event in self._script(asked):
            if run in self.cancelled:
                await self._end(thread, run, RunCancelled())
                return
            await self._tell(run, event)
            if isinstance(event, MessageCompleted) and event.text:
                self.said[thread].append(("assistant", event.text))
            if event.type in END_EVENTS:
                self.current.pop(thread, None)
                return
            await asyncio.sleep(self.pace_s)
        await self._end(thread, run, RunCompleted(text=self.said[thread][-1][1], usage=SPENT))

    async def _script(self, asked: str) -> AsyncIterator[Event]:
        yield UsageReported(total=Usage(calls=1, input_tokens=9), tokens=3_100, limit=16_000)
        if "rivers" in asked:
            async for event in self._rivers():
                yield event
            return
        if "slow" in asked:
            asked = "word " * 2_000
        for event in spoken("m1", asked):
            yield event

    async def _rivers(self) -> AsyncIterator[Event]:
        yield Notice(
            kind="thalweg.memory.told", detail={"facts": ["f1", "f2"], "turns": 1, "tokens": 140}
        )
        yield ThinkingDelta(message="m0", text="The user asks about rivers. ")
        yield ThinkingDelta(message="m0", text="I should look at the map first.")
        for event in spoken("m0", "I look at the map."):
            yield event
        yield ToolStarted(call="c1", name="read_file", arguments='{"path": "/maps/elbe.txt"}')
        await asyncio.sleep(self.pace_s * 10)
        yield ToolCompleted(call="c1", name="read_file", text="Elbe 1094 km\nHavel 334 km\n")
        yield ToolStarted(call="c2", name="task", arguments='{"description": "measure"}')
        yield SubagentEvent(kind="task_started", task="c2", subagent="surveyor")
        for turn in (1, 2, 3):
            yield SubagentEvent(
                kind="task_running",
                task="c2",
                subagent="surveyor",
                detail={"turn": turn, "tokens": 900 * turn, "seconds": turn, "tool": "grep"},
            )
            await asyncio.sleep(self.pace_s * 5)
        yield SubagentEvent(
            kind="task_completed",
            task="c2",
            subagent="surveyor",
            detail={"turn": 3, "tokens": 2_700, "seconds": 3.2},
        )
        yield ToolCompleted(call="c2", name="task", text="measured")
        yield ContextChanged(
            turn=2,
            tokens_before=12_400,
            tokens_after=4_100,
            limit=16_000,
            reasons=("77% of the window",),
            detail={"edits": [{"kind": "evict"}, {"kind": "fold"}]},
        )
        yield UsageReported(total=SPENT, tokens=4_100, limit=16_000)
        for event in spoken("m2", RIVERS):
            yield event

    async def _tell(self, run: str, event: Event) -> None:
        async with self.grew:
            self.runs[run].append(event)
            self.grew.notify_all()

    async def _end(self, thread: str, run: str, event: Event) -> None:
        await self._tell(run, event)
        self.current.pop(thread, None)


def spoken(message: str, text: str) -> list[Event]:
    """Return the events of a message, a few characters at a time."""
    step = 7
    deltas = [text[k : k + step] for k in range(0, len(text), step)]
    return [
        MessageStarted(message=message),
        *(MessageDelta(message=message, text=delta) for delta in deltas),
        MessageCompleted(message=message, text=text),
    ]


def application(gateway: Gateway) -> FastAPI:
    """Make the routes that a chat needs."""
    made = FastAPI()
    _lists(made, gateway)
    _thread(made, gateway)
    _runs(made, gateway)
    return made


BASE = "/api/threads/{thread}"


def _lists(made: FastAPI, gateway: Gateway) -> None:
    @made.get("/api/models")
    async def _models() -> Models:
        return Models(items=MODELS)

    @made.get("/api/threads")
    async def _threads() -> Threads:
        return Threads(items=tuple(gateway.thread(thread) for thread in reversed(gateway.said)))


def _thread(made: FastAPI, gateway: Gateway) -> None:
    @made.get(BASE + "/state", response_model=None)
    async def _state(thread: str) -> State | Response:
        if thread not in gateway.said:
            told = {"title": "Not found", "status": 404, "code": "thread.not_found"}
            told |= {"detail": f"there is no thread {thread!r}", "arguments": [thread]}
            return JSONResponse(told, 404)
        return State(thread=gateway.thread(thread))

    @made.get(BASE + "/history")
    async def _history(thread: str) -> History:
        rows = enumerate(gateway.said.get(thread, []))
        return History(
            items=tuple(
                HistoryItem.model_validate(
                    {"position": k, "message": Message.model_validate({"role": role, "text": text})}
                )
                for k, (role, text) in rows
            )
        )


def _runs(made: FastAPI, gateway: Gateway) -> None:
    @made.post(BASE + "/runs/stream")
    async def _stream(thread: str, new: NewRun) -> StreamingResponse:
        run = gateway.start(thread, new)
        return StreamingResponse(gateway.follow(run.id, 0), media_type="text/event-stream")

    @made.get(BASE + "/runs/{run}/stream")
    async def _join(thread: str, run: str, request: Request) -> StreamingResponse:
        del thread
        after = int(request.headers.get("last-event-id", "0"))
        return StreamingResponse(gateway.follow(run, after), media_type="text/event-stream")

    @made.post(BASE + "/runs/{run}/cancel")
    async def _cancel(thread: str, run: str) -> Run:
        gateway.cancelled.add(run)
        return gateway.run(thread, run)


@contextmanager
def served(gateway: Gateway) -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = uvicorn.Config(application(gateway), port=port, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        threading.Event().wait(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()
