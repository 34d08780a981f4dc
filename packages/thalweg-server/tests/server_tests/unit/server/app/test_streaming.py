"""For any graph stream, a begun message is completed or withdrawn, and emitted text remains."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)

from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg_server.api.catalogue import Usage
from thalweg_server.api.events import (
    EVENT,
    ContextChanged,
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    Notice,
    SubagentEvent,
    ToolCompleted,
    ToolStarted,
)
from thalweg_server.app.graph_execution import draft
from thalweg_server.app.streaming import EmittedEvents, Translator
from thalweg_server.runs.base import Event as Line

Part = tuple[tuple[str, ...], str, Any]
CHILD = ("tools:task-t1",)


def free(spent: AnswerUsage) -> Usage:
    return Usage(calls=spent.calls, cost=0.0)


def piece(id_: str, text: str, place: tuple[str, ...] = (), node: str = "model") -> Part:
    return place, "messages", (AIMessageChunk(content=text, id=id_), {"langgraph_node": node})


def whole(id_: str, text: str, *calls: str, place: tuple[str, ...] = ()) -> Part:
    asked = [{"id": call, "name": "look", "args": {}} for call in calls]
    return place, "updates", {"model": {"messages": [AIMessage(text, id=id_, tool_calls=asked)]}}


def begins(call: str, place: tuple[str, ...] = ()) -> Part:
    given_ = [{"id": call, "name": "look", "args": {"at": call}, "type": "tool_call"}]
    return place, "tasks", {"id": f"task-{call}", "name": "tools", "input": given_}


def result(call: str, text: str = "found", place: tuple[str, ...] = ()) -> Part:
    told = ToolMessage(text, tool_call_id=call, name="look")
    return place, "updates", {"tools": {"messages": [told]}}


PLACES = st.sampled_from([(), CHILD])
IDS = st.sampled_from(["lc_run--1", "lc_run--2", "msg_1", "msg_2"])
CALLS = st.sampled_from(["t1", "t2", "t3"])
TEXTS = st.sampled_from(["", "a", "b c", "d"])


def own(id_: str, place: tuple[str, ...]) -> str:
    """Return a message id that is unique to its place, as providers and LangChain make them."""
    return f"{id_}{len(place)}"


def a_piece(id_: str, text: str, place: tuple[str, ...], node: str) -> Part:
    return piece(own(id_, place), text, place, node)


def a_whole(id_: str, text: str, calls: list[str], place: tuple[str, ...]) -> Part:
    return whole(own(id_, place), text, *calls, place=place)


PARTS = st.lists(
    st.one_of(
        st.builds(a_piece, IDS, TEXTS, PLACES, st.sampled_from(["model", "tools"])),
        st.builds(a_whole, IDS, TEXTS, st.lists(CALLS), PLACES),
        st.builds(begins, CALLS, PLACES),
        st.builds(result, CALLS, TEXTS, PLACES),
    ),
    max_size=30,
)


class Laws:
    """What holds of the events of a run, looked at one by one."""

    def __init__(self) -> None:
        self.open: dict[str, str] = {}
        self.whole: set[str] = set()
        self.tools: set[str] = set()
        self.answered: set[str] = set()

    def look(self, event: Event) -> None:
        """Look at the next one."""
        match event:
            case MessageStarted(message=id_):
                assert id_ not in self.open
                assert id_ not in self.whole
                self.open[id_] = ""
            case MessageDelta(message=id_, text=text):
                self.open[id_] += text
            case MessageCompleted(message=id_, text=text):
                assert self.open.pop(id_) == text
                self.whole.add(id_)
            case MessageWithdrawn(message=id_):
                assert id_ in self.open or id_ in self.whole
                self.open.pop(id_, None)
                self.whole.discard(id_)
            case ToolStarted(call=call):
                assert call not in self.tools | self.answered
                self.tools.add(call)
            case ToolCompleted(call=call):
                self.tools.remove(call)
                self.answered.add(call)
            case _:
                pass


def lines(events: list[Event]) -> list[Line]:
    drafts = [draft(event) for event in events]
    return [Line(seq, one.type, one.data) for seq, one in enumerate(drafts, 1)]


@given(PARTS)
def test_what_began_is_whole_or_taken_back_when_the_run_ends(parts: list[Part]) -> None:
    translator, laws = Translator(free), Laws()
    for part in parts:
        for event in translator.translate(*part):
            laws.look(event)
    for event in translator.end():
        laws.look(event)
    assert not laws.open
    assert not laws.tools


@given(PARTS, PARTS, st.integers(0, 60), st.sets(IDS))
def test_the_laws_hold_over_the_death_of_a_process(
    before: list[Part], after: list[Part], kept: int, in_state: set[str]
) -> None:
    """Any number of the first process's events are in the journal, in order."""
    dying = Translator(free)
    told = [event for part in before for event in dying.translate(*part)][:kept]
    laws = Laws()
    for event in told:
        laws.look(event)
    living = Translator(free, EmittedEvents.of(lines(told), free))
    state: list[BaseMessage] = [HumanMessage("go", id="r-0")]
    state += [AIMessage("kept", id=own(id_, ())) for id_ in sorted(in_state)]
    again = living.take_up(state, ["r-0"])
    again += [event for part in after for event in living.translate(*part)]
    for event in [*again, *living.end()]:
        laws.look(event)
    assert not laws.open
    assert not laws.tools


def test_a_message_in_one_piece_is_told_like_one_in_many() -> None:
    events = Translator(free).translate(*whole("m1", "Hello"))
    assert [event.type for event in events] == [
        "message.started",
        "message.delta",
        "message.completed",
    ]


def test_an_attempt_that_came_to_nothing_is_taken_back_before_the_next() -> None:
    translator = Translator(free)
    translator.translate(*piece("lc_run--1", "Hel"))
    events = translator.translate(*piece("lc_run--2", "Good"))
    assert [event.type for event in events] == [
        "message.withdrawn",
        "message.started",
        "message.delta",
    ]


def test_a_provider_may_call_its_first_piece_otherwise() -> None:
    translator = Translator(free)
    translator.translate(*piece("msg_1", "Hel"))
    events = translator.translate(*piece("lc_run--2", "lo"))
    assert [event.type for event in events] == ["message.delta"]
    (done,) = translator.translate(*whole("msg_1", "Hello"))
    assert isinstance(done, MessageCompleted)


def test_what_a_tool_asks_of_a_model_is_no_message() -> None:
    assert Translator(free).translate(*piece("lc_run--1", "secret", node="tools")) == []


def test_what_a_subagent_says_has_its_task_as_caller() -> None:
    translator = Translator(free)
    translator.translate(*whole("m1", "I delegate", "t1"))
    translator.translate(*begins("t1"))
    started, _ = translator.translate(*piece("lc_run--9", "Hi", CHILD))
    assert isinstance(started, MessageStarted)
    assert started.caller == "t1"
    events = translator.translate(*result("t1"))
    assert [event.type for event in events] == ["message.withdrawn", "tool.completed"]


def test_an_answer_that_is_told_and_not_kept_is_taken_back_when_another_comes() -> None:
    told = Translator(free).translate(*whole("m1", "Old", "c1"))
    living = Translator(free, EmittedEvents.of(lines(told), free))
    assert living.take_up([HumanMessage("go", id="r-0")], ["r-0"]) == []
    events = living.translate(*whole("m2", "New"))
    assert [event.type for event in events] == [
        "message.withdrawn",
        "message.started",
        "message.delta",
        "message.completed",
    ]
    assert living.text == "New"


def test_an_answer_that_is_kept_is_not_told_twice() -> None:
    told = Translator(free).translate(*whole("m1", "Old", "c1"))
    living = Translator(free, EmittedEvents.of(lines(told), free))
    living.take_up([HumanMessage("go", id="r-0")], ["r-0"])
    assert living.translate(*whole("m1", "Old", "c1")) == []
    assert living.end() == []


def test_an_answer_that_was_kept_and_never_told_is_told() -> None:
    living = Translator(free, EmittedEvents.of([], free))
    state = [HumanMessage("go", id="r-0"), AIMessage("Done", id="m1")]
    events = living.take_up(state, ["r-0"])
    assert events[-1].type == "message.completed"


def test_what_others_say_on_the_way_is_passed_on() -> None:
    translator = Translator(free)
    context = {
        "type": "thalweg.context",
        "turn": 3,
        "tokens_before": 10,
        "tokens_after": 4,
        "limit": 8,
        "trigger": ["full"],
        "spent": {"calls": 1, "input": 5, "cached": 0, "written": 0, "output": 1, "model": "m"},
    }
    (changed,) = translator.translate((), "custom", context)
    assert isinstance(changed, ContextChanged)
    assert translator.usage.calls == 1
    (subagent,) = translator.translate(
        (), "custom", {"type": "task_started", "task_id": "t1", "subagent": "reader"}
    )
    assert isinstance(subagent, SubagentEvent)
    (notice,) = translator.translate((), "custom", {"type": "mine", "object": object()})
    assert isinstance(notice, Notice)


def test_an_event_has_no_half_of_a_character() -> None:
    """Models and tools return some, and UTF-8 has no bytes for it."""
    half = "caf\udce9"
    events: list[Event] = [
        MessageDelta(message="m", text=half),
        ToolStarted(call="c", name="f", arguments=half),
        ToolCompleted(call="c", name="f", text=half),
        Notice(kind="n", detail={half: [half]}),
    ]
    for event in events:
        data = draft(event).data
        assert "caf?" in data
        assert EVENT.validate_json(data.encode()) == event
