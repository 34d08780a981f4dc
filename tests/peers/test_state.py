"""The same calls on files in state, ours and the installed peer's: the same answers."""

# ruff: noqa: ANN401  # what LangGraph and tools hand on is anything

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.graph import END, START, StateGraph

from thalweg_agent.backends.concurrency.state_channel import FilesystemState, merge_files
from thalweg_agent.backends.state import StateBackend

pytest.importorskip("deepagents", reason="the bench group is not installed")

from deepagents.backends import StateBackend as TheirBackend
from deepagents.middleware.filesystem import (
    FilesystemState as TheirState,
)
from deepagents.middleware.filesystem import (
    _file_data_reducer as their_merge,
)

PATH = st.sampled_from(["/a.txt", "/d/b.py", "/d/e/c.md", "/d", "/nowhere", "/img.png"])


def is_file(path: str) -> bool:
    """Whether a path names no folder: of one that names both, theirs searches the file alone."""
    return path != "/d"


TEXT = st.text(alphabet="ab\n x", max_size=12)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PATH, TEXT),
        st.tuples(st.just("edit"), PATH, TEXT, TEXT, st.booleans()),
        st.tuples(st.just("delete"), PATH),
        st.tuples(st.just("read"), PATH, st.integers(-1, 4), st.integers(0, 4)),
        st.tuples(st.just("ls"), st.sampled_from(["/", "/d", "/d/", "/no"])),
        st.tuples(
            st.just("grep"), st.sampled_from(["a", " x", "zz"]), st.none() | PATH.filter(is_file)
        ),
        st.tuples(st.just("glob"), st.sampled_from(["*.py", "**/*", "d/*", "../x"])),
        st.tuples(
            st.just("upload_files"), st.lists(st.tuples(PATH, TEXT.map(str.encode)), max_size=2)
        ),
        st.tuples(st.just("download_files"), st.lists(PATH, max_size=2)),
    ),
    max_size=14,
)


def told(backend: Any, calls: list[tuple[Any, ...]]) -> list[str]:
    """Make the calls in one step of a graph; times are not compared."""
    files: dict[str, Any] = {}

    def send(writes: list[tuple[str, Any]]) -> None:
        nonlocal files
        for _, delta in writes:
            files = dict(merge_files(files, [delta]))

    def read(_channel: str, _fresh: bool) -> dict[str, Any]:  # noqa: FBT001 (LangGraph's)
        return files

    at: Any = {"configurable": {CONFIG_KEY_READ: read, CONFIG_KEY_SEND: send}}
    token = var_child_runnable_config.set(at)
    try:
        return [_plain(getattr(backend, name)(*args)) for name, *args in calls]
    finally:
        var_child_runnable_config.reset(token)


def _plain(result: Any) -> str:
    if isinstance(result, list):
        return str([_plain(one) for one in result])
    return f"{type(result).__name__} {_timeless(vars(result))}"


def _timeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            k: _timeless(v)
            for k, v in value.items()
            if not k.endswith("_at") and k != "skipped"  # which ours alone has
        }
    if isinstance(value, list):
        return sorted((_timeless(one) for one in value), key=str)
    return value


@settings(max_examples=300, deadline=None)
@given(CALLS)
def test_any_calls_have_the_same_results(calls: list[tuple[Any, ...]]) -> None:
    """Result by result, to the words of errors."""
    assert told(StateBackend(), calls) == told(TheirBackend(), calls)


def test_the_size_of_a_binary_file_is_that_of_its_bytes() -> None:
    """Theirs is that of its base64."""
    calls = [("upload_files", [("/img.png", b"\x80")]), ("ls", "/")]

    assert "'size': 1" in told(StateBackend(), calls)[-1]
    assert "'size': 4" in told(TheirBackend(), calls)[-1]


@given(
    st.dictionaries(PATH, st.just({"content": "x", "encoding": "utf-8"})),
    st.dictionaries(PATH, st.none() | st.just({"content": "y", "encoding": "utf-8"})),
)
def test_a_delta_is_merged_in_the_same_way(left: dict[str, Any], right: dict[str, Any]) -> None:
    """`None` deletes; the rest is replaced."""
    assert dict(merge_files(left, [right])) == their_merge(left, right)


@pytest.mark.parametrize(
    ("state", "make"), [(FilesystemState, StateBackend), (TheirState, TheirBackend)]
)
def test_in_a_small_graph_a_node_writes_and_reads(state: Any, make: Callable[[], Any]) -> None:
    """A node writes and reads as in a graph that is built by hand."""
    backend = make()
    seen: list[Any] = []

    def node(_state: Any) -> None:
        backend.write("/a.txt", "one two")
        backend.edit("/a.txt", "two", "2")
        seen.append(backend.read("/a.txt").file_data["content"])
        backend.delete("/old.txt")
        seen.append(backend.glob("*.txt").matches[0]["path"])

    graph: Any = StateGraph(state)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    given_files = {"/old.txt": {"content": "", "encoding": "utf-8"}}
    result = graph.compile().invoke({"messages": [], "files": given_files})

    assert seen == ["one 2", "/a.txt"]
    assert list(result["files"]) == ["/a.txt"]
    assert result["files"]["/a.txt"]["content"] == "one 2"


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "no step"])
def test_outside_of_a_graph_the_error_is_a_runtime_error_that_says_what_to_do(
    inside: bool,  # noqa: FBT001 (a parameter of a test)
) -> None:
    """With the words that users look for."""
    token = var_child_runnable_config.set({"configurable": {}} if inside else None)
    try:
        for backend in (StateBackend(), TheirBackend()):
            with pytest.raises(RuntimeError, match=r"StateBackend (must|requires)") as caught:
                backend.write("/a", "x")
            assert "To pre-populate files, pass them on invoke" in str(caught.value)
    finally:
        var_child_runnable_config.reset(token)
