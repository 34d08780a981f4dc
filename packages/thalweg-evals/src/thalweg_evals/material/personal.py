"""Personal facts of a user: how they are mentioned, noted, asked for, and recalled."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg.engine.data_files import read_table
from thalweg_evals.base import Speaks
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.scripted.learning import ScriptedNote
from thalweg_evals.scripted.moves import Move, Respond, Search, View

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

    def stated(self, view: View) -> str:
        """Return its value in a request, from the user's words or a fact; the newest is used.

        Returns:
            The value; empty if the request does not contain it.
        """
        fact = re.escape(self.note.content).replace(re.escape("{value}"), r"([\w -]+?)")
        found = view.find(f"{self.note.said}|{fact}")
        return next((group for group in found.groups() if group), "") if found else ""

    def answer(self, view: View) -> Move:
        """Answer the question from the content of the request."""
        if value := self.stated(view):
            return Respond(f"It is {value}.")
        return Search(self.words, Respond(f"That is {UNKNOWN} to me: I was not told."))


@dataclass(kw_only=True)
class PersonalCase(ScriptedCase):
    """A question about the user, in another thread than the user's statements."""

    topic: Topic
    stated: tuple[str, ...]
    """The user's messages, in order."""
    facts: tuple[ScriptedNote, ...]
    """The facts that a competent learner notes."""
    system_prompt = "You are a personal assistant. Answer in one short sentence."

    def state(self, talk: Speaks) -> None:
        """Make the user's statements, each in a thread of its own."""
        for number, text in enumerate(self.stated):
            talk.send(text, f"a{number}")
            talk.settle()

    def run(self, talk: Speaks) -> None:
        """Make the user's statements, and ask in another thread."""
        self.state(talk)
        talk.send(self.topic.asks, "b")

    def move(self, view: View) -> Move:
        """Answer the question from the request's content."""
        return self.topic.answer(view) if self.topic.asks in view.prompt else Respond("Noted.")


def _topic(says: str, asks: str, words: str, note: Mapping[str, Any], **_: object) -> Topic:
    return Topic(says, asks, words, ScriptedNote(**note))


_TABLE = read_table(__package__, "personal.toml")
TOPICS = {name: _topic(**row) for name, row in _TABLE.items()}
VALUES: dict[str, list[str]] = {name: row.get("values", []) for name, row in _TABLE.items()}
"""Possible values of a topic; empty for one whose values are numbers."""
