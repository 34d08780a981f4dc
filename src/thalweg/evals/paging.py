"""What fills a context: pages of a log that the user has read, or pastes."""

import re
from random import Random

from langchain_core.tools import BaseTool, StructuredTool

from thalweg.evals.scripted.moves import Move, Say, Use, View

READ = "read_page"
_ASK = "Please read page {page} of the harbour log with {tool} and tell me its last word."
_PASTE = "This is page {page} of the harbour log. Tell me its last word.\n\n{text}"
_ASKED = re.compile(r"page (\d+) of the harbour log")
_WORDS = ["barge", "tide", "crane", "rope", "mooring", "pilot", "keel", "anchor", "quay", "lantern", "ballast", "rudder", "signal", "cargo", "ledger", "gull", "harbour", "winch", "beacon", "hawser", "tonnage", "manifest", "berth", "channel", "buoy", "dredger", "jetty", "ferry"]
_LINE_WORDS = 12


class Pages:
    """The pages of one trial, each of some tokens, the same for one seed."""

    def __init__(self, dice: Random) -> None:
        self._seed = dice.random()
        self.tokens = 500
        """How long a page is; about a token a word."""
        self.read = 0
        """How many were asked for so far."""

    def text(self, page: int) -> str:
        """Write a page."""
        dice = Random(f"{self._seed} {page}")  # noqa: S311 (not a secret)
        lines = [f"Harbour log, page {page}"]
        for _ in range(max(1, self.tokens // (_LINE_WORDS + 2))):
            lines.append(" ".join(dice.choices(_WORDS, k=_LINE_WORDS)) + ".")
        return "\n".join(lines)

    def tool(self) -> BaseTool:
        """Make the tool that reads one."""

        def read_page(page: int) -> str:
            """Read a page of the harbour log."""
            return self.text(page)

        return StructuredTool.from_function(read_page)

    def ask(self, *, has_tools: bool) -> str:
        """Say what the user says to have the next page read."""
        self.read += 1
        if has_tools:
            return _ASK.format(page=self.read, tool=READ)
        return _PASTE.format(page=self.read, text=self.text(self.read))


def is_page(view: View) -> bool:
    """Tell whether a page is what the user asks for."""
    return _ASKED.search(view.asked) is not None


def turn_page(view: View) -> Move:
    """Do what the user asks for."""
    page = int(_ASKED.search(view.asked)[1])  # type: ignore[index]
    results = [one for one in view.since if one.role == "tool"]
    if READ in view.tools and not results:
        return Use(READ, {"page": page})
    text = results[-1].text if results else view.asked
    words = re.findall(r"\w+", text)
    return Say(f"Its last word is {words[-1] if words else 'not there'}.")
