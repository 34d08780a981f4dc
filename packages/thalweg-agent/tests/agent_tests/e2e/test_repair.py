"""Agents whose model repeats itself, returns nothing, or writes what cannot be read."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.scripted import RuledModel, calls, says
from core_tests.e2e.worlds import AT, Run, both_worlds, in_sync
from thalweg.archive import ThreadKey
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError
from thalweg_agent.middleware.answer_retry import AnswerMiddleware, is_empty
from thalweg_agent.middleware.loops import LoopMiddleware
from thalweg_agent.middleware.patch_tool_calls import PatchToolCallsMiddleware, patched

with_and_without = pytest.mark.parametrize("engine", [True, False], ids=["engine", "plain"])


def repairing(model: RuledModel, tools: Sequence[BaseTool], *, engine: bool, **loops: Any) -> Any:  # noqa: ANN401 (an agent)
    """Make an agent with all that repairs, and the engine if asked for."""
    stack: list[Any] = [PatchToolCallsMiddleware(), LoopMiddleware(**loops), AnswerMiddleware()]
    if engine:
        stack.append(ContextMiddleware(archive=":memory:"))
    return create_agent(model, list(tools), middleware=stack, checkpointer=InMemorySaver())


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path}: nothing of interest"


def say(text: str) -> dict[str, list[AnyMessage]]:
    """Make a request."""
    return {"messages": [HumanMessage(text)]}


def asking(*said: tuple[str, dict[str, str]]) -> Callable[[Sequence[BaseMessage]], AIMessage]:
    """Make a rule that calls these in turn, again and again."""
    numbers = count()

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        n = next(numbers)
        name, arguments = said[n % len(said)]
        return calls(name, f"call_{n}", **arguments)

    return rule


def is_paired(messages: Sequence[BaseMessage]) -> bool:
    """Return whether every call has one result right after its message, and no result is alone."""
    waiting: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return False
            waiting.discard(message.tool_call_id)
            continue
        if waiting:
            return False
        if isinstance(message, AIMessage):
            waiting = {c["id"] for c in (*message.tool_calls, *message.invalid_tool_calls)}
    return not waiting


def warnings_in(messages: Sequence[BaseMessage]) -> list[str]:
    """List the messages of the harness."""
    return [m.text for m in messages if m.type == "human" and m.additional_kwargs.get("lc_source")]


@both_worlds
@with_and_without
def test_the_same_again_and_again_is_warned_of_and_then_ended(run: Run, *, engine: bool) -> None:
    """The warning comes after the third result, the end in the place of the seventh call."""
    model = RuledModel(rule=asking(("look", {"path": "a"})))
    agent = repairing(model, [look], engine=engine)

    messages = run(agent, say("Find it."))["messages"]

    assert model.problems == []
    assert [len(warnings_in(request)) for request in model.requests] == [0, 0, 0, 1, 1, 1]
    assert "`look` was called 3 times" in warnings_in(messages)[0]
    assert is_paired(messages)
    assert messages[-1].response_metadata["thalweg_ended"] == "loop"
    assert "6 times" in messages[-1].text
    assert "a: nothing of interest" in messages[-1].text


@with_and_without
def test_a_warning_stays_where_it_was_said(*, engine: bool) -> None:
    """Each request begins with the previous one: nothing after the warning is read again."""
    model = RuledModel(rule=asking(("look", {"path": "a"})))

    in_sync(repairing(model, [look], engine=engine), say("Find it."))

    for before, after in pairwise(model.requests):
        assert [m.text for m in after[: len(before)]] == [m.text for m in before]


def test_a_round_of_calls_is_a_loop() -> None:
    """A-B-A-B, and a round of three, end like A-A."""
    rounds = 6
    for size in (2, 3):
        paths = [("look", {"path": str(n)}) for n in range(size)]
        model = RuledModel(rule=asking(*paths))
        messages = in_sync(repairing(model, [look], engine=False), say("Find it."))["messages"]

        assert messages[-1].response_metadata["thalweg_ended"] == "loop"
        assert len(model.requests) == size * (rounds - 1) + 1
        assert len(warnings_in(messages)) == 1


def test_several_calls_in_one_turn_are_a_loop_only_together() -> None:
    """A turn with one call that brings something new is progress."""
    numbers = count()

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        n = next(numbers)
        both = [
            {"name": "look", "args": {"path": path}, "id": f"{path}{n}"}
            for path in ("same", f"new{min(n, 8)}")
        ]
        return AIMessage("", tool_calls=both)

    model = RuledModel(rule=rule)
    messages = in_sync(repairing(model, [look], engine=False), say("Find it."))["messages"]

    assert messages[-1].response_metadata["thalweg_ended"] == "loop"
    assert len(model.requests) == 8 + 6
    assert is_paired(messages)


def test_polling_something_that_moves_is_no_loop() -> None:
    """The calls are the same, what they bring is not."""
    numbers = count()

    @tool
    def build_status() -> str:
        """Return how far the build is."""
        return f"{next(numbers)} of 30 files"

    rule = asking(("build_status", {}))
    model = RuledModel(rule=lambda m: AIMessage("Built.") if len(m) > 60 else rule(m))
    messages = in_sync(repairing(model, [build_status], engine=False), say("Build."))["messages"]

    assert messages[-1].text == "Built."
    assert warnings_in(messages) == []


def test_tests_run_again_after_each_edit_are_no_loop() -> None:
    """They fail alike every time, and what was done in between is new."""
    rule = asking(*[("look", {"path": p}) for n in range(20) for p in ("tests", f"edit {n}")])
    model = RuledModel(rule=lambda m: AIMessage("Enough.") if len(m) > 70 else rule(m))
    messages = in_sync(repairing(model, [look], engine=False), say("Mend it."))["messages"]

    assert messages[-1].text == "Enough."
    assert warnings_in(messages) == []


def test_waiting_tools_may_be_exempt() -> None:
    """A wait that returns the same result for long is none of the harness's business."""
    rule = asking(("look", {"path": "a"}))
    model = RuledModel(rule=lambda m: AIMessage("Enough.") if len(m) > 40 else rule(m))
    agent = repairing(model, [look], engine=False, exempt={"look"})

    assert in_sync(agent, say("Wait."))["messages"][-1].text == "Enough."


def test_who_asks_again_begins_anew() -> None:
    """Loops are counted within one run; and one that ended is no weight on the next."""
    numbers = count()

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        n = next(numbers)
        return AIMessage("Seen.") if n % 2 else calls("look", f"c{n}", path="a")

    model = RuledModel(rule=rule)
    agent = repairing(model, [look], engine=True)
    for _ in range(10):
        assert in_sync(agent, say("Look at a."))["messages"][-1].text == "Seen."

    assert not any(warnings_in(request) for request in model.requests)


def test_large_results_are_counted_though_the_state_lets_go_of_them() -> None:
    """The trail is stored outside the messages: a state of one exchange is enough."""

    @tool
    def dump() -> str:
        """Dump a table."""
        return "\n".join(f"row {n} of many, all of them alike" for n in range(900))

    model = RuledModel(rule=asking(("dump", {})))
    context = ContextMiddleware(
        ContextPolicy(window=32_000, summarize=False), archive=":memory:", state="run"
    )
    stack: list[Any] = [LoopMiddleware(), context]
    agent: Any = create_agent(model, [dump], middleware=stack, checkpointer=InMemorySaver())
    messages = in_sync(agent, say("Dump."))["messages"]

    assert messages[-1].response_metadata["thalweg_ended"] == "loop"
    assert len(model.requests) == 6
    assert model.problems == []


@pytest.mark.parametrize(("warn_at", "stop_at"), [(1, 5), (3, 3), (4, 2)])
def test_thresholds_that_make_no_sense_are_refused(warn_at: int, stop_at: int) -> None:
    """Before any run."""
    with pytest.raises(ConfigError, match="warn_at, stop_at"):
        LoopMiddleware(warn_at=warn_at, stop_at=stop_at)


SILENT: list[AIMessage] = [
    AIMessage(""),
    AIMessage("  \n\t "),
    AIMessage([]),
    AIMessage([{"type": "text", "text": " "}]),
    AIMessage([{"type": "thinking", "thinking": "What now?", "signature": "s"}]),
    AIMessage([{"type": "reasoning", "summary": []}, {"type": "text", "text": ""}]),
]


@both_worlds
@with_and_without
@pytest.mark.parametrize("silent", SILENT, ids=range(len(SILENT)))
def test_an_empty_answer_is_asked_for_once_more(
    run: Run, silent: AIMessage, *, engine: bool
) -> None:
    """In the same turn; the thread has the note and the answer, not the emptiness."""
    model = RuledModel(rule=says(calls("look", "c", path="a"), silent, "There it is."))
    messages = run(repairing(model, [look], engine=engine), say("Look."))["messages"]

    assert messages[-1].text == "There it is."
    assert [m.type for m in messages[-3:]] == ["tool", "human", "ai"]
    assert ["your last answer was empty" in w for w in warnings_in(model.requests[-1])] == [True]
    assert model.problems == []


@both_worlds
@with_and_without
def test_a_second_empty_answer_ends_the_run_with_a_notice(run: Run, *, engine: bool) -> None:
    """No caller remains without an answer, and the next run continues from there."""
    model = RuledModel(rule=says("", "", "Good morning."))
    agent = repairing(model, [look], engine=engine)

    ended = run(agent, say("Hello?"))["messages"][-1]
    assert ended.response_metadata["thalweg_ended"] == "empty"
    assert "no answer" in ended.text
    assert run(agent, say("Hello!"))["messages"][-1].text == "Good morning."
    assert model.problems == []


@pytest.mark.parametrize(
    "said",
    [
        AIMessage("no"),
        AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}]),
        AIMessage([{"type": "image", "base64": "aGk=", "mime_type": "image/png"}]),
        AIMessage("", additional_kwargs={"refusal": "I will not."}),
    ],
)
def test_words_calls_images_and_refusals_are_answers(said: AIMessage) -> None:
    """Only nothing is nothing."""
    assert not is_empty(said)


def broken(*written: str | None, name: str = "look", **more: Any) -> AIMessage:  # noqa: ANN401
    """Make an answer with calls whose arguments cannot be read."""
    return AIMessage(
        "",
        invalid_tool_calls=[
            {
                "type": "invalid_tool_call",
                "name": name,
                "args": text,
                "id": None if text is None else f"broken_{n}",
                "error": "no",
            }
            for n, text in enumerate(written)
        ],
        **more,
    )


@both_worlds
@with_and_without
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (broken('{"path": "a'), "not valid JSON: Unterminated string"),
        (broken("[1]"), "no"),
        (broken(None), "not valid JSON: Expecting value"),
        (broken("{", name="lock"), "There is no tool of that name; the tools are: "),
        (
            broken('{"path": "a', response_metadata={"finish_reason": "length"}),
            "reached its limit and the arguments end after 11 characters",
        ),
    ],
)
def test_calls_that_cannot_be_read_are_answered_and_asked_for_again(
    run: Run, said: AIMessage, told: str, *, engine: bool
) -> None:
    """LangChain would end the run there, with no answer to the user."""
    model = RuledModel(rule=says(said.model_copy(), calls("look", "good", path="a"), "Seen."))
    messages = run(repairing(model, [look], engine=engine), say("Look at a."))["messages"]

    assert [m.type for m in messages] == ["human", "ai", "tool", "ai", "tool", "ai"]
    assert is_paired(messages)
    assert messages[2].status == "error"
    assert told in messages[2].text
    if told[:5] != "There":
        assert "`look` takes: path (string)." in messages[2].text
    assert messages[-1].text == "Seen."
    assert model.problems == []
    assert is_paired(model.requests[-1])


@both_worlds
@with_and_without
def test_good_calls_beside_broken_ones_are_done(run: Run, *, engine: bool) -> None:
    """Each gets a result of its own."""
    said = broken("{")
    said.tool_calls = calls("look", "good", path="a").tool_calls
    model = RuledModel(rule=says(said, "Seen."))
    messages = run(repairing(model, [look], engine=engine), say("Look."))["messages"]

    results = {m.tool_call_id: m.status for m in messages if isinstance(m, ToolMessage)}
    assert results == {"broken_0": "error", "good": "success"}
    assert messages[-1].text == "Seen."
    assert is_paired(messages)
    assert model.problems == []


@both_worlds
@with_and_without
def test_a_model_that_never_writes_what_can_be_read_is_stopped(run: Run, *, engine: bool) -> None:
    """It ends after as many tries as one turn allows; pairs remain whole, the thread continues."""
    model = RuledModel(rule=says(*(broken(f"{{{n}") for n in range(3)), "Well again."))
    agent = repairing(model, [look], engine=engine)
    messages = run(agent, say("Look."))["messages"]

    assert len(model.requests) == 3
    assert messages[-1].response_metadata["thalweg_ended"] == "broken"
    assert run(agent, say("Again."))["messages"][-1].text == "Well again."
    assert model.problems == []


def test_a_call_without_an_id_is_done() -> None:
    """Some servers send none; LangGraph would fail on it."""
    nameless: AIMessage = AIMessage(
        "", tool_calls=[{"name": "look", "args": {"path": "a"}, "id": None}]
    )
    model = RuledModel(rule=says(nameless, "Seen."))
    messages = in_sync(repairing(model, [look], engine=True), say("Look."))["messages"]

    assert [m.type for m in messages] == ["human", "ai", "tool", "ai"]
    assert is_paired(messages)


@both_worlds
def test_wrong_arguments_are_answered_with_what_the_tool_takes(run: Run) -> None:
    """And not with the arguments themselves, which may be long."""
    long = "x" * 5_000

    @tool
    def store(path: str, times: int = 1, *, mode: str | None = None) -> str:
        """Store something."""
        return f"{path} {times} {mode}"

    model = RuledModel(
        rule=says(
            calls("store", "c1", place=long, times="many"),
            calls("store", "c2", path="a"),
            "Stored.",
        )
    )
    messages = run(repairing(model, [store], engine=True), say("Store."))["messages"]

    told = messages[2].text
    assert "path: Field required" in told
    assert "times: Input should be a valid integer" in told
    assert "path (string), times (integer, optional), mode (string, optional)" in told
    assert len(told) < 500
    assert messages[4].text == "a 1 None"
    assert messages[-1].text == "Stored."


def test_an_error_of_the_tool_itself_stays_as_it_is() -> None:
    """Only what LangGraph refused is reworded."""

    @tool
    def picky(path: str) -> str:
        """Refuse."""
        return ToolMessage(f"Error invoking tool {path}", tool_call_id="c", status="error")  # type: ignore[return-value]

    model = RuledModel(rule=says(calls("picky", "c", path="a"), "Well."))
    messages = in_sync(repairing(model, [picky], engine=False), say("Try."))["messages"]

    assert messages[2].text == "Error invoking tool a"


def cancelled_runs() -> Iterator[list[AnyMessage]]:
    """List states of runs that did not end."""
    two = AIMessage(
        "",
        id="ai",
        tool_calls=[
            {"name": "look", "args": {"path": "a"}, "id": "c1"},
            {"name": "look", "args": {"path": "b"}, "id": "c2"},
        ],
    )
    asked = HumanMessage("Look.", id="h")
    yield [asked, two]
    yield [asked, two, ToolMessage("seen", tool_call_id="c2", name="look", id="r2")]
    yield [asked, broken('{"path": "a')]
    yield [asked, ToolMessage("of nothing", tool_call_id="c9", name="look", id="r9")]
    yield [asked, two, HumanMessage("Stop!", id="h2"), AIMessage("Stopped.", id="ai2")]


@both_worlds
@with_and_without
@pytest.mark.parametrize("left", list(cancelled_runs()), ids=range(5))
def test_what_a_cancelled_run_left_is_put_in_order_when_the_next_begins(
    run: Run, left: list[AnyMessage], *, engine: bool
) -> None:
    """For good: the state and every later request have the same results."""
    model = RuledModel(rule=says("ok", "ok"))
    agent = repairing(model, [look], engine=engine)
    agent.update_state(AT, {"messages": [m.model_copy() for m in left]}, as_node="model")

    messages = run(agent, say("And now?"))["messages"]
    run(agent, say("And then?"))

    assert is_paired(messages)
    assert model.problems == []
    assert is_paired(model.requests[-1])
    assert [m.text for m in model.requests[1][: len(model.requests[0])]] == [
        m.text for m in model.requests[0]
    ]


def test_a_run_that_was_cancelled_under_way_goes_on_with_the_next_request() -> None:
    """The log keeps the messages, and the model learns that its call was cut short."""
    raised: list[bool] = []

    @tool
    def slow(path: str) -> str:
        """Take long, once."""
        if not raised:
            raised.append(True)
            raise KeyboardInterrupt
        return f"{path}: done"

    model = RuledModel(
        rule=says(calls("slow", "c1", path="a"), calls("slow", "c2", path="a"), "Done.")
    )
    context = ContextMiddleware(archive=":memory:")
    stack: list[Any] = [PatchToolCallsMiddleware(), context]
    agent: Any = create_agent(model, [slow], middleware=stack, checkpointer=InMemorySaver())
    with pytest.raises(KeyboardInterrupt):
        in_sync(agent, say("Do it."))

    assert in_sync(agent, say("Once more."))["messages"][-1].text == "Done."
    log = [m.text for m in context.archive.messages(ThreadKey("local", "t"))]
    assert "did not complete - no result was recorded" in log[2]
    assert [log[0], *log[3:5]] == ["Do it.", "Once more.", ""]
    assert model.problems == []


def test_a_result_belongs_to_the_last_call_of_its_id_before_it() -> None:
    """A server counts from 0 in each answer: a pending call is not answered by an older result."""
    one, two = (calls("look", "call_0", path=path) for path in ("a", "b"))
    result = ToolMessage("a", tool_call_id="call_0")
    done = patched([HumanMessage("go"), one, result, HumanMessage("on"), two, HumanMessage("?")])
    assert [m.type for m in done] == ["human", "ai", "tool", "human", "ai", "tool", "human"]


def test_calls_of_one_answer_with_one_id_get_ids_of_their_own() -> None:
    """Both are done, and each result belongs to its call."""
    twice = AIMessage("", tool_calls=[*calls("look", "same", path="a").tool_calls] * 2)
    agent = repairing(RuledModel(rule=says(twice, "Done.")), [look], engine=False)
    messages = agent.invoke(say("Look twice"), AT)["messages"]
    assert is_paired(messages)
    assert len({m.tool_call_id for m in messages if isinstance(m, ToolMessage)}) == 2
