"""Faults that a test can order: errors by name, silence, and answers cut in the middle."""

from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import Literal

from thalweg.testing.strict.exchange import RequestProblem, WireName

FaultName = Literal["rate_limit", "overloaded", "server", "invalid", "stall", "cut"]
"""Faults that the provider can be set to: what an answer is replaced by."""


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
    ours, theirs = _ANTHROPIC.get(fault.name), _OPENAI.get(fault.name)
    return ours if wire == "anthropic" else theirs


_ANTHROPIC: dict[str, RequestProblem] = {
    "rate_limit": RequestProblem(
        "This request would exceed your organization's rate limit of 80,000 input tokens per "
        "minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.",
        429,
        "rate_limit_error",
    ),
    "overloaded": RequestProblem("Overloaded", 529, "overloaded_error"),
    "server": RequestProblem("Internal server error", 500, "api_error"),
    "invalid": RequestProblem("Error"),
}
_OPENAI: dict[str, RequestProblem] = {
    "rate_limit": RequestProblem(
        "Rate limit reached for this model on tokens per min (TPM): Limit 30000, Used 30000, "
        "Requested 1000. Please try again later. "
        "Visit https://platform.openai.com/account/rate-limits to learn more.",
        429,
        "tokens",
        code="rate_limit_exceeded",
    ),
    "overloaded": RequestProblem(
        "The engine is currently overloaded, please try again later",
        503,
        "service_unavailable_error",
        code="server_is_overloaded",
    ),
    "server": RequestProblem(
        "The server had an error while processing your request. Sorry about that!",
        500,
        "server_error",
    ),
    "invalid": RequestProblem("Invalid request."),
}
