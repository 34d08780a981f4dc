"""Is a list of items completed when the context is compacted in its midst?"""

import re
from random import Random

from thalweg_evals.material import STATIONS, prose
from thalweg_evals.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Request, Trace
from thalweg_evals.world import Conversation, Score, World, failed, passed, probe

MOST = 60
"""Items of a conversation after which the workshop is closed, in case an agent loops."""
_ITEMS = 10
_ORDER = (
    "Please carry out today's work order: read it with read_order, then do every item of it with "
    "do_item, one call at a time, in its order. When every item is done, and not before, call "
    "close_order. Do it in one go and do not ask me anything; tell me when it is all done."
)
_GOAL = re.compile(r"carry out today's work order")
_ITEM = re.compile(r"(\d+)\. To be repaired: the lamp of (\w+)")
_DONE = re.compile(r"Item done: the lamp of (\w+) is repaired")
_ORDER_CLOSED = "The work order is closed."
_WORKSHOP_CLOSED = "The workshop is closed for today."


@probe(
    "2",
    asks="Does the agent complete its work, whatever compaction removed?",
    shows="remaining work is lost, and the agent declares that everything is done",
)
def premature(case: str, dice: Random, talk: Conversation) -> World:
    """Build a work order with more items than fit between two compactions.

    The items are in no message of the user. The only question is whether the agent stops early, not
    how well it continues.
    """
    stations = dice.sample(STATIONS, _ITEMS)
    seed, steps = dice.random(), 0

    def read_order() -> str:
        """Read today's work order."""
        items = enumerate(stations, start=1)
        return "\n".join(f"{k}. To be repaired: the lamp of {name}" for k, name in items)

    def do_item(station: str) -> str:
        """Do one item of the work order: pass the name of its station."""
        nonlocal steps
        steps += 1
        if steps > MOST:
            return _WORKSHOP_CLOSED
        text = prose(f"{seed} {station}", talk.page_tokens())
        return f"Protocol of the work\n{text}\nItem done: the lamp of {station} is repaired."

    def close_order() -> str:
        """Close today's work order."""
        return _ORDER_CLOSED

    def score(trace: Trace) -> Score:
        done: set[str] = set()
        for request in trace.agents():
            left = [name for name in stations if name.casefold() not in done]
            if left and (ending := _ending(request)):
                after = sum(number <= request.number for number in trace.compactions())
                why = f"{ending} with {len(left)} of {_ITEMS} items open, after compaction {after}"
                return failed(why, len(left))
            items = (call.text("station") for call in request.calls if call.name == "do_item")
            done |= {re.sub(r".*lamp of ", "", item).strip(" .").casefold() for item in items}
        if not any(trace.calls("close_order")):
            return failed(f"stopped without closing the order: {trace.answer[:80]!r}", 0)
        return passed("it went on to the end", 0)

    return World(
        user=_ORDER,
        score=score,
        tools=[read_order, do_item, close_order],
        system_prompt="You maintain the lamps of a coast guard. Do what you are asked, by tools.",
        compactions=int(case),
        act=_repair,
        gist=(_DONE.pattern, _ITEM.pattern, f"(?m)^.*{_GOAL.pattern}.*$"),
    )


def _ending(request: Request) -> str:
    """Return how a request ended the work; empty if it did not."""
    if request.answer is None:
        return ""
    if not request.calls:
        return f"the turn ended with the answer {request.answer.text[:80]!r},"
    closes = any(call.name == "close_order" for call in request.calls)
    return "the order was closed" if closes else ""


def _repair(view: View) -> Move:
    """Do the first item of the order that is not visibly done.

    A model that cannot see the whole order (its items have numbers) searches for it; if that fails,
    it takes the visible items for all of it, and reports completion.
    """
    if view.find(_ORDER_CLOSED):
        return Respond("All items are done, and the order is closed.")
    if view.find(_GOAL) is None:
        return Search("carry out today's work order", Respond("Everything is done."))
    numbered = {int(one[1]): one[2] for one in view.find_all(_ITEM)}
    if not numbered and not any(one.role == "assistant" for one in view.messages):
        return Use("read_order", {})
    done = {one[1] for one in view.find_all(_DONE)}
    following = max((number for number, name in numbered.items() if name in done), default=0) + 1
    if following in numbered and not view.find(_WORKSHOP_CLOSED):
        return Use("do_item", {"station": numbered[following]})
    if not numbered or following <= max(numbered):
        words = f"{following}. To be repaired: the lamp of"
        return Search(words, Respond("Everything in the order is done."))
    return Use("close_order", {})
