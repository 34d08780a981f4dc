"""Is the objective of a task still followed at its end, after many compactions?

The user states it once. In one long turn, the agent reads a log page after page, until the context
has been compacted as often as the variant requires; then it files a report whose title, recipient
and priority are only in the user's message. In `20_turns` the task is postponed first, and the
compactions happen in other turns.
"""

import re
from dataclasses import dataclass, field
from random import Random

from langchain_core.tools import BaseTool

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed
from thalweg_evals.material.stations import NAMES, PEOPLE, LongTask
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace

MOST_PAGES = 20
"""Pages of the log per required compaction, after which it ends anyway."""
REPORT = "file one report with file_report, title: {title}; recipient: {recipient}; priority: {priority}"  # fmt: skip  # noqa: E501
READING = (
    "Please do one long task for me, in one go. Read the station log with read_log: page 1, then "
    "page 2, and so on, one page at a time, until a page says that it is the last one. Then "
    f"{REPORT}; and with the closing word that the last page gives. Do not file it before that, "
    "and do not ask me anything, since I am away. When it is filed, say so."
)
LATER = (
    f"I have a task for you, for later: {REPORT}; and with the closing word harrow. Do not do it "
    "yet. I will tell you when to go on with it; until then there are some pages to be read. "
    "For now, only say that you have noted it."
)
GO_ON = "Now go on with the task that I gave you at the beginning, without asking me anything."
_GOAL = re.compile(
    r"file one report with file_report, title: ([^;]+); recipient: ([^;]+); priority: (\w+)"
)
_END = re.compile(r"End of page (\d+) of the station log")
_LAST = re.compile(r"It is the last page, and its closing word is (\w+)")
_LATER_WORD = re.compile(r"and with the closing word (harrow)")
_FILED = "The report is filed."


@dataclass(kw_only=True)
class Objective(LongTask):
    """A task whose end depends on its first message."""

    in_turns: bool
    title: str
    recipient: str
    priority: str
    closing: str
    tool_names = ("read_log", "file_report")
    system_prompt = "You are the clerk of a coast guard. Do what you are asked, with tools."
    gist = (_END.pattern, "(?m)^.*" + _GOAL.pattern + ".*$")
    _last: int | None = None
    _pages: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def tools(self) -> tuple[BaseTool, ...]:
        """The log and the report; if the task is postponed, the report alone."""
        tools = super().tools
        return tools[1:] if self.in_turns else tools

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        self.talk = talk
        report = {"title": self.title, "recipient": self.recipient, "priority": self.priority}
        if not self.in_turns:
            talk.send(READING.format(**report))
            return
        talk.send(LATER.format(**report))
        talk.fill(self.compactions)
        talk.send(GO_ON)

    def graded(self, trace: Trace) -> Score:
        """Compute the score of a trace with enough compactions."""
        survived = float(len(trace.compactions()))
        filed = list(trace.calls("file_report"))
        if not filed:
            answer = trace.answer[:120]
            return failed(
                why=f"no report was filed; the agent's answer: {answer!r}", value=survived
            )
        expected = {"title": self.title, "recipient": self.recipient, "priority": self.priority}
        for request, call in filed:
            for name, right in {**expected, "closing_word": self.closing}.items():
                given = str(call.arguments.get(name, ""))
                if right.casefold() not in given.casefold():
                    why = f"the report's {name} is {given!r}, where {right!r} was asked for"
                    return failed(why=why, request=request.number, value=survived)
        why = f"the report is as the user asked for, {int(survived)} compactions later"
        return passed(why=why, request=filed[-1][0].number, value=survived)

    def move(self, view: View) -> Move:
        """Continue after the last visible page, then file the user's report.

        A model that cannot see its task searches for it; if that fails, it asks.
        """
        if self.in_turns and GO_ON not in view.prompt and _FILED not in view.prompt:
            return Respond("I have noted it.")
        goal = view.find(_GOAL)
        if goal is None:
            return Search(
                "file one report with file_report", Respond("What would you like me to do?")
            )
        if view.find(_FILED):
            return Respond("The report is filed, as you asked.")
        word = view.find(_LATER_WORD if self.in_turns else _LAST)
        if word is not None:
            keys = ("title", "recipient", "priority", "closing_word")
            return Use("file_report", dict(zip(keys, (*goal.groups(), word[1]), strict=True)))
        pages = [int(found[1]) for found in view.find_all(_END)]
        return Use("read_log", {"page": max(pages, default=0) + 1})

    def read_log(self, page: int) -> str:
        """Read a page of the station log."""
        if page < 1 or (self._last is not None and page > self._last):
            return "There is no such page."
        if page not in self._pages:
            self._pages[page] = self._write(page)
        return self._pages[page]

    def _write(self, page: int) -> str:
        is_last = (
            len(self.talk.trace.compactions()) >= self.compactions
            or page >= MOST_PAGES * self.compactions
        )
        end = f"End of page {page} of the station log."
        if is_last:
            self._last = page
            end += f" It is the last page, and its closing word is {self.closing}."
        return f"Station log\n{self.result(page)}\n{end}"

    def file_report(self, title: str, recipient: str, priority: str, closing_word: str) -> str:
        """File a report."""
        del title, recipient, priority, closing_word
        return _FILED


def make(variant: str, dice: Random) -> Objective:
    """Create a case of a variant."""
    number, _, how = variant.partition("_")
    in_turns = how == "turns"
    return Objective(
        compactions=int(number),
        in_turns=in_turns,
        title=f"Lamps of {dice.choice(NAMES)}",
        recipient=dice.choice(PEOPLE),
        priority=dice.choice(("amber", "violet", "ochre")),
        closing="harrow" if in_turns else dice.choice(("tamarisk", "bellows", "quillwort")),
        seed=str(dice.random()),
    )


PROBE = Probe(
    name="objective",
    suite="context",
    asks="Does the agent keep its objective to the end, after any number of compactions?",
    shows="compaction loses what the user wants",
    needs=frozenset({"tools"}),
    variants=("1", "5", "20", "20_turns"),
    make=make,
)
