"""An agent hands work to subagents, and gets reports."""

import asyncio
import dataclasses
import json
import time
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import use_span
from pydantic import BaseModel

from core_tests.e2e.scripted import Agent, Rule, RuledModel, calls, says
from thalweg.errors import SpecError
from thalweg_agent import create_deep_agent
from thalweg_agent.backends.protocol import BackendProtocol, WriteResult
from thalweg_agent.middleware.subagents.middleware import (
    SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY as FORM,
)
from thalweg_agent.middleware.subagents.middleware import (
    CompiledSubAgent,
    SubAgent,
    SubAgentMiddleware,
)
from thalweg_agent.subagents.joining import merge_artifacts

GO: Any = {"messages": [("user", "go")]}
AT: Any = {"configurable": {"thread_id": "t"}}


@tool
def look(n: int) -> str:
    """Look something up."""
    return f"found {n}"


def told(messages: Sequence[BaseMessage]) -> str:
    """Read the task that a child received."""
    return next(m.text for m in messages if m.type == "human")


def worker(rule: Rule, **more: Any) -> SubAgent:  # noqa: ANN401
    """Make a spec."""
    given: Any = {"name": "worker", "description": "works", "model": RuledModel(rule=rule)}
    spec: SubAgent = given | {"tools": [look]} | more
    return spec


def hands_out(*tasks: AIMessage) -> RuledModel:
    """Make a parent's model: it makes these calls one after the other, then answers "done"."""
    return RuledModel(rule=says(*tasks, "done"))


def task(call_id: str = "t1", **args: object) -> AIMessage:
    """Make a call of the tool."""
    return calls("task", call_id, **{"description": "do it", "subagent_type": "worker", **args})


def batch(*asked: AIMessage) -> AIMessage:
    """Put several calls into one message."""
    return AIMessage("", tool_calls=[call for one in asked for call in one.tool_calls])


def agent_of(
    parent: RuledModel,
    *subagents: SubAgent | CompiledSubAgent,
    middleware: Sequence[Any] = (),
    **given: Any,  # noqa: ANN401
) -> Agent:
    """Make an agent with subagents."""
    tasks = SubAgentMiddleware(backend=None, subagents=subagents, **given)
    return create_agent(parent, middleware=[tasks, *middleware], checkpointer=InMemorySaver())


def asked(agent: Agent, **state: Any) -> dict[str, Any]:  # noqa: ANN401
    """Ask an agent something, and return the resulting state."""
    return agent.invoke({"messages": [("user", "go")], **state}, AT)


def report(result: dict[str, Any], call_id: str = "t1") -> ToolMessage:
    """Find the result of a call."""
    answers = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    return next(m for m in answers if m.tool_call_id == call_id)


def test_the_report_is_the_last_words_of_the_child_as_they_are() -> None:
    """If a model ends with an empty message, its previous text is the report."""
    said = says(calls("look", "c1", n=1), "The answer is 1.\n\n  Really.\n")
    child = agent_of(hands_out(task()), worker(said))

    got = report(asked(child))

    assert got.content == "The answer is 1.\n\n  Really."
    assert (got.name, got.status) == ("task", "success")


def test_a_trailing_empty_message_does_not_hide_the_answer() -> None:
    """Some providers end with one."""
    said = {"messages": [AIMessage("The answer."), AIMessage("")]}
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(lambda _: said),
    }

    assert report(asked(agent_of(hands_out(task()), compiled))).content == "The answer."


def test_a_child_knows_its_task_and_nothing_of_the_conversation() -> None:
    """The context of a child is its own."""
    spec = worker(says("fine"))
    asked(agent_of(hands_out(task(description="count to 3")), spec))

    model: Any = spec["model"]
    (request,) = model.requests
    assert [(m.type, m.text) for m in request if m.text] == [("human", "count to 3")]


def test_instructions_in_prompt_are_the_task_and_the_description_names_it() -> None:
    """The other shape of the call, with the general-purpose subagent where none is named."""
    spec = worker(says("fine"), name="general-purpose")
    call = calls("task", "t1", description="Count", prompt="Count to 3, aloud.", max_turns=5)
    result = asked(agent_of(hands_out(call), spec))

    model: Any = spec["model"]
    assert told(model.requests[0]) == "Count to 3, aloud."
    assert result["tasks"]["t1"]["description"] == "Count"
    assert report(result).content == "fine"


def test_an_unknown_argument_is_refused_with_a_word_on_where_it_belongs() -> None:
    """A model that invents a key would otherwise send a child off with a label alone."""
    result = asked(agent_of(hands_out(task(instructions="...")), worker(says("never"))))

    assert report(result).status == "error"
    assert "there is no argument 'instructions'" in report(result).text
    assert result["tasks"]["t1"]["status"] == "refused"


@pytest.mark.parametrize("wanted", ["nobody", ""])
def test_an_unknown_subagent_is_refused_with_the_names_there_are(wanted: str) -> None:
    """The words are those that users of Deep Agents know."""
    result = asked(agent_of(hands_out(task(subagent_type=wanted)), worker(says("never"))))

    assert report(result).content == (
        f"We cannot invoke subagent {wanted} because it does not exist, "
        "the only allowed types are `worker`"
    )
    assert report(result).status == "error"


def test_an_empty_task_is_refused() -> None:
    """A child without a task would make one up."""
    result = asked(agent_of(hands_out(task(description=" ")), worker(says("never"))))

    assert "the task is empty" in report(result).text


class Finding(BaseModel):
    """A structured answer."""

    what: str
    sure: float


@dataclasses.dataclass
class Told:
    """The same as a dataclass."""

    what: str


@pytest.mark.parametrize(
    ("structured", "text"),
    [
        (Finding(what="x", sure=0.5), '{"what":"x","sure":0.5}'),
        (Told("x"), '{"what": "x"}'),
        ({"what": ["x"]}, '{"what": ["x"]}'),
        (
            {"größe": Decimal("1.5"), "day": date(2026, 1, 2)},
            '{"größe": "1.5", "day": "2026-01-02"}',
        ),
    ],
)
def test_a_structured_response_comes_as_json(structured: object, text: str) -> None:
    """Nothing is appended to it: a program may read it."""
    said = {"messages": [AIMessage("words")], "structured_response": structured}
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(lambda _: said),
    }

    assert report(asked(agent_of(hands_out(task()), compiled))).content == text


def test_a_child_that_is_made_answers_in_its_response_format() -> None:
    """What a spec asks for holds."""
    said = says(calls("Finding", "f1", what="x", sure=1.0))
    result = asked(agent_of(hands_out(task()), worker(said, response_format=Finding)))

    assert json.loads(report(result).text) == {"what": "x", "sure": 1.0}
    assert "structured_response" not in result


def test_the_artifact_holds_the_whole_report_as_plain_values() -> None:
    """For programs: what it cost, and where it worked."""
    said = says(calls("look", "c1", n=1), "fine")
    got = report(asked(agent_of(hands_out(task()), worker(said)))).artifact

    assert got.pop("seconds") >= 0
    assert got.pop("thread").startswith("t/~/tools:")
    assert got == {
        "subagent": "worker",
        "task_id": "t1",
        "status": "completed",
        "turns": 2,
        "tokens": 0,
        "files": [],
        "artifacts": [],
        "denied": {},
        "conflicts": [],
        "limit": None,
        "error": None,
    }
    assert json.dumps(got)


class Shared(AgentState[Any]):
    """A state with keys of a user's own."""

    team: NotRequired[str]
    log: NotRequired[Annotated[list[str], lambda a, b: [*(a or []), *(b or [])]]]
    artifacts: NotRequired[Annotated[list[str], merge_artifacts]]


class SharedState(AgentMiddleware[Any, Any, Any]):
    """Adds that state to an agent."""

    state_schema = Shared


@tool
def note(runtime: ToolRuntime[Any, Any], log: str = "", artifact: str = "") -> Command[Any]:
    """Write into the state."""
    noted = ToolMessage("noted", tool_call_id=str(runtime.tool_call_id))
    update: dict[str, Any] = {"messages": [noted]}
    if log:
        update["log"] = [log]
    if artifact:
        update["artifacts"] = [artifact]
    return Command(update=update)


def test_a_child_sees_the_shared_state_and_gives_back_changes_alone() -> None:
    """A key with a reducer that adds would otherwise get what was there once more."""
    spec = worker(says("fine"), middleware=[SharedState()])
    agent = agent_of(hands_out(batch(task("t1"), task("t2"))), spec, middleware=[SharedState()])

    result = asked(agent, team="red", log=["begun"])

    assert (result["team"], result["log"]) == ("red", ["begun"])
    assert len([m for m in result["messages"] if m.type == "tool"]) == 2


def test_what_a_child_changes_joins_the_parents_state() -> None:
    """Through the reducer of the key."""
    spec = worker(says(calls("note", "c1", log="child"), "fine"), tools=[note])
    spec["middleware"] = [SharedState()]
    result = asked(agent_of(hands_out(task()), spec, middleware=[SharedState()]))

    assert result["log"] == ["child"]


def test_artifacts_of_children_join_the_parents_once_each() -> None:
    """A child begins without any; one that two of them name is listed once."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("fine")
        path = f"/out/{told(messages)}"
        return batch(calls("note", "c1", artifact=path), calls("note", "c2", artifact="/out/both"))

    spec = worker(rule, tools=[note], middleware=[SharedState()])
    two = batch(task("t1", description="a"), task("t2", description="b"))
    result = asked(agent_of(hands_out(two), spec), artifacts=["/out/before"])

    assert result["artifacts"] == ["/out/before", "/out/a", "/out/both", "/out/b"]
    assert report(result, "t1").artifact["artifacts"] == ["/out/a", "/out/both"]


def test_keys_of_one_agents_own_go_neither_down_nor_up() -> None:
    """A todo list, the ledger, what a caller named private."""
    seen: list[dict[str, Any]] = []

    def run(state: dict[str, Any]) -> dict[str, Any]:
        seen.append(state)
        own = {"todos": [1], "skills_metadata": [1], "secret": "child's", "open": "child's"}
        return {"messages": [AIMessage("fine")], **own}

    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(run),
    }
    middleware = SubAgentMiddleware(
        backend=None, subagents=[compiled], private_state_keys=frozenset({"secret"})
    )
    state = {"messages": [HumanMessage("x")], "todos": [0], "secret": "s", "thalweg_turn": "9"}
    state |= {"open": "parent's", "tasks": {}, "artifacts": ["/a"]}

    command = called(middleware, state)

    assert set(seen[0]) == {"messages", "open"}
    assert set(command.update) == {"messages", "tasks", "open"}


class Kept(BackendProtocol):
    """A backend that only takes files."""

    def __init__(self, error: str | None = None) -> None:
        self.files: dict[str, str] = {}
        self.error = error

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        if self.error:
            return WriteResult(error=self.error)
        self.files[file_path] = content
        return WriteResult(path=file_path)


def called(middleware: SubAgentMiddleware, state: dict[str, Any], **args: object) -> Any:  # noqa: ANN401 (a command)
    """Call the tool as LangGraph would."""
    runtime = ToolRuntime(
        state=state,
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id="t1",
        store=None,
    )
    tool: Any = middleware.tools[0]
    return tool.func(**{"description": "do it", "subagent_type": "worker", **args}, runtime=runtime)


def test_what_the_runtime_carries_reaches_the_tools_of_a_child_unchanged() -> None:
    """Context, config and store are those of the parent's run."""
    seen: list[Any] = []

    @tool
    def peek(runtime: ToolRuntime[Any, Any]) -> str:
        """Look at the runtime."""
        seen.append((runtime.context, runtime.config["metadata"]["customer"]))
        return "seen"

    spec = worker(says(calls("peek", "c1"), "fine"), tools=[peek])
    agent = agent_of(hands_out(task()), spec)
    config: Any = {**AT, "metadata": {"customer": "c-7"}}
    agent.invoke(GO, config, context={"user": "ada"})

    assert seen == [({"user": "ada"}, "c-7")]


def test_a_compiled_child_is_known_by_its_subagents_name() -> None:
    """Streams and traces show that name, regardless of its name when it was made."""
    model = RuledModel(rule=says("fine"))
    inner = create_agent(model, name="inner")
    compiled: CompiledSubAgent = {"name": "worker", "description": "works", "runnable": inner}
    agent = agent_of(hands_out(task()), compiled)

    stream: Any = agent.stream(GO, AT, stream_mode="messages", subgraphs=True)

    names = {metadata.get("lc_agent_name", "worker") for _, (_, metadata) in stream}
    assert names == {"worker"}


def test_a_runnable_without_messages_is_its_makers_mistake() -> None:
    """Not the model's: it is raised."""
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(lambda _: {"field": 1}),
    }
    with pytest.raises(ValueError, match="must return a state containing a 'messages' key"):
        asked(agent_of(hands_out(task()), compiled))


def test_a_failing_child_is_told_to_the_model_and_its_siblings_keep_their_reports() -> None:
    """The words of the error are for programs: they may hold what no model should read."""

    def fails(messages: Sequence[BaseMessage]) -> AIMessage:
        if "bad" in told(messages):
            msg = "secret at 10.0.0.1"
            raise RuntimeError(msg)
        return AIMessage("fine")

    two = batch(task("t1", description="bad"), task("t2", description="good"))
    result = asked(agent_of(hands_out(two), worker(fails)))

    failed = report(result, "t1")
    assert failed.status == "error"
    assert "`worker` failed with RuntimeError" in failed.text
    assert "secret" not in failed.text
    assert failed.artifact["error"] == "RuntimeError: secret at 10.0.0.1"
    assert report(result, "t2").content == "fine"
    assert [t["status"] for t in result["tasks"].values()] == ["failed", "completed"]
    assert result["messages"][-1].content == "done"


ASKS_BROKEN = AIMessage(
    "", invalid_tool_calls=[{"name": "ls", "args": "{", "id": "b", "error": None}]
)
SILENT_ENDS: list[tuple[list[str | AIMessage], str]] = [
    (["", ""], "its model returned an empty message, and again"),
    ([AIMessage([{"type": "thinking", "thinking": "hm"}])], "returned an empty message"),
    ([ASKS_BROKEN], "wrote tool calls that could not be parsed"),
    (
        [calls("read_file", f"l{k}", file_path="/n.txt") for k in range(9)],
        "repeated the same calls",
    ),
]


@pytest.mark.parametrize(("end", "why"), SILENT_ENDS, ids=("empty", "thought", "broken", "loop"))
def test_a_child_without_words_gives_an_account_of_what_it_did(
    end: list[str | AIMessage], why: str
) -> None:
    """In the agent that users create, which repairs empty answers."""
    text = "\n".join(f"row {k}: {k * k}" for k in range(30))
    child = says(
        AIMessage("Let me look.", tool_calls=calls("ls", "c1", path="/").tool_calls),
        calls("write_file", "c2", file_path="/n.txt", content=text),
        calls("read_file", "c3", file_path="/n.txt"),
        *end,
    )
    spec: SubAgent = {
        "name": "worker",
        "description": "works",
        "system_prompt": "Work.",
        "model": RuledModel(rule=child),
    }
    agent = create_deep_agent(hands_out(task()), subagents=[spec], archive=":memory:")
    result = agent.invoke(GO, AT)

    got = report(result)
    assert got.text.startswith("[The subagent `worker` completed without an answer: ")
    assert why in got.text
    assert "stands above" not in got.text
    assert 'ls(path="/") → ok: No files found' in got.text
    assert "row 29: 841" in got.text, "the last result"
    assert "[Files changed: /n.txt]" in got.text
    assert "Last said:\nLet me look.\n" in got.text
    assert got.artifact["status"] == "completed without an answer"
    entry = result["tasks"]["t1"]
    assert entry["status"] == "completed without an answer"
    assert "completed without an answer" in entry["report"]


def test_a_fixed_report_replaces_the_account_of_a_run_without_an_answer() -> None:
    """As DeerFlow has it: the run counts as completed."""
    spec: SubAgent = {
        "name": "worker",
        "description": "works",
        "system_prompt": "Work.",
        "model": RuledModel(rule=says(calls("ls", "c1", path="/"), "", "")),
        "no_answer": "No response",
    }
    agent = create_deep_agent(hands_out(task()), subagents=[spec], archive=":memory:")
    result = agent.invoke(GO, AT)

    assert report(result).text == "No response"
    assert result["tasks"]["t1"]["status"] == "completed"


def test_a_subagent_cannot_delegate() -> None:
    """Neither the general-purpose one nor one of the user's has the tool."""
    child = says(task("t9", subagent_type="general-purpose"), "done myself")
    spec: SubAgent = {
        "name": "worker",
        "description": "works",
        "system_prompt": "Work.",
        "model": RuledModel(rule=child),
    }
    agent = create_deep_agent(hands_out(task()), subagents=[spec], archive=":memory:")

    assert report(agent.invoke(GO, AT)).text == "done myself"
    refused = spec["model"].requests[1][-1]  # type: ignore[union-attr]
    assert refused.text.startswith("Error: task is not a valid tool")


def test_a_compiled_child_without_words_gives_an_account_too() -> None:
    """Nothing repairs its answers."""
    said = says(calls("look", "c1", n=1), AIMessage(""))
    got = report(asked(agent_of(hands_out(task()), worker(said))))

    assert "completed without an answer: its last message has no text" in got.text
    assert "look(n=1) → ok: found 1" in got.text


def test_files_that_a_child_changed_stand_under_its_report() -> None:
    """And what it tried to change and could not; the last word on a path counts."""

    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write."""
        if content == "no":
            raise ValueError(content)
        return f"wrote {file_path}"

    def failed(request: Any, handler: Any) -> Any:  # noqa: ANN401
        try:
            return handler(request)
        except ValueError:
            call = request.tool_call["id"]
            return ToolMessage("Conflict: changed by another", tool_call_id=call, status="error")

    class Mild(AgentMiddleware[Any, Any, Any]):
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:  # noqa: ANN401
            return failed(request, handler)

    said = says(
        calls("write_file", "c1", file_path="/a", content="no"),
        calls("write_file", "c2", file_path="/a", content="yes"),
        calls("write_file", "c3", file_path="/b", content="no"),
        "Written.",
    )
    spec = worker(said, tools=[write_file], middleware=[Mild()])
    got = report(asked(agent_of(hands_out(task()), spec)))

    assert got.content == (
        "Written.\n\n[Files changed: /a]\n[Not changed: /b: Conflict: changed by another]"
    )
    assert got.artifact["files"] == ["/a"]


def test_a_graph_of_any_make_is_a_subagent() -> None:
    """Its turns are counted, too, if it emits messages."""

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"I read {state['messages'][-1].text}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": builder.compile(),
    }
    got = report(asked(agent_of(hands_out(task()), compiled)))

    assert got.content == "I read do it"
    assert got.artifact["turns"] == 1


def test_a_child_is_made_once_when_it_is_first_called_for() -> None:
    """Constructing an agent makes none of them, however many there are."""
    made: list[str] = []
    child = create_agent(RuledModel(rule=says("fine")))

    def create(spec: SubAgent) -> Any:  # noqa: ANN401
        made.append(spec["name"])
        time.sleep(0.1)  # the others come meanwhile
        return child

    specs: list[SubAgent] = [
        {"name": "worker", "description": "works"},
        {"name": "other", "description": "rests"},
    ]
    three = batch(task("t1"), task("t2"), task("t3"))
    agent = agent_of(hands_out(three), *specs, create=create)
    assert made == []

    asked(agent)

    assert made == ["worker"]


def test_async_and_sync_give_the_same() -> None:
    """One flow, two ways to run it."""
    said = says(calls("look", "c1", n=1), "fine")

    def result(run: Any) -> Any:  # noqa: ANN401
        agent = agent_of(hands_out(task()), worker(said))
        got = report(run(agent))
        del got.artifact["seconds"], got.artifact["thread"]
        return got.content, got.artifact

    def arun(agent: Agent) -> dict[str, Any]:
        return asyncio.run(agent.ainvoke(GO, AT))

    assert result(arun)[0] == result(asked)[0] == "fine"


def test_events_are_logged_and_traced_without_a_word_of_the_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Task, thread, turns and artifacts at INFO and in traces; content at DEBUG alone."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))

    rule = says(calls("note", "n1", artifact="/out/report.md"), "hidden")
    spec = worker(rule, tools=[note], middleware=[SharedState()], limits={"turns": 7})
    agent = agent_of(hands_out(task(description="secret")), spec)
    with (
        use_span(provider.get_tracer("test").start_span("run"), end_on_exit=True),
        caplog.at_level("DEBUG", "thalweg.subagents"),
    ):
        asked(agent)

    (span,) = spans.get_finished_spans()
    kinds = ["task_started", "task_running", "task_completed"]
    events = [event for event in span.events if event.name in kinds]
    assert [event.name for event in events] == [kinds[0], kinds[1], *kinds[1:]]
    assert not any(
        "secret" in str(one.attributes) or "hidden" in str(one.attributes) for one in events
    )
    records = [r for r in caplog.records if r.name == "thalweg.subagents"]
    started, completed = [r.getMessage() for r in records if r.levelname == "INFO"]
    assert started.startswith("subagent worker, task t1: started in thread t/~/tools:")
    assert completed.startswith("subagent worker, task t1: completed, turn 2/7, 0 tokens, ")
    assert completed.endswith(", artifacts: /out/report.md")
    assert "secret" not in started
    assert "hidden" not in completed
    details = [r.getMessage() for r in records if r.levelname == "DEBUG"]
    assert details[0] == "subagent worker, task t1: task: secret"
    assert details[1].startswith("subagent worker, task t1: running, turn 1/7, ")
    assert details[-1] == "subagent worker, task t1: final output: hidden"


def test_a_person_can_refuse_a_task_and_the_ledger_says_so() -> None:
    """It never began."""
    person = HumanInTheLoopMiddleware(interrupt_on={"task": True})
    agent: Any = agent_of(hands_out(task()), worker(says("never")), middleware=[person])
    assert asked(agent)["tasks"]["t1"]["status"] == "running"

    no = {"type": "reject", "message": "not now"}
    result = agent.invoke(Command(resume={"decisions": [no]}), AT)

    assert result["tasks"]["t1"]["status"] == "refused"
    assert "not now" in result["tasks"]["t1"]["report"]


def test_an_answer_in_a_form_of_its_own_can_be_asked_for_in_the_config() -> None:
    """The spec's agent is made once more for it; what is made already refuses."""
    spec = worker(says(calls("Finding", "f1", what="x", sure=1.0)))
    config: Any = {"configurable": {**AT["configurable"], FORM: Finding}}

    result = agent_of(hands_out(task()), spec).invoke(GO, config)

    assert json.loads(report(result).text) == {"what": "x", "sure": 1.0}
    made: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": create_agent(RuledModel(rule=says("fine"))),
    }
    with pytest.raises(ValueError, match="cannot be used with compiled subagent"):
        agent_of(hands_out(task()), made).invoke(GO, config)


def test_the_system_prompt_names_the_subagents_if_there_is_one() -> None:
    """Without one, the tool's description is all that a model receives."""
    parent = hands_out(task())
    asked(agent_of(parent, worker(says("fine")), system_prompt="Delegate."))
    assert parent.requests[0][0].text == (
        "Delegate.\n\nAvailable subagent types:\n\n- worker: works"
    )
    silent = SubAgentMiddleware(backend=None, subagents=[worker(says("fine"))])
    assert silent.system_prompt is None
    assert "- worker: works" in silent.tools[0].description


def test_a_description_of_ones_own_may_hold_braces() -> None:
    """JSON, for example."""
    told = SubAgentMiddleware(
        backend=None, subagents=[worker(says("."))], task_description='{"x": 1} {available_agents}'
    )
    assert told.tools[0].description == '{"x": 1} - worker: works'


def test_a_run_starts_no_more_subagents_than_it_may() -> None:
    """This holds within one message; the refused call reports it, the next run counts from 0."""
    two = batch(task("t2", description="second"), task("t3", description="third"))
    spec = worker(says("fine"))
    agent = agent_of(hands_out(task("t1"), two, task("t4")), spec, max_delegations=2)
    result = asked(agent)

    answers = [report(result, f"t{n}") for n in (1, 2, 3, 4)]
    model: Any = spec["model"]
    assert [one.status for one in answers] == ["success", "success", "error", "error"]
    assert "this run may start 2" in answers[2].text
    assert len(model.requests) == 2
    statuses = {name: one["status"] for name, one in result["tasks"].items()}
    assert statuses == {"t1": "completed", "t2": "completed", "t3": "refused", "t4": "refused"}


def test_delegations_are_counted_in_each_run_and_through_approvals() -> None:
    """A run that waited for a person is the same run; the next message of the user begins one."""
    person = HumanInTheLoopMiddleware(interrupt_on={"task": True})
    rule = says(task("t1"), task("t2"), "done", task("t3"), "done again")
    child = worker(says("fine"))
    agent: Any = agent_of(RuledModel(rule=rule), child, middleware=[person], max_delegations=1)
    approve: Any = Command(resume={"decisions": [{"type": "approve"}]})

    def run() -> Any:  # noqa: ANN401
        found = asked(agent)
        while "__interrupt__" in found:
            found = agent.invoke(approve, AT)
        return found

    run()
    result = run()

    assert [report(result, f"t{n}").status for n in (1, 2, 3)] == ["success", "error", "success"]


@pytest.mark.parametrize("most", [0, -1, True, 1.5])
def test_a_limit_of_delegations_is_a_number_from_one(most: Any) -> None:  # noqa: ANN401
    with pytest.raises(SpecError, match="max_delegations"):
        SubAgentMiddleware(backend=None, subagents=[worker(says("x"))], max_delegations=most)
