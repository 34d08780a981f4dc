"""Steps of tools as effects of a flow: a backend performs them, blocking or awaited."""

from threading import Semaphore
from typing import Any

from thalweg.context.turn.effects import SyncOrAsync
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.tools import asking
from thalweg_agent.tools.asking import Steps


def of_backend(
    steps: Steps[Any], backend: BackendProtocol, slots: Semaphore | None = None
) -> SyncOrAsync:
    """Have a tool's steps run by a backend; see `asking.run`."""
    return SyncOrAsync(
        lambda: asking.run(steps, backend, slots), lambda: asking.arun(steps, backend)
    )
