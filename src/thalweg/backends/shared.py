"""Any backend, worked on by several agents of a run at once: nobody overwrites unseen changes.

Two rules: a change over what another agent changed, and this one has not seen since, is refused
and told to both; a change that is not refused applies to what is there at that moment.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from thalweg.backends.protocol import BackendProtocol, FileData

Result = TypeVar("Result", ToolMessage, "ToolMessage | Command[Any]", "Command[Any]")


def shared(backend: BackendProtocol) -> BackendProtocol: ...
def with_notices(result: Result) -> Result: ...
def child_of(*, name: str, call_id: str) -> "Child": ...


class Child(AbstractContextManager["Child"]):
    def config(self, config: RunnableConfig | None = None) -> RunnableConfig: ...
    def update(
        self,
        files: Mapping[str, FileData] | None = None,
        *,
        given: Mapping[str, FileData] | None = None,
    ) -> dict[str, Any]: ...
    def notices(self) -> str: ...
