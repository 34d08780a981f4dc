"""A process that performs runs, to be killed at any moment.

It reads commands from stdin and answers on stdout, a JSON object a line: `start` a run, `follow`
one after a number, `cancel` one. On SIGTERM it hands over its runs and exits.
"""

import argparse
import asyncio
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from server_tests.e2e.runs_messages import untold, withdrawals
from thalweg.database.postgres_server import as_storage_error
from thalweg.errors import NoSuchRunError, ThalwegError
from thalweg.testing import ScriptedModel
from thalweg_server.checkpoints.owners import OwnSaver
from thalweg_server.runs.base import Draft, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.running import ProcessRuns, RunOutcome

MARK = "worker"
"""What the names of threads begin with in checkpoints."""


class SlowModel(ScriptedModel):
    """Streams its words one after the other."""

    pause_s: float = 0.02

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 (LangChain's signature)
    ) -> AsyncIterator[ChatGenerationChunk]:
        del run_manager
        answer = self._generate(messages, stop, **kwargs).generations[0].message
        assert isinstance(answer, AIMessage)
        for word in str(answer.content).split(" "):
            await asyncio.sleep(self.pause_s)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word + " "))
        calls = [
            tool_call_chunk(name=c["name"], args=json.dumps(c["args"]), id=c["id"], index=n)
            for n, c in enumerate(answer.tool_calls)
        ]
        last = AIMessageChunk(content="", tool_call_chunks=calls, chunk_position="last")
        yield ChatGenerationChunk(message=last)


def say(messages: Sequence[BaseMessage]) -> AIMessage:
    """Note something three times, then answer at length."""
    asked = max(n for n, m in enumerate(messages) if isinstance(m, HumanMessage))
    run, words = json.loads(str(messages[asked].content))
    done = sum(isinstance(m, ToolMessage) for m in messages[asked:])
    if done < 3:
        call = {"name": "note", "args": {"run": run, "step": done}, "id": f"{run}-{done}"}
        text = " ".join(f"before{done}.{n}" for n in range(words // 4))
        return AIMessage(text, tool_calls=[call])
    return AIMessage(" ".join(f"word{n}" for n in range(words)))


def agent_of(saver: BaseCheckpointSaver[Any], told: Path, pause_s: float) -> Any:  # noqa: ANN401 (a graph)
    """Make an agent whose tool has an effect outside: a line in a file."""

    @tool
    async def note(run: str, step: int) -> str:
        """Note a step."""
        token = uuid.uuid4().hex
        line = json.dumps([run, step, token, time.time()]) + "\n"
        effects = os.open(told / "effects", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(effects, line.encode())  # appended in one piece
        os.close(effects)
        await asyncio.sleep(pause_s)
        return token

    model = SlowModel(script=say, pause_s=pause_s)
    return create_agent(model, [note], checkpointer=saver)


class Performer:
    """Performs runs on an agent, and emits the output of its model."""

    def __init__(self, agent: Any, journal: Journal) -> None:  # noqa: ANN401 (a graph)
        self._agent = agent
        self._journal = journal

    async def __call__(self, run: RunRecord, emit: Emit) -> RunOutcome:
        """See `Perform`."""
        config = {"configurable": {"thread_id": f"{run.key.owner}/{run.key.thread}"}}
        state = await self._agent.aget_state(config)
        messages = state.values.get("messages", [])
        begun = [n for n, message in enumerate(messages) if message.id == run.key.run]
        if run.attempt > 1:
            of_run = messages[begun[0] :] if begun else []
            kept = {str(m.id): m for m in of_run if isinstance(m, AIMessage)}
            seen = await self._journal.read(run.key, limit=1_000_000)
            if seen:
                data = json.dumps({"attempt": run.attempt, "worker": os.getpid()})
                await emit(Draft("run.resumed", data))
            for draft in withdrawals(seen, kept):
                await emit(draft)
            for message in untold(seen, kept):
                await emit(_completed(kept[message]))
        if not run.last_seq:
            data = json.dumps({"run": run.key.run, "worker": os.getpid()})
            await emit(Draft("run.started", data))
        asked = HumanMessage(run.request, id=run.key.run)
        # Not `state.next`: it leaves out a step that was done and not checkpointed.
        if not begun or state.tasks:
            given = None if begun else {"messages": [asked]}
            await self._stream(given, config, emit)
        state = await self._agent.aget_state(config)
        return RunOutcome("completed", json.dumps({"text": state.values["messages"][-1].text}))

    async def _stream(self, given: Any, config: Any, emit: Emit) -> None:  # noqa: ANN401 (LangGraph's)
        begun: set[str] = set()
        async for mode, part in self._agent.astream(
            given, config, stream_mode=["messages", "updates"], durability="sync"
        ):
            if mode == "updates":
                for message in part.get("model", {}).get("messages", []):
                    await emit(_completed(message))
                continue
            chunk, _ = part
            if not isinstance(chunk, AIMessageChunk):
                continue
            message = str(chunk.id)
            if message not in begun:
                begun.add(message)
                await emit(Draft("message.started", json.dumps({"message": message})))
            data = json.dumps({"message": message, "text": chunk.text})
            await emit(Draft("message.delta", data, joins=message))


def _completed(message: AIMessage) -> Draft:
    data = {"message": message.id, "text": message.text}
    return Draft("message.completed", json.dumps(data))


@asynccontextmanager
async def open_saver(address: str) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Open LangGraph's own checkpointer."""
    if not address.startswith("postgresql:"):
        async with AsyncSqliteSaver.from_conn_string(f"{address}/checkpoints.db") as saver:
            await saver.setup()
            yield saver
        return
    made = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(address, kwargs=made, max_size=6, open=False) as pool:
        yield AsyncPostgresSaver(pool)  # type: ignore[arg-type]  # its type is of one row factory


@contextmanager
def lost_connections() -> Iterator[None]:
    """Raise a lost connection as `StorageError`, as the application does: its run is resumed."""
    try:
        yield
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        raise as_storage_error("checkpoints", error) from error


async def set_up(address: str) -> None:
    """Make the tables of the checkpointer, once for all processes."""
    if address.startswith("postgresql:"):
        async with AsyncPostgresSaver.from_conn_string(address) as saver:
            await saver.setup()


async def histories(address: str, keys: Iterable[tuple[str, str, str]]) -> dict[Any, list[Any]]:
    """Read the messages of threads from their checkpoints."""
    async with open_saver(address) as saver:
        agent = agent_of(saver, Path(), 0.0)
        read = {}
        for owner, thread, run in keys:
            config = {"configurable": {"thread_id": f"{MARK}:{owner}/{thread}"}}
            state = await agent.aget_state(config)
            read[owner, thread, run] = state.values.get("messages", [])
        return read


class Commands:
    """Executes the commands read from stdin."""

    def __init__(self, runs: ProcessRuns, journal: Journal) -> None:
        self._runs = runs
        self._journal = journal
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, line: str) -> None:
        """Begin with a command."""
        task = asyncio.create_task(self._do(json.loads(line)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel the running tasks."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _do(self, command: dict[str, Any]) -> None:
        what, key = command["do"], RunKey(*command["key"])
        try:
            if what == "start":
                await self._runs.start(key, command["request"])
                tell("started", key)
            elif what == "cancel":
                tell("asked", key, is_asked=await self._runs.cancel(key))
            else:
                async for event in self._journal.follow(key, command["after"]):
                    tell("event", key, seq=event.seq, type=event.type, data=event.data)
                tell("ended", key)
        except NoSuchRunError:
            tell("unknown", key)
        except ThalwegError as error:
            tell("error", key, notice=f"{what}: {error}")


def tell(what: str, key: RunKey, **more: object) -> None:
    """Answer."""
    line = json.dumps({"what": what, "key": [key.owner, key.thread, key.run], **more})
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def main(address: str, told: Path, pause_s: float) -> None:
    """Perform runs until SIGTERM."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    is_server = address.startswith("postgresql:")
    rows = address if is_server else Path(address) / "runs.db"
    async with open_saver(address) as saver, open_journal(rows) as journal:
        own = OwnSaver(saver, MARK, lost_connections)
        performer = Performer(agent_of(own, told, pause_s), journal)
        async with ProcessRuns(journal, performer, limit=25, most_attempts=1_000) as runs:
            commands = Commands(runs, journal)
            reader = asyncio.StreamReader(limit=2**24)
            await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            sys.stdout.write(json.dumps({"what": "ready", "name": runs.name}) + "\n")
            sys.stdout.flush()
            reading = asyncio.create_task(read(reader, commands))
            await stopped.wait()
            reading.cancel()
            await commands.stop()


async def read(reader: asyncio.StreamReader, commands: Commands) -> None:
    """Take commands."""
    while line := await reader.readline():
        commands.take(line.decode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("told", type=Path)
    parser.add_argument("--pause", type=float, default=0.02)
    given = parser.parse_args()
    asyncio.run(main(given.address, given.told, given.pause))
