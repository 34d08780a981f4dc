"""One client, four ways, with the same results: in process and over HTTP, async and blocking.

Every operation of the OpenAPI document is called on each, with the same data, and so are the
failures: equal values, equal errors, equal streams.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from inspect import isawaitable
from pathlib import Path
from typing import Any, Self

import pytest
import uvicorn
from pydantic import BaseModel

from thalweg.errors import ThalwegError
from thalweg_server.api.events import Event, MessageDelta, Numbered
from thalweg_server.app import open_app
from thalweg_server.client import AsyncThalwegClient, ThalwegClient
from thalweg_server.gateway import create_app
from thalweg_server.settings import Settings

RENAMED = {"join_run": "join_stream"}
"""Operations whose method has another name: it returns the stream, and joins it again."""
BESIDE = {"aclose", "chat", "get_artifact", "upload_files", "join_stream"}
"""Methods that make something of operations."""
UNLIKE = {"etag", "last_event"}
_ID = re.compile(
    r"(lc_run-|run-)?-?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(Z|[+-]\d\d:\d\d)?")
_FACT = re.compile(r"\bfact-[0-9a-f]{12}\b")

Told = list[tuple[str, object]]


def settings(home: Path, **gateway: Any) -> Settings:  # noqa: ANN401 (as YAML has it)
    model = {"use": "server_tests.e2e.talkers:Streamer", "window": 32_000}
    return Settings.from_mapping(
        {
            "models": [{"name": "streamer", **model}],
            "tools": [{"name": "shout", "use": "server_tests.e2e.talkers:shout"}],
            "agent": {"interrupt_on": {"shout": True}},
            "gateway": gateway,
            "storage": {"home": str(home)},
        }
    )


class Driver:
    """Calls methods of a client of either kind, and keeps what comes of each."""

    def __init__(self, client: AsyncThalwegClient | ThalwegClient) -> None:
        self.told: Told = []
        self._client = client
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._client, ThalwegClient):
            self._client.close()
        else:
            self._runner.run(self._client.aclose())
        self._runner.close()

    def __call__(self, name: str, *args: Any, **options: Any) -> Any:  # noqa: ANN401 (any method's)
        """Call a method; an error that it raises is recorded and returned like a value."""
        try:
            value = self._made(getattr(self._client, name)(*args, **options))
        except ThalwegError as error:
            self.told.append((name, (type(error).__name__, plain(str(error)))))
            return error
        # Figures of the gateway itself differ, as they should.
        self.told.append((name, "# TYPE" in value if name == "metrics" else plain(value)))
        return value

    def _made(self, given: Any) -> Any:  # noqa: ANN401 (any method's)
        if isawaitable(given):

            async def awaited() -> Any:  # noqa: ANN401 (any method's)
                return await given

            return self._runner.run(awaited())
        if hasattr(given, "__aiter__"):

            async def listed() -> list[Any]:
                return [each async for each in given]

            return joined(self._runner.run(listed()), given.seq)
        return joined(list(given), given.seq) if hasattr(given, "seq") else given


def joined(stream: list[Numbered], last: int) -> list[Event]:
    """Return the events, deltas of one message in one: how many are batched depends on timing."""
    numbers = [numbered.seq for numbered in stream]
    assert numbers == list(range(last - len(stream) + 1, last + 1))
    events: list[Event] = []
    for each in stream:
        before = events[-1] if events else None
        if isinstance(each.event, MessageDelta) and isinstance(before, MessageDelta):
            text = before.text + each.event.text
            events[-1] = each.event.model_copy(update={"text": text})
        else:
            events.append(each.event)
    return events


def plain(value: object) -> object:
    """Write a value without what differs from one run to the next: ids, times, how it was cut."""
    told: object = value
    match value:
        case BaseModel():
            told = plain(value.model_dump())
        case dict():
            told = {key: plain(each) for key, each in value.items() if key not in UNLIKE}
        case list() | tuple():
            told = [plain(each) for each in value]
        case datetime():
            told = "TIME"
        case str():
            told = _FACT.sub("FACT", _TIME.sub("TIME", _ID.sub("ID", value)))
        case float():
            told = round(value, 1)
    return told


def everything(do: Driver, folder: Path) -> None:
    """Call every operation of a client, and provoke its errors."""
    do("health")
    do("list_models")
    do("get_model", "streamer")
    do("get_model", "no/such model?")
    do("list_skills")
    do("get_skill", "none")
    _memory(do)
    _runs(do)
    _threads(do)
    _files(do, folder)
    do("get_usage")
    do("get_thread_usage", "t1")
    do("metrics")
    do("delete_thread", "t2")
    do("delete_thread", "t2")


def _memory(do: Driver) -> None:
    fact = do("add_fact", "Ada prefers metric units.", category="preference", confidence=0.9)
    do("add_fact", "x" * 3_000)
    do("get_fact", fact.id)
    do("edit_fact", fact.id, content="Ada prefers SI units.")
    do("get_fact", "fact_none")
    do("list_facts")
    do("list_facts", status="superseded")
    do("review_fact", "fact_none", accept=True)
    do("get_memory")
    do("reload_memory")
    do("get_memory_config")
    do("get_memory_status")
    do("search_memory", "units")
    do("explain_memory", "units")
    document = do("export_memory")
    do("export_memory", shape="full")
    history = do("memory_history", limit=1)
    do("undo_memory", history.items[0].operation)
    do("undo_memory", 987_654)
    do("delete_fact", fact.id)
    do("import_memory", document)
    do("import_memory", {"facts": "none"})
    do("forget_memory", words="units")
    do("clear_memory")


def _runs(do: Driver) -> None:
    do("stream", "hello", "t1", run="r1")
    do("join_stream", "t1", "r1", after=2)
    do("join_stream", "t1", "none")
    do("start_run", "t1", "again", run="r2")
    do("wait_run", "t1", "r2", timeout_s=30.0)
    do("get_run", "t1", "r2")
    do("get_run", "t1", "none")
    do("list_runs", "t1")
    do("cancel_run", "t1", "r2")
    do("start_run", "t1", "hello", model="no-such-model")
    do("start_run", "t1", run="r9")
    do("stream", "use shout loud words", "t2", run="r3")
    do("get_state", "t2")
    do("stream", None, "t2", resume={"decisions": [{"type": "approve"}]}, run="r4")
    do("chat", "are you there?", "t2")


def _threads(do: Driver) -> None:
    do("create_thread", "t3", title="Rivers")
    do("create_thread", "t3")
    do("create_thread", "no such/~id")
    do("get_thread", "t3")
    do("get_thread", "none")
    do("update_thread", "t3", title="Lakes")
    do("list_threads", words="lakes")
    do("list_threads", limit=0)
    do("get_state", "t1")
    do("get_history", "t1", limit=2)
    do("list_turns", "t1")
    do("get_context", "t1")
    do("get_context", "t1", next=True)
    do("get_context", "t1", turn=1, next=True)
    do("get_context", "t1", turn=77)
    do("compact_thread", "t1")
    do("undo_compaction", "t1")
    do("pin", "t1", 0, "hello")
    do("pin", "t1", 0, "never said")
    do("unpin", "t1", 0, "hello")
    do("branch_thread", "t1", "t4", title="Branch")
    do("rewind_thread", "t1", 1)
    do("export_thread", "t4")
    do("export_thread", "none")
    do("set_memory_mode", "t4", "off")


def _files(do: Driver, folder: Path) -> None:
    (folder / "rivers.txt").write_text("Elbe\n")
    do("upload_file", "t1", folder / "rivers.txt")
    do("upload_files", "t1", [("a b.md", b"# A\n"), ("c.csv", b"a,b\n1,2\n")])
    do("upload_file", "t1", ("evil.exe", b"MZ"))
    do("list_uploads", "t1")
    do("list_artifacts", "t1")
    do("download_artifact", "t1", "/uploads/rivers.txt")
    do("download_artifact", "t1", "/uploads/a b.md", first=2)
    do("download_artifact", "t1", "/uploads/rivers.txt", first=99)
    do("get_artifact", "t1", "uploads/rivers.txt")
    do("get_artifact", "t1", "/none")
    do("delete_upload", "t1", "rivers.txt")
    do("delete_upload", "t1", "rivers.txt")


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve a gateway on this machine, and return its address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = uvicorn.Config(create_app(settings(home)), port=port, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with ThalwegClient(f"http://127.0.0.1:{port}") as client:
            while not server.started:
                threading.Event().wait(0.05)
            client.health()
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def embedded(home: Path) -> Iterator[Settings]:
    yield settings(home)


WAYS: dict[str, tuple[Any, Callable[[Path], Any]]] = {
    "async in process": (AsyncThalwegClient, embedded),
    "blocking in process": (ThalwegClient, embedded),
    "async over HTTP": (AsyncThalwegClient, served),
    "blocking over HTTP": (ThalwegClient, served),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """Do everything each way, on a home of its own."""
    heard = {}
    for name, (client, place) in WAYS.items():
        home = tmp_path_factory.mktemp("home")
        with place(home) as at, Driver(client(at)) as do:
            everything(do, home)
            heard[name] = do.told
    return heard


@pytest.mark.slow
@pytest.mark.parametrize("way", list(WAYS)[1:])
def test_every_way_gives_the_same(told: dict[str, Told], way: str) -> None:
    first = told["async in process"]
    for number, (one, other) in enumerate(zip(first, told[way], strict=True)):
        assert one == other, f"call {number}"


def test_what_should_go_well_does(told: dict[str, Told]) -> None:
    """Equal failures would be equal, too."""
    calls = told["async in process"]
    failed = [(name, told) for name, told in calls if isinstance(told, tuple)]
    assert [name for name, _ in failed] == FAIL, failed


FAIL = [
    "get_model",
    "get_skill",
    "add_fact",
    "get_fact",
    "review_fact",
    "undo_memory",
    "import_memory",
    "join_stream",
    "get_run",
    "start_run",
    "start_run",
    "create_thread",
    "create_thread",
    "get_thread",
    "list_threads",
    "get_context",
    "get_context",
    "undo_compaction",
    "pin",
    "export_thread",
    "upload_file",
    "download_artifact",
    "get_artifact",
    "delete_upload",
    "delete_thread",
]
"""What is asked for and cannot be had, in the order it is asked for."""


def test_every_operation_is_a_method_and_was_asked(told: dict[str, Told], tmp_path: Path) -> None:
    document = create_app(open_app(settings(tmp_path))).openapi()["paths"]
    # Those of the web page alone have no method: they change with it.
    paths = [item for path, item in document.items() if not path.startswith("/api/page/")]
    operations = {
        RENAMED.get(each["operationId"], each["operationId"])
        for path in paths
        for each in path.values()
        if isinstance(each, dict) and "operationId" in each
    }
    methods = {name for name in vars_of(AsyncThalwegClient) if not name.startswith("_")}
    assert operations - methods == set()
    assert methods - operations - BESIDE == set()
    asked = {name for name, _ in told["async in process"]}
    assert operations - asked == set()


def vars_of(client: type) -> set[str]:
    return {name for kind in client.__mro__ for name, each in vars(kind).items() if callable(each)}
