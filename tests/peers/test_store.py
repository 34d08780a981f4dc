"""Files in a store, compared with the installed peer: the same calls have the same results."""

import asyncio
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from thalweg_agent.backends.store import StoreBackend

pytest.importorskip("deepagents")

PATHS = st.sampled_from(["/a.txt", "/d/a.txt", "/d/e/b.md", "/d.txt", "/.hidden/c.py", "/p.png"])
FOLDERS = st.sampled_from(["/", "/d", "/d/", "/d/e", "/a.txt", "/nowhere"])
TEXTS = st.text(st.sampled_from("ab\n "), max_size=12)
GLOBS = st.sampled_from(["*.txt", "**/*.md", "/d/*", "*", "**", "d/**", "*.{txt,md}", "../*"])
# Bytes in a file that is text by its name are lines of base64 to theirs.
FILES = st.one_of(
    st.tuples(PATHS, TEXTS.map(str.encode)),
    st.tuples(st.just("/p.png"), st.binary(max_size=6)),
)

CALLS = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("edit"), PATHS, TEXTS, TEXTS, st.booleans()),
    st.tuples(st.just("read"), PATHS, st.integers(-1, 4), st.integers(-1, 4)),
    st.tuples(st.just("ls"), FOLDERS),
    st.tuples(st.just("glob"), GLOBS, FOLDERS | st.none()),
    st.tuples(st.just("grep"), st.sampled_from(["a", "b", "ab"]), FOLDERS | st.none(), GLOBS),
    st.tuples(st.just("delete"), st.sampled_from(["/a.txt", "/d", "/d/e", "/nowhere"])),
    st.tuples(st.just("upload_files"), st.lists(FILES, max_size=4)),
    st.tuples(st.just("download_files"), st.lists(PATHS)),
)


def told(result: Any) -> Any:  # noqa: ANN401  # of either side
    """Bring a result of either side to plain data without times, orders and sizes.

    Theirs returns the size of base64 where ours returns that of the file. Ours alone names the
    files that a search skipped.
    """
    if isinstance(result, list):
        return [asdict(each) for each in result]
    plain = asdict(result)
    plain.pop("skipped", None)
    for name in ("entries", "matches"):
        for entry in plain.get(name) or ():
            entry.pop("modified_at", None)
            entry.pop("size", None)
        if isinstance(plain.get(name), list):
            plain[name].sort(key=lambda entry: (entry["path"], entry.get("line")))
    for name in ("created_at", "modified_at"):
        (plain.get("file_data") or {}).pop(name, None)
    return plain


@pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])
@given(calls=st.lists(CALLS, max_size=25))
def test_any_calls_give_the_same_results(calls: list[tuple[Any, ...]], *, awaited: bool) -> None:
    """Results are the same after any earlier calls."""
    from deepagents.backends.store import StoreBackend as Theirs  # noqa: PLC0415  # if it is there

    ours = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("files",))
    theirs = Theirs(store=InMemoryStore(), namespace=lambda _: ("files",))
    for name, *arguments in calls:
        if awaited:
            one, other = (
                asyncio.run(getattr(side, f"a{name}")(*arguments)) for side in (ours, theirs)
            )
        else:
            one, other = (getattr(side, name)(*arguments) for side in (ours, theirs))
        assert told(one) == told(other), (name, arguments)


def test_what_one_side_wrote_the_other_reads() -> None:
    """A store outlives the change of an import."""
    from deepagents.backends.store import StoreBackend as Theirs  # noqa: PLC0415  # if it is there

    store = InMemoryStore()
    ours = StoreBackend(store=store, namespace=lambda _: ("files", "ann"))
    theirs = Theirs(store=store, namespace=lambda _: ("files", "ann"))
    ours.upload_files([("/a.txt", b"one"), ("/b.bin", b"\xff\xfe")])
    theirs.upload_files([("/c.txt", b"two"), ("/d.bin", b"\x89PNG")])

    for side in (ours, theirs):
        contents = [
            file.content for file in side.download_files(["/a.txt", "/b.bin", "/c.txt", "/d.bin"])
        ]
        assert contents == [b"one", b"\xff\xfe", b"two", b"\x89PNG"]


@pytest.mark.parametrize(
    "namespace", [(), ("",), ("a", "*"), ("a b",), ("a.b", "c@d"), (7,), ["a"], None, ("a", "{b}")]
)
def test_the_same_namespaces_are_refused_in_the_same_words(namespace: Any) -> None:  # noqa: ANN401
    """They end up in somebody's logs."""
    from deepagents.backends.store import _validate_namespace as theirs  # noqa: PLC0415

    from thalweg_agent.backends.store_items import validate_namespace as ours  # noqa: PLC0415

    def outcome(validate: Any) -> tuple[str, str]:  # noqa: ANN401  # of either side
        try:
            return "fine", str(tuple(validate(namespace)))
        except (ValueError, TypeError) as error:
            return type(error).__name__, str(error)

    assert outcome(ours) == outcome(theirs)
