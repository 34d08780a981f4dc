"""Would strict providers accept every request, after compactions between calls and results?

Each call has its result right after it, no result is without its call, ids are unique, the first
message after the system prompt is a user's, and nothing is empty: every request of the trace is
checked, those of the harness and of subagents included.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, pairwise
from random import Random

from langchain_core.tools import ToolException

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.scripted.moves import Move, Respond, Use, View
from thalweg_evals.sent_requests import refusals
from thalweg_evals.trace import Trace

INSPECT, OPEN = "inspect_hold", "open_hatch"
SMALL, MIDDLE, LARGE = 100, 1_500, 4_000
"""Approximate tokens of a report."""
ROUNDS = 3
"""How often the request is repeated, with other things in between."""
_REPORTED = r"Report on hold (\d+)"
_WORDS = ["dry", "rust", "rivet", "plank", "grain", "sack", "beam", "bilge", "hatch", "pump"]
_REQUEST = re.compile(r"holds (\d+) to (\d+) of the ship with (\w+), (\w+)")
_AT_ONCE = {"one": 1, "two": 2, "three": 3}


@dataclass(frozen=True, slots=True)
class VariantRequest:
    """The request of a variant."""

    tool: str
    holds: int
    """Number of holds in one turn."""
    at_once: str
    """Number of them in one message, as a word."""
    tokens: int
    rounds: int
    happened: Callable[[Trace], bool]
    """Whether the condition of the variant occurred."""
    missing: str
    """Explanation if it did not."""


def _had_parallel(trace: Trace) -> bool:
    return any(len(one.calls) > 1 for one in trace.agents())


def _had_failure(trace: Trace) -> bool:
    return any(message.is_error for one in trace.agents() for message in one.messages)


def _shrank_in_a_turn(trace: Trace) -> bool:
    """Return whether the context shrank between a call and the end of its turn."""
    steps = pairwise(trace.agents())
    return any(old.turn == new.turn and new.tokens < old.tokens for old, new in steps)


SHAPES = {
    "parallel": VariantRequest(
        INSPECT, 3, "three", SMALL, ROUNDS, _had_parallel, "no two calls were made at once"
    ),
    "failing": VariantRequest(OPEN, 2, "two", SMALL, ROUNDS, _had_failure, "no tool failed"),
    "large": VariantRequest(
        INSPECT, 15, "three", LARGE, 1, _shrank_in_a_turn, "nothing was compacted within a turn"
    ),
    "many": VariantRequest(
        INSPECT, 40, "one", MIDDLE, 1, _shrank_in_a_turn, "nothing was compacted within a turn"
    ),
}
"""By variant. `parallel`: several calls in one message. `failing`: a tool that fails. `large`:
results so large that the context is compacted between calls and results. `many`: one turn with many
calls."""


@dataclass
class ToolPairs(ScriptedCase):
    """The holds of a ship, inspected by calls."""

    shape: VariantRequest
    seed: float
    tool_names = (INSPECT, OPEN)
    system_prompt = "You are a ship's surveyor. Use the tools you have; answer in few words."
    gist = (_REPORTED, _REQUEST.pattern)

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        talk.send("Good morning. Say hello.")
        for number in range(self.shape.rounds):
            first = number * self.shape.holds + 1
            talk.send(
                f"Please go through holds {first} to {first + self.shape.holds - 1} of the ship "
                f"with {self.shape.tool}, {self.shape.at_once} at a time: one call for each hold, "
                f"and {self.shape.at_once} of them in one message. Then say that you are done."
            )
            talk.fill(compactions=1)
        talk.send("Thank you. Say goodbye.")

    def grade(self, trace: Trace) -> Score:
        """Check every request by the rules of strict providers."""
        refused = [
            (one, why) for one in trace.requests for why in islice(refusals(one.messages), 1)
        ]
        value = float(len(refused))
        if refused:
            one, why = refused[0]
            whose = {"agent": "the agent's"}.get(one.kind, f"a {one.kind}'s")
            return failed(
                why=f"request {one.number}, {whose}, would be refused: {why}",
                request=one.number,
                value=value,
            )
        if not trace.compactions():
            return untested(why="nothing was compacted", value=value)
        if not self.shape.happened(trace):
            return untested(why=self.shape.missing, value=value)
        return passed(why=f"providers would take all {len(trace.requests)} requests", value=value)

    def move(self, view: View) -> Move:
        """Continue after the highest visible hold."""
        match = view.find(_REQUEST, roles=("user",))
        if match is None or "goodbye" in view.prompt or "Say hello" in view.prompt:
            return Respond("Good morning.")
        first, last, tool = int(match[1]), int(match[2]), match[3]
        reports = view.find_all(rf"{_REPORTED}|{tool}\([^\d)]*(\d+)")
        seen = [int(found[1] or found[2]) for found in reports]
        seen += [
            int(call.arguments["hold"])
            for message in view.messages
            for call in message.calls
            if call.name == tool
        ]
        begin = max([first - 1, *(hold for hold in seen if hold <= last)]) + 1
        end = min(last, begin + _AT_ONCE.get(match[4], 1) - 1)
        uses = [Use(tool, {"hold": hold}) for hold in range(begin, end + 1)]
        if not uses:
            return Respond("I am done.")
        return Use(uses[0].tool, uses[0].arguments, siblings=tuple(uses[1:]))

    def inspect_hold(self, hold: int) -> str:
        """Inspect a hold of the ship."""
        return self._report(hold)

    def open_hatch(self, hold: int) -> str:
        """Open the hatch of a hold."""
        if hold % 2:
            return self._report(hold)
        msg = f"{_REPORTED.partition('(')[0]}{hold}: the hatch is jammed and does not open."
        raise ToolException(msg)

    def _report(self, hold: int) -> str:
        dice = Random(f"{self.seed} {hold}")
        words = " ".join(dice.choices(_WORDS, k=self.shape.tokens))
        return f"{_REPORTED.partition('(')[0]}{hold}: {words}."


def make(variant: str, dice: Random) -> ToolPairs:
    """Create a case."""
    return ToolPairs(SHAPES[variant], dice.random())


PROBE = Probe(
    name="tool_pairs",
    suite="context",
    asks="Would strict providers accept every request, also after compactions?",
    shows="calls and results are parted, doubled or reordered; the figure: requests refused",
    needs=frozenset({"tools"}),
    variants=tuple(SHAPES),
    make=make,
)
