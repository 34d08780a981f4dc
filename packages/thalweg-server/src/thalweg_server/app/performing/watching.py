"""Events for the operator of a process: ended runs, calls of models, jobs of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from thalweg_server.api.usage import Usage

RunStatus = Literal["completed", "interrupted", "failed", "cancelled", "left"]


@dataclass(frozen=True, slots=True)
class RunEnded:
    """This process has performed a run."""

    status: RunStatus
    """`left`: handed to another process, which resumes it."""
    seconds: float


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A model has answered."""

    model: str
    """As `provider:name`."""
    usage: Usage
    owner: str
    """Whose call it was."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job of memory came to its end."""

    result: Literal["done", "failed"]


Happened = RunEnded | ModelCalled | JobEnded
Publish = Callable[[Happened], None]
