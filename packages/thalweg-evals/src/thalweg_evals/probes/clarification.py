"""Does the agent ask for information that the user provided before a compaction?

The user first describes how to write notes; pages are read until the context is compacted; then a
note is requested. In `changed` the user changes one thing in between.
"""

import re
from dataclasses import dataclass
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed
from thalweg_evals.material.stations import NAMES, PEOPLE, LongTask
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace

UNITS = ("fathoms", "cubits", "spans", "ells")
_WISHES = (
    "Later I shall want a note. This is how I want it: give depths in {unit}; begin the text with "
    "the heading {heading}; send it to {recipient}. For now, only say that you have understood."
)
_CHANGE = (
    "I have thought better of one thing: the note is to go to {instead}, not to the one I named "
    "before. All the rest stays. Only say that you have understood."
)
_NOW = (
    "Now write the note and send it with send_note: the depth at the pier of {station} is {depth}. "
    "All else is as I told you."
)
_WISHED = re.compile(
    r"give depths in (\w+); begin the text with the heading ([\w ]+?); send it to ([\w ]+?)\."
)
_CHANGED = re.compile(r"the note is to go to ([\w ]+?), not to the one")
_REQUEST = re.compile(r"the depth at the pier of (\w+) is (\d+)\.")
_SENT = "The note is sent."


@dataclass(kw_only=True)
class Clarification(LongTask):
    """Instructions that are stated once, and needed later."""

    unit: str
    heading: str
    recipient: str
    instead: str
    """The changed recipient; empty if the user does not change it."""
    station: str
    depth: int
    tool_names = ("send_note",)
    system_prompt = "You are the clerk of a coast guard. Do what you are asked, with tools."
    gist = (
        f"(?m)^.*{_WISHED.pattern}.*$",
        f"(?m)^.*{_CHANGED.pattern}.*$",
    )

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        wishes = {"unit": self.unit, "heading": self.heading, "recipient": self.recipient}
        talk.send(_WISHES.format(**wishes))
        if self.instead:
            talk.fill(self.compactions - 1)
            talk.send(_CHANGE.format(instead=self.instead))
            talk.fill(1)
        else:
            talk.fill(self.compactions)
        talk.send(_NOW.format(station=self.station, depth=self.depth))

    def graded(self, trace: Trace) -> Score:
        """Compute the score of a trace with enough compactions."""
        turn = len(trace.turns) - 1
        sent = [pair for pair in trace.calls("send_note") if pair[0].turn == turn]
        if not sent:
            how = "asked back" if "?" in trace.answer else "sent no note"
            return failed(why=f"the agent {how}: {trace.answer[:120]!r}")
        request, note = sent[-1]
        to, text = (str(note.arguments.get(name, "")) for name in ("recipient", "text"))
        chosen = (
            ("recipient", self.instead or self.recipient, to),
            ("unit", self.unit[:-1], text),
            ("heading", self.heading, text),
            ("depth", str(self.depth), text),
        )
        lost = [
            f"the {name} is not {right!r}: {given[:60]!r}"
            for name, right, given in chosen
            if right.casefold() not in given.casefold()
        ]
        if lost:
            return failed(why="; ".join(lost), request=request.number)
        if "?" in trace.answer:
            why = f"the note was sent, and yet the agent asked back: {trace.answer[:120]!r}"
            return failed(why=why)
        why = "the note follows the user's instructions, and nothing was asked again"
        return passed(why=why, request=request.number)

    def move(self, view: View) -> Move:
        """Write the note by the user's instructions.

        If the model cannot see them, the request shows that there were some ("as I told you"): it
        searches for them; if that fails, it asks.
        """
        if any(one.text == _SENT for one in view.since):
            return Respond("The note is sent, as you wished.")
        match = view.find(_REQUEST, roles=("user",)) if "send_note" in view.prompt else None
        if match is None:
            return Respond("Understood.")
        wished = view.find(_WISHED)
        if wished is None:
            return Search("give depths in", Respond("To whom shall I send it, and in which unit?"))
        unit, heading, recipient = wished.groups()
        changed = view.find(_CHANGED)
        text = f"{heading}\n\nThe depth at the pier of {match[1]} is {match[2]} {unit}."
        return Use("send_note", {"recipient": changed[1] if changed else recipient, "text": text})

    def send_note(self, recipient: str, text: str) -> str:
        """Send a note."""
        del recipient, text
        return _SENT


def make(variant: str, dice: Random) -> Clarification:
    """Create a case of a variant."""
    recipient, instead = dice.sample(PEOPLE, 2)
    heading, station = dice.sample(NAMES, 2)
    is_changed = variant == "changed"
    return Clarification(
        unit=dice.choice(UNITS),
        heading=f"{heading} Soundings",
        recipient=recipient,
        instead=instead if is_changed else "",
        station=station,
        depth=dice.randrange(3, 40),
        compactions=2 if is_changed else 1,
    )


PROBE = Probe(
    name="clarification",
    suite="context",
    asks="Does the agent use what the user already stated, instead of asking again?",
    shows="what the user chose is lost, and the user is asked again",
    needs=frozenset({"tools"}),
    variants=("said_once", "changed"),
    make=make,
)
