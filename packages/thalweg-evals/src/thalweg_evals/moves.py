"""The moves of a scripted model, and the view on which it decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thalweg_evals.trace import TracedCall, TracedMessage, written


@dataclass(frozen=True, slots=True)
class Respond:
    """Answer, and end the turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool."""

    tool: str
    arguments: Mapping[str, Any]
    text: str = ""
    """Text of the message with the call."""
    siblings: tuple["Use", ...] = ()
    """Further calls in the same message, after this one."""


@dataclass(frozen=True, slots=True)
class Search:
    """Search for content that is missing from the context."""

    words: str
    """Its subject, as mentioned in the conversation: for a literal search."""
    otherwise: Respond | Use
    """The move if it cannot be found."""


Move = Respond | Use | Search


@dataclass(frozen=True)
class View:
    """A request, as a model sees it."""

    messages: tuple[TracedMessage, ...]
    tools: frozenset[str]

    @cached_property
    def prompt(self) -> str:
        """The newest message of a user."""
        return next((one.text for one in reversed(self.messages) if one.role == "user"), "")

    @cached_property
    def since(self) -> tuple[TracedMessage, ...]:
        """The messages after the newest message of a user."""
        last = max((k for k, one in enumerate(self.messages) if one.role == "user"), default=-1)
        return self.messages[last + 1 :]

    @cached_property
    def results(self) -> tuple[TracedMessage, ...]:
        """The results of tools after the newest message of a user."""
        return tuple(one for one in self.since if one.role == "tool")

    @cached_property
    def calls(self) -> tuple[TracedCall, ...]:
        """The tool calls after the newest message of a user."""
        return tuple(call for one in self.since for call in one.calls)

    def has_called(self, name: str) -> bool:
        """Return whether a tool was called after the newest message of a user."""
        return any(call.name == name for call in self.calls)

    def has_used(self, use: Use) -> bool:
        """Return whether exactly this call was made after the newest message of a user."""
        return any((call.name, call.arguments) == (use.tool, use.arguments) for call in self.calls)

    def find(
        self, pattern: str | re.Pattern[str], roles: Sequence[str] = ()
    ) -> re.Match[str] | None:
        """Return the newest match in texts or in arguments of calls.

        Args:
            pattern: The pattern; in one message the last match is used.
            roles: Roles of the messages to search; by default all.
        """
        sought = re.compile(pattern)
        for message in reversed(self.messages):
            if roles and message.role not in roles:
                continue
            if places := list(sought.finditer(written(message))):
                return places[-1]
        return None

    def find_all(self, pattern: str | re.Pattern[str]) -> list[re.Match[str]]:
        """Return all matches, oldest first."""
        sought = re.compile(pattern)
        return [found for message in self.messages for found in sought.finditer(written(message))]
