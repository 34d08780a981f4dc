"""A process that drives a thread until it is killed.

    python -m core_tests.e2e.killed ARCHIVE CHECKPOINTS TOLD

It forks a worker for every line on its input, so that a kill costs milliseconds. The line holds
the number of runs to make, and LangGraph's durability. A run that was cut off is finished first.
"""

import io
import os
import re
import sqlite3
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any, Literal, NotRequired, cast

from langchain.agents import AgentState, create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.scripted import Agent, RuledModel, calls
from thalweg.archive import open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy

AT: RunnableConfig = {"configurable": {"thread_id": "t"}, "recursion_limit": 40}
Durability = Literal["sync", "async", "exit"]


class Asked(AgentState[Any]):
    """The agent's state, with the number of the newest question."""

    asked: NotRequired[int]


def rule(messages: Sequence[BaseMessage]) -> AIMessage:
    """Call the tool as often as the number in the question requires, then answer."""
    asked = [k for k, m in enumerate(messages) if m.type == "human" and (m.id or "")[:1] == "u"]
    if not asked:
        return AIMessage("what was the question?")
    number = int(str(messages[asked[-1]].id)[1:])
    found = re.findall(rf"found {number}\.(\d+)", " ".join(m.text for m in messages))
    done = 1 + max(map(int, found), default=-1)
    if done >= number % 4:
        return AIMessage(f"answer {number}")
    return calls("look", f"c{number}.{done}", number=number, done=done)


def look(number: int, done: int) -> str:
    """Look something up: a few words, or many."""
    words = (7 * number + 13 * done) % 50 * 10
    return f"found {number}.{done} " + "and so on " * words


@contextmanager
def checkpoints(address: str) -> Iterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer: of PostgreSQL, or in a file."""
    if address.startswith("postgresql://"):
        from langgraph.checkpoint.postgres import PostgresSaver  # noqa: PLC0415 (an extra)

        with PostgresSaver.from_conn_string(address) as saver:
            saver.setup()
            yield saver
        return
    connection = sqlite3.connect(address, check_same_thread=False, timeout=30)
    in_file = SqliteSaver(connection)
    in_file.setup()  # before anybody writes: it does not wait for who does
    yield in_file
    connection.close()


@contextmanager
def worked_on(archive: str, address: str) -> Iterator[Agent]:
    """Make an agent for the thread; what it sends must be valid."""
    model = RuledModel(rule=rule)
    with ExitStack() as stack:
        # Before the checkpoints: it refuses a file that has only the tables of another program.
        opened = stack.enter_context(open_archive(archive))
        saver = stack.enter_context(checkpoints(address))
        context = ContextMiddleware(
            ContextPolicy(
                window=3_000, trigger=("tokens", 1_200), keep=("tokens", 400), summarize=False
            ),
            archive=opened,
            state=2,
        )
        stack.enter_context(context)
        yield create_agent(
            model,
            tools=[StructuredTool.from_function(look)],
            middleware=[context],
            state_schema=cast("type[AgentState[Any]]", Asked),
            checkpointer=saver,
        )
    if model.problems:
        raise AssertionError(model.problems)


def ask(agent: Agent, number: int, durability: Durability) -> None:
    """Ask a numbered question."""
    question = HumanMessage(f"question {number}", id=f"u{number}")
    said: Any = {"messages": [question], "asked": number}
    agent.invoke(said, AT, durability=durability)


def is_cut_off(newest: CheckpointTuple) -> bool:
    """Return whether a run still has something to do.

    `get_state().next` is empty, too, where a step is done whose writes were not applied.
    """
    values = newest.checkpoint["channel_values"]
    waits = any(name.startswith("branch:to:") for name in values)
    return waits or bool(values.get("__pregel_tasks")) or newest.metadata["source"] == "input"


def work(archive: str, address: str, durability: Durability, runs: int) -> None:
    """Ask question after question, from wherever the thread stopped."""
    with worked_on(archive, address) as agent:
        print("at work", flush=True)  # noqa: T201
        for _ in range(runs):
            assert isinstance(agent.checkpointer, BaseCheckpointSaver)
            newest = agent.checkpointer.get_tuple(AT)
            if newest and is_cut_off(newest):
                agent.invoke(None, AT, durability=durability)
            else:
                ask(agent, agent.get_state(AT).values.get("asked", 0) + 1, durability)


def warm_up() -> None:
    """Import what is imported late."""
    with redirect_stdout(io.StringIO()):
        work(":memory:", ":memory:", "sync", 2)


def main() -> None:
    """Fork a worker for every line, and report when it has exited."""
    archive, address, told = sys.argv[1:]
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        runs, durability = line.split()
        worker = os.fork()
        if not worker:
            print(os.getpid(), flush=True)  # noqa: T201
            try:
                work(archive, address, cast("Durability", durability), int(runs))
            except BaseException:  # noqa: BLE001 (told to the test)
                with Path(told).open("a") as file:
                    file.write(traceback.format_exc())
            os._exit(0)
        os.waitpid(worker, 0)
        print("gone", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
