"""Faults that a test can order: errors by name, silence, and answers cut in the middle."""

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from strict_llm.exchange import RequestProblem, WireName
from strict_llm.tables import read_table

FaultName = Literal["rate_limit", "overloaded", "server", "invalid", "stall", "cut"]
"""Faults that the provider can be set to: the replacement of an answer."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """What happens to one request."""

    name: FaultName
    seconds: float = 0.0
    """Of silence (`stall`), or of the `retry-after` header (`rate_limit`, `overloaded`)."""
    after: float = 0.0
    """Share of the answer that is sent before the silence or the disconnect, `0..1`."""
    wire: WireName | None = None
    """The only wire that it hits; every one if `None`."""


_ERRORS = read_table("faults.toml")


class Faults:
    """Faults that wait for their requests, first come first served."""

    def __init__(self) -> None:
        self._waiting: deque[InjectedFault] = deque()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, fault: InjectedFault, times: int) -> None:
        """Let a fault wait for its next requests."""
        with self._lock:
            self._waiting.extend([fault] * times)

    def clear(self) -> None:
        """Forget those that have not happened."""
        with self._lock:
            self._waiting.clear()

    def take(self, wire: WireName) -> InjectedFault | None:
        """Take the next fault that hits a wire."""
        with self._lock:
            for fault in self._waiting:
                if fault.wire in {None, wire}:
                    self._waiting.remove(fault)
                    return fault
        return None


def problem_of(fault: InjectedFault, wire: WireName) -> RequestProblem | None:
    """Return the provider's error; `None` if the fault is in the connection."""
    error = _ERRORS["anthropic" if wire == "anthropic" else "openai"].get(fault.name)
    return RequestProblem(**error) if error else None
