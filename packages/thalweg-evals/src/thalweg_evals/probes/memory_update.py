"""Does the agent use the newest version of a fact?"""

import re
from dataclasses import dataclass
from random import Random

from thalweg_evals.base import Probe, Score
from thalweg_evals.grading import failed, mentions, passed
from thalweg_evals.material.personal import TOPICS, VALUES, PersonalCase
from thalweg_evals.trace import Trace

_ENDED = re.compile(r"no longer|until|before|formerly|previous|used to|was |supersed|outdated")


@dataclass(kw_only=True)
class Update(PersonalCase):
    """A fact that the user changes later, in another thread."""

    old: str
    new: str

    def grade(self, trace: Trace) -> Score:
        """Check the answer and the model's input for both values."""
        last = trace.last
        shown = last.text() if last is not None else ""
        if not mentions(trace.answer, self.new):
            known = (
                "in the model's context" if self.new in shown else "not even in the model's context"
            )
            return failed(why=f"{self.new}, the newest, was {known}: {trace.answer[:80]!r}")
        if mentions(trace.answer, self.old):
            return failed(why=f"{self.old} was reported, which is outdated")
        if self._misleads(shown):
            why = f"the model's context had {self.old} and {self.new}, as if both were valid"
            return failed(why=why)
        return passed(why=f"{self.new} was reported, and nothing else")

    def _misleads(self, shown: str) -> bool:
        """Return whether the old value occurs without a statement that it is outdated.

        It may occur before the words of the user's change, and next to a note.
        """
        lines = shown.splitlines()
        changed = max((at for at, line in enumerate(lines) if self.stated[-1] in line), default=-1)
        return any(self.old in line and not _ENDED.search(line) for line in lines[changed + 1 :])


def _update(name: str, old: str, new: str, *stated: str) -> Update:
    topic = TOPICS[name]
    return Update(topic=topic, old=old, new=new, stated=stated, facts=(topic.note,))


def make(variant: str, dice: Random) -> Update:
    """Create a case."""
    if variant == "corrected":
        old, new = (str(code) for code in dice.sample(range(1000, 9999), 2))
        correction = f"I made a mistake earlier. The code of my bike lock is {new}."
        return _update("lock", old, new, TOPICS["lock"].says.format(value=old), correction)
    old, new = dice.sample(VALUES["city"], 2)
    first = TOPICS["city"].says.format(value=old)
    moved = f"I have moved: I now live in {new}."
    if variant == "moved":
        return _update("city", old, new, first, moved)
    back = f"It did not work out, so I went back. I now live in {old} again."
    return _update("city", new, old, first, moved, back)


PROBE = Probe(
    name="memory_update",
    suite="memory",
    asks="Is the user's newest statement the one that is reported?",
    shows="an outdated fact is reported with the valid one, or instead of it",
    needs=frozenset({"memory"}),
    variants=("moved", "corrected", "undone"),
    make=make,
)
