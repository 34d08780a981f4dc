"""One flow for both ways to ask a backend: it says what it wants, and is sent the answer."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from thalweg.backends.protocol import BackendProtocol

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to a backend."""

    method: Literal["ls", "glob", "download_files"]
    arguments: tuple[str | list[str], ...]
    is_optional: bool = False
    """A backend that does not implement it answers `None`."""


Fetch = Generator[Ask, Any, Done]


def fetch(flow: Fetch[Done], backend: BackendProtocol) -> Done:
    """Answer a flow's questions by the backend's blocking methods."""
    answer = None
    while True:
        try:
            ask = flow.send(answer)
        except StopIteration as end:
            done: Done = end.value
            return done
        try:
            answer = getattr(backend, ask.method)(*ask.arguments)
        except (NotImplementedError, AttributeError):
            if not ask.is_optional:
                raise
            answer = None


async def afetch(flow: Fetch[Done], backend: BackendProtocol) -> Done:
    """Answer a flow's questions by the backend's awaited methods."""
    answer = None
    while True:
        try:
            ask = flow.send(answer)
        except StopIteration as end:
            done: Done = end.value
            return done
        try:
            answer = await getattr(backend, f"a{ask.method}")(*ask.arguments)
        except (NotImplementedError, AttributeError):
            if not ask.is_optional:
                raise
            answer = None
