"""Logic that is written once and run in two ways, with blocking or awaited calls.

A flow is a generator: it yields the next step, receives the step's result, and returns its own. The
driver of the flow defines steps and performs them.
"""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from thalweg.errors import InvalidGlobPatternError, PathError
from thalweg_agent.backends.calls.operations import Answer, BackendOperation, OperationBackend
from thalweg_agent.backends.protocol import BackendProtocol

Step = TypeVar("Step")
Result = TypeVar("Result")
Flow = Generator[Any, Any, Result]
"""Steps of some kind, and the result."""
Errors = tuple[type[Exception], ...]


def go(
    flow: Generator[Step, Any, Result], perform: Callable[[Step], object], errors: Errors = ()
) -> Result:
    """Run a flow with blocking calls.

    Args:
        flow: The flow.
        perform: Performs a step.
        errors: Errors of a step that are raised in the flow; others end it.

    Example:
        >>> def twice():
        ...     first = yield 1
        ...     return first + (yield 10)
        >>> go(twice(), lambda step: step * 2)
        22
    """
    try:
        step = next(flow)
        while True:
            try:
                came = perform(step)
            except errors as error:
                step = flow.throw(error)
            else:
                step = flow.send(came)
    except StopIteration as end:
        result: Result = end.value
        return result


async def ago(
    flow: Generator[Step, Any, Result],
    perform: Callable[[Step], Awaitable[object]],
    errors: Errors = (),
) -> Result:
    """See `go`; each step is awaited."""
    try:
        step = next(flow)
        while True:
            try:
                came = await perform(step)
            except errors as error:
                step = flow.throw(error)
            else:
                step = flow.send(came)
    except StopIteration as end:
        result: Result = end.value
        return result


@dataclass(frozen=True, slots=True)
class BackendStep:
    """A step of a flow: an operation that a backend performs, and whose result is sent back."""

    backend: BackendProtocol
    operation: BackendOperation[Any]


def ask(backend: BackendProtocol, operation: BackendOperation[Answer]) -> Flow[Answer]:
    """Have a backend perform an operation, as a step of a flow."""
    return cast("Answer", (yield BackendStep(backend, operation)))


class FlowBackend(OperationBackend):
    """A backend whose operations are flows.

    A subclass writes each of them once, as `_METHOD` with the operation's fields; an operation
    without a method is not implemented. The steps are `BackendStep`, unless the subclass performs
    others. If a flow refuses a path or a glob, this is the error of its result.
    """

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        return self._now(self._flow(operation))

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        return await self._later(self._flow(operation))

    def _now(self, flow: Flow[Result]) -> Result:
        """Go through a flow by blocking calls."""
        return go(flow, _answer, _FLOW_ERRORS)

    async def _later(self, flow: Flow[Result]) -> Result:
        """Go through a flow by awaited calls."""
        return await ago(flow, _aanswer, _FLOW_ERRORS)

    def _flow(self, operation: BackendOperation[Answer]) -> Flow[Answer]:
        """Return the flow that performs an operation."""
        try:
            return cast("Answer", (yield from operation.on(self)))
        except InvalidGlobPatternError as refused:
            return cast("Answer", operation.result(error=str(refused)))
        except (PathError, UnicodeEncodeError) as refused:
            path = refused.path if isinstance(refused, PathError) else operation.arguments()[0][0]
            failed = _FAILED.get(operation.method, "Path")
            return cast("Answer", operation.result(error=f"{failed} '{path}': {refused}"))


_FLOW_ERRORS: Final = (NotImplementedError,)
"""Errors of a step that are raised inside the flow; others end it."""
_FAILED: Final = {
    "ls": "Cannot list",
    "read": "Error reading file",
    "write": "Error writing file",
    "edit": "Error editing file",
    "delete": "Error deleting",
}
"""How the error of a refused path begins, by method."""


def _answer(step: BackendStep) -> object:
    return step.operation.call(step.backend)


async def _aanswer(step: BackendStep) -> object:
    return await step.operation.call(step.backend, "a")
