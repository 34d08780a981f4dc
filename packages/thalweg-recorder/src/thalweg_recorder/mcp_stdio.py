"""The recorder as an MCP server over stdin and stdout, one JSON-RPC message on a line.

Nothing that searches is imported before the first call of a tool: an agent asks for the tools when
it starts, and its first request to a model has only those that came in time.
"""

import json
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from importlib.metadata import version
from importlib.resources import files
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from thalweg.errors import ThalwegError
from thalweg_memory.prompts import prompt as memory_prompt
from thalweg_recorder.prompts import prompt

if TYPE_CHECKING:
    from thalweg_recorder.answers import Answers

PROTOCOL_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol that are served, newest first."""
DESCRIPTIONS = {
    "recall": prompt("mcp_recall"),
    "history": prompt("mcp_history"),
    "remember": prompt("mcp_remember"),
    "recall_memory": memory_prompt("recall_memory_tool"),
    "context_report": prompt("mcp_report"),
}
"""Methods of `Answers` that are tools, and the prompts that describe them."""
THREADS_URI = "thalweg://threads"
THREAD_URI = "thalweg://thread/"
"""Followed by the name of a thread, percent-encoded."""
PARSE_ERROR = -32_700
INVALID_REQUEST = -32_600
METHOD_NOT_FOUND = -32_601
INVALID_PARAMS = -32_602
INTERNAL_ERROR = -32_603
RESOURCE_NOT_FOUND = -32_002

OpenAnswers = Callable[[], AbstractContextManager["Answers"]]


class _RequestError(Exception):
    """A request that is answered with an error of the protocol: code and message."""


def tool_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schema of the arguments of each tool."""
    found: dict[str, dict[str, Any]] = json.loads(
        files(__package__).joinpath("mcp_tools.json").read_text("utf-8")
    )
    return found


def serve_stdio(
    open_answers: OpenAnswers, lines: Iterable[bytes], write: Callable[[bytes], object]
) -> None:
    """Serve one client until its messages end; requests that came before are answered.

    Args:
        open_answers: Called at the first call of a tool. Its error is the answer to the call, and
            the next call tries again.
        lines: Messages of the client.
        write: Called with each message to the client, in one thread at a time.
    """
    StdioServer(open_answers, write).serve(lines)


class StdioServer:
    """See `serve_stdio`. Calls run in a thread, in order; all else is answered meanwhile."""

    def __init__(self, open_answers: OpenAnswers, write: Callable[[bytes], object]) -> None:
        self._open = open_answers
        self._write = write
        self._writing = Lock()
        self._calls: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._pending: set[str | int] = set()
        """Ids of calls that are neither answered nor cancelled."""
        self._at_once = {
            "initialize": _initialize,
            "ping": lambda _: {},
            "tools/list": lambda _: {"tools": _tools()},
            "resources/list": lambda _: {"resources": [_resource("uri", "threads", THREADS_URI)]},
            "resources/templates/list": lambda _: {
                "resourceTemplates": [_resource("uriTemplate", "thread", THREAD_URI + "{name}")]
            },
            "prompts/list": lambda _: {"prompts": []},
        }
        self._called = {"tools/call": _call_tool, "resources/read": _read_resource}

    def serve(self, lines: Iterable[bytes]) -> None:
        """Read messages until they end."""
        worker = Thread(target=self._work, daemon=True)
        worker.start()
        for line in lines:
            if line.strip():
                self._receive(line)
        self._calls.put(None)
        worker.join()

    def _receive(self, line: bytes) -> None:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            self._send({"id": None, "error": _error(PARSE_ERROR, "the line is not JSON")})
            return
        for message in found if isinstance(found, list) else [found]:  # a batch, before 2025-06-18
            self._handle(message)

    def _handle(self, message: object) -> None:
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            self._send({"id": None, "error": _error(INVALID_REQUEST, "not a JSON-RPC message")})
        elif "method" not in message:
            return  # an answer; this server asks nothing
        elif "id" not in message:
            if message["method"] == "notifications/cancelled":
                self._cancel(message.get("params"))
        elif not isinstance(message["id"], str | int):
            self._send({"id": None, "error": _error(INVALID_REQUEST, "id: pass text or a number")})
        elif message["method"] in self._called:
            self._pending.add(message["id"])
            self._calls.put(message)
        else:
            method = self._at_once.get(message["method"])
            self._send({"id": message["id"], **self._result(method, message)})

    def _cancel(self, params: object) -> None:
        cancelled = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(cancelled, str | int):
            self._pending.discard(cancelled)

    def _result(
        self,
        method: Callable[..., dict[str, Any]] | None,
        message: dict[str, Any],
        *answers: object,
    ) -> dict[str, Any]:
        """Return the result of a request, or its error."""
        params = message.get("params", {})
        if method is None:
            return {"error": _error(METHOD_NOT_FOUND, "there is no such method")}
        if not isinstance(params, dict):
            return {"error": _error(INVALID_PARAMS, "params: pass an object")}
        try:
            return {"result": method(*answers, params)}
        except _RequestError as error:
            return {"error": _error(*error.args)}
        except Exception as error:  # noqa: BLE001 (one request must not end the server)
            return {"error": _error(INTERNAL_ERROR, f"{type(error).__name__}: {error}")}

    def _work(self) -> None:
        with ExitStack() as stack:
            opened: list[Answers] = []

            def answers() -> "Answers":
                if not opened:
                    opened.append(stack.enter_context(self._open()))
                return opened[0]

            while (message := self._calls.get()) is not None:
                if message["id"] in self._pending:
                    result = self._result(self._called[message["method"]], message, answers)
                    if message["id"] in self._pending:
                        self._pending.discard(message["id"])
                        self._send({"id": message["id"], **result})

    def _send(self, message: dict[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._writing:
            self._write(line)


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[0],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "thalweg", "version": version("thalweg-recorder")},
        "instructions": prompt("mcp_instructions").render(),
    }


def _tools() -> list[dict[str, Any]]:
    schemas = tool_schemas()
    return [
        {"name": name, "description": about.render(), "inputSchema": schemas[name]}
        for name, about in DESCRIPTIONS.items()
    ]


def _resource(key: str, name: str, uri: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/plain", key: uri}


def _call_tool(answers: Callable[[], "Answers"], params: dict[str, Any]) -> dict[str, Any]:
    name, arguments = params.get("name"), params.get("arguments") or {}
    if not isinstance(name, str) or name not in DESCRIPTIONS:
        raise _RequestError(INVALID_PARAMS, f"there is no tool {str(name)[:200]}")
    if not isinstance(arguments, dict):
        raise _RequestError(INVALID_PARAMS, "arguments: pass an object")
    from pydantic import ValidationError, validate_call  # noqa: PLC0415 (a tenth of a second)

    types = tool_schemas()[name]["properties"]
    parsed = {key: _parsed(types.get(key), value) for key, value in arguments.items()}
    try:
        text, failed = validate_call(getattr(answers(), name))(**parsed), False
    except (ValidationError, ThalwegError) as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def _parsed(schema: dict[str, Any] | None, value: object) -> object:
    """Return a value; a list or number that a model wrote as text is parsed."""
    if not isinstance(value, str) or (schema or {}).get("type", "string") == "string":
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value


def _read_resource(answers: Callable[[], "Answers"], params: dict[str, Any]) -> dict[str, Any]:
    uri = str(params.get("uri"))
    if uri == THREADS_URI:
        text = answers().list_threads()
    elif uri.startswith(THREAD_URI):
        text = answers().read_thread(uri.removeprefix(THREAD_URI))
    else:
        raise _RequestError(RESOURCE_NOT_FOUND, f"there is no resource {uri[:200]}")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": text}]}


def serve_process(open_answers: OpenAnswers) -> None:
    """Serve the client of this process over its stdin and stdout."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # whatever prints must not break the protocol

    def write(message: bytes) -> None:
        out.write(message)
        out.flush()

    serve_stdio(open_answers, sys.stdin.buffer, write)
