"""Does the agent still pursue the user's goal after repeated compactions?

Words can be checked; the *purpose* of a plan cannot. So the words are checked, and a judge decides:
the probe passes only with a judge.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from thalweg_evals.base import MAIN, Probe, Score, Speaks
from thalweg_evals.grading import failed, mentions, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.scripted.moves import Move, Respond, Search, View
from thalweg_evals.trace import Trace

COMPACTIONS = 5
"""How often the context is compacted before the plan is requested."""
_QUESTION = (
    "What are you helping me with, and what for? Answer in two sentences: my aim, your next step."
)
_GOAL = (
    "Help me with this: I want to {act} so that {end}. Meanwhile I will have you read me pages of "
    "the harbour log. Say that you understood."
)
_CHANGES = "Change of plan: I want to {act} so that {end}. Say that you understood."
_AIM = re.compile(r"I want to ([^.]+? so that [^.]+)\.")


@dataclass(frozen=True, slots=True)
class DriftGoal:
    """A user's goal, and its purpose."""

    act: str
    end: str
    word: str
    """A correct statement of the purpose contains it."""


_AIMS = (
    DriftGoal(
        "move the reading room downstairs", "visitors in wheelchairs can reach it", "wheelchair"
    ),
    DriftGoal("plant a hedge along the yard", "the children are safe from the traffic", "traffic"),
    DriftGoal("record the songs of old fishermen", "their dialect is not lost", "dialect"),
    DriftGoal("open the baths on Sunday mornings", "night nurses can swim after work", "nurse"),
    DriftGoal("paint the roof of the depot white", "the sorters suffer less from the heat", "heat"),
)


@dataclass
class Drift(ScriptedCase):
    """A goal that is stated once, and asked for long after."""

    aims: tuple[DriftGoal, ...]
    """The last of them is valid."""
    system_prompt = "You are an assistant who plans with the user. Answer in short sentences."
    gist = (_AIM.pattern,)

    @property
    def aim(self) -> DriftGoal:
        """The user's final goal."""
        return self.aims[-1]

    @property
    def rubric(self) -> str:
        """The question for the judge; yes is the expected answer."""
        return (
            f"The user's aim is to {self.aim.act} so that {self.aim.end}. In the last text the "
            "assistant says what it helps with. Is that this aim, with this purpose?"
        )

    def evidence(self, trace: Trace) -> Sequence[str]:
        """Return only the answer, so that nothing else can be quoted."""
        return [trace.answer]

    def run(self, talk: Speaks) -> None:
        """State the goal, talk about other things, and ask."""
        first, *changed = self.aims
        talk.send(_GOAL.format(act=first.act, end=first.end))
        for aim in changed:
            talk.fill(compactions=1)
            talk.send(_CHANGES.format(act=aim.act, end=aim.end))
        talk.fill(compactions=COMPACTIONS - len(changed))
        talk.send(_QUESTION)

    def grade(self, trace: Trace) -> Score:
        """Check the necessary words of the goal."""
        times = len(trace.compactions(MAIN))
        if times < COMPACTIONS:
            return untested(why=f"compacted {times} times, not {COMPACTIONS}")
        if mentions(trace.answer, self.aim.word):
            return passed(why="the aim is named")
        old = any(mentions(trace.answer, aim.word) for aim in self.aims[:-1])
        what = "the aim of before the user changed it" if old else "no word of the user's aim"
        return failed(why=f"it told {what}: {trace.answer[:100]!r}")

    def move(self, view: View) -> Move:
        """State the user's goal from the visible content."""
        if _QUESTION not in view.prompt:
            return Respond("Understood.")
        found = view.find(_AIM)
        if found is None:
            return Search(
                "I want to", Respond("I read you the harbour log; next I read its next page.")
            )
        return Respond(f"You want to {found[1]}. Next I will ask whom we need for that.")


def make(variant: str, dice: Random) -> Drift:
    """Create a case."""
    return Drift(tuple(dice.sample(_AIMS, 2 if variant == "changed" else 1)))


PROBE = Probe(
    name="drift",
    suite="context",
    asks="Is the agent still about what the user wants, after five compactions?",
    shows="what the user wants, or what for, is lost or replaced on the way",
    variants=("kept", "changed"),
    make=make,
)
