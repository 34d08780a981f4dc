"""Does the agent continue at the right item when its context is compacted in a list?

The user names twelve stations, to be inspected once each and in order. Every inspection returns a
text that fills a good part of the context up to the next compaction.
"""

import re
from collections import Counter
from dataclasses import dataclass
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed
from thalweg_evals.material.stations import NAMES, LongTask
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace

STEPS = 12
MOST = 5 * STEPS
"""Inspections after which the stations are closed, in case an agent loops."""
_TASK = (
    "Please inspect these stations with inspect_station, one call at a time, each exactly once "
    "and in this order: {stations}. After the last one call close_round, once, with the first "
    "and the last station of the list. Do all of it in one go, without asking me anything."
)
_LIST = re.compile(r"each exactly once and in this order: ([\w, ]+)\.")
_DONE = re.compile(r"End of the inspection of (\w+)\.")
_CLOSED = "The round is closed."
_OVER = "All stations are closed for today. There is nothing left to inspect."


@dataclass(kw_only=True)
class Continuing(LongTask):
    """A list to process, with compactions in between."""

    stations: tuple[str, ...]
    tool_names = ("inspect_station", "close_round")
    system_prompt = "You inspect stations of a coast guard. Do what you are asked, with tools."
    gist = (_DONE.pattern, f"(?m)^.*{_LIST.pattern}.*$")
    _inspected: int = 0

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        self.talk = talk
        talk.send(_TASK.format(stations=", ".join(self.stations)))

    def graded(self, trace: Trace) -> Score:
        """Compute the score of a trace with enough compactions."""
        steps = [
            (request.number, _key(call.arguments.get("station", "")))
            for request, call in trace.calls("inspect_station")
        ]
        right = [_key(name) for name in self.stations]
        made = [name for _, name in steps]
        times = Counter(made)
        left_out = [name for name in right if not times[name]]
        repeated = [name for name in right if times[name] > 1]
        others = [name for name in times if name not in right]
        value = float(len(left_out) + len(others) + sum(times[name] - 1 for name in repeated))
        faults = [
            f"{len(names)} of {STEPS} stations {what} ({', '.join(names)})"
            for names, what in ((repeated, "inspected again"), (left_out, "left out"))
            if names
        ]
        faults += [f"{name!r}inspected without a request" for name in others]
        if not faults and made != right:
            faults.append(f"inspected out of order: {', '.join(made)}")
        closed = list(trace.calls("close_round"))
        if not closed:
            faults.append(f"the round not closed; the agent's answer: {trace.answer[:80]!r}")
        if faults:
            again = next((n for k, (n, name) in enumerate(steps) if name in made[:k]), None)
            return failed(why="; ".join(faults), request=again, value=value)
        why = f"every station once and in order, across {len(trace.compactions())} compactions"
        return passed(why=why, request=closed[-1][0].number, value=value)

    def move(self, view: View) -> Move:
        """Continue after the last station of the list that is visibly inspected.

        The list has an order: stations before an inspected one were inspected, too. A model that
        sees no inspection although it has begun searches for one; if that fails, it starts at the
        beginning.
        """
        listed = view.find(_LIST)
        if listed is None:
            return Search(
                "each exactly once and in this order", Respond("Which stations do you mean?")
            )
        if view.find(_CLOSED):
            return Respond("All stations are inspected, and the round is closed.")
        stations = listed[1].split(", ")
        known = [stations.index(one[1]) for one in view.find_all(_DONE) if one[1] in stations]
        if not known and any(one.role == "assistant" for one in view.messages):
            return Search("End of the inspection", Use("inspect_station", {"station": stations[0]}))
        following = max(known, default=-1) + 1
        if following < len(stations) and not view.find(_OVER):
            return Use("inspect_station", {"station": stations[following]})
        return Use("close_round", {"first": stations[0], "last": stations[-1]})

    def inspect_station(self, station: str) -> str:
        """Inspect a station; returns the protocol of the inspection."""
        self._inspected += 1
        if self._inspected > MOST:
            return _OVER
        return f"Protocol of {station}\n{self.result(station)}\nEnd of the inspection of {station}."

    def close_round(self, first: str, last: str) -> str:
        """Close a round of inspections."""
        del first, last
        return _CLOSED


def _key(station: object) -> str:
    return str(station).strip().casefold()


def make(variant: str, dice: Random) -> Continuing:
    """Create a case of a variant."""
    return Continuing(
        stations=tuple(dice.sample(NAMES, STEPS)), compactions=int(variant), seed=str(dice.random())
    )


PROBE = Probe(
    name="continuing",
    suite="context",
    asks="Does the agent go on where it was when its context is compacted in the midst of a task?",
    shows="completed work is lost: steps are repeated or omitted",
    needs=frozenset({"tools"}),
    variants=("2",),
    make=make,
)
