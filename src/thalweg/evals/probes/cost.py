"""Does compaction pay, with everything that it costs?

The same talk is charged twice at each tariff, with the provider's prefix cache simulated: as it
was sent, with the harness's own requests (summaries) and those of subagents; and as if the whole
history had been sent each time, which a cache makes cheap. Who rewrites the beginning of every
request, or asks for many summaries, pays more than it saves.
"""

from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool

from thalweg.context.tariffs import TARIFFS
from thalweg.evals.base import Probe, Score, Speaks
from thalweg.evals.paging import is_page, turn_page
from thalweg.evals.scripted.moves import Move, Say, View
from thalweg.evals.spending import spent, whole
from thalweg.evals.trace import Trace

COMPACTIONS = 10
"""So many are had; a few more or less decide nothing."""
LEAST = 5
"""Fewer tell nothing about what compaction costs."""
PRICED = ("openai", "anthropic")
"""Tariffs: a cache that finds prefixes by itself, and one that keeps what is marked."""
MOST = 1.0
"""Share of the whole history's price that a talk costs less than. No lower mark is right for every
trigger: where instructions and tools fill most of a context that is kept small, compaction that
cost nothing would save little. How much is saved is the figure, for a baseline to compare."""


@dataclass
class Cost:
    """A talk of pages, and nothing else."""

    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = "You are a harbour clerk. Answer in one short sentence."
    gist: tuple[str, ...] = (r"we go through the harbour log",)

    def run(self, talk: Speaks) -> None:
        """See `Case.run`."""
        talk.say("Good morning. Today we go through the harbour log, page by page. Say hello.")
        talk.fill(compactions=COMPACTIONS)
        talk.say("Thank you, that is all. Say goodbye.")

    def grade(self, trace: Trace) -> Score:
        """Charge the talk as it was sent, and as if it had been sent whole."""
        had = len(trace.compactions())
        if had < LEAST:
            return Score(verdict="untested", why=f"compacted {had} times, and not {COMPACTIONS}")
        shares = {
            name: spent(trace, TARIFFS[name]).cost / whole(trace, TARIFFS[name]).cost
            for name in PRICED
        }
        dearest = max(shares, key=lambda name: shares[name])
        told = ", ".join(f"{share:.0%} at {name}'s prices" for name, share in shares.items())
        return Score(
            verdict="passed" if shares[dearest] < MOST else "failed",
            why=f"the talk cost {told} of what the whole history costs",
            value=round(shares[dearest], 4),
        )

    def act(self, view: View) -> Move:
        """Read pages."""
        return turn_page(view) if is_page(view) else Say("Hello.")


def make(variant: str, dice: Random) -> Cost:
    """Make a case."""
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
