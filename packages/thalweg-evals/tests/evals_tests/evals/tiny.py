"""A small probe and small agents, for tests of what plays them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from langchain_core.tools import BaseTool

from thalweg_evals import Agent, Need, Probe, Score, Setting, Speaks, Trace
from thalweg_evals.candidates import ModelCandidate, candidate
from thalweg_evals.plan import TrialKey
from thalweg_evals.scripted.moves import Move, Respond, View
from thalweg_evals.trial import Trial
from thalweg_server.settings import Settings

WINDOW = 16_000


@dataclass
class Parrot:
    """Asks to repeat a number that was drawn."""

    number: int
    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = ""
    gist: tuple[str, ...] = ()

    def run(self, talk: Speaks) -> None:
        """Ask."""
        talk.send(f"Please repeat: {self.number}")

    def grade(self, trace: Trace) -> Score:
        """Look for the number."""
        if str(self.number) in trace.answer:
            return Score(verdict="passed", why="it was repeated")
        return Score(verdict="failed", why=f"{self.number} is not in {trace.answer!r}")

    def act(self, view: View) -> Move:
        """Repeat."""
        return Respond(view.prompt.removeprefix("Please repeat: "))


def parrot(*, variants: tuple[str, ...] = ("once",), needs: frozenset[Need] = frozenset()) -> Probe:
    """Make the probe."""

    def make(variant: str, dice: Random) -> Parrot:
        del variant
        return Parrot(dice.randrange(10**6, 10**7))

    return Probe(
        name="parrot",
        suite="context",
        asks="Does it repeat?",
        shows="it does not",
        needs=needs,
        variants=variants,
        make=make,
    )


@dataclass(eq=False)
class Echo:
    """Returns its input, or the result of a function of it; asks no model."""

    name: str = "echo"
    answer: Callable[[str], str] = str
    offers: frozenset[Need] = frozenset()
    began: list[Setting] = field(default_factory=list)
    closed: int = 0

    def begin(self, setting: Setting) -> Agent:
        """See `Subject.begin`."""
        self.began.append(setting)
        return _EchoAgent(self)


@dataclass
class _EchoAgent:
    subject: Echo

    def send(self, text: str, thread: str, callbacks: Sequence[object]) -> str:
        """See `Agent.say`."""
        del thread, callbacks
        return self.subject.answer(text)

    def files(self) -> Mapping[str, str]:
        """See `Agent.files`."""
        return {}

    def settle(self) -> None:
        """See `Agent.settle`."""

    def close(self) -> None:
        """See `Agent.close`."""
        self.subject.closed += 1


def scripted() -> ModelCandidate:
    """Return a scripted model."""
    return candidate("scripted:searcher", WINDOW, Settings())


def trials_of(subject: Echo, count: int = 1, **changes: object) -> list[Trial]:
    """Make some trials of the probe."""
    parts: dict[str, object] = {"candidate": scripted(), "probe": parrot(), "seed": 0, **changes}
    keys = (
        TrialKey("scripted:searcher", subject.name, None, "parrot", "once", number)
        for number in range(1, count + 1)
    )
    return [Trial(key=key, subject=subject, **parts) for key in keys]  # type: ignore[arg-type]
