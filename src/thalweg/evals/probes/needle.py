"""Can what was said once be told after it left the context?"""

import re
from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool

from thalweg.evals.base import Probe, Score, Speaks
from thalweg.evals.paging import is_page, turn_page
from thalweg.evals.scripted.moves import Look, Move, Say, View
from thalweg.evals.trace import Trace

_SHIPS = ["Aurora", "Boreas", "Calypso", "Demeter", "Electra", "Fortuna", "Galatea", "Halcyon"]


@dataclass
class Needle:
    """A fact in the user's aside."""

    ship: str
    code: str
    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = "You are a harbour clerk. Answer in one short sentence."
    gist: tuple[str, ...] = ()

    def run(self, talk: Speaks) -> None:
        talk.say(
            f"Good morning. By the way, the docking code of the {self.ship} is {self.code}. Say hello."
        )
        talk.fill(compactions=1)
        talk.say(f"What is the docking code of the {self.ship}?")

    def grade(self, trace: Trace) -> Score:
        if self.code in trace.answer:
            return Score(verdict="passed", why="the code was told")
        return Score(verdict="failed", why=f"{self.code} was not told: {trace.answer[:80]!r}")

    def act(self, view: View) -> Move:
        if is_page(view):
            return turn_page(view)
        asked = re.search(r"What is (the docking code of the \w+)\?", view.asked)
        if asked is None:
            return Say("Hello.")
        found = view.find(re.escape(asked[1]) + r" is (\S+?)[.\s]")
        if found is not None:
            return Say(f"It is {found[1]}.")
        return Look(asked[1], Say("I do not know it."))


def make(variant: str, dice: Random) -> Needle:
    del variant
    code = f"{dice.choice('QXZK')}{dice.choice('QXZK')}-{dice.randrange(1000, 9999)}"
    return Needle(dice.choice(_SHIPS), code)


PROBE = Probe(
    name="needle",
    suite="context",
    asks="Can what was said once be told after it left the context?",
    shows="what was compacted away cannot be found again",
    variants=("user_aside",),
    make=make,
)
