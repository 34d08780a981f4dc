"""What an eval is made of: a probe puts one question to a subject, in cases.

A *subject* makes agents. A *case* is one conversation with an agent of it: what the user says,
which tools there are, what is right. A *trace* is everything that happened; a *score* is read
from the trace alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from thalweg.evals.trace import Trace

Need = Literal["tools", "system_prompt", "trigger", "files", "subagents", "memory"]
"""What a probe asks of an agent beyond answering: tools and instructions that the probe brings,
a trigger that can be forced, files, subagents or a memory across threads of the agent's own."""
Suite = Literal["context", "memory", "subagents"]
Language = Literal["en", "zh"]
"""In which a context is filled."""
Verdict = Literal["passed", "failed", "untested"]
"""`untested`: what the probe is about did not happen, such as a compaction."""
MAIN = "main"
"""The thread of a case that needs one alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What an agent is made with."""

    model: BaseChatModel
    window: int
    """Tokens that the model accepts."""
    folder: Path
    """Empty, of this trial alone; what the agent keeps goes there."""
    trigger: float | None = None
    """The share of the window at which the context is compacted; `None`: the subject's own."""
    keep: float | None = None
    """The share of the window that a forced compaction keeps word for word."""
    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = ""


class Agent(Protocol):
    """An agent of a subject, for one trial."""

    def say(self, text: str, thread: str, callbacks: Sequence[object]) -> str:
        """Say something as the user, and run the agent to its end.

        Args:
            text: What the user says.
            thread: The conversation.
            callbacks: Handlers of LangChain's, told of every call of a model.

        Returns:
            What the agent answered last.
        """
        ...

    def files(self) -> Mapping[str, str]:
        """Give the texts of its files by path; empty where it has none."""
        ...

    def settle(self) -> None:
        """Wait until what it learns in the background is learned."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


@runtime_checkable
class Forgets(Protocol):
    """An agent whose user can have something forgotten: a command, a page of an app."""

    def forget(self, words: str) -> bool:
        """Forget for good what was said or learned that has all these words.

        Returns:
            Whether there is a way to.
        """
        ...


class Subject(Protocol):
    """Whoever is evaluated: makes an agent for each trial."""

    @property
    def name(self) -> str:
        """As the user named it."""
        ...

    @property
    def offers(self) -> frozenset[Need]:
        """What its agents can do."""
        ...

    def begin(self, setting: Setting) -> Agent:
        """Make an agent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What came of a trial."""

    verdict: Verdict
    why: str
    """One sentence: what was found, or what was missing."""
    request: int | None = None
    """The number of the request that shows it; the last of the agent's where none is named."""
    value: float | None = None
    """A figure beside the verdict, where a probe measures one; its unit is the probe's."""
    judged: bool = False
    """Whether a model was asked for the verdict."""


class Speaks(Protocol):
    """The user of a case, who speaks with the agent; see `Talk`."""

    trace: Trace

    def say(self, text: str, thread: str = MAIN) -> str:
        """Say something; gives the answer."""
        ...

    def fill(self, compactions: int, thread: str = MAIN, language: Language = "en") -> None:
        """Talk of other things until the context was compacted so often."""
        ...

    def page_tokens(self, thread: str = MAIN) -> int:
        """Say how long a text is of which a few fill the room until the context is compacted."""
        ...

    def settle(self) -> None:
        """Let the agent learn what it learns in the background."""
        ...

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Have what has these words forgotten, in the agent's way or, without one, by asking."""
        ...

    @property
    def room(self) -> int:
        """Tokens that a conversation has until it is compacted; cases size things by it."""
        ...


class Case(Protocol):
    """One conversation, and what is right in it."""

    tools: tuple[BaseTool, ...]
    system_prompt: str

    def run(self, talk: Speaks) -> None:
        """Have the conversation."""
        ...

    def grade(self, trace: Trace) -> Score:
        """Read the score from what happened."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question, asked in cases."""

    name: str
    """In lower case, joined by underscores."""
    suite: Suite
    asks: str
    """The question, for people."""
    shows: str
    """What is broken where it fails."""
    needs: frozenset[Need] = frozenset()
    variants: tuple[str, ...]
    """Names of its cases."""
    make: Callable[[str, Random], Case]
    """Makes a case of a variant: its names and numbers are drawn from the dice."""
