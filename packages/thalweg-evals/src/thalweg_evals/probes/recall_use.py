"""Does the agent search when it should, and only then?"""

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
from thalweg_evals.scripted.moves import Move, Respond, Use, View
from thalweg_evals.trace import Request, Trace

Where = Literal["gone", "present", "never_said"]
_CODE = re.compile(r"\b[A-Z]{1,3}[-‑ ]?\d{3,}\b|\b\d{3,}\b")
_OTHER_TOOLS = {READ, PLAY, "write_todos"}
"""Tools that retrieve nothing: those of the case, and one of many harnesses."""


@dataclass(kw_only=True)
class Recollection(ScriptedCase):
    """A conversation that ends with a question about a fact; cases differ in its location."""

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
        talk.send(f"Play the new message with {PLAY} and tell me in a few words what it is about.")
        talk.fill(compactions=1)
        if self.where == "present":
            talk.send(f"For your notes: {self.fact.statement}. Say: noted.")
        talk.send(f"For your notes: {self.others[-1].statement}. Say: noted.")
        talk.send(self.fact.question)

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
        turn = trace.put(self.fact.question)
        requests = trace.within(turn) if turn is not None else []
        if turn is None or not requests:
            return untested(why="the question was not put")
        if not any(trace.requests[n].turn < turn for n in trace.compactions()):
            return untested(why="nothing was compacted before the question")
        shown = [one for one in trace.agents() if one.turn < turn]
        if self.where == "gone" and not any(map(self._stands, shown)):
            return untested(why="the agent never played the message")
        retrievals = _retrievals(requests)
        grade = {
            "gone": self._grade_gone,
            "present": self._grade_present,
            "never_said": self._grade_never_mentioned,
        }[self.where]
        score = grade(requests[0], trace.turns[turn].answer, retrievals)
        return replace(score, request=requests[-1].number, value=len(retrievals))

    def _grade_gone(self, first: Request, answer: str, retrievals: Sequence[str]) -> Score:
        if self._stands(first):
            return untested(why="the fact was still in the context")
        looked = f"it looked with {_listed(retrievals)}" if retrievals else "it did not look"
        if mentions(answer, self.fact.code):
            why = f"{looked} and reported the code"
            return (passed if retrievals else failed)(why=why)
        quotation = f"and said {answer[:100]!r}"
        if not retrievals and not set(first.tools) - _OTHER_TOOLS:
            looked = "it had nothing to look with"
        return failed(why=f"the fact was no longer in the context; {looked} {quotation}")

    def _grade_present(self, first: Request, answer: str, retrievals: Sequence[str]) -> Score:
        if not self._stands(first):
            return failed(why="the user's last message was no longer in the context")
        if retrievals:
            return failed(why=f"it looked with {_listed(retrievals)} for content of its context")
        if not mentions(answer, self.fact.code):
            return failed(why=f"the code was in the context and was not reported: {answer[:100]!r}")
        return passed(why="the code was in the context and was reported at once")

    def _grade_never_mentioned(
        self, first: Request, answer: str, retrievals: Sequence[str]
    ) -> Score:
        del first
        looked = f"after looking with {_listed(retrievals)}" if retrievals else "without looking"
        known = [one.code for one in self.others]
        reported = _CODE.findall(answer)
        invented = [one for one in reported if not any(mentions(code, one) for code in known)]
        if invented:
            return failed(why=f"there was never {invented[0]}; it answered {looked}")
        if denies_knowing(answer):
            return passed(why=f"it admitted that it does not know, {looked}")
        if reported:
            return failed(why=f"it reported the code of another ship, {reported[0]}, {looked}")
        return failed(why=f"it did not admit that it does not know: {answer[:100]!r}")

    def _stands(self, request: Request) -> bool:
        """Return whether a request shows the code next to its ship."""
        ship, code = re.escape(self.fact.ship), re.escape(self.fact.code)
        adjacent = re.compile(f"{ship}.{{0,80}}{code}|{code}.{{0,80}}{ship}")
        return adjacent.search(request.text()) is not None

    def move(self, view: View) -> Move:
        """Decide the next move."""
        if (answer := recollect(view)) is not None:
            return answer
        if PLAY in view.prompt and not view.since:
            return Use(PLAY, {})
        return Respond("It is about a ship." if PLAY in view.prompt else "Noted.")


def _retrievals(requests: Sequence[Request]) -> list[str]:
    """Return the retrieval tools that were called."""
    return [call.name for one in requests for call in one.calls if call.name not in _OTHER_TOOLS]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def make(variant: str, dice: Random) -> Case:
    """Create a case; see `Probe.make`."""
    where: Where = "gone" if variant == "gone" else "present"
    if variant == "never_said":
        where = "never_said"
    fact, *others = facts(dice, 3)
    mentioned = [fact, others[0]] if where == "gone" else others
    message = chatter(dice, "; ".join(f"note that {one.statement}" for one in mentioned))
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
