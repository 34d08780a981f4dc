"""What a process tells whoever looks after it: runs that ended, calls of models, jobs of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from thalweg.api.usage import Usage

RunStatus = Literal["completed", "interrupted", "failed", "cancelled", "left"]


@dataclass(frozen=True, slots=True)
class RunEnded:
    """This process has performed a run."""

    status: RunStatus
    """`left`: to another process, which goes on with it."""
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
Tell = Callable[[Happened], None]


class Watchers:
    """Those who want to know; they are told in whichever thread it happened."""

    def __init__(self) -> None:
        self._all: list[Tell] = []

    def add(self, tell: Tell) -> None:
        """Let somebody know from now on."""
        self._all.append(tell)

    def tell(self, what: Happened) -> None:
        """Tell all of them."""
        for tell in self._all:
            tell(what)
