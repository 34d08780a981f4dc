"""One request of the API, as a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

Answer = TypeVar("Answer")

LONG_S = 600.0
"""Seconds that an answer may take for which a model writes, or a large document is read."""
_SAFE = frozenset({"GET", "HEAD", "PUT"})
"""A second DELETE would answer that there is nothing to delete."""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """One request to any gateway.

    Attributes:
        body: The JSON body; `None` values of an object are omitted.
        files: Name, content and type of each.
        again: Whether it may be retried, although its method is not idempotent.
        wait_s: Seconds that the answer may take, if longer than the default.
        takes: Error statuses that are valid answers.
    """

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, bytes, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    wait_s: float | None = None
    takes: frozenset[int] = frozenset()

    @property
    def is_safe(self) -> bool:
        """Whether it may be made twice."""
        return self.again or self.method in _SAFE
