"""Several backends as one, compared with the installed peer: equal calls have equal results."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from tests.peers.test_store import TEXTS, told
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.store import StoreBackend

pytest.importorskip("deepagents")

PATHS = st.sampled_from(
    [
        "/a.txt",
        "/memories/a.txt",
        "/memories/d/b.md",
        "/memories-old/a.txt",
        "/work/c.txt",
        "/memories/shared/x.md",
    ]
)
FOLDERS = st.sampled_from(["/", "/memories/", "/memories/d", "/work", "/memories-old"])
# Theirs hands a pattern with a `/` to every backend as it is; see the documentation.
GLOBS = st.sampled_from(["*.txt", "*.md", "**/*.md", "*", "/memories/*.txt", "/memories/**"])

CALLS = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("edit"), PATHS, TEXTS.filter(bool), TEXTS, st.booleans()),
    st.tuples(st.just("read"), PATHS),
    st.tuples(st.just("ls"), FOLDERS),
    st.tuples(st.just("glob"), GLOBS, FOLDERS | st.none()),
    st.tuples(st.just("grep"), st.sampled_from(["a", "b"]), FOLDERS | st.none()),
    st.tuples(st.just("delete"), PATHS | st.sampled_from(["/work", "/memories/d"])),
    st.tuples(st.just("upload_files"), st.lists(st.tuples(PATHS, TEXTS.map(str.encode)))),
    st.tuples(st.just("download_files"), st.lists(PATHS)),
)


def without_inner_names(result: Any) -> Any:  # noqa: ANN401  # of either side
    """Remove the words of errors, in which theirs names paths of the routed backend."""
    plain = told(result)
    for each in plain if isinstance(plain, list) else [plain]:
        each["error"] = each["error"] is not None
    return plain


@given(calls=st.lists(CALLS, max_size=20))
def test_any_calls_give_the_same_results(calls: list[tuple[Any, ...]]) -> None:
    """With one prefix of names that begin alike."""
    from deepagents.backends import CompositeBackend as Theirs  # noqa: PLC0415  # if it is there
    from deepagents.backends import StoreBackend as TheirStore  # noqa: PLC0415

    def namespace(_: object) -> tuple[str, ...]:
        return ("files",)

    ours = CompositeBackend(
        StoreBackend(store=InMemoryStore(), namespace=namespace),
        {"/memories/": StoreBackend(store=InMemoryStore(), namespace=namespace)},
    )
    theirs = Theirs(
        TheirStore(store=InMemoryStore(), namespace=namespace),
        {"/memories/": TheirStore(store=InMemoryStore(), namespace=namespace)},
    )
    for name, *arguments in calls:
        one, other = (getattr(side, name)(*arguments) for side in (ours, theirs))
        assert without_inner_names(one) == without_inner_names(other), (name, arguments)


@given(
    lines=st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)),
    most=st.integers(1, 8),
)
def test_a_number_of_matches_gives_the_same_matches(lines: tuple[int, int, int], most: int) -> None:
    """And theirs is never complete where ours is not."""
    from deepagents.backends import CompositeBackend as Theirs  # noqa: PLC0415  # if it is there
    from deepagents.backends import StoreBackend as TheirStore  # noqa: PLC0415

    def namespace(_: object) -> tuple[str, ...]:
        return ("files",)

    def ours_of() -> StoreBackend:
        return StoreBackend(store=InMemoryStore(), namespace=namespace)

    def theirs_of() -> Any:  # noqa: ANN401
        return TheirStore(store=InMemoryStore(), namespace=namespace)

    ours = CompositeBackend(ours_of(), {"/m/": ours_of(), "/n/": ours_of()})
    theirs = Theirs(theirs_of(), {"/m/": theirs_of(), "/n/": theirs_of()})
    for side in (ours, theirs):
        for folder, number in zip(("", "/m", "/n"), lines, strict=True):
            side.write(f"{folder}/a.txt", "x\n" * number)

    one, other = (side.grep("x", max_count=most) for side in (ours, theirs))

    assert one.matches == other.matches
    assert one.truncated == (sum(lines) > most)
    assert other.truncated >= one.truncated
