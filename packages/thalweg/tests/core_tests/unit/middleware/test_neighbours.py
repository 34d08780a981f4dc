"""What middleware before ours did to the state's messages is done to the view of the thread."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from thalweg import ContextMiddleware
from thalweg.context.request.messages import merge_changes
from thalweg.engine.window.items import NO_RESULT
from thalweg.testing import ScriptedModel

RECORD: AnyMessage = HumanMessage("what was folded")
ASKED: AnyMessage = HumanMessage("look", id="1")
CALLED: AnyMessage = AIMessage("", id="2", tool_calls=[{"name": "read", "args": {}, "id": "c"}])
RESULT: AnyMessage = ToolMessage("a secret and more", id="3", tool_call_id="c")
SAID: AnyMessage = AIMessage("done", id="4")
AGAIN: AnyMessage = HumanMessage("go on", id="5")
STATE: list[AnyMessage] = [ASKED, CALLED, RESULT, SAID, AGAIN]
VIEW: list[AnyMessage] = [RECORD, *(message.model_copy() for message in STATE)]
MEMORY: AnyMessage = SystemMessage("a memory")
EXAMPLE: AnyMessage = HumanMessage("an example")


def test_what_nobody_changed_is_the_view() -> None:
    assert merge_changes(STATE, list(STATE), VIEW) == VIEW


def test_copies_change_nothing() -> None:
    copies: list[AnyMessage] = [m.model_copy(deep=True) for m in STATE]

    assert merge_changes(STATE, copies, VIEW) == VIEW


def test_what_was_put_in_front_stays_in_front() -> None:
    assert merge_changes(STATE, [MEMORY, EXAMPLE, *STATE], VIEW) == [MEMORY, EXAMPLE, *VIEW]


def test_what_was_put_at_the_end_stays_at_the_end() -> None:
    """Also where the last message of the state is no longer in the view."""
    assert merge_changes(STATE, [*STATE, EXAMPLE], VIEW) == [*VIEW, EXAMPLE]
    assert merge_changes(STATE, [*STATE, EXAMPLE], VIEW[:-1]) == [*VIEW[:-1], EXAMPLE]


def test_what_was_put_between_stays_behind_its_neighbour() -> None:
    request: list[AnyMessage] = [ASKED, EXAMPLE, *STATE[1:]]

    assert merge_changes(STATE, request, VIEW) == [*VIEW[:2], EXAMPLE, *VIEW[2:]]


def test_what_would_part_a_call_from_its_result_goes_to_the_end() -> None:
    request: list[AnyMessage] = [ASKED, CALLED, EXAMPLE, RESULT, SAID, AGAIN]

    assert merge_changes(STATE, request, VIEW) == [*VIEW, EXAMPLE]


def test_what_was_removed_is_left_out() -> None:
    assert merge_changes(STATE, STATE[-1:], VIEW) == [RECORD, AGAIN]


def test_a_result_that_was_removed_without_its_call_stays() -> None:
    """No provider takes a call without a result."""
    request: list[AnyMessage] = [message for message in STATE if message is not RESULT]

    assert merge_changes(STATE, request, VIEW) == VIEW


def test_what_was_rewritten_is_taken_as_it_is() -> None:
    """Not the content alone: a call may be rewritten, too."""
    masked = RESULT.model_copy(update={"content": "***"})
    called = CALLED.model_copy(
        update={"tool_calls": [{"name": "read", "args": {"path": "b"}, "id": "c"}]}
    )
    request: list[AnyMessage] = [ASKED, called, masked, SAID, AGAIN]

    assert merge_changes(STATE, request, VIEW) == [RECORD, *request]


def test_a_preview_is_not_put_back_whole() -> None:
    """What we show is short of the message that was rewritten."""
    preview = RESULT.model_copy(update={"content": "a se [...]"})
    view = [message if message.id != RESULT.id else preview for message in VIEW]
    request: list[AnyMessage] = [
        message.model_copy(update={"content": str(message.content).upper()}) for message in STATE
    ]

    left = merge_changes(STATE, request, view)

    assert left[3] == preview
    assert left[1].content == "LOOK"


def test_an_added_result_takes_the_place_of_the_placeholder_for_its_call() -> None:
    """LangChain answers a call with broken arguments itself."""
    placeholder = ToolMessage(NO_RESULT, tool_call_id="c")
    error: AnyMessage = ToolMessage("malformed arguments", tool_call_id="c", status="error")
    state: list[AnyMessage] = [ASKED, CALLED, AGAIN]
    view: list[AnyMessage] = [ASKED, CALLED, placeholder, AGAIN]

    assert merge_changes(state, [ASKED, CALLED, error, AGAIN], view) == [
        ASKED,
        CALLED,
        error,
        AGAIN,
    ]
    assert merge_changes(state, [ASKED, CALLED, error, AGAIN, EXAMPLE], view)[-2:] == [
        AGAIN,
        EXAMPLE,
    ]
    last = merge_changes(state[:2], [ASKED, CALLED, error], view[:3])
    assert last == [ASKED, CALLED, error]


def test_an_added_result_has_the_id_that_its_call_has_in_the_view() -> None:
    """Ids that a provider does not accept are replaced there."""

    def called(uid: str) -> AnyMessage:
        broken: Any = {"name": "read", "args": "{", "id": uid, "error": "not JSON"}
        return AIMessage("", id="2", invalid_tool_calls=[broken])

    error: AnyMessage = ToolMessage("malformed arguments", tool_call_id="", status="error")
    placeholder = ToolMessage(NO_RESULT, tool_call_id="call_1_0")
    view: list[AnyMessage] = [ASKED, called("call_1_0"), placeholder]

    (*_, last) = merge_changes([ASKED, called("")], [ASKED, called(""), error], view)
    assert last == error.model_copy(update={"tool_call_id": "call_1_0"})


def test_a_call_with_broken_arguments_is_answered_as_without_the_middleware() -> None:
    """In every request, so that the prefix of the cache does not change."""

    def requests(middleware: list[ContextMiddleware]) -> list[list[tuple[str, str]]]:
        sent: list[list[tuple[str, str]]] = []
        broken: Any = {"name": "look", "args": '{"place":', "id": "c1", "error": "not JSON"}
        answers = iter([AIMessage("", invalid_tool_calls=[broken]), *map(AIMessage, "abc")])

        def script(messages: Sequence[BaseMessage]) -> AIMessage:
            sent.append([(message.type, message.text) for message in messages])
            return next(answers)

        agent = create_agent(
            ScriptedModel(script=script),
            [look],
            middleware=middleware,
            checkpointer=InMemorySaver(),
        )
        for text in ("Where?", "Try again", "And now?"):
            agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "t"}})
        return sent

    ours = requests([ContextMiddleware(archive=":memory:")])
    without = requests([])
    if any(kind == "tool" for kind, _ in without[1]):
        assert ours == without
        return
    # LangChain 1.4 leaves the call without a result, which providers refuse.
    placeholder = ("tool", NO_RESULT)
    assert ours == [without[0], *([*sent[:2], placeholder, *sent[2:]] for sent in without[1:])]


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place
