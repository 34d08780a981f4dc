"""Calls of file tools as a graph makes them, and a backend with nothing to it."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage

from thalweg_agent.backends.file_data import create_file_data
from thalweg_agent.backends.protocol import BackendProtocol, ReadResult, WriteResult
from thalweg_agent.backends.text import slice_read_response
from thalweg_agent.middleware.filesystem import FilesystemMiddleware

Way = Literal["invoke", "ainvoke"]
WAYS: tuple[Way, ...] = ("invoke", "ainvoke")


class Shelf(BackendProtocol):
    """Files in a dict; reads and writes, and nothing else."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        self.files = dict(files or {})

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        if file_path not in self.files:
            return ReadResult(error=f"File '{file_path}' not found")
        return slice_read_response(create_file_data(self.files[file_path]), offset, limit)

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        self.files[file_path] = content
        return WriteResult(path=file_path)


def call(
    middleware: FilesystemMiddleware, name: str, *, way: Way = "invoke", **args: object
) -> ToolMessage:
    """Call a tool of a middleware."""
    tool = next(tool for tool in middleware.tools if tool.name == name)
    given = {"runtime": runtime(), **args}
    answer = tool.invoke(given) if way == "invoke" else asyncio.run(tool.ainvoke(given))
    assert isinstance(answer, ToolMessage)
    assert (answer.name, answer.tool_call_id) == (name, "call-1")
    return answer


def runtime(tool_call_id: str = "call-1") -> ToolRuntime[Any, Any]:
    """Make the runtime that LangGraph passes to a tool."""
    return ToolRuntime(
        state={},
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id=tool_call_id,
        store=None,
    )
