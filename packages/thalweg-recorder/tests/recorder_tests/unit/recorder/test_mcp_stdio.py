"""The protocol over stdio: what is answered, in which order, and what never ends the server."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.fastmcp import FastMCP

from recorder_tests.unit.recorder.sessions import import_one, numbered, write
from thalweg.errors import StorageError
from thalweg_recorder import open_recorder
from thalweg_recorder.answers import Answers
from thalweg_recorder.mcp_stdio import (
    DESCRIPTIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    PROTOCOL_VERSIONS,
    RESOURCE_NOT_FOUND,
    serve_stdio,
    tool_schemas,
)

SEARCH = {"name": "recall", "arguments": {"query": "request", "scope": "all"}}


def request(number: int, method: str, params: object = None) -> bytes:
    """Return a request as a line."""
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def unopened() -> AbstractContextManager[Answers]:
    """Fail if the archive is opened."""
    raise AssertionError


@contextmanager
def recorded(folder: Path) -> Iterator[Answers]:
    """Open an archive with one session."""
    with open_recorder(folder / "a.db") as archive:
        import_one(archive, write(folder, numbered([1, 2])))
        yield Answers(archive)


def exchange(*lines: bytes, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return the answers of a server to some lines."""
    sent: list[dict[str, Any]] = []
    opened = unopened if folder is None else (lambda: recorded(folder))
    serve_stdio(opened, lines, lambda line: sent.append(json.loads(line)))
    return sent


def test_tools_are_listed_without_an_archive() -> None:
    opened, listed, pong = exchange(
        request(1, "initialize", {"protocolVersion": "2025-03-26"}),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        request(2, "tools/list"),
        request(3, "ping"),
    )
    assert opened["result"]["protocolVersion"] == "2025-03-26"
    assert [tool["name"] for tool in listed["result"]["tools"]] == [*tool_schemas()]
    assert pong == {"jsonrpc": "2.0", "id": 3, "result": {}}


def test_a_version_that_is_not_served_is_answered_with_the_newest() -> None:
    (opened,) = exchange(request(1, "initialize", {"protocolVersion": "1999-01-01"}))
    assert opened["result"]["protocolVersion"] == PROTOCOL_VERSIONS[0]


def test_the_schemas_are_those_that_the_sdk_derives_from_the_methods(tmp_path: Path) -> None:
    sdk = FastMCP("thalweg")
    with recorded(tmp_path) as answers:
        for name in DESCRIPTIONS:
            sdk.add_tool(getattr(answers, name), structured_output=False)
    (listed,) = exchange(request(1, "tools/list"))
    for ours, theirs in zip(listed["result"]["tools"], asyncio.run(sdk.list_tools()), strict=True):
        assert ours["name"] == theirs.name
        schema = theirs.inputSchema
        assert ours["inputSchema"].get("required") == schema.get("required")
        assert ours["inputSchema"]["properties"].keys() == schema["properties"].keys()
        for name, one in ours["inputSchema"]["properties"].items():
            other = schema["properties"][name]
            kind = other.get("type") or other["anyOf"][0]["type"]
            assert (one["type"], one.get("default")) == (kind, other.get("default"))


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        (b"{", None, PARSE_ERROR),
        (b"7", None, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', None, INVALID_REQUEST),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None, INVALID_REQUEST),
        (request(1, "nothing/such"), 1, METHOD_NOT_FOUND),
        (request(1, "ping", [1]), 1, INVALID_PARAMS),
        (request(1, "tools/call", {"name": "nothing"}), 1, INVALID_PARAMS),
        (request(1, "tools/call", {"name": "recall", "arguments": [1]}), 1, INVALID_PARAMS),
        (request(1, "resources/read", {"uri": "file:///etc"}), 1, RESOURCE_NOT_FOUND),
    ],
)
def test_an_error_of_the_protocol(line: bytes, number: int | None, code: int) -> None:
    failed, pong = exchange(line, request(2, "ping"))
    if failed["id"] == 2:  # a call is answered by another thread
        failed, pong = pong, failed
    assert (failed["id"], failed["error"]["code"]) == (number, code)
    assert pong["result"] == {}


def test_wrong_arguments_are_an_answer_that_names_them(tmp_path: Path) -> None:
    wrong = {"name": "recall", "arguments": {"query": 7, "lines": "one"}}
    (answer,) = exchange(request(1, "tools/call", wrong), folder=tmp_path)
    assert answer["result"]["isError"]
    assert all(name in answer["result"]["content"][0]["text"] for name in ("query", "lines"))


def test_a_call_after_one_that_could_not_open_the_archive(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []
    tries: list[int] = []

    def opened() -> AbstractContextManager[Answers]:
        tries.append(1)
        if len(tries) == 1:
            raise StorageError("a.db", "it is locked", "try again")
        return recorded(tmp_path)

    calls = [request(number, "tools/call", SEARCH) for number in (1, 2, 3)]
    serve_stdio(opened, calls, lambda line: sent.append(json.loads(line)))
    texts = [one["result"]["content"][0]["text"] for one in sent]
    assert "locked" in texts[0]
    assert sent[0]["result"]["isError"]
    assert "request 2" in texts[1] == texts[2]
    assert len(tries) == 2


def test_a_cancelled_call_is_not_answered_and_others_are(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []
    began, cancelled = Event(), Event()

    @contextmanager
    def slowly() -> Iterator[Answers]:
        began.set()
        assert cancelled.wait(30)
        with recorded(tmp_path) as answers:
            yield answers

    def lines() -> Iterator[bytes]:
        yield from (request(number, "tools/call", SEARCH) for number in (1, 2, 3))
        assert began.wait(30)
        for number in (1, 3):
            params = {"requestId": number, "reason": "no longer needed"}
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            yield json.dumps(message).encode()
        yield request(4, "ping")
        cancelled.set()

    serve_stdio(slowly, lines(), lambda line: sent.append(json.loads(line)))
    assert [one["id"] for one in sent] == [4, 2]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
_METHODS = st.sampled_from(
    ["initialize", "tools/list", "tools/call", "resources/read", "notifications/cancelled", "x"]
)
_MESSAGES = st.fixed_dictionaries(
    {}, optional={"id": _VALUES, "method": _METHODS | _VALUES, "params": _VALUES}
)


@given(
    lines=st.lists(st.binary(max_size=20) | (_MESSAGES | _VALUES).map(json.dumps).map(str.encode))
)
def test_no_message_ends_the_server(lines: list[bytes]) -> None:
    assert exchange(*lines, request(-7, "ping"))[-1:] or lines
    assert {"jsonrpc": "2.0", "id": -7, "result": {}} in exchange(*lines, request(-7, "ping"))


def test_nothing_that_searches_is_imported_to_list_the_tools(tmp_path: Path) -> None:
    command = (
        "import sys; from thalweg.cli import main\n"
        "try: main()\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", command, "record", "mcp", "--archive", str(tmp_path / "a.db")],
        input=request(1, "initialize") + b"\n" + request(2, "tools/list") + b"\n",
        capture_output=True,
        check=True,
    )
    assert len(done.stdout.splitlines()) == 2
    loaded = {name.partition(".")[0] for name in done.stderr.decode().split()}
    assert not loaded & {"mcp", "pydantic", "sqlite3", "typer", "anyio", "langchain_core"}
