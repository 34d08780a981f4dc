"""Does compaction pay, with all its costs?

The same conversation is charged twice at each tariff, with a simulated prefix cache: as it was
sent, with the harness's own requests (summaries) and those of subagents; and as if the whole
history had been sent each time, which a cache makes cheap. A harness that rewrites the beginning of
every request, or requests many summaries, pays more than it saves.
"""

from random import Random

from thalweg.engine.pricing.table import TARIFFS
from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.scripted.moves import Move, Respond, View
from thalweg_evals.spending import spent, whole
from thalweg_evals.trace import Trace

COMPACTIONS = 10
"""Approximate number of compactions."""
LEAST = 5
"""With fewer compactions, the cost is not significant."""
PRICED = ("openai", "anthropic")
"""Tariffs: a cache that finds prefixes by itself, and one that stores marked prefixes."""
MOST = 1.0
"""Highest share of the whole history's price. No lower limit is right for every trigger: if
instructions and tools fill most of a context that is kept small, even free compaction would save
little. The savings are the figure that a baseline compares."""


class Cost(ScriptedCase):
    """A conversation of pages only."""

    system_prompt = "You are a harbour clerk. Answer in one short sentence."
    gist = (r"we go through the harbour log",)

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        talk.send("Good morning. Today we go through the harbour log, page by page. Say hello.")
        talk.fill(compactions=COMPACTIONS)
        talk.send("Thank you, that is all. Say goodbye.")

    def grade(self, trace: Trace) -> Score:
        """Charge the conversation as it was sent, and as if it had been sent whole."""
        had = len(trace.compactions())
        if had < LEAST:
            return untested(why=f"compacted {had} times, and not {COMPACTIONS}")
        shares = {
            name: spent(trace, TARIFFS[name]).cost / whole(trace, TARIFFS[name]).cost
            for name in PRICED
        }
        dearest = max(shares, key=lambda name: shares[name])
        costs = ", ".join(f"{share:.0%} at {name}'s prices" for name, share in shares.items())
        return Score(
            verdict="passed" if shares[dearest] < MOST else "failed",
            why=f"the talk cost {costs} of what the whole history costs",
            value=round(shares[dearest], 4),
        )

    def move(self, view: View) -> Move:
        """Answer briefly."""
        del view
        return Respond("Hello.")


def make(variant: str, dice: Random) -> Cost:
    """Create a case."""
    del variant, dice
    return Cost()


PROBE = Probe(
    name="cost",
    suite="context",
    asks="Does compaction pay, with everything that it costs?",
    shows="rewritten prefixes and summaries cost more than they save; the figure: the share of "
    "what the whole history would have cost",
    variants=("pages",),
    make=make,
)
