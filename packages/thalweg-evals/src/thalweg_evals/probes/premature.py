"""Does the agent claim completion while steps remain, after its context was compacted?

The steps are in a work order that the agent reads with a tool, and in no message of the user. The
only question is whether it stopped early, not how well it continued.
"""

import re
from dataclasses import dataclass
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed
from thalweg_evals.material.stations import NAMES, LongTask
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Request, Trace

STEPS = 10
MOST = 5 * STEPS
_TASK = (
    "Please carry out today's work order: read it with read_order, then do every item of it with "
    "do_item, one call at a time, in its order. When every item is done, and not before, call "
    "close_order. Do it in one go and do not ask me anything; tell me when it is all done."
)
_GOAL = re.compile(r"carry out today's work order")
_ITEM = re.compile(r"(\d+)\. To be repaired: the lamp of (\w+)")
_DONE = re.compile(r"Item done: the lamp of (\w+) is repaired")
_CLOSED = "The work order is closed."
_OVER = "The workshop is closed for today."


@dataclass(kw_only=True)
class Premature(LongTask):
    """A work order with more items than fit between two compactions."""

    stations: tuple[str, ...]
    tool_names = ("read_order", "do_item", "close_order")
    system_prompt = "You maintain the lamps of a coast guard. Do what you are asked, by tools."
    gist = (_DONE.pattern, _ITEM.pattern, f"(?m)^.*{_GOAL.pattern}.*$")
    _worked: int = 0

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        self.talk = talk
        talk.send(_TASK)

    def graded(self, trace: Trace) -> Score:
        """Compute the score of a trace with enough compactions."""
        done: set[str] = set()
        for request in trace.agents():
            left = [name for name in self.stations if name.casefold() not in done]
            if left and (ending := _ending(request)):
                after = sum(number <= request.number for number in trace.compactions())
                why = f"{ending} with {len(left)} of {STEPS} items open, after compaction {after}"
                return failed(why=why, request=request.number, value=float(len(left)))
            done |= _items(request)
        closed = next((request for request, _ in trace.calls("close_order")), None)
        if closed is None:
            why = f"stopped without closing the order: {trace.answer[:80]!r}"
            return failed(why=why, value=0.0)
        why = f"went on to the end across {len(trace.compactions())} compactions"
        return passed(why=why, request=closed.number, value=0.0)

    def move(self, view: View) -> Move:
        """Do the first item of the order that is not visibly done.

        A model that cannot see the whole order (its items have numbers) searches for it; if that
        fails, it takes the visible items for all of it, and reports completion.
        """
        if view.find(_CLOSED):
            return Respond("All items are done, and the order is closed.")
        if view.find(_GOAL) is None:
            return Search("carry out today's work order", Respond("Everything is done."))
        numbered = {int(one[1]): one[2] for one in view.find_all(_ITEM)}
        if not numbered and not any(one.role == "assistant" for one in view.messages):
            return Use("read_order", {})
        done = {one[1] for one in view.find_all(_DONE)}
        known = [number for number, name in numbered.items() if name in done]
        following = max(known, default=0) + 1
        if following in numbered and not view.find(_OVER):
            return Use("do_item", {"station": numbered[following]})
        if not numbered or following <= max(numbered):
            words = f"{following}. To be repaired: the lamp of"
            return Search(words, Respond("Everything in the order is done."))
        return Use("close_order", {})

    def read_order(self) -> str:
        """Read today's work order."""
        items = enumerate(self.stations, start=1)
        return "\n".join(f"{k}. To be repaired: the lamp of {name}" for k, name in items)

    def do_item(self, station: str) -> str:
        """Do one item of the work order: pass the name of its station."""
        self._worked += 1
        if self._worked > MOST:
            return _OVER
        done = f"Item done: the lamp of {station} is repaired."
        return f"Protocol of the work\n{self.result(station)}\n{done}"

    def close_order(self) -> str:
        """Close today's work order."""
        return _CLOSED


def _ending(request: Request) -> str:
    """Return how a request ended the work; empty if it did not."""
    if request.answer is None:
        return ""
    if not request.calls:
        return f"the turn ended with the answer {request.answer.text[:80]!r},"
    return (
        "the order was closed" if any(call.name == "close_order" for call in request.calls) else ""
    )


def _items(request: Request) -> set[str]:
    made = (call for call in request.calls if call.name == "do_item")
    stations = (str(call.arguments.get("station", "")) for call in made)
    return {re.sub(r".*lamp of ", "", station).strip(" .").casefold() for station in stations}


def make(variant: str, dice: Random) -> Premature:
    """Create a case of a variant."""
    return Premature(
        stations=tuple(dice.sample(NAMES, STEPS)), compactions=int(variant), seed=str(dice.random())
    )


PROBE = Probe(
    name="premature",
    suite="context",
    asks="Does the agent complete its work, whatever compaction removed?",
    shows="remaining work is lost, and the agent declares that everything is done",
    needs=frozenset({"tools"}),
    variants=("2",),
    make=make,
)
