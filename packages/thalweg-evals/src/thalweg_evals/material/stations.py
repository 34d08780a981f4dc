"""Subjects of the long tasks: stations on a coast, and texts that fill a context."""

from dataclasses import dataclass, field
from random import Random

from thalweg_evals.base import Score, Speaks
from thalweg_evals.grading import untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.trace import Trace

NAMES = ("Ostravick", "Quernbeck", "Tolvadden", "Ystrifel", "Garnmoor", "Pellowick", "Hathersk", "Vindolmar", "Brackwyn", "Ludrigan", "Escombry", "Fennaroe", "Morwhistle", "Skerrith", "Undermoss", "Wexcarrow", "Zelbright", "Jorrocks", "Kittlemere", "Nantgarrow")  # fmt: skip  # noqa: E501
"""Unusual enough to be neither guessed nor met by chance."""
PEOPLE = ("Ines Vasquel", "Tobias Renner", "Amara Okonjo", "Lidia Kowal", "Henrik Solberg", "Mei Tanaka")  # fmt: skip  # noqa: E501
_WORDS = ("gauge", "swell", "northerly", "drizzle", "davit", "relief", "visibility", "ebb", "shingle", "fogbank", "squall", "barometer", "keeper", "lens", "gallery", "oil", "wick", "landing", "hail", "cormorant", "skiff", "drift", "sounding", "ledge")  # fmt: skip  # noqa: E501
_LINE_WORDS = 12
_LINE_TOKENS = 17


def prose(seed: str, tokens: int) -> str:
    """Return lines of about this many tokens, deterministic by seed."""
    dice = Random(seed)
    lines = max(1, tokens // _LINE_TOKENS)
    return "\n".join(" ".join(dice.choices(_WORDS, k=_LINE_WORDS)) + "." for _ in range(lines))


def unless_untested(score: Score, trace: Trace, expected: int) -> Score:
    """Replace a verdict about a condition that did not occur.

    A failure after one compaction is a failure; a pass requires all the wanted compactions.
    """
    seen = len(trace.compactions())
    if seen >= expected or (seen and score.verdict == "failed"):
        return score
    return untested(why=f"{seen} of {expected} compactions: {score.why}")


@dataclass(kw_only=True)
class LongTask(ScriptedCase):
    """A task of many steps, each with a result that fills a part of the context."""

    compactions: int
    """How often the context has to be compacted during the task."""
    seed: str = ""
    talk: Speaks = field(init=False)
    """The conversation, which the tools of the case read."""

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
        return unless_untested(self.graded(trace), trace, self.compactions)

    def graded(self, trace: Trace) -> Score:
        """Compute the score of a trace with enough compactions."""
        raise NotImplementedError

    def result(self, step: object) -> str:
        """Return the text of a step, of which a few trigger a compaction."""
        return prose(f"{self.seed} {step}", self.talk.page_tokens())
