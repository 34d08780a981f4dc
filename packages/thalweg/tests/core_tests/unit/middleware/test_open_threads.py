"""What an open thread keeps of the prompts and tools in addition to its messages."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.unit.archive.threads.driver import KEY
from thalweg import ContextMiddleware
from thalweg.archive import Logged, SqliteArchive
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.session import ThreadSession, open_session
from thalweg.context.request.last_check import Overhead
from thalweg.context.turn import threads
from thalweg.context.turn.threads import OpenThread
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget
from thalweg.errors import ConflictError, HandleError
from thalweg.testing import ScriptedModel


def beside(system: str, tools: str = "[]") -> Overhead:
    """Go with a request."""
    return Overhead(system, tools, 1, 1)


PRICES = TARIFFS["anthropic"]
BLANK = TurnRecord(kind="call", at=0.0, length=0)


def opened(archive: SqliteArchive) -> OpenThread:
    """Open a new thread."""
    policy = RentOrBuy(PRICES)
    engine = Engine(Budget(window=2_000, max_output=0), policy, exact_counter(), "{}-{}".format)
    return OpenThread(ThreadSession(archive, KEY, engine, BLANK))


def enter(thread: OpenThread, overhead: Overhead) -> tuple[int, TurnRecord]:
    """Enter a turn with a prompt; return how many texts were stored, and its record."""
    (system, tools, tariff), new = thread.attachments(overhead, PRICES)
    thread.session.enter(replace(BLANK, system=system, tools=tools, tariff=tariff), (), new)
    return len(new), thread.session.page


def test_a_prompt_that_changes_every_time_is_not_kept_in_memory() -> None:
    """The newest is identified by its digest; one that does not change is written once."""
    archive = SqliteArchive(":memory:")
    archive.close_when_collected()
    thread = opened(archive)
    attached = 0
    for n in range(20):
        number, page = enter(thread, beside(f"It is {n} o'clock \ud800. " * 100))
        attached += number
        assert archive.attachment(KEY, page.system).startswith(f"It is {n} o")
        assert archive.attachment(KEY, page.tools) == "[]"
        assert Tariff.model_validate_json(archive.attachment(KEY, page.tariff)) == PRICES

    assert attached == 22
    number, page = enter(thread, beside("", ""))
    assert (number, page.system, page.tools) == (0, "", "")
    assert page.tariff
    assert "clock" not in repr(thread)


def test_to_ask_whether_a_prompt_changed_writes_nothing() -> None:
    """A request may never be sent."""
    archive = SqliteArchive(":memory:")
    archive.close_when_collected()
    thread = opened(archive)

    assert thread.overhead_changed(beside("new"))
    assert archive.turn_count(KEY) == 0
    enter(thread, beside("new"))
    assert not thread.overhead_changed(beside("new"))
    assert thread.overhead_changed(beside("newer"))


def test_a_turn_that_is_not_first_stores_no_prompt() -> None:
    """The prompt is written with its turn, all or nothing."""
    archive = SqliteArchive(":memory:")
    archive.close_when_collected()
    thread = opened(archive)
    archive.append(KEY, [Logged(Message("user", (Text("Another run was first."),)))])
    (system, *_), new = thread.attachments(beside("new"), PRICES)

    with pytest.raises(ConflictError):
        thread.session.enter(replace(BLANK, system=system), (), new)
    with pytest.raises(HandleError):
        archive.attachment(KEY, system)


@pytest.mark.parametrize(("running", "is_opened_once"), [(1_024, True), (3, False)])
def test_a_thread_stays_open_while_its_run_needs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, running: int, *, is_opened_once: bool
) -> None:
    """One limit is for threads without a run, the other for all of them."""
    arrived, times = asyncio.Barrier(6), Counter[str]()

    @tool
    async def meet() -> str:
        """Wait for the other runs."""
        await arrived.wait()
        return "all are here"

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        call: Any = {"name": "meet", "args": {}, "id": f"call-{len(messages)}"}
        return AIMessage("", tool_calls=[call] if len(messages) < 5 else [])

    def counting(archive: Any, key: Any, *args: Any, **kwargs: Any) -> ThreadSession:  # noqa: ANN401 (as the function)
        times[key.thread] += 1
        return open_session(archive, key, *args, **kwargs)

    async def all_runs() -> None:
        await asyncio.gather(
            *(
                agent.ainvoke({"messages": "go"}, {"configurable": {"thread_id": f"t{number}"}})
                for number in range(6)
            )
        )

    monkeypatch.setattr(threads, "open_session", counting)
    monkeypatch.setattr(threads, "OPEN_THREADS", 2)
    monkeypatch.setattr(threads, "RUNNING_THREADS", running)
    with ContextMiddleware(archive=tmp_path / "thalweg.db") as middleware:
        model = ScriptedModel(script=script)
        agent: Any = create_agent(
            model, [meet], middleware=[middleware], checkpointer=InMemorySaver()
        )
        asyncio.run(all_runs())
    assert (max(times.values()) == 1) is is_opened_once


def test_runs_that_break_off_close_no_other_thread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """They have a limit of their own."""
    times = Counter[str]()

    @tool
    def fail() -> str:
        """Fail."""
        msg = "no"
        raise RuntimeError(msg)

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        call: Any = {"name": "fail", "args": {}, "id": "call-1"}
        return AIMessage("", tool_calls=[call] if messages[-1].text == "fail" else [])

    def counting(archive: Any, key: Any, *args: Any, **kwargs: Any) -> ThreadSession:  # noqa: ANN401 (as the function)
        times[key.thread] += 1
        return open_session(archive, key, *args, **kwargs)

    monkeypatch.setattr(threads, "open_session", counting)
    monkeypatch.setattr(threads, "OPEN_THREADS", 2)
    with ContextMiddleware(archive=tmp_path / "thalweg.db") as middleware:
        model = ScriptedModel(script=script)
        agent: Any = create_agent(
            model, [fail], middleware=[middleware], checkpointer=InMemorySaver()
        )
        for number in range(4):
            with pytest.raises(RuntimeError, match="no"):
                agent.invoke({"messages": "fail"}, {"configurable": {"thread_id": f"f{number}"}})
        for thread in "abab":
            agent.invoke({"messages": "go"}, {"configurable": {"thread_id": thread}})
    assert (times["a"], times["b"]) == (1, 1)
