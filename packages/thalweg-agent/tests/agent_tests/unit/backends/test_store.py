"""Files in a LangGraph store: whose they are, and that none is lost or missed."""

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import Op, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import AsyncSqliteStore, SqliteStore

from thalweg_agent.backends.store import StoreBackend


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def backend(store: InMemoryStore) -> StoreBackend:
    return StoreBackend(store=store, namespace=("files",))


def test_items_of_a_namespace_below_belong_to_others(store: InMemoryStore) -> None:
    """A store's search finds them; a listing, a search and a delete here do not."""
    all_users = StoreBackend(store=store, namespace=("files",))
    ann = StoreBackend(store=store, namespace=("files", "ann"))
    ann.write("/secret.md", "of Ann")
    all_users.write("/news.md", "for all")

    assert [info["path"] for info in all_users.ls("/").entries or []] == ["/news.md"]
    assert all_users.grep("of Ann").matches == []
    assert all_users.glob("*.md").matches == [
        {**info, "path": "/news.md"} for info in all_users.glob("news.md").matches or []
    ]
    assert "not found" in (all_users.delete("/secret.md").error or "")
    assert ann.read("/secret.md").error is None


def test_names_with_a_dot_are_namespaces_of_their_own(store: InMemoryStore) -> None:
    """Stores refuse a dot, which half of all user names have."""
    for user in ("a.b@example.com", "a", "ab@example.com"):
        StoreBackend(store=store, namespace=("files", user)).write("/me.txt", user)

    for user in ("a.b@example.com", "a", "ab@example.com"):
        read = StoreBackend(store=store, namespace=("files", user)).read("/me.txt")
        assert read.file_data is not None
        assert read.file_data["content"] == user


@pytest.mark.parametrize(
    ("namespace", "error"),
    [
        ((), "must not be empty"),
        (("a", ""), "at index 1 must not be empty"),
        (("a", "*"), "disallowed characters"),
        (("a/b",), "disallowed characters"),
        (("a%2Eb",), "disallowed characters"),
        (("a\n",), "disallowed characters"),
    ],
)
def test_a_namespace_that_could_mean_others_is_refused(
    store: InMemoryStore, namespace: tuple[str, ...], error: str
) -> None:
    """A star or a slash is a wildcard to some stores."""
    with pytest.raises(ValueError, match=error):
        StoreBackend(store=store, namespace=lambda _: namespace).read("/a.txt")


def test_a_namespace_of_other_things_than_text_is_refused(store: InMemoryStore) -> None:
    """The author of a factory gets the error at the first call."""
    wrong: Any = (7,)
    with pytest.raises(TypeError, match="must be a string, got int"):
        StoreBackend(store=store, namespace=wrong).read("/a.txt")


@dataclass
class Whose:
    """Context of a run."""

    user: str


class Nothing(TypedDict):
    """State of a graph that has none."""


@pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])
def test_store_and_namespace_come_from_the_run(store: InMemoryStore, *, awaited: bool) -> None:
    """A backend is made once, long before anybody's run."""

    def whose(runtime: Runtime[Whose]) -> tuple[str, ...]:
        return ("files", runtime.context.user)

    backend = StoreBackend(namespace=whose)

    def write(_: Nothing) -> None:
        assert backend.write("/a.txt", "x").error is None

    async def awrite(_: Nothing) -> None:
        assert (await backend.awrite("/a.txt", "x")).error is None

    graph = StateGraph(Nothing, context_schema=Whose)
    graph.add_node("write", RunnableLambda(write, awrite))
    graph.add_edge(START, "write")
    agent = graph.compile(store=store)
    for user in ("ann", "bob"):
        if awaited:
            asyncio.run(agent.ainvoke({}, context=Whose(user)))
        else:
            agent.invoke({}, context=Whose(user))

    assert [item.namespace for item in store.search(("files",))] == [
        ("files", "ann"),
        ("files", "bob"),
    ]


def test_without_a_run_it_says_what_to_do(store: InMemoryStore) -> None:
    """Neither a store nor a user can be made up."""
    with pytest.raises(RuntimeError, match="initialized with an explicit store"):
        StoreBackend(namespace=("files",)).read("/a.txt")

    def whose(runtime: Runtime[Whose]) -> tuple[str, ...]:
        return ("files", runtime.context.user)

    with pytest.raises(RuntimeError, match="does not read the Runtime"):
        StoreBackend(store=store, namespace=whose).read("/a.txt")


def test_content_of_the_time_when_it_was_a_list_of_lines_is_read(
    store: InMemoryStore, backend: StoreBackend
) -> None:
    """It becomes text when it is next written, and keeps its age."""
    store.put(("files",), "/old.txt", {"content": ["one", "two"], "created_at": "2024-01-01"})

    read = backend.read("/old.txt")
    assert read.file_data is not None
    assert (read.file_data["content"], read.total_lines) == ("one\ntwo", 2)
    assert [match["line"] for match in backend.grep("two").matches or []] == [2]
    assert backend.edit("/old.txt", "two", "2").error is None
    item = store.get(("files",), "/old.txt")
    assert item is not None
    assert (item.value["content"], item.value["created_at"]) == ("one\n2", "2024-01-01")


def test_an_item_that_is_no_file_spoils_nothing(
    store: InMemoryStore, backend: StoreBackend
) -> None:
    """It is reported when it is requested, skipped elsewhere, and can be deleted."""
    backend.write("/good.txt", "good")
    store.put(("files",), "/none.txt", {"text": "no content"})
    store.put(("files",), "/odd.txt", {"content": 7})
    store.put(("files",), "/bytes.bin", {"content": "no base64!", "encoding": "base64"})

    assert "valid content field" in (backend.read("/none.txt").error or "")
    assert "got int" in (backend.read("/odd.txt").error or "")
    assert backend.edit("/odd.txt", "7", "8").error
    assert backend.download_files(["/bytes.bin"])[0].content is None
    assert [info["path"] for info in backend.ls("/").entries or []] == ["/good.txt"]
    assert len(backend.grep("good").matches or []) == 1
    assert backend.delete("/none.txt").error is None
    assert store.get(("files",), "/none.txt") is None


def test_text_with_a_nul_is_kept_where_stores_refuse_it(
    store: InMemoryStore, backend: StoreBackend
) -> None:
    """PostgreSQL takes none in JSON; here it is stored as base64 and returned as text."""
    backend.write("/a.txt", "one\0two")

    item = store.get(("files",), "/a.txt")
    assert item is not None
    assert "\0" not in item.value["content"]
    read = backend.read("/a.txt")
    assert read.file_data is not None
    assert (read.file_data["content"], read.file_data["encoding"]) == ("one\0two", "utf-8")
    assert backend.edit("/a.txt", "\0", " ").error is None
    assert backend.download_files(["/a.txt"])[0].content == b"one two"


def test_a_write_keeps_the_day_a_file_was_made(store: InMemoryStore, backend: StoreBackend) -> None:
    """However it is written again."""
    store.put(("files",), "/a.txt", {"content": "x", "encoding": "utf-8", "created_at": "then"})

    backend.write("/a.txt", "y")
    backend.upload_files([("/a.txt", b"z")])

    item = store.get(("files",), "/a.txt")
    assert item is not None
    assert (item.value["content"], item.value["created_at"]) == ("z", "then")
    assert item.value["modified_at"] > "2025"


def test_nothing_of_a_large_namespace_is_missed(store: InMemoryStore) -> None:
    """Stores return a page at a time."""
    backend = StoreBackend(store=store, namespace=("files",))
    backend.upload_files([(f"/d/{n:04}.txt", b"x") for n in range(2_345)])

    assert len(backend.ls("/d").entries or []) == 2_345
    assert len(backend.glob("*.txt").matches or []) == 2_345
    assert len(asyncio.run(backend.agrep("x")).matches or []) == 2_345
    assert backend.delete("/d").error is None
    assert store.search(("files",)) == []


class NewestFirst(InMemoryStore):
    """Returns the last changed first, as stores in databases do, and 100 at most."""

    def __init__(self) -> None:
        super().__init__()
        self.after_a_page: list[Callable[[InMemoryStore], None]] = []

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """Answer a search from what is there now."""
        (op,) = asked if len(asked := list(ops)) == 1 else (None,)
        if not isinstance(op, SearchOp):
            return super().batch(asked)
        found = super().batch([op._replace(limit=100_000, offset=0)])[0]
        assert isinstance(found, list)
        newest = sorted(found, key=lambda item: str(item.updated_at), reverse=True)
        page = newest[op.offset :][: min(100, op.limit)]
        if self.after_a_page:
            self.after_a_page.pop()(self)
        return [page]


def write_the_oldest(store: InMemoryStore) -> None:
    """Move it to the front, and everything else by one."""
    store.put(("files",), "/000.txt", {"content": "x", "encoding": "utf-8"})


def delete_some_new(store: InMemoryStore) -> None:
    """Move everything after them forward."""
    for n in range(290, 299):
        store.delete(("files",), f"/{n}.txt")


@pytest.mark.parametrize("act", [write_the_oldest, delete_some_new])
def test_no_file_is_missed_though_others_write_between_two_pages(
    act: Callable[[InMemoryStore], None],
) -> None:
    """What was there all the while is found."""
    store = NewestFirst()
    backend = StoreBackend(store=store, namespace=("files",))
    backend.upload_files([(f"/{n:03}.txt", b"x") for n in range(300)])
    store.after_a_page = [act]

    names = {info["path"] for info in backend.ls("/").entries or []}

    assert {f"/{n:03}.txt" for n in range(290)} <= names


def test_a_namespace_that_never_rests_is_read_all_the_same() -> None:
    """Not for ever, and with everything that was seen."""
    store = NewestFirst()
    backend = StoreBackend(store=store, namespace=("files",))
    backend.upload_files([(f"/{n:03}.txt", b"x") for n in range(250)])
    store.after_a_page = [write_the_oldest] * 100

    assert len(backend.ls("/").entries or []) >= 240
    assert store.after_a_page


class Slow(InMemoryStore):
    """Lets others run between a read and a write, as the way to a server does."""

    def batch(self, ops: Iterable[Op]) -> list[Any]:
        """See `BaseStore.batch`."""
        results = super().batch(ops)
        time.sleep(0.001)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Any]:
        """See `BaseStore.abatch`."""
        results = await super().abatch(ops)
        await asyncio.sleep(0.001)
        return results


def test_edits_of_threads_and_tasks_and_other_backends_are_all_there() -> None:
    """One store, one namespace, one file; every edit is on top of the others."""
    store = Slow()

    def backend() -> StoreBackend:
        return StoreBackend(store=store, namespace=("files",))

    backend().write("/a.txt", "\n".join(f"<{n}>" for n in range(60)))

    def edit(n: int) -> str | None:
        return backend().edit("/a.txt", f"<{n}>", f"<{n}> done").error

    async def some() -> list[str | None]:
        edits = (backend().aedit("/a.txt", f"<{n}>", f"<{n}> done") for n in range(30))
        return [result.error for result in await asyncio.gather(*edits)]

    with ThreadPoolExecutor(8) as pool:
        others = [pool.submit(edit, n) for n in range(30, 60)]
        assert set(asyncio.run(some())) == {None}
        assert {other.result() for other in others} == {None}
    content = backend().download_files(["/a.txt"])[0].content
    assert content == "\n".join(f"<{n}> done" for n in range(60)).encode()


def test_uploads_and_deletes_of_the_same_files_never_wait_for_each_other_for_ever() -> None:
    """Each has one turn at a time."""
    backend = StoreBackend(store=Slow(), namespace=("files",))
    names = [f"/d/{n}.txt" for n in range(5)]

    def act(n: int) -> None:
        backend.upload_files([(name, b"x") for name in (names if n % 2 else names[::-1])])
        backend.delete("/d")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(act, range(20)))


def test_a_store_with_blocking_calls_alone_is_awaited_in_a_thread(tmp_path: Path) -> None:
    """The SQLite store of LangGraph has no others."""
    with SqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
        store.setup()
        backend = StoreBackend(store=store)

        async def use() -> None:
            assert (await backend.awrite("/a.txt", "one")).error is None
            assert (await backend.aedit("/a.txt", "one", "two")).error is None
            assert (await backend.adelete("/a.txt")).error is None

        asyncio.run(use())


def test_a_store_with_awaited_calls_is_awaited(tmp_path: Path) -> None:
    """And keeps its promises from many tasks."""

    async def use() -> None:
        async with AsyncSqliteStore.from_conn_string(str(tmp_path / "store.db")) as store:
            await store.setup()
            backend = StoreBackend(store=store)
            await backend.awrite("/a.txt", " ".join(f"<{n}>" for n in range(20)))
            edits = (backend.aedit("/a.txt", f"<{n}>", f"{n}") for n in range(20))
            assert {done.error for done in await asyncio.gather(*edits)} == {None}
            read = await backend.aread("/a.txt")
            assert read.file_data is not None
            assert read.file_data["content"] == " ".join(map(str, range(20)))
            assert len((await backend.als("/")).entries or []) == 1

    asyncio.run(use())


def test_the_root_is_not_deleted_and_is_no_file(backend: StoreBackend) -> None:
    """A model that means one thing should not lose all."""
    backend.write("/a.txt", "x")

    assert "root" in (backend.delete("/").error or "")
    assert "folder" in (backend.write("/", "x").error or "")
    assert backend.read("/a.txt").error is None


def test_a_blocking_call_on_a_loop_whose_task_changes_the_file_is_refused() -> None:
    """The loop would wait for itself."""
    backend = StoreBackend(store=Slow(), namespace=("files",))

    async def both() -> None:
        changing = asyncio.create_task(backend.awrite("/a.txt", "one"))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="await the asynchronous method"):
            backend.write("/a.txt", "two")
        backend.write("/b.txt", "of another file")
        assert (await changing).error is None
        backend.write("/a.txt", "three")

    asyncio.run(asyncio.wait_for(both(), 30))
    assert backend.download_files(["/a.txt"])[0].content == b"three"
