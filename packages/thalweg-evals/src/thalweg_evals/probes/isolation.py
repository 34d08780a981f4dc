"""Is a subagent's work kept out of its parent's context, and is its report complete?"""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from random import Random

from thalweg_evals.material import Pages
from thalweg_evals.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Request, Trace
from thalweg_evals.world import Conversation, Score, World, failed, passed, probe, untested

READ, TASK = "read_ledger", "task"
"""The tool of the world, and the one by which deep agents delegate tasks."""
_SHIPS = ("Amaranth", "Bellwether", "Corvina", "Dunlin", "Eventide", "Firecrest", "Gannet", "Heron")
_CASES = {"one_child": (6, 0.2), "two_at_once": (8, 0.2), "compacted_child": (10, 1.5)}
"""Pages, and the share of the context up to a compaction that all of them fill together."""
_HAND_ON = (
    "Please do not read the ledger yourself. Hand the reading to {whom} with the `task` tool, "
    "with the subagent_type `general-purpose`{how}, word for word as follows.\n\n{work}\n\n"
    "Then tell me the berth of every one of these ships."
)
_PART = (
    "Read the pages {} to {} of the ledger with `read_ledger`, one page after the other, "
    "and report the berth of each of these ships that you find there: {}."
)
_WORK = re.compile(r"Read the pages (\d+) to (\d+) of the ledger.*?ships that you .*?: ([\w, ]+)\.")
_BERTH = re.compile(r"berth of the (\w+) is (B-\d{4})")
_HEAD = re.compile(r"^Ledger, page (\d+)\.", re.MULTILINE)  # not a record's line on a page
_NOTE = re.compile(r"That was page (\d+) of the ledger")


@probe(
    *_CASES,
    asks="Is a subagent's work kept out of the agent's context, and is its report complete?",
    shows="what a subagent read fills the context of its parent, or what it found is lost",
)
def isolation(case: str, dice: Random, talk: Conversation) -> World:
    """Build a ledger that subagents read: long pages, each with a seal and findings.

    No question is about the seals: a text that contains one comes from the page.
    """
    last, share = _CASES[case]
    drawn = dice.sample(_SHIPS, 6)
    berths = {
        ship: f"B-{number}"
        for ship, number in zip(drawn, dice.sample(range(1_000, 9_999), 6), strict=True)
    }
    seals = {page: f"ZQ{dice.randrange(100_000, 999_999)}" for page in range(1, last + 1)}
    places = {ship: dice.randrange(1, last + 1) for ship in berths}
    noise = Pages(dice)
    is_two = case == "two_at_once"

    def read_ledger(page: int) -> str:
        """Read a page of the ledger."""
        if page not in seals:
            return f"There is no page {page}; the ledger has pages 1 to {last}."
        lines = [
            f"The berth of the {ship} is {berths[ship]}."
            for ship, place in places.items()
            if place == page
        ]
        body = noise.text(page).splitlines()[1:]
        middle = len(body) // 2
        head = f"Ledger, page {page}. Sealed {seals[page]}."
        return "\n".join([head, *body[:middle], *lines, *body[middle:]])

    def user() -> None:
        noise.tokens = int(share * talk.room / last)
        parts = [(1, last // 2), (last // 2 + 1, last)] if is_two else [(1, last)]
        work = [_PART.format(first, end, ", ".join(berths)) for first, end in parts]
        whom, how = "a subagent", ""
        if is_two:
            whom, how = "two subagents", ", in two calls at once, one for each of the two parts"
        talk.send(_HAND_ON.format(whom=whom, how=how, work="\n\n".join(work)))
        talk.send("Thank you. Please say goodbye.")

    def score(trace: Trace) -> Score:
        children = [one for one in trace.requests if one.kind == "subagent"]
        text = "\n".join(one.text() for one in children)
        read = {page: seal for page, seal in seals.items() if seal in text}
        if why := _untested(trace, children, read, case):
            return untested(why)
        reports = "\n".join(one.answer.text for one in children if one.answer and not one.calls)
        for request in trace.agents():
            shown = request.text()
            for page, seal in read.items():
                if seal in shown and seal not in reports:
                    return failed(f"page {page}, which only the subagent read, is in its context")
            if any(call.name == READ for message in request.messages for call in message.calls):
                return failed("a call of the subagent is in the agent's context")
        answer = trace.turns[0].answer
        lost = [ship for ship, berth in berths.items() if berth not in answer]
        found = 1 - len(lost) / len(berths)
        if not lost:
            return passed("everything requested arrived, and nothing else that was read", found)
        berth = berths[lost[0]]
        received = any(berth in one.text() for one in trace.agents())
        where = "in the agent's answer" if received else "on the way to the agent"
        where = where if berth in reports else "in the subagent's report"
        return failed(f"the berth of the {lost[0]} was lost {where}", found)

    return World(
        user=user,
        score=score,
        tools=[read_ledger],
        system_prompt="You are a harbour clerk. Answer shortly and completely.",
        act=lambda view: _lead(view) if TASK in view.tools else _read(view),
        # Findings so far are progress: they need not be found again.
        gist=(_WORK.pattern, _NOTE.pattern, f"The {_BERTH.pattern}"),
    )


def _untested(trace: Trace, children: list[Request], read: Mapping[int, str], case: str) -> str:
    """Return why the case is untested; empty if it is tested."""
    if not children:
        return "nothing was handed to a subagent"
    if not read:
        return "the subagent read nothing"
    if any(trace.calls(READ)):
        return "the agent read the ledger itself"
    if case == "two_at_once" and len([*trace.calls(TASK)]) == 1:
        return "two subagents were requested, and there was one"
    shrank = (
        new.tokens < old.tokens or len(new.messages) < len(old.messages)
        for old, new in pairwise(children)
    )
    return "" if case != "compacted_child" or any(shrank) else "the subagent was not compacted"


def _lead(view: View) -> Move:
    """Delegate the work of the parent, then report."""
    parts = list(_WORK.finditer(view.prompt))
    if not parts:
        return Respond("Goodbye.")
    if not view.has_called(TASK):
        kind = {"subagent_type": "general-purpose"}
        first, *others = (Use(TASK, {"description": one[0], **kind}) for one in parts)
        return replace(first, siblings=tuple(others))
    return _report(view, parts[0][3].split(", "), is_all_seen=False)


def _read(view: View) -> Move:
    """Do a subagent's task: read page after page, then report."""
    work = view.find(_WORK)
    if work is None:
        return Respond("Goodbye.")
    pages = range(int(work[1]), int(work[2]) + 1)
    seen = {int(found[1]) for found in view.find_all(_HEAD)} & {*pages}
    done = seen | ({int(found[1]) for found in view.find_all(_NOTE)} & {*pages})
    page = max(done, default=pages[0] - 1)
    if page < pages[-1]:
        note = f"That was page {page} of the ledger." if done else ""
        return Use(READ, {"page": page + 1}, note)
    return _report(view, work[3].split(", "), is_all_seen=len(seen) == len(pages))


def _report(view: View, ships: list[str], *, is_all_seen: bool) -> Move:
    """Report the visible berths; search for those that were removed."""
    known = {found[1]: found[2] for found in view.find_all(_BERTH)}
    sentences = [f"The berth of the {ship} is {known[ship]}." for ship in ships if ship in known]
    reply = Respond(" ".join(sentences) or "I found none of them.")
    missing = next((ship for ship in ships if ship not in known), None)
    if missing is None or is_all_seen:
        return reply
    return Search(f"berth of the {missing}", reply)
