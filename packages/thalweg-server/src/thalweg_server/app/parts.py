"""What all parts of an application share: the open resources, and the spans of its work.

Spans have OpenTelemetry's `gen_ai` names, and are made where it is installed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from thalweg.archive import Archive
from thalweg.engine.pricing.usage import Usage as AnswerUsage
from thalweg_memory import MemoryStore
from thalweg_server.api.events import EVENT, RunStarted
from thalweg_server.app.files import UploadLocks
from thalweg_server.app.metrics import Metrics
from thalweg_server.app.registry import Finder, Registry
from thalweg_server.checkpoints.erasure import Erasure
from thalweg_server.runs.base import Event as Line
from thalweg_server.runs.base import RunRecord, now_ms
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.running import ProcessRuns
from thalweg_server.settings.sections import Settings
from thalweg_server.uploads.base import Places
from thalweg_server.uploads.converting import Converter

if TYPE_CHECKING:
    from thalweg_server.app.agents import Agents
    from thalweg_server.checkpoints.owners import Checkpoints

try:
    from opentelemetry import propagate, trace

    _IS_INSTALLED = True
except ImportError:
    _IS_INSTALLED = False


class SharedCall:
    """Calls a function in a thread; callers that wait for it share one call.

    Args:
        do: The function.
    """

    def __init__(self, do: Callable[[], object]) -> None:
        self._do = do
        self._begun = self._done = 0
        self._lock = asyncio.Lock()

    async def __call__(self) -> None:
        """Return after a call that began later than this one."""
        begun = self._begun
        async with self._lock:
            if self._done > begun:
                return
            self._begun += 1
            await asyncio.to_thread(self._do)
            self._done = self._begun


@dataclass(frozen=True, slots=True, kw_only=True)
class AppParts:
    """The open parts; `App` opens and closes them."""

    settings: Callable[[], Settings]
    """As they are now."""
    archive: Archive
    prune: SharedCall
    """Deletes large texts that no thread has; it reads all of them."""
    memories: MemoryStore
    checkpoints: "Checkpoints"
    """Those of all owners."""
    registry: Registry
    journal: Journal
    runs: ProcessRuns
    erasure: Erasure
    """Removes the bytes of deleted content from files."""
    places: Places
    converter: Converter
    upload_locks: UploadLocks = field(default_factory=WeakValueDictionary)
    agents: "Callable[[], Awaitable[Agents]]"
    """Who makes agents; imported when first asked."""
    end_sandbox: Callable[[str, str], Awaitable[None]]
    """Ends the custom sandbox of an owner's thread."""
    metrics: Metrics
    any_model: bool = False
    """Whether a run may name a model that the settings do not."""


class TenantPart:
    """The access of one owner to some of the open parts."""

    def __init__(self, owner: str, parts: AppParts) -> None:
        self._owner = owner
        self._parts = parts
        self._finder = Finder(owner, parts.archive, parts.registry)

    async def touch(self, thread: str, title: str = "") -> None:
        """Record the use of a thread, which its age counts from; a missing one is created."""
        touch = partial(self._parts.registry.touch, self._owner, thread, now_ms(), title=title)
        await asyncio.to_thread(touch)


CURRENT_RUN: ContextVar[str] = ContextVar("thalweg_current_run", default="")
"""The id of the run that the current task performs."""
_NAME = "thalweg"


def trace_of(lines: Sequence[Line]) -> str:
    """Return the `traceparent` of the run's first attempt; empty for a new run."""
    first = EVENT.validate_json(lines[0].data) if lines else None
    return first.trace if isinstance(first, RunStarted) else ""


@contextmanager
def run_span(run: RunRecord, agent: str, parent: str) -> Iterator[str]:
    """Open the span of an attempt at a run.

    Args:
        run: The run.
        agent: The graph's name.
        parent: `traceparent` of the first attempt, whose trace it continues.

    Yields:
        Its own `traceparent`; empty without OpenTelemetry.
    """
    if not _IS_INSTALLED:
        yield ""
        return
    attributes: dict[str, str | int] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": run.key.thread,
        "thalweg.run": run.key.run,
        "thalweg.attempt": run.attempt,
    }
    context = propagate.extract({"traceparent": parent}) if parent else None
    tracer = trace.get_tracer(_NAME)
    with tracer.start_as_current_span(f"invoke_agent {agent}", context, attributes=attributes):
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        yield carrier.get("traceparent", "")


def model_span(model: str) -> Any:  # noqa: ANN401 (`None` without OpenTelemetry)
    """Open the span of a model call, `provider:name`; `end_model_span` ends it."""
    if not _IS_INSTALLED:
        return None
    provider, _, name = model.partition(":")
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": name,
    }
    return trace.get_tracer(_NAME).start_span(f"chat {name}", attributes=attributes)


def end_model_span(span: Any, usage: AnswerUsage | None, error: str = "") -> None:  # noqa: ANN401
    """End the span of a model call, with its usage or the kind of its error."""
    if span is None:
        return
    attributes: Mapping[str, str | int] = {"error.type": error} if error else {}
    if usage is not None:
        attributes = {
            **attributes,
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.cache_read.input_tokens": usage.cached,
            "gen_ai.usage.output_tokens": usage.output,
        }
    span.set_attributes(attributes)
    span.end()


def trace_ids() -> dict[str, str]:
    """Return the ids of the current trace and span, for a log line; empty without one."""
    if not _IS_INSTALLED:
        return {}
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
