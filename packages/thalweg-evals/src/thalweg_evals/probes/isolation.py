"""Is a subagent's work kept out of its parent's context, and is its report complete?

The subagents read a ledger: long pages, each with a seal and findings.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random

from thalweg_evals.base import Probe, Score, Speaks
from thalweg_evals.grading import failed, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.material.paging import Pages
from thalweg_evals.scripted.moves import Move, Respond, Search, Use, View, written
from thalweg_evals.trace import Request, Trace

READ, TASK = "read_ledger", "task"
"""The tool of the case, and the one by which deep agents delegate tasks."""
ONE, TWO, COMPACTED = "one_child", "two_at_once", "compacted_child"
_SHIPS = ("Amaranth", "Bellwether", "Corvina", "Dunlin", "Eventide", "Firecrest", "Gannet", "Heron")
_PAGES = {ONE: 6, TWO: 8, COMPACTED: 10}
_SHARE = {ONE: 0.2, TWO: 0.2, COMPACTED: 1.5}
"""Share of the context up to a compaction that all pages fill together."""
_HAND_ON = (
    "Please do not read the ledger yourself. Hand the reading to {whom} with the `task` tool, "
    "with the subagent_type `general-purpose`{how}, word for word as follows.\n\n{work}\n\n"
    "Then tell me the berth of every one of these ships."
)
_PART = (
    "Read the pages {first} to {last} of the ledger with `read_ledger`, one page after the other, "
    "and report the berth of each of these ships that you find there: {ships}."
)
_WORK = re.compile(r"Read the pages (\d+) to (\d+) of the ledger.*?ships that you .*?: ([\w, ]+)\.")
_BERTH = re.compile(r"berth of the (\w+) is (B-\d{4})")
_HEAD = re.compile(r"Ledger, page (\d+)\.")
_NOTE = re.compile(r"That was page (\d+) of the ledger")


@dataclass(slots=True)
class TrialLedger:
    """The ledger of one trial.

    No question is about its seals: a text that contains one comes from the page.
    """

    dice: Random
    berths: Mapping[str, str]
    """What to find, by ship."""
    last: int
    """Number of the last page."""
    tokens: int = 300
    """Approximate length of a page."""
    seals: Mapping[int, str] = field(init=False)
    _places: Mapping[str, int] = field(init=False)
    _noise: Pages = field(init=False)

    def __post_init__(self) -> None:
        """Draw the positions of findings and seals."""
        pages = range(1, self.last + 1)
        numbers = self.dice.sample(range(100_000, 999_999), self.last)
        self.seals = {page: f"ZQ{number}" for page, number in zip(pages, numbers, strict=True)}
        self._places = {ship: self.dice.choice(pages) for ship in self.berths}
        self._noise = Pages(self.dice)

    def text(self, page: int) -> str:
        """Return the text of a page."""
        if page not in self.seals:
            return f"There is no page {page}; the ledger has pages 1 to {self.last}."
        self._noise.tokens = self.tokens
        found = [ship for ship, place in self._places.items() if place == page]
        lines = [f"The berth of the {ship} is {self.berths[ship]}." for ship in found]
        body = self._noise.text(page).splitlines()[1:]
        middle = len(body) // 2
        head = f"Ledger, page {page}. Sealed {self.seals[page]}."
        return "\n".join([head, *body[:middle], *lines, *body[middle:]])


@dataclass
class Isolation(ScriptedCase):
    """Subagents read a ledger; the parent should receive their findings, and nothing else."""

    variant: str
    ledger: TrialLedger
    tool_names = (READ,)
    system_prompt = "You are a harbour clerk. Answer shortly and completely."
    gist = (_WORK.pattern, _NOTE.pattern, f"The {_BERTH.pattern}")
    """Findings so far are progress: they need not be found again."""

    def read_ledger(self, page: int) -> str:
        """Read a page of the ledger."""
        return self.ledger.text(page)

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        last = self.ledger.last
        self.ledger.tokens = int(_SHARE[self.variant] * talk.room / last)
        parts, whom, how = [(1, last)], "a subagent", ""
        if self.variant == TWO:
            parts = [(1, last // 2), (last // 2 + 1, last)]
            whom, how = "two subagents", ", in two calls at once, one for each of the two parts"
        ships = ", ".join(self.ledger.berths)
        work = [_PART.format(first=first, last=end, ships=ships) for first, end in parts]
        talk.send(_HAND_ON.format(whom=whom, how=how, work="\n\n".join(work)))
        talk.send("Thank you. Please say goodbye.")

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
        children = [one for one in trace.requests if one.kind == "subagent"]
        if why := self._untested(trace, children):
            return untested(why=why)
        reports = [one.answer.text for one in children if one.answer and not one.calls]
        for request in trace.agents():
            if leaked := self._leaked(request, children, "\n".join(reports)):
                return failed(why=leaked, request=request.number)
        answer = trace.turns[0].answer
        reported = [ship for ship, berth in self.ledger.berths.items() if berth in answer]
        share = len(reported) / len(self.ledger.berths)
        lost = next((ship for ship in self.ledger.berths if ship not in reported), None)
        if lost is not None:
            why = (
                f"{self._lost(lost, trace, reports)} ({len(reported)} of {len(self.ledger.berths)})"
            )
            return failed(why=why, value=share)
        return passed(
            why="all that was asked for arrived, and nothing else of what the child read",
            value=share,
        )

    def _untested(self, trace: Trace, children: list[Request]) -> str:
        """Return why the case is untested; empty if it is tested."""
        delegations = len(list(trace.calls(TASK)))
        if not children:
            return "nothing was handed to a subagent"
        if not self._read_by(children):
            return "the subagent read nothing"
        if any(trace.calls(READ)):
            return "the agent read the ledger itself"
        if self.variant == TWO and delegations < len("ab"):
            return f"two subagents were to be asked, and {delegations} were"
        if self.variant == COMPACTED and not any(_shrank(*two) for two in pairwise(children)):
            return "the subagent was not compacted"
        return ""

    def _read_by(self, children: list[Request]) -> dict[int, str]:
        """Return the seals of the pages that subagents read, by page."""
        text = "\n".join(message.text for one in children for message in one.messages)
        return {page: seal for page, seal in self.ledger.seals.items() if seal in text}

    def _leaked(self, request: Request, children: list[Request], reports: str) -> str:
        """Return the part of a parent's request that shows a subagent's work besides its report."""
        text = "\n".join(map(written, request.messages))
        for page, seal in self._read_by(children).items():
            if seal in text and seal not in reports:
                return f"page {page}, which only the subagent read, is in the agent's context"
        if any(call.name == READ for message in request.messages for call in message.calls):
            return "a call of the subagent is in the agent's context"
        return ""

    def _lost(self, ship: str, trace: Trace, reports: list[str]) -> str:
        """Return the point at which a finding was lost."""
        berth = self.ledger.berths[ship]
        if not any(berth in report for report in reports):
            return f"the subagent did not report the berth of the {ship}"
        if not any(berth in written(message) for one in trace.agents() for message in one.messages):
            return f"the report was cut off: the berth of the {ship} did not reach the agent"
        return f"the agent received the berth of the {ship}, and did not report it"

    def move(self, view: View) -> Move:
        """Decide the next move of the parent or of a subagent."""
        if TASK in view.tools:
            return self._lead(view)
        work = view.find(_WORK)
        return Respond("Goodbye.") if work is None else _work(view, work)

    def _lead(self, view: View) -> Move:
        parts = list(_WORK.finditer(view.prompt))
        if not parts:
            return Respond("Goodbye.")
        if not view.has_called(TASK):
            kind = {"subagent_type": "general-purpose"}
            first, *others = (Use(TASK, {"description": one[0], **kind}) for one in parts)
            return replace(first, siblings=tuple(others))
        return _report(view, _ships(parts[0]), is_all_seen=False)


def _work(view: View, work: re.Match[str]) -> Move:
    """Do a subagent's task: read page after page, then report."""
    first, last = int(work[1]), int(work[2])
    pages = range(first, last + 1)
    seen = {int(found[1]) for found in view.find_all(_HEAD)} & {*pages}
    done = seen | ({int(found[1]) for found in view.find_all(_NOTE)} & {*pages})
    page = max(done, default=first - 1)
    if page < last:
        note = f"That was page {page} of the ledger." if done else ""
        return Use(READ, {"page": page + 1}, note)
    return _report(view, _ships(work), is_all_seen=len(seen) == len(pages))


def _report(view: View, ships: list[str], *, is_all_seen: bool) -> Move:
    """Report the visible berths; search for those that were removed."""
    known = {found[1]: found[2] for found in view.find_all(_BERTH)}
    sentences = [f"The berth of the {ship} is {known[ship]}." for ship in ships if ship in known]
    reply = Respond(" ".join(sentences) or "I found none of them.")
    missing = next((ship for ship in ships if ship not in known), None)
    if missing is None or is_all_seen:
        return reply
    return Search(f"berth of the {missing}", reply)


def _ships(work: re.Match[str]) -> list[str]:
    return work[3].split(", ")


def _shrank(before: Request, after: Request) -> bool:
    return after.tokens < before.tokens or len(after.messages) < len(before.messages)


def make(variant: str, dice: Random) -> Isolation:
    """Create a case."""
    ships = dice.sample(_SHIPS, 6)
    numbers = dice.sample(range(1_000, 9_999), len(ships))
    berths = {ship: f"B-{number}" for ship, number in zip(ships, numbers, strict=True)}
    return Isolation(variant, TrialLedger(dice, berths, _PAGES[variant]))


PROBE = Probe(
    name="isolation",
    suite="subagents",
    asks="Is a subagent's work kept out of the agent's context, and is its report complete?",
    shows="what a subagent read fills the context of its parent, or what it found is lost",
    needs=frozenset({"tools", "subagents"}),
    variants=(ONE, TWO, COMPACTED),
    make=make,
)
