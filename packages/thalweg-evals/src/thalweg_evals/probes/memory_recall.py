"""Is a fact from one thread available in another?"""

from dataclasses import dataclass
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, mentions, passed
from thalweg_evals.material.personal import TOPICS, VALUES, PersonalCase, Topic
from thalweg_evals.scripted.learning import ScriptedNote
from thalweg_evals.trace import Trace

_THINGS = (
    *("shed", "garage", "cellar", "attic", "pantry", "boathouse", "greenhouse", "stable"),
    *("workshop", "library", "gallery", "laundry", "vault", "chapel", "kennel", "orangery"),
)
_AT_ONCE = 4
"""How many of them are in one message."""


@dataclass(kw_only=True)
class RecalledFact(PersonalCase):
    """A fact mentioned in one thread, asked for in another."""

    value: str

    def state(self, talk: Speaks) -> None:
        """Mention it, in one thread."""
        for text in self.stated:
            talk.send(text, "a")
        talk.settle()

    def grade(self, trace: Trace) -> Score:
        """Check the answer for the value."""
        if mentions(trace.answer, self.value):
            return passed(why=f"{self.value} was told")
        last = trace.last
        if last is not None and self.value in last.text():
            return failed(why=f"{self.value} was stored and not recalled")
        why = f"{self.value} was not in the other thread's context: {trace.answer[:80]!r}"
        return failed(why=why)


def make(variant: str, dice: Random) -> RecalledFact:
    """Create a case."""
    if variant == "among_many":
        return _among_many(dice)
    name = {"preference": "tea", "name": "sister", "chinese": "fruit"}[variant]
    topic, value = TOPICS[name], dice.choice(VALUES[name])
    return RecalledFact(
        topic=topic, value=value, stated=(topic.says.format(value=value),), facts=(topic.note,)
    )


def _among_many(dice: Random) -> RecalledFact:
    """Create a case with the codes of many doors."""
    things = dice.sample(_THINGS, len(_THINGS))
    codes = [str(code) for code in dice.sample(range(1000, 9999), len(things))]
    statements = [
        f"The door code of my {thing} is {code}." for thing, code in zip(things, codes, strict=True)
    ]
    index = dice.randrange(len(things))
    thing = things[index]
    topic = Topic(
        "",
        f"What is the door code of my {thing}?",
        f"the door code of my {thing} is",
        ScriptedNote(
            rf"[Tt]he door code of my {thing} is (\d+)",
            f"The door code of the user's {thing} is {{value}}.",
            "",
        ),
    )
    note = ScriptedNote(
        r"The door code of my (\w+) is (\d+)",
        "The door code of the user's {0} is {value}.",
        "door code of the {0}",
    )
    messages = [
        " ".join(statements[at : at + _AT_ONCE]) for at in range(0, len(statements), _AT_ONCE)
    ]
    return RecalledFact(topic=topic, value=codes[index], stated=tuple(messages), facts=(note,))


PROBE = Probe(
    name="memory_recall",
    suite="memory",
    asks="Is what the user stated in one thread available in another?",
    shows="statements are not learned, or not recalled when they are needed",
    needs=frozenset({"memory"}),
    variants=("preference", "name", "chinese", "among_many"),
    make=make,
)
