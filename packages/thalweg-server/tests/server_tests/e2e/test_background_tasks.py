"""Subagents in the background: on a gateway's durable runs, and on a server of graphs."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.errors import ConfigError
from thalweg.testing import ScriptedModel
from thalweg_agent import AsyncSubAgentMiddleware, create_deep_agent
from thalweg_agent.middleware import async_subagents
from thalweg_server.client import ThalwegClient
from thalweg_server.settings import Settings

CONFIG: Any = {"configurable": {"thread_id": "parent"}}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[ThalwegClient]:
    """Open a gateway in this process whose agent answers at once."""
    model = {"name": "streamer", "use": "server_tests.e2e.talkers:Streamer", "window": 32_000}
    settings = Settings.from_mapping({"models": [model], "storage": {"home": str(tmp_path)}})
    with ThalwegClient(settings) as client:
        yield client


def calling(*calls: "Turn | None") -> Any:  # noqa: ANN401
    """Make a model that calls tools in turn with the id of the first task, and then answers."""
    turns = iter(calls)

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        started = [m.text for m in messages if isinstance(m, ToolMessage) and "Task id" in m.text]
        task = started[0].rpartition(" ")[2] if started else ""
        if (call := next(turns, None)) is None:
            return "Done."
        name, arguments = call
        made = {"name": name, "args": arguments(task), "id": f"c{len(messages)}"}
        return AIMessage("", tool_calls=[{**made, "type": "tool_call"}])

    return ScriptedModel(script=script)


Turn = tuple[str, Callable[[str], dict[str, object]]]
START: Turn = ("start_async_task", lambda _: {"description": "Count.", "subagent_type": "far"})
CHECK: Turn = ("check_async_task", lambda task: {"task_id": task})


def results(state: dict[str, Any]) -> list[str]:
    """Return the texts of tool results."""
    return [m.text for m in state["messages"] if isinstance(m, ToolMessage)]


def until(done: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def test_a_task_runs_on_a_gateway_and_its_answer_comes_back(gateway: ThalwegClient) -> None:
    """Start, look, go on with further words, list, end: each is a durable run of the gateway."""
    far: Any = {"name": "far", "description": "Counts.", "client": gateway}
    update: Turn = ("update_async_task", lambda task: {"task_id": task, "message": "And again."})
    listing: Turn = ("list_async_tasks", lambda _: {})
    agent = create_deep_agent(
        calling(START, None, CHECK, update, listing),
        subagents=[far],
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )
    (task,) = agent.invoke({"messages": "Go."}, CONFIG)["async_tasks"].values()
    gateway.wait_run(task["thread_id"], task["run_id"])

    second = agent.invoke({"messages": "Look."}, CONFIG)

    answers = results(second)[-3:]
    assert task["status"] == "running"
    assert '"status": "success"' in answers[0]
    assert f"Updated task {task['task_id']}" in answers[1]
    assert "1 tracked task(s)" in answers[2]
    runs = gateway.list_runs(task["thread_id"]).items
    assert runs[0].id == second["async_tasks"][task["task_id"]]["run_id"]
    assert len(runs) == 2
    gateway.wait_run(task["thread_id"], runs[0].id)


def test_the_parent_is_woken_when_a_task_ends_after_its_run(gateway: ThalwegClient) -> None:
    """The parent is woken by `wake`; its next run would have had the message, too."""
    woken: list[tuple[str, str]] = []
    background = AsyncSubAgentMiddleware(
        async_subagents=[{"name": "far", "description": "Counts.", "client": gateway}],
        wake=lambda thread, text: woken.append((thread, text)),
        poll_s=0.05,
    )
    agent = create_deep_agent(calling(START), middleware=[background], archive=":memory:")
    agent.invoke({"messages": "Go."}, CONFIG)

    until(lambda: woken)

    ((thread, text),) = woken
    assert thread == "parent"
    assert "far" in text
    assert "success" in text


class Server:
    """A server of graphs, as `langgraph_sdk` sees it, whose runs end on request."""

    def __init__(self) -> None:
        self.threads = self.runs = self
        self.ends: str = "running"
        self.started: list[dict[str, Any]] = []

    def create(self, **given: Any) -> dict[str, str]:  # noqa: ANN401
        """Make a thread or a run."""
        self.started += [given] if given else []
        return {"thread_id": "t1", "run_id": f"r{len(self.started)}"}

    def get(self, **given: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return a run or a thread."""
        if self.ends == "broken":
            raise ConnectionError("refused")
        values = {"messages": [{"role": "assistant", "content": "Forty-two."}]}
        return (
            {"status": self.ends, "error": "no memory"} if "run_id" in given else {"values": values}
        )

    def cancel(self, **given: Any) -> None:  # noqa: ANN401
        """End a run."""
        self.ends = f"cancelled {given['run_id']}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """Reach a server that is not there by no socket."""
    made = Server()
    monkeypatch.setattr(async_subagents, "get_sync_client", lambda **_: made)
    return made


def run(server: Server, *calls: Any, poll_s: float = 0.0, state: Any = None) -> Any:  # noqa: ANN401, ARG001
    """Run a parent that makes these calls."""
    background = AsyncSubAgentMiddleware(
        async_subagents=[{"name": "far", "description": "Counts.", "graph_id": "g"}], poll_s=poll_s
    )
    agent = create_deep_agent(calling(*calls), middleware=[background], archive=":memory:")
    return agent.invoke({"messages": "Go.", **(state or {})})


def test_a_run_under_way_is_told_that_a_task_ended(server: Server) -> None:
    """Once, before its next model call, with the answer."""
    server.ends = "success"
    result = run(server, START, ("ls", lambda _: {"path": "/"}))

    notices = [m for m in result["messages"] if "task_event" in m.additional_kwargs]
    assert [notice.additional_kwargs["task_event"]["status"] for notice in notices] == ["success"]
    assert "Forty-two." in notices[0].text


def test_a_task_that_failed_says_why(server: Server) -> None:
    server.ends = "error"

    result = run(server, START, CHECK, poll_s=60.0)

    assert '"error": "no memory"' in results(result)[1]
    assert result["async_tasks"]["t1"]["status"] == "error"


def test_a_task_that_goes_on_is_only_looked_at_now_and_then(server: Server) -> None:
    result = run(server, START, CHECK, poll_s=60.0)

    assert '"status": "running"' in results(result)[1]
    assert not [m for m in result["messages"] if "task_event" in m.additional_kwargs]


def test_further_words_start_another_run_of_the_thread(server: Server) -> None:
    update = ("update_async_task", lambda task: {"task_id": task, "message": "Faster."})

    result = run(server, START, update, poll_s=60.0)

    assert result["async_tasks"]["t1"]["run_id"] == "r2"
    assert server.started[1]["multitask_strategy"] == "interrupt"


def test_a_cancelled_task_stays_cancelled(server: Server) -> None:
    cancel = ("cancel_async_task", lambda task: {"task_id": task})

    result = run(server, START, cancel, CHECK, poll_s=60.0)

    assert server.ends == "cancelled r1"
    assert '"status": "cancelled"' in results(result)[2]


def test_a_server_that_cannot_be_reached_is_an_error_of_the_tool(server: Server) -> None:
    server.ends = "broken"

    result = run(server, START, CHECK)

    assert "ConnectionError" in results(result)[1]
    assert result["messages"][-1].text == "Done."


@pytest.mark.parametrize(
    "specs",
    [
        [],
        [{"name": "far", "description": "x"}],
        [{"name": "far", "description": "x", "graph_id": "g"}] * 2,
    ],
)
def test_specs_that_cannot_be_used_are_refused(specs: Any) -> None:  # noqa: ANN401
    with pytest.raises(ConfigError):
        AsyncSubAgentMiddleware(async_subagents=specs)
