"""A world: tools, the messages of a user, and a scorer; and the conversation in which it is used.

A *probe* is a function that builds a world from the name of a case and a random generator. All
compared agents get the same world: names and numbers depend on the seed, the probe, the case and
the number of the trial, and on nothing else.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool, StructuredTool

from thalweg.errors import ConfigError
from thalweg_evals.agents import Agent, Policy, Setting, Turn, invoke
from thalweg_evals.comparison import Verdict
from thalweg_evals.material import Language, Pages
from thalweg_evals.moves import Move, View
from thalweg_evals.trace import Recorder, Trace, TracedTurn

PAGES_PER_COMPACTION = 5
"""Pages that fill a conversation from one compaction to the next."""
PATIENCE = 4
"""Times as many pages are read before the absence of a compaction is accepted."""
LEAST_TOKENS, MOST_TOKENS, MOST_SHARE = 60, 12_000, 0.15
"""Limits of a page: tokens, and the share of the window. Harnesses that offload large results would
remove a longer one as a whole."""
TRIGGER = 0.85
"""Assumed share of the window at which an agent compacts whose trigger is not forced."""
LEAST_ROOM = 1 / 3
"""Least tokens of a conversation, as a share of those at the trigger, for any overhead."""
_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Score:
    """The result of a conversation."""

    verdict: Verdict
    why: str
    """One sentence: the finding, or the missing part."""
    value: float | None = None
    """A measured figure, if the probe has one; its unit is the probe's."""


def passed(why: str, value: float | None = None) -> Score:
    """Return the score of a world that was completed."""
    return Score("passed", why, value)


def failed(why: str, value: float | None = None) -> Score:
    """Return the score of a world that was not completed."""
    return Score("failed", why, value)


def untested(why: str) -> Score:
    """Return the score of a conversation without the condition of the probe."""
    return Score("untested", why)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Tools, the messages of a user, and a scorer."""

    user: str | Callable[[], object]
    """The task; or the whole conversation, a function that sends messages."""
    score: Callable[[Trace], Score]
    """Computes the score from the trace."""
    tools: Sequence[Callable[..., str]] = ()
    """Functions whose names, parameters and docstrings are what the model is shown."""
    system_prompt: str = ""
    compactions: int = 0
    """With fewer, a pass is untested; a failure after one compaction is a failure."""
    act: Callable[[View], Move] | None = None
    """Decides what a scripted model does that understands the world, from a request alone."""
    gist: tuple[str, ...] = ()
    """Patterns of what its summaries keep: goals, rules, progress, never the details asked for."""

    def grade(self, trace: Trace) -> Score:
        """Compute the score, also of a conversation without enough compactions."""
        score, seen = self.score(trace), len(trace.compactions())
        if seen >= self.compactions or (seen and score.verdict == "failed"):
            return score
        return untested(f"{seen} of {self.compactions} compactions: {score.why}")


class Build(Protocol):
    """Builds the world of a case."""

    def __call__(self, case: str, dice: Random, talk: "Conversation", /) -> World:
        """Build it.

        Args:
            case: The name of the case.
            dice: All names and numbers are drawn from it.
            talk: The conversation, by whose sizes texts are scaled, and to which `user` sends.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One question, in cases."""

    name: str
    asks: str
    """The question, for people."""
    shows: str
    """The meaning of a failure."""
    cases: tuple[str, ...]
    build: Build


PROBES: dict[str, Probe] = {}
"""The registered probes, by name."""


def probe(*cases: str, asks: str, shows: str) -> Callable[[Build], Build]:
    """Register a function that builds worlds as a probe of the same name.

    Args:
        cases: Names of its cases.
        asks: The question.
        shows: The meaning of a failure.
    """

    def register(build: Build) -> Build:
        name = str(getattr(build, "__name__", build))
        PROBES[name] = Probe(name=name, asks=asks, shows=shows, cases=cases, build=build)
        return build

    return register


class Conversation:
    """A conversation with an agent, and its trace.

    Args:
        window: Tokens that the model accepts.
        trigger: Share of the window at which the context is compacted; `None`: the agent's own.
        seed: Of the pages that fill a context.
        has_tools: Whether the agent can be given tools.
    """

    def __init__(
        self, window: int, trigger: float | None, seed: int, *, has_tools: bool = True
    ) -> None:
        self.trace = Trace()
        self.window = window
        self.pages = Pages(Random(f"pages {seed}"))
        self.agent: Agent | None = None
        self._trigger = trigger or TRIGGER
        self._has_tools = has_tools
        self._recorder = Recorder(self.trace, has_tools=has_tools)

    def send(self, text: str) -> str:
        """Send a message as the user and return the answer.

        Raises:
            RuntimeError: There is no agent yet: a world sends messages in `user` only.
        """
        if self.agent is None:
            msg = "the conversation has no agent yet; send messages in World.user"
            raise RuntimeError(msg)
        answer = self.agent.send(text, [self._recorder])
        self.trace.turns.append(TracedTurn(text, answer))
        return answer

    def fill(self, compactions: int, language: Language = "en") -> None:
        """Request pages until the context has been compacted this often, or that fails."""
        before = len(self.trace.compactions())
        left = float(PATIENCE * PAGES_PER_COMPACTION * compactions)
        self.pages.language = language
        while len(self.trace.compactions()) - before < compactions and left > 0:
            self.pages.tokens = self.page_tokens()
            left -= min(1, PAGES_PER_COMPACTION / ceil(self.room / self.pages.tokens))
            self.send(self.pages.next_request(has_tools=self._has_tools))

    def page_tokens(self) -> int:
        """Return the length of a text of which a few trigger a compaction, and none the window."""
        most = min(MOST_TOKENS, MOST_SHARE * self.window)
        return int(max(LEAST_TOKENS, min(self.room / PAGES_PER_COMPACTION, most)))

    @property
    def room(self) -> float:
        """Tokens of a conversation until it is compacted."""
        limit = self._trigger * self.window
        agents = self.trace.agents()
        return max(limit - (agents[-1].fixed if agents else 0), limit * LEAST_ROOM)


def seed_of(seed: int, probe_name: str, case: str, number: int) -> int:
    """Return the seed of a trial: the same for every agent, model and trigger."""
    identity = json.dumps([seed, probe_name, case, number])
    return int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")


def play(
    asked: Probe,
    case: str,
    policy: Policy,
    model: BaseChatModel | Callable[[World], BaseChatModel],
    *,
    window: int,
    trigger: float | None = None,
    seed: int = 0,
    number: int = 1,
    turn: Turn = invoke,
) -> tuple[Score, Trace]:
    """Build the world of a case, and let an agent have the conversation.

    An error of the agent is a failure of the agent, and reported as one.

    Args:
        asked: The probe.
        case: One of its cases.
        policy: Creates the agent.
        model: The model; or a function that creates the one of a world, such as a scripted one.
        window: Tokens that the model accepts.
        trigger: Share of the window at which the context is compacted; `None`: the agent's own.
        seed: Of all names and numbers.
        number: Of the trial, from 1: repetitions have other names and numbers.
        turn: Runs the agent's graph.

    Raises:
        ConfigError: The agent cannot be created here.
    """
    dice = seed_of(seed, asked.name, case, number)
    shared = model if isinstance(model, BaseChatModel) else None
    has_tools = shared is None or (shared.profile or {}).get("tool_calling") is not False
    talk = Conversation(window, trigger, dice, has_tools=has_tools)
    world = asked.build(case, Random(dice), talk)
    if world.tools and not has_tools:
        return untested("the model calls no tools"), talk.trace
    tools = [talk.pages.read_page, *world.tools] if has_tools else []
    with TemporaryDirectory(prefix="thalweg-eval-", ignore_cleanup_errors=True) as folder:
        setting = Setting(
            model=shared or model(world),  # type: ignore[operator]  # a function, then
            window=window,
            trigger=trigger,
            tools=[as_tool(one) for one in tools],
            system_prompt=world.system_prompt,
            folder=Path(folder),
        )
        with setting.resources:
            try:
                talk.agent = Agent(policy(setting), turn)
                talk.send(world.user) if isinstance(world.user, str) else world.user()
            except ConfigError:
                raise  # it would fail every other trial, too
            except Exception as error:  # noqa: BLE001 (an edge: any user's agent runs here)
                why = f"the agent raised {type(error).__name__}: {error}"
                return failed(why[:_ERROR_CHARS]), talk.trace
    return world.grade(talk.trace), talk.trace


def as_tool(function: Callable[..., str]) -> BaseTool:
    """Create a tool; a `ToolException` of the function is its result."""
    return StructuredTool.from_function(function, handle_tool_error=True)
