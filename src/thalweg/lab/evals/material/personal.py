"""Personal facts of a user: how they are mentioned, noted, asked for, and recalled."""

import re
from dataclasses import dataclass

from thalweg.lab.evals.base import Speaks
from thalweg.lab.evals.material.case import ScriptedCase
from thalweg.lab.evals.scripted.learning import ScriptedNote
from thalweg.lab.evals.scripted.moves import Look, Move, Say, View

UNKNOWN = "unknown"
"""Expected answer if the user never mentioned the fact."""


@dataclass(frozen=True, slots=True)
class Topic:
    """One kind of personal fact, with its phrases."""

    says: str
    """How the user mentions it, with `{value}`."""
    asks: str
    """How the user asks for it."""
    words: str
    """Search words for it."""
    note: ScriptedNote
    """The fact that a competent learner notes."""

    def told(self, view: View) -> str:
        """Return its value in a request, from the user's words or a fact; the newest is used.

        Returns:
            The value; empty if the request does not contain it.
        """
        fact = re.escape(self.note.content).replace(re.escape("{value}"), r"([\w -]+?)")
        found = view.find(f"{self.note.said}|{fact}")
        return next((group for group in found.groups() if group), "") if found else ""

    def answer(self, view: View) -> Move:
        """Answer the question from the content of the request."""
        if value := self.told(view):
            return Say(f"It is {value}.")
        return Look(self.words, Say(f"That is {UNKNOWN} to me: I was not told."))


@dataclass(kw_only=True)
class PersonalCase(ScriptedCase):
    """A question about the user, in another thread than the user's statements."""

    topic: Topic
    told: tuple[str, ...]
    """The user's messages, in order."""
    facts: tuple[ScriptedNote, ...]
    """The facts that a competent learner notes."""
    system_prompt = "You are a personal assistant. Answer in one short sentence."

    def state(self, talk: Speaks) -> None:
        """Make the user's statements, each in a thread of its own."""
        for number, text in enumerate(self.told):
            talk.say(text, f"a{number}")
            talk.settle()

    def run(self, talk: Speaks) -> None:
        """Make the user's statements, and ask in another thread."""
        self.state(talk)
        talk.say(self.topic.asks, "b")

    def move(self, view: View) -> Move:
        """Answer the question by what the request shows."""
        return self.topic.answer(view) if self.topic.asks in view.asked else Say("Noted.")


TEA = Topic(
    "By the way, my favourite tea is {value}.",
    "Which tea is my favourite?",
    "my favourite tea is",
    ScriptedNote(
        r"my favourite tea is ([\w-]+)", "The user's favourite tea is {value}.", "favourite tea",
        "preference",
    ),
)  # fmt: skip
TEAS = ["genmaicha", "lapsang", "rooibos", "darjeeling", "sencha", "hojicha", "keemun", "assam"]
SISTER = Topic(
    "My sister is called {value}, and she is visiting on Sunday.",
    "What is my sister called?",
    "my sister is called",
    ScriptedNote(r"[Mm]y sister is called (\w+)", "The user's sister is called {value}.", "sister"),
)
NAMES = ["Ingrid", "Solveig", "Marit", "Tiril", "Ragnhild", "Oddny", "Sunniva", "Eldbjorg"]
CITY = Topic(
    "I live in {value}.",
    "In which city do I live?",
    "I live in",
    ScriptedNote(r"I (?:now )?live in ([A-Z]\w+)", "The user lives in {value}.", "home city"),
)
CITIES = ["Bergen", "Tromso", "Porto", "Gdansk", "Ghent", "Graz", "Turku", "Lucca"]
LOCK = Topic(
    "The code of my bike lock is {value}.",
    "What is the code of my bike lock?",
    "the code of my bike lock is",
    ScriptedNote(
        r"[Tt]he code of my bike lock is (\d+)", "The code of the user's bike lock is {value}.",
        "code of the bike lock",
    ),
)  # fmt: skip
CHINESE = Topic(
    "顺便说一下，我最喜欢的水果是{value}。",
    "我最喜欢的水果是什么？",
    "最喜欢的水果",
    ScriptedNote(
        r"我最喜欢的水果是(\w+)(?=。)", "用户最喜欢的水果是{value}。", "最喜欢的水果",
        "preference", "zh",
    ),
)  # fmt: skip
FRUITS = ["枇杷", "杨梅", "荔枝", "山竹", "柚子", "石榴", "柿子", "龙眼"]
