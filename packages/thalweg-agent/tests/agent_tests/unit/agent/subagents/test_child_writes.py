"""Writes of a child, read from its stream; and differences between two values of a channel."""

import operator
from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableLambda
from langgraph.channels import BinaryOperatorAggregate, LastValue, Topic
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite

from thalweg_agent.subagents.child_writes import ChildWrites, change, for_one_step, is_overwrite

LISTS: Any = BinaryOperatorAggregate(list, operator.add)
NUMBERS: Any = BinaryOperatorAggregate(int, operator.add)
PLAIN: Any = LastValue(int)


class State(TypedDict, total=False):
    """The state of a small graph."""

    items: Annotated[list[str], operator.add]


def child_writes(**given: Any) -> ChildWrites:  # noqa: ANN401
    """Make the writes of a child with the nodes `model` and `tools`."""
    graph = StateGraph(State)
    for name in ("model", "tools"):
        graph.add_node(name, lambda _: {})
        graph.add_edge(START, name)
    given = {"before": {}, **given}
    return ChildWrites(graph.compile(), lambda key: key != "messages", **given)


def begin(uid: str, name: str, *, is_call: bool = False) -> tuple[str, dict[str, Any]]:
    """Return the item of a stream for a task that begins."""
    trigger = "__pregel_push" if is_call else f"branch:to:{name}"
    return "tasks", {"id": uid, "name": name, "input": {}, "triggers": (trigger,)}


def end(uid: str, name: str, update: object, **result: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
    """Return the items of a stream for a task that ends."""
    return [("updates", {name: update}), ("tasks", {"id": uid, "name": name, "result": result})]


def see(writes: ChildWrites, *items: tuple[str, Any]) -> list[Any]:
    """Process a stream, and return the values that were written to `items`."""
    for kind, item in items:
        writes.see(kind, item)
    return [value for key, value in writes.applied if key == "items"]


STEP: tuple[str, Mapping[str, Any]] = ("values", {"items": []})


def test_writes_are_in_the_order_of_the_calls_not_of_their_ends() -> None:
    ended = see(
        child_writes(),
        *[begin(uid, "tools", is_call=True) for uid in "abc"],
        *end("c", "tools", {"items": ["c"]}),
        *end("a", "tools", [{"items": ["a"]}, {"items": ["A"]}]),
        *end("b", "tools", {"items": ["b"]}),
        STEP,
    )

    assert ended == [["a"], ["A"], ["b"], ["c"]]


def test_nodes_of_one_step_write_in_the_order_of_their_names_and_before_calls() -> None:
    ended = see(
        child_writes(),
        begin("a", "tools", is_call=True),
        begin("b", "tools"),
        begin("c", "model"),
        *end("a", "tools", {"items": ["call"]}),
        *end("b", "tools", {"items": ["tools"]}),
        *end("c", "model", {"items": ["model"]}),
        STEP,
    )

    assert ended == [["model"], ["tools"], ["call"]]


def test_a_step_that_was_interrupted_is_applied_when_the_run_resumes() -> None:
    first = child_writes()
    begun = [begin(uid, "tools", is_call=True) for uid in "ab"]
    interrupted: Any = ("values", {"items": [], "__interrupt__": ()})

    assert see(first, *begun, *end("b", "tools", {"items": ["b"]}), interrupted) == []
    cached = ("updates", {"tools": {"items": ["b"]}, "__metadata__": {"cached": True}})
    ended = see(
        child_writes(is_resumed=True, before={"items": []}),
        STEP,
        *begun,
        cached,
        *end("a", "tools", {"items": ["a"]}),
        STEP,
    )

    assert ended == [["a"], ["b"]]


def test_results_of_functions_that_a_node_calls_are_no_writes() -> None:
    """LangGraph streams the result of a `@task` as an update of the function's name."""
    result = {"items": ["not written"]}
    ended = see(
        child_writes(),
        begin("a", "tools"),
        begin("f", "tools", is_call=True),
        *end("f", "tools", result, __return__=result),
        begin("g", "fetch", is_call=True),
        *end("g", "fetch", result),
        *end("a", "tools", {"items": ["written"], "messages": ["not shared"]}),
        STEP,
    )

    assert ended == [["written"]]


def test_a_node_that_wrote_nothing_is_no_write() -> None:
    assert see(child_writes(), begin("a", "tools"), *end("a", "tools", None), STEP) == []


def test_what_a_killed_run_wrote_is_the_difference_to_its_beginning() -> None:
    writes = child_writes(is_resumed=True, before={"items": ["given"]})

    assert see(writes, ("values", {"items": ["given", "made"]})) == [["made"]]


@given(st.lists(st.integers()), st.lists(st.integers(), min_size=1))
def test_the_change_of_a_list_is_what_was_appended(before: list[int], added: list[int]) -> None:
    assert change(before, before + added, LISTS) == added


@given(st.integers(), st.integers())
def test_the_change_of_a_sum_is_the_difference(before: int, after: int) -> None:
    assert change(before, after, NUMBERS) == after - before


def test_the_change_of_a_dictionary_marks_deleted_keys_if_its_reducer_knows_the_mark() -> None:
    def merge(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in {**left, **right}.items() if value is not None}

    channel: Any = BinaryOperatorAggregate(dict, merge)
    union: Any = BinaryOperatorAggregate(dict, operator.or_)

    assert change({"a": 1, "b": 2}, {"b": 3}, channel) == {"a": None, "b": 3}
    assert change({"a": 1}, {"a": 1, "b": 2}, union) == {"b": 2}


def test_a_reducer_decides_whether_a_difference_is_right() -> None:
    """For a maximum, the new value is the write, not what it grew by."""
    most: Any = BinaryOperatorAggregate(int, max)

    assert change(3, 5, most) == 5


def test_without_a_right_difference_the_value_is_a_write_or_replaces_the_old_one() -> None:
    assert change([1, 2], [9], LISTS) == [9]
    assert change([1, 2], [9], LISTS, or_replace=True) == Overwrite([9])


def test_a_reducer_that_changes_its_arguments_changes_no_value_of_the_state() -> None:
    def extend(left: list[int], right: list[int]) -> list[int]:
        left.extend(right)
        return left

    before, after = [1], [1, 2]
    in_place: Any = BinaryOperatorAggregate(list, extend)

    assert change(before, after, in_place) == [2]
    assert (before, after) == ([1], [1, 2])
    writes = [Overwrite(before), after]
    assert for_one_step(writes, in_place) == [Overwrite([1, 1, 2])]
    assert before == [1]


@pytest.mark.parametrize(
    ("writes", "channel", "in_one_step"),
    [
        ([1, 2], PLAIN, [2]),
        ([1, 2], None, [2]),
        ([[1], [2]], LISTS, [[1], [2]]),
        ([[1], [2]], Topic(int, accumulate=True), [[1], [2]]),
        ([[1], Overwrite([2])], LISTS, [Overwrite([2])]),
        ([[1], Overwrite([2]), [3], [4]], LISTS, [Overwrite([2, 3, 4])]),
        ([Overwrite([1]), {"__overwrite__": [2]}, [3]], LISTS, [Overwrite([2, 3])]),
    ],
)
def test_writes_of_several_steps_have_the_same_result_in_one(
    writes: list[Any],
    channel: Any,  # noqa: ANN401
    in_one_step: list[Any],
) -> None:
    assert for_one_step(writes, channel) == in_one_step


def test_a_replacement_is_recognized_in_each_form() -> None:
    forms = [Overwrite(1), {"__overwrite__": 1}, {"type": "__overwrite__", "value": 1}]
    others = [1, {"type": "x", "value": 1}, {}, {"__overwrite__": 1, "a": 2}, None]

    assert all(map(is_overwrite, forms))
    assert not any(map(is_overwrite, others))


def test_a_result_without_a_stream_is_compared_with_what_the_child_received() -> None:
    def is_shared(key: str) -> bool:
        return key != "messages"

    before = {"items": ["given"], "same": 1}
    writes = ChildWrites(RunnableLambda(lambda given: given), is_shared, before)
    result = {"messages": [], "items": ["given", "made"], "same": 1, "new": 2}

    assert writes.from_result(result, {"items": LISTS}) == [("items", ["made"]), ("new", 2)]
