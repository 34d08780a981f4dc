"""Events for the operator of a process: ended runs, calls of models, jobs of memory."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

from thalweg_server.api.catalogue import Usage

CURRENT_RUN: ContextVar[str] = ContextVar("thalweg_current_run", default="")
"""The id of the run that the current task performs."""
RunStatus = Literal["completed", "interrupted", "failed", "cancelled", "left"]


@dataclass(frozen=True, slots=True)
class RunBegan:
    """This process begins an attempt at a run."""

    waited_s: float
    """Since the run was created; 0 for a later attempt."""
    is_takeover: bool
    """Whether another process began it."""


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
class FirstToken:
    """A model has begun to answer."""

    model: str
    seconds: float
    """Since the request was sent."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """A call of a model failed."""

    model: str
    code: str
    """As in a problem: `model.unavailable`."""


@dataclass(frozen=True, slots=True)
class ToolFailed:
    """A tool raised an error."""

    kind: str
    """The class of the error."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """A request was made smaller."""

    tokens: int
    """Tokens that it no longer has."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job of memory came to its end."""

    result: Literal["done", "failed"]


Happened = (
    RunBegan | RunEnded | ModelCalled | FirstToken | ModelFailed | ToolFailed | Compacted | JobEnded
)
Publish = Callable[[Happened], None]
