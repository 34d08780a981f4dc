"""What it costs to start a short run over HTTP and stream it to its end.

Run `python -m benchmarks.run_starts`; see the README here. Three servers, each in a process of its
own, take the same requests in turn: the gateway as it comes, the gateway with memory off, and a
minimal application of FastAPI and LangGraph (`create_agent`, `AsyncSqliteSaver`, server-sent
events). Every request is a new thread and a message; the same scripted model answers with three
words; the client reads to the end.

`--langgraph PATH` names the executable `langgraph` of an environment with `langgraph-cli[inmem]`
and `langchain`: `langgraph dev` with `create_agent` and the same model takes part, and so does the
gateway, with memory off, over LangGraph's API.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain.agents import create_agent
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic import BaseModel

from core_tests.ticking import TickingModel
from thalweg_server.app import open_app
from thalweg_server.gateway import create_app
from thalweg_server.gateway.serving import GatewayServer, address_of, bound, pauses_less
from thalweg_server.settings import Settings

Kind = Literal["gateway", "no memory", "minimal", "LangGraph API", "langgraph dev"]
KINDS: tuple[Kind, ...] = ("gateway", "no memory", "minimal")
WITH_LANGGRAPH: tuple[Kind, ...] = ("LangGraph API", "langgraph dev")
START_S = 120
GRAPH = """from langchain.agents import create_agent
from ticking import TickingModel

graph = create_agent(TickingModel(rate={rate}, ticks={words}))
"""
RUNS = 160
ROUNDS = 5
CONCURRENCY = (1, 32)
WORDS = 3
WORDS_PER_S = 10_000.0
UNLIMITED = {"requests_per_minute": None, "runs_per_minute": None, "runs_at_once": None}


class Question(BaseModel):
    """The body of a request to the minimal application."""

    message: str


def minimal(saver: AsyncSqliteSaver, words: int) -> FastAPI:
    """Make the application that the gateway is compared with."""
    application = FastAPI()
    agent = create_agent(TickingModel(rate=WORDS_PER_S, ticks=words), checkpointer=saver)

    @application.post("/api/threads/{thread}/runs/stream")
    async def stream(thread: str, question: Question) -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            given: Any = {"messages": [{"role": "user", "content": question.message}]}
            config: Any = {"configurable": {"thread_id": thread}}
            number = 0
            parts: Any = agent.astream(given, config, stream_mode="messages")
            async for chunk, _ in parts:
                number += 1
                yield f"id: {number}\nevent: message\ndata: {json.dumps(chunk.text)}\n\n"
            yield f"id: {number + 1}\nevent: end\ndata: {{}}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    return application


async def serve(kind: Kind, home: str, words: int) -> None:
    """Serve one of them in this process until standard input ends."""
    with bound("127.0.0.1", 0) as taken:

        def ready() -> None:
            print(address_of(taken), flush=True)

        if kind != "minimal":
            settings = _settings(words, with_memory=kind == "gateway")
            async with open_app(settings, home=home, is_eager=True) as app:
                pauses_less()
                await _served(GatewayServer(create_app(app), ready), taken)
            return
        async with AsyncSqliteSaver.from_conn_string(f"{home}/checkpoints.db") as saver:
            pauses_less()
            config = uvicorn.Config(minimal(saver, words), access_log=False, log_level="error")
            ready()
            await _served(uvicorn.Server(config), taken)


async def _served(server: uvicorn.Server, taken: Any) -> None:  # noqa: ANN401 (a socket)
    serving = asyncio.create_task(server.serve([taken]))
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


def _settings(words: int, *, with_memory: bool) -> Settings:
    speed = {"rate": WORDS_PER_S, "ticks": words}
    model = {"name": "ticking", "use": "core_tests.ticking:TickingModel", "window": 32_000, **speed}
    gateway = {"max_streams": 10_000, "limits": UNLIMITED}
    # What is learned from a run is learned later, and is not part of its start.
    memory = {"enabled": with_memory, "debounce_seconds": 3_600, "max_wait_seconds": 3_600}
    return Settings.from_mapping({"models": [model], "gateway": gateway, "memory": memory})


@dataclass(frozen=True, slots=True)
class Round:
    """A number of runs, and what they took of one server.

    Attributes:
        seconds: From the first request to the end of the last stream.
        cpu_s: User and system time of the server's process and its children, all threads.
        latencies_s: Of each run, from the request to the end of its stream.
    """

    runs: int
    events: int
    seconds: float
    cpu_s: float
    latencies_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A server under measurement."""

    kind: Kind
    host: str
    port: int
    pid: int

    async def measure(self, runs: int, concurrency: int) -> Round:
        """Run so many new threads once each, so many at a time."""
        waiting = iter([str(uuid.uuid4()) for _ in range(runs)])
        latencies: list[float] = []
        events = 0

        async def work() -> None:
            nonlocal events
            for thread in waiting:
                began = time.perf_counter()
                found = await self._run(thread)
                events += found
                latencies.append(time.perf_counter() - began)

        cpu, began = _cpu_s(self.pid), time.perf_counter()
        await asyncio.gather(*(work() for _ in range(concurrency)))
        seconds = time.perf_counter() - began
        await asyncio.sleep(0.2)  # what a server does behind the end of a stream counts, too
        cpu = _cpu_s(self.pid) - cpu
        return Round(runs, events, seconds, cpu, tuple(latencies))

    async def _run(self, thread: str) -> int:
        """Ask, and read the stream to its end; returns the number of events."""
        request: dict[str, Any] = {"message": "What time is it?"}
        prefix = "/api"
        if self.kind in WITH_LANGGRAPH:
            prefix = ""
            request = {
                "assistant_id": "agent",
                "input": {"messages": [{"role": "user", "content": request["message"]}]},
                "stream_mode": ["messages-tuple", "updates"],
                "if_not_exists": "create",
            }
        body = json.dumps(request)
        head = (
            f"POST {prefix}/threads/{thread}/runs/stream HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        )
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write((head + body).encode())
        answer = await reader.read(-1)
        writer.close()
        end = b"event: updates" if prefix == "" else b"event: run.completed"
        is_whole = end in answer or (self.kind == "minimal" and b"event: end" in answer)
        if not is_whole or b"event: error" in answer:
            raise RuntimeError(answer.decode()[:2_000])
        return answer.count(b"\nevent: ")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(_cpu_s(int(child)) for child in children)


@contextmanager
def langgraph_dev(executable: str, folder: str | None, words: int) -> Iterator[Target]:
    """Run `langgraph dev` with an agent of `create_agent`."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        given = {"dependencies": ["."], "graphs": {"agent": "./graph.py:graph"}}
        Path(home, "langgraph.json").write_text(json.dumps(given))
        Path(home, "graph.py").write_text(GRAPH.format(rate=WORDS_PER_S, words=words))
        shutil.copy(str(sys.modules[TickingModel.__module__].__file__), f"{home}/ticking.py")
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [executable, "dev", "--no-browser", "--no-reload", "--port", str(port)]
        with Path(home, "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=home, stdout=log, stderr=log)  # noqa: S603 (the caller's)
        try:
            _await_answer(f"http://127.0.0.1:{port}/ok", Path(home, "log"))
            yield Target("langgraph dev", "127.0.0.1", port, process.pid)
        finally:
            process.terminate()
            process.wait()


def _await_answer(address: str, log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        try:
            urlopen(address, timeout=1).close()  # noqa: S310 (of this machine)
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    sys.exit(f"{address} does not answer:\n{log.read_text()[-2_000:]}")


@contextmanager
def running(kind: Kind, folder: str | None, words: int) -> Iterator[Target]:
    """Run a server in a process of its own."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        process = subprocess.Popen(  # noqa: S603 (this very file)
            [sys.executable, "-m", __spec__.name, "--serve", kind, home, str(words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            at = urlsplit(process.stdout.readline().strip())
            yield Target(kind, str(at.hostname), int(at.port or 0), process.pid)
        finally:
            process.communicate()


async def compare(given: argparse.Namespace) -> None:
    """Measure all in turn, and print the medians of the rounds."""
    with ExitStack() as stack:
        kinds = KINDS + WITH_LANGGRAPH[:1] if given.langgraph else KINDS
        started = [running(kind, given.folder, given.words) for kind in kinds]
        if given.langgraph:
            started.append(langgraph_dev(given.langgraph, given.folder, given.words))
        targets = [stack.enter_context(each) for each in started]
        for target in targets:
            await target.measure(8, 8)  # warm
        print(
            f"{'':<13} at once   runs/s   p50 ms   CPU ms a run   CPU ms an event   events   ratio"
        )
        for concurrency in given.at_once:
            found: dict[Kind, list[Round]] = {target.kind: [] for target in targets}
            for _ in range(given.rounds):
                for target in targets:
                    found[target.kind].append(await target.measure(given.runs, concurrency))
            least = _cpu_ms(found["langgraph dev" if given.langgraph else "minimal"])
            for kind, each in found.items():
                ratio = f"{_cpu_ms(each) / least:6.2f}x"
                print(f"{_row(kind, concurrency, each)} {ratio}", flush=True)


def _cpu_ms(rounds: Sequence[Round]) -> float:
    return statistics.median(1e3 * one.cpu_s / one.runs for one in rounds)


def _row(kind: Kind, concurrency: int, rounds: Sequence[Round]) -> str:
    speed = statistics.median(one.runs / one.seconds for one in rounds)
    late = statistics.median(1e3 * one for each in rounds for one in each.latencies_s)
    events = rounds[0].events / rounds[0].runs
    cpu = _cpu_ms(rounds)
    times = f"{speed:8.1f} {late:8.1f} {cpu:14.2f} {cpu / events:17.2f} {events:8.1f}"
    return f"{kind:<13} {concurrency:>7} {times}"


def main() -> None:
    """Serve, or measure the servers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="of a round")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", help="where the databases go; /dev/shm has no syncs")
    parser.add_argument("--words", type=int, default=WORDS, help="of an answer")
    parser.add_argument("--at-once", type=int, nargs="+", default=CONCURRENCY, help="runs")
    parser.add_argument("--langgraph", help="an executable `langgraph`; ratios are to its server")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        kind, home, words = given.serve
        asyncio.run(serve(kind, home, int(words)))
    else:
        asyncio.run(compare(given))


if __name__ == "__main__":
    main()
