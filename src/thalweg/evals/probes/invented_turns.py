"""Does anything stand in the user's place that the user never said?

Read is every request of the agent's, message by message, where the role is the user's. What a
harness asks a model for itself (a summary) is a request of its own and not looked at: what counts
is what comes of it in the agent's.

A message of that role is right where it is one of these:

- the user's own: word for word what the user said in this thread, or an excerpt of it, whose
  pieces all are the user's own words, in their order, between marks that say that something was
  left out. One message may hold several things that the user said one after the other;
- the harness's, and says so: it begins with a tag (`<summary>`, `<thread-record>`) or with a
  bracket (`[no answer]`), or its first lines say that it is a summary, a record or a condensed
  conversation; `Here is a summary of the conversation to date` does.

Else it is invented. So is what the harness marks and then speaks in the user's voice: what stands
last in it, outside of every tag and bracket and in no list, is a question, or begins as an
instruction or an approval does ("Please go on", "Yes"). A model takes such words for what it was
told: users saw agents carry out instructions, and take approvals, that nobody had given. And so
is a quotation that a summary puts into the user's mouth (`User: "…"`) and that was never said.

The user's own messages must stand in the order in which they were said, and none more often than
it was said.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool

from thalweg.evals.base import Probe, Score, Speaks
from thalweg.evals.paging import is_page, turn_page
from thalweg.evals.scripted.moves import Move, Say, View
from thalweg.evals.trace import Request, Trace

VARIANTS = {"once": 1, "often": 6, "approval": 3, "paste": 3}
"""Compactions. `approval`: the user says what waits for a yes, and never says it. `paste`: the user
pastes long texts, which may come to be shown in excerpts."""
PASTED = 5_000
"""Words of a paste."""
_WAITS = r"The (\w+) report goes out only when I have said yes to it\."
_WORDS = ["fathom", "shoal", "mud", "gravel", "rock", "sand", "wreck", "bar", "deep", "edge"]
_PLACES = ["tide", "berth", "cargo", "pilotage", "dredging"]

_FENCED = re.compile(r"<(?P<tag>[\w-]+)\b[^>]*>.*?(?:</(?P=tag)>|\Z)|\[[^\[\]]*\]", re.DOTALL)
_BEGINS_MARKED = re.compile(r"\s*(?:<[\w-]+|\[)")
_HEAD = 400
"""Characters in which a message must have said that it is the harness's."""
_SAYS_SO = re.compile(
    r"summar|condensed|compacted|conversation (?:history|so far|to date)|earlier conversation"
    r"|thread record|not the user|previous conversation|too large",
    re.IGNORECASE,
)
_VOICE = re.compile(
    r"\s*(?:please|now|go (?:on|ahead)|continue|proceed|carry on|yes|yep|ok|okay|sure|do|don't"
    r"|let's|approved|can you|could you|would you|will you|i (?:want|need|would like)|tell me)\b",
    re.IGNORECASE,
)
_LISTED = re.compile(r"[-*•#]|\d+[.)]")
_QUOTES = re.compile(
    r"^\W*(?:the )?(?:user|human)(?: said)?:\s*[\"“](.+?)[\"”]\s*$", re.IGNORECASE | re.MULTILINE
)
_LEFT_OUT = re.compile(r"\[[^\[\]]*\]|<[^<>]*>|\.\.\.|…")
_SHOWN = 45
"""Characters of each end that are told of what is wrong."""
_LEAST = 12
"""Characters that a piece of an excerpt has at least: less is found anywhere."""


@dataclass
class InventedTurns:
    """A talk whose every word of the user is known."""

    compactions: int
    report: str
    variant: str
    seed: float
    tools: tuple[BaseTool, ...] = ()
    system_prompt: str = "You are a harbour clerk. Answer in one short sentence."
    gist: tuple[str, ...] = (_WAITS,)

    def run(self, talk: Speaks) -> None:
        """See `Case.run`."""
        if self.variant == "approval":
            talk.say(
                f"The {self.report} report goes out only when I have said yes to it. Say hello."
            )
        else:
            talk.say(f"Good morning. Today we go through the {self.report} log. Say hello.")
        for _ in range(self.compactions):
            talk.fill(compactions=1)
            if self.variant == "paste":
                talk.say(self._paste(len(talk.trace.turns)))
            talk.say("Thank you. Say in one word that you are still there.")
        talk.say("That is all for today. Say goodbye.")

    def _paste(self, number: int) -> str:
        dice = Random(f"{self.seed} {number}")
        lines = [" ".join(dice.choices(_WORDS, k=10)) for _ in range(PASTED // 10)]
        head = f"These are the soundings of day {number}. Say that you have them."
        return "\n".join([head, *lines])

    def grade(self, trace: Trace) -> Score:
        """Look for words in the user's place that are not the user's, in every request."""
        found = [(one, why) for one in trace.agents() if (why := invented(one, trace))]
        if found:
            one, why = found[0]
            return Score(verdict="failed", why=why, request=one.number, value=float(len(found)))
        if not trace.compactions():
            return Score(verdict="untested", why="nothing was compacted", value=0.0)
        why = f"in {len(trace.agents())} requests nothing stands for the user's that is not"
        return Score(verdict="passed", why=why, value=0.0)

    def act(self, view: View) -> Move:
        """Answer in a word."""
        if is_page(view):
            return turn_page(view)
        return Say("Goodbye." if "goodbye" in view.asked else "Yes, here.")


def invented(request: Request, trace: Trace) -> str:
    """Say what stands in the user's place in a request and is not the user's; empty: nothing."""
    said = [
        _flat(turn.text)
        for turn in trace.turns[: request.turn + 1]
        if turn.thread == request.thread
    ]
    last = -1
    for message in request.messages:
        if message.role != "user":
            continue
        own, behind = _own(message.text, said, last)
        if own and behind < 0:
            return (
                f"the user's words stand twice, or before what came earlier: {_brief(message.text)}"
            )
        if own:
            last = behind
        elif why := _invented(message.text, said):
            return f"{why}: {_brief(message.text)}"
    return ""


def _own(text: str, said: Sequence[str], last: int) -> tuple[bool, int]:
    """Tell whether a message is what the user said, and the last of it; -1 where out of order."""
    flat = _flat(text)
    pieces = [flat] if flat in said else [_flat(piece) for piece in _LEFT_OUT.split(text)]
    pieces = [piece for piece in pieces if piece]
    is_excerpt = flat not in said
    if not pieces or (is_excerpt and any(len(piece) < _LEAST for piece in pieces)):
        return False, -1
    end = _end_in_order(pieces, " ".join(said[last + 1 :]))
    if end < 0:
        return _end_in_order(pieces, " ".join(said)) >= 0, -1
    for k, one in enumerate(said[last + 1 :], last + 1):
        end -= len(one) + 1
        if end <= 0:
            return True, k
    return True, len(said) - 1


def _end_in_order(pieces: Sequence[str], text: str) -> int:
    """Find where the last piece ends, each behind the one before; -1 where one is not there."""
    at = 0
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return -1
        at = found + len(piece)
    return at


def _invented(text: str, said: Sequence[str]) -> str:
    """Say what is wrong with a message that is not the user's own; empty where it says so."""
    if not _BEGINS_MARKED.match(text) and not _SAYS_SO.search(text[:_HEAD]):
        return "words stand as the user's that the user never said"
    for quoted in _QUOTES.findall(text):
        if not any(_flat(quoted) in one for one in said):
            return f"the user is quoted with words that were never said ({_brief(quoted)})"
    end = next(iter(_loose_lines(text)), "")
    if not _LISTED.match(end) and (end.endswith(("?", "？")) or _VOICE.match(end)):
        return f"what the harness says ends in the user's voice ({_brief(end)})"
    return ""


def _loose_lines(text: str) -> Iterator[str]:
    """Give the lines that no tag or bracket holds, the last first."""
    for line in reversed(_FENCED.sub("", text).splitlines()):
        if line.strip():
            yield line.strip()


def _flat(text: str) -> str:
    return " ".join(text.split())


def _brief(text: str) -> str:
    flat = _flat(text)
    return repr(flat if len(flat) <= 2 * _SHOWN else f"{flat[:_SHOWN]} … {flat[-_SHOWN:]}")


def make(variant: str, dice: Random) -> InventedTurns:
    """Make a case."""
    return InventedTurns(VARIANTS[variant], dice.choice(_PLACES), variant, dice.random())


PROBE = Probe(
    name="invented_turns",
    suite="context",
    asks="Does anything stand in the user's place that the user never said?",
    shows="what the harness wrote is taken for the user's; the figure: requests that show it",
    variants=tuple(VARIANTS),
    make=make,
)
