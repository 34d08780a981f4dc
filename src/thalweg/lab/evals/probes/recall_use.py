"""Does the agent search where it should, and only there?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from langchain_core.tools import BaseTool

from thalweg.lab.evals.base import Case, Probe, Score, Speaks
from thalweg.lab.evals.grading import denies_knowing, mentions
from thalweg.lab.evals.material.paging import READ, is_page, turn_page
from thalweg.lab.evals.probes.harbour import (
    PLAY,
    SYSTEM,
    UNKNOWN,
    DockingCode,
    answering_machine,
    chatter,
    facts,
)
from thalweg.lab.evals.scripted.moves import Look, Move, Say, Use, View
from thalweg.lab.evals.trace import Request, Trace

Where = Literal["gone", "present", "never_said"]
_CODE = re.compile(r"\b[A-Z]{1,3}[-‑ ]?\d{3,}\b|\b\d{3,}\b")
_TODOS = "write_todos"
"""A tool of many harnesses that retrieves nothing."""


@dataclass(kw_only=True)
class Recollection:
    """A conversation that ends with a question about a fact; cases differ in where the fact is."""

    where: Where
    fact: DockingCode
    """The requested fact."""
    others: Sequence[DockingCode]
    """Facts of other ships, mentioned in passing."""
    message: str
    """The message of the answering machine, long before the question."""
    system_prompt: str = SYSTEM
    gist: tuple[str, ...] = field(default=(), init=False)
    tools: tuple[BaseTool, ...] = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the message."""
        self.tools = (answering_machine(self.message),)

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        talk.say(f"Play the new message with {PLAY} and tell me in a few words what it is about.")
        talk.fill(compactions=1)
        if self.where == "present":
            talk.say(f"For your notes: {self.fact.told}. Say: noted.")
        talk.say(f"For your notes: {self.others[-1].told}. Say: noted.")
        talk.say(self.fact.question)

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
        turn = trace.put(self.fact.question)
        asked = trace.within(turn) if turn is not None else []
        if turn is None or not asked:
            return Score(verdict="untested", why="the question was not put")
        if not any(trace.requests[n].turn < turn for n in trace.compactions()):
            return Score(verdict="untested", why="nothing was compacted before the question")
        shown = [one for one in trace.agents() if one.turn < turn]
        if self.where == "gone" and not any(map(self._stands, shown)):
            return Score(verdict="untested", why="the agent never played the message")
        looks = _looks(asked)
        score = {
            "gone": self._grade_gone,
            "present": self._grade_present,
            "never_said": self._grade_never_said,
        }[self.where](asked[0], trace.turns[turn].answer, looks)
        return Score(
            verdict=score.verdict, why=score.why, request=asked[-1].number, value=len(looks)
        )

    def _grade_gone(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        if self._stands(first):
            return Score(verdict="untested", why="the fact was still in the context")
        looked = f"it looked with {_listed(looks)}" if looks else "it did not look"
        if mentions(answer, self.fact.code):
            why = f"{looked} and reported the code"
            return Score(verdict="passed" if looks else "failed", why=why)
        said = f"and said {answer[:100]!r}"
        if not looks and not set(first.tools) - self._brought:
            looked = "it had nothing to look with"
        return Score(
            verdict="failed", why=f"the fact was no longer in the context; {looked} {said}"
        )

    def _grade_present(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        if not self._stands(first):
            why = "the user's last message was no longer in the context"
            return Score(verdict="failed", why=why)
        if looks:
            why = f"it looked with {_listed(looks)} for content of its context"
            return Score(verdict="failed", why=why)
        if not mentions(answer, self.fact.code):
            why = f"the code was in the context and was not reported: {answer[:100]!r}"
            return Score(verdict="failed", why=why)
        return Score(verdict="passed", why="the code was in the context and was reported at once")

    def _grade_never_said(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        del first
        looked = f"after looking with {_listed(looks)}" if looks else "without looking"
        known = [one.code for one in self.others]
        told = _CODE.findall(answer)
        invented = [one for one in told if not any(mentions(code, one) for code in known)]
        if invented:
            why = f"there was never {invented[0]}; it answered {looked}"
            return Score(verdict="failed", why=why)
        if denies_knowing(answer):
            return Score(verdict="passed", why=f"it admitted that it does not know, {looked}")
        if told:
            why = f"it reported the code of another ship, {told[0]}, {looked}"
            return Score(verdict="failed", why=why)
        why = f"it did not admit that it does not know: {answer[:100]!r}"
        return Score(verdict="failed", why=why)

    def _stands(self, request: Request) -> bool:
        """Return whether a request shows the code next to its ship."""
        ship, code = re.escape(self.fact.ship), re.escape(self.fact.code)
        beside = re.compile(f"{ship}.{{0,80}}{code}|{code}.{{0,80}}{ship}")
        return beside.search(request.text()) is not None

    @property
    def _brought(self) -> set[str]:
        return {READ, PLAY, _TODOS}

    def act(self, view: View) -> Move:
        """Decide the next move."""
        if is_page(view):
            return turn_page(view)
        if asked := re.search(r"What is the (docking code of the \w+)\?", view.asked):
            found = view.find(rf"{asked[1]} is ([A-Z]{{2}}-\d{{4}})")
            return Say(f"It is {found[1]}.") if found else Look(f"{asked[1]} is", Say(UNKNOWN))
        if PLAY in view.asked and not view.since:
            return Use(PLAY, {})
        return Say("It is about a ship." if PLAY in view.asked else "Noted.")


def _looks(requests: Sequence[Request]) -> list[str]:
    """Return the retrieval tools that were called."""
    called = [call.name for one in requests if one.answer for call in one.answer.calls]
    return [name for name in called if name not in {READ, PLAY, _TODOS}]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def make(variant: str, dice: Random) -> Case:
    """Create a case; see `Probe.make`."""
    where: Where = "gone" if variant == "gone" else "present"
    if variant == "never_said":
        where = "never_said"
    fact, *others = facts(dice, 3)
    said = [fact, others[0]] if where == "gone" else others
    message = chatter(dice, "; ".join(f"note that {one.told}" for one in said))
    return Recollection(where=where, fact=fact, others=others, message=message)


PROBE = Probe(
    name="recall_use",
    suite="context",
    asks="Does the agent look where it should, and only there?",
    shows="It answers without a search, searches for what its context has, or invents content.",
    needs=frozenset({"tools"}),
    variants=("gone", "present", "never_said"),
    make=make,
)
