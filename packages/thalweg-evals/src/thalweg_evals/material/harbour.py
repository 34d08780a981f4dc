"""Shared parts of cases in a harbour office: ships, codes, and how they are mentioned."""

import re
from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool, StructuredTool

from thalweg.engine.data_files import read_table
from thalweg_evals.scripted.moves import Move, Respond, Search, View

PLAY = "play_message"
SYSTEM = "You are a clerk in a harbour office. Answer in one short sentence."
UNKNOWN = "I do not know it."
TEXTS = read_table(__package__, "harbour.toml")

_QUESTIONS = (
    (r"What is the (docking code of the \w+)\?", "{} is ", r"([A-Z]{2}-\d{4})"),
    (r"Which berth number did you choose for the (\w+)\?", "The {} lies at berth ", r"(\d{4})"),
    (r"(\w+号的靠泊密码)是什么", "{}是", r"(?!什么)(\w+)"),
)
"""The question; the words of the statement; the pattern of the answer after them."""


@dataclass(frozen=True, slots=True)
class DockingCode:
    """A ship's docking code."""

    ship: str
    code: str

    @property
    def about(self) -> str:
        """Its subject, as in statements and questions."""
        return f"docking code of the {self.ship}"

    @property
    def statement(self) -> str:
        """The fact as a clause."""
        return f"the {self.about} is {self.code}"

    @property
    def question(self) -> str:
        """The user's question."""
        return f"What is the {self.about}?"


def facts(dice: Random, number: int) -> list[DockingCode]:
    """Draw facts about different ships."""
    return [
        DockingCode(ship, f"{''.join(dice.sample('HKQVXZ', 2))}-{dice.randrange(1000, 10_000)}")
        for ship in dice.sample(TEXTS["ships"], number)
    ]


def chatter(dice: Random, sentence: str) -> str:
    """Return a long letter with a sentence in its middle."""
    before, after = dice.sample(TEXTS["talk"], 8), dice.sample(TEXTS["talk"], 8)
    return "; ".join([*before, sentence, *after]) + "."


def answering_machine(message: str) -> BaseTool:
    """Create a tool that plays a message once, and deletes it."""
    left = [message]

    def play_message() -> str:
        """Play the new message of the answering machine, and delete it."""
        return left.pop() if left else "There are no new messages."

    return StructuredTool.from_function(play_message)


def recollect(view: View) -> Move | None:
    """Answer a question from the context, or search for the answer; `None` for another request."""
    for question, words, sought in _QUESTIONS:
        if match := re.search(question, view.prompt):
            statement = words.format(match[1])
            found = view.find(re.escape(statement) + sought)
            return (
                Respond(f"It is {found[1]}.")
                if found
                else Search(statement.strip(), Respond(UNKNOWN))
            )
    return None
