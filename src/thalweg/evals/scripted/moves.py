"""What a scripted model decides to do, and what it sees when it decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from thalweg.evals.trace import Said


@dataclass(frozen=True, slots=True)
class Say:
    """Answer, and end the turn."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """Call a tool."""

    tool: str
    arguments: Mapping[str, Any]
    text: str = ""
    """Said beside the call."""
    beside: tuple["Use", ...] = ()
    """Calls made in the same message, behind this one."""


@dataclass(frozen=True, slots=True)
class Look:
    """Look for something that does not stand in the context."""

    words: str
    """What it is about, as it stood in the conversation: to be searched for literally."""
    otherwise: Say | Use
    """What is done where it cannot be found."""


Move = Say | Use | Look


@dataclass(frozen=True)
class View:
    """A request, as a model sees it."""

    messages: tuple[Said, ...]
    tools: frozenset[str]

    @cached_property
    def asked(self) -> str:
        """The newest message of a user."""
        return next((one.text for one in reversed(self.messages) if one.role == "user"), "")

    @cached_property
    def system(self) -> str:
        """The instructions that stand first."""
        return "\n".join(one.text for one in self.messages if one.role == "system")

    @cached_property
    def since(self) -> tuple[Said, ...]:
        """What came after the newest message of a user."""
        last = max((k for k, one in enumerate(self.messages) if one.role == "user"), default=-1)
        return self.messages[last + 1 :]

    def find(
        self, pattern: str | re.Pattern[str], roles: Sequence[str] = ()
    ) -> re.Match[str] | None:
        """Find the newest place that matches, in words or in arguments of calls.

        Args:
            pattern: What is looked for; in one message the last place counts.
            roles: Of messages that are looked through; all when none are given.
        """
        sought = re.compile(pattern)
        for said in reversed(self.messages):
            if roles and said.role not in roles:
                continue
            if places := list(sought.finditer(written(said))):
                return places[-1]
        return None

    def find_all(self, pattern: str | re.Pattern[str]) -> list[re.Match[str]]:
        """Find every place that matches, oldest first."""
        sought = re.compile(pattern)
        return [found for said in self.messages for found in sought.finditer(written(said))]


def written(said: Said) -> str:
    """Write a message with what it asks of tools, one text of an argument a line."""
    texts = [said.text]
    for call in said.calls:
        texts += [str(value) for value in call.arguments.values()]
    return "\n".join(texts)


@runtime_checkable
class Acts(Protocol):
    """A case that scripted models can take part in."""

    gist: tuple[str, ...]
    """Patterns of what a good summary keeps: goals, constraints, how far the work is. Never of
    the details that are asked for."""

    def act(self, view: View) -> Move:
        """Decide what a model does that understands the case."""
        ...
