"""Does the agent search where it should, and only there?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Literal

from langchain_core.tools import BaseTool

from thalweg_evals.base import Case, Probe, Score, Speaks
from thalweg_evals.grading import denies_knowing, failed, mentions, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.material.harbour import (
    PLAY,
    SYSTEM,
    DockingCode,
    answering_machine,
    chatter,
    facts,
    recollect,
)
from thalweg_evals.material.paging import READ
from thalweg_evals.scripted.moves import Move, Say, Use, View
from thalweg_evals.trace import Request, Trace

Where = Literal["gone", "present", "never_said"]
_CODE = re.compile(r"\b[A-Z]{1,3}[-‑ ]?\d{3,}\b|\b\d{3,}\b")
_BROUGHT = {READ, PLAY, "write_todos"}
"""Tools that retrieve nothing: those of the case, and one of many harnesses."""


@dataclass(kw_only=True)
class Recollection(ScriptedCase):
    """A conversation that ends with a question about a fact; cases differ in where the fact is."""

    where: Where
    fact: DockingCode
    """The requested fact."""
    others: Sequence[DockingCode]
    """Facts of other ships, mentioned in passing."""
    message: str
    """The message of the answering machine, long before the question."""
    system_prompt = SYSTEM

    @cached_property
    def tools(self) -> tuple[BaseTool, ...]:
        """The answering machine."""
        return (answering_machine(self.message),)

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
            return untested(why="the question was not put")
        if not any(trace.requests[n].turn < turn for n in trace.compactions()):
            return untested(why="nothing was compacted before the question")
        shown = [one for one in trace.agents() if one.turn < turn]
        if self.where == "gone" and not any(map(self._stands, shown)):
            return untested(why="the agent never played the message")
        looks = _looks(asked)
        grade = {
            "gone": self._grade_gone,
            "present": self._grade_present,
            "never_said": self._grade_never_said,
        }[self.where]
        score = grade(asked[0], trace.turns[turn].answer, looks)
        return replace(score, request=asked[-1].number, value=len(looks))

    def _grade_gone(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        if self._stands(first):
            return untested(why="the fact was still in the context")
        looked = f"it looked with {_listed(looks)}" if looks else "it did not look"
        if mentions(answer, self.fact.code):
            why = f"{looked} and reported the code"
            return (passed if looks else failed)(why=why)
        said = f"and said {answer[:100]!r}"
        if not looks and not set(first.tools) - _BROUGHT:
            looked = "it had nothing to look with"
        return failed(why=f"the fact was no longer in the context; {looked} {said}")

    def _grade_present(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        if not self._stands(first):
            return failed(why="the user's last message was no longer in the context")
        if looks:
            return failed(why=f"it looked with {_listed(looks)} for content of its context")
        if not mentions(answer, self.fact.code):
            return failed(why=f"the code was in the context and was not reported: {answer[:100]!r}")
        return passed(why="the code was in the context and was reported at once")

    def _grade_never_said(self, first: Request, answer: str, looks: Sequence[str]) -> Score:
        del first
        looked = f"after looking with {_listed(looks)}" if looks else "without looking"
        known = [one.code for one in self.others]
        told = _CODE.findall(answer)
        invented = [one for one in told if not any(mentions(code, one) for code in known)]
        if invented:
            return failed(why=f"there was never {invented[0]}; it answered {looked}")
        if denies_knowing(answer):
            return passed(why=f"it admitted that it does not know, {looked}")
        if told:
            return failed(why=f"it reported the code of another ship, {told[0]}, {looked}")
        return failed(why=f"it did not admit that it does not know: {answer[:100]!r}")

    def _stands(self, request: Request) -> bool:
        """Return whether a request shows the code next to its ship."""
        ship, code = re.escape(self.fact.ship), re.escape(self.fact.code)
        beside = re.compile(f"{ship}.{{0,80}}{code}|{code}.{{0,80}}{ship}")
        return beside.search(request.text()) is not None

    def move(self, view: View) -> Move:
        """Decide the next move."""
        if (answer := recollect(view)) is not None:
            return answer
        if PLAY in view.asked and not view.since:
            return Use(PLAY, {})
        return Say("It is about a ship." if PLAY in view.asked else "Noted.")


def _looks(requests: Sequence[Request]) -> list[str]:
    """Return the retrieval tools that were called."""
    return [call.name for one in requests for call in one.calls if call.name not in _BROUGHT]


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
