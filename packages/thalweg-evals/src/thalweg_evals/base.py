"""The parts of an eval: a probe asks a subject one question, in cases.

A *subject* creates agents. A *case* is one conversation with such an agent: the user's messages,
the tools, the expected result. A *trace* records everything that happened; a *score* is computed
from the trace alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal, Protocol, runtime_checkable

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from thalweg_evals.trace import Trace

Need = Literal["tools", "system_prompt", "trigger", "files", "subagents", "memory"]
"""A probe's requirement of an agent besides answers.

Support for the probe's tools and instructions, a trigger that can be forced, files, subagents or a
memory across threads.
"""
Suite = Literal["context", "memory", "subagents"]
Language = Literal["en", "zh"]
"""Language of the text that fills a context."""
Verdict = Literal["passed", "failed", "untested"]
"""`untested`: the condition of the probe did not occur, such as a compaction."""
Outcome = Verdict | Literal["not offered"]
"""`not offered`: the subject lacks a need of the probe, so the trial was not run."""
MAIN = "main"
"""The thread of a case that needs only one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The arguments for creating an agent."""

    model: BaseChatModel
    window: int
    """Tokens that the model accepts."""
    folder: Path
    """An empty folder of this trial; the agent stores its files there."""
    trigger: float | None = None
    """The share of the window at which the context is compacted; `None`: the subject's own."""
    keep: float | None = None
    """The share of the window that a forced compaction keeps verbatim."""
    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = ""


class Agent(Protocol):
    """An agent of a subject, for one trial."""

    def send(self, text: str, thread: str, callbacks: Sequence[object]) -> str:
        """Send a message as the user, and run the agent to its end.

        Args:
            text: The user's message.
            thread: The conversation.
            callbacks: LangChain callback handlers, called for every model call.

        Returns:
            The agent's last message.
        """
        ...

    def files(self) -> Mapping[str, str]:
        """Return the texts of its files by path; empty if it has none."""
        ...

    def settle(self) -> None:
        """Wait until background learning has finished."""
        ...

    def close(self) -> None:
        """Release its resources."""
        ...


@runtime_checkable
class Forgets(Protocol):
    """An agent whose user can delete memories: with a command, on a page of an app."""

    def forget(self, words: str) -> bool:
        """Delete all messages and facts that contain all these words.

        Returns:
            Whether the agent supports it.
        """
        ...


class Subject(Protocol):
    """A system under evaluation: creates an agent for each trial."""

    @property
    def name(self) -> str:
        """Its name, as the user wrote it."""
        ...

    @property
    def offers(self) -> frozenset[Need]:
        """What its agents support."""
        ...

    def begin(self, setting: Setting) -> Agent:
        """Create an agent."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The result of a trial."""

    verdict: Verdict
    why: str
    """One sentence: the finding, or the missing part."""
    request: int | None = None
    """Number of the request that shows it; by default the agent's last."""
    value: float | None = None
    """A measured figure, if the probe has one; its unit is the probe's."""
    judged: bool = False
    """Whether a model was the judge."""


class Speaks(Protocol):
    """The user of a case, who talks to the agent; see `Talk`."""

    trace: Trace

    @property
    def window(self) -> int:
        """Tokens that the model accepts."""
        ...

    def send(self, text: str, thread: str = MAIN) -> str:
        """Send a message and return the answer."""
        ...

    def fill(self, compactions: int, thread: str = MAIN, language: Language = "en") -> None:
        """Talk about other things until the context has been compacted this often."""
        ...

    def page_tokens(self, thread: str = MAIN) -> int:
        """Return the length of a text of which a few trigger a compaction."""
        ...

    def settle(self) -> None:
        """Wait until background learning has finished."""
        ...

    def forget(self, words: str, thread: str = MAIN) -> None:
        """Delete memories with these words, by the agent's own command or else by a request."""
        ...

    @property
    def room(self) -> int:
        """Tokens of a conversation until it is compacted; cases scale their texts by it."""
        ...


class Case(Protocol):
    """One conversation, and its expected result."""

    system_prompt: str

    @property
    def tools(self) -> tuple[BaseTool, ...]:
        """Tools besides those that the conversation brings."""
        ...

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        ...

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
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
    """The meaning of a failure."""
    needs: frozenset[Need] = frozenset()
    variants: tuple[str, ...]
    """Names of its cases."""
    make: Callable[[str, Random], Case]
    """Creates a case of a variant; its names and numbers are drawn from the random generator."""
