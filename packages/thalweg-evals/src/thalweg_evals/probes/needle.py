"""Can a fact be retrieved after it was removed from the context?"""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from langchain_core.tools import BaseTool, StructuredTool

from thalweg_evals.base import Case, Language, Probe, Score, Speaks
from thalweg_evals.grading import failed, mentions, passed, untested
from thalweg_evals.material.case import ScriptedCase
from thalweg_evals.material.harbour import (
    PLAY,
    SYSTEM,
    TEXTS,
    DockingCode,
    answering_machine,
    chatter,
    facts,
    recollect,
)
from thalweg_evals.scripted.moves import Move, Respond, Use, View
from thalweg_evals.trace import Trace

FILE = "file_entry"
_CODE_COUNT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Needle:
    """A fact that is mentioned once, and asked for at the end."""

    about: str
    question: str
    code: str = ""
    """Empty if the model invents it: then it is the filed number."""


@dataclass(kw_only=True)
class Needles(ScriptedCase):
    """A conversation in which needles are mentioned, buried, and asked for one at a time."""

    needles: Sequence[Needle]
    messages: Sequence[str]
    """The user's messages, one per turn; the context is compacted after the last."""
    tools: tuple[BaseTool, ...] = ()
    language: Language = "en"
    system_prompt: str = SYSTEM

    def run(self, talk: Speaks) -> None:
        """Perform the conversation."""
        for text in self.messages:
            talk.send(text)
        talk.fill(compactions=1, language=self.language)
        for needle in self.needles:
            talk.send(needle.question)

    def grade(self, trace: Trace) -> Score:
        """Compute the score from the trace."""
        first = trace.put(self.needles[0].question)
        if first is None:
            return untested(why="the question was not put")
        if not any(trace.requests[n].turn < first for n in trace.compactions()):
            return untested(why="nothing was compacted before the question")
        missed: list[str] = []
        shown = None
        for needle in self.needles:
            code = needle.code or _filed(trace)
            if not code:
                return untested(why="the agent filed no entry with a number")
            if needle.code and not _was_shown(trace, code, before=first):
                return untested(why=f"the agent never saw the {needle.about}")
            turn = trace.put(needle.question)
            answer = trace.turns[turn].answer if turn is not None else ""
            if not mentions(answer, code):
                missed.append(f"the {needle.about} ({code}) was not reported: {answer[:100]!r}")
                requests = trace.within(turn) if turn is not None else []
                shown = requests[-1].number if requests and shown is None else shown
        reported = len(self.needles) - len(missed)
        if missed:
            return failed(why="; ".join(missed), request=shown, value=reported)
        return passed(why=f"{reported} of {reported} were told", value=reported)

    def move(self, view: View) -> Move:
        """Decide the next move."""
        return recollect(view) or _oblige(view)


def _oblige(view: View) -> Move:
    """Do a request of the user that is not about a needle."""
    is_done = any(one.role == "tool" for one in view.since)
    if PLAY in view.prompt:
        return Respond("The call was about a ship.") if is_done else Use(PLAY, {})
    if match := re.search(rf"entry about the (\w+) .* {FILE}", view.prompt):
        berth = 1000 + zlib.crc32(view.prompt.encode()) % 9000
        body = f"The {match[1]} lies at berth {berth}. She leaves with the morning tide."
        return Respond("It is filed.") if is_done else Use(FILE, {"title": match[1], "body": body})
    return Respond("你好。" if "你好" in view.prompt else "Noted.")


def _was_shown(trace: Trace, code: str, before: int) -> bool:
    """Return whether the agent was shown a code before a turn."""
    return any(code in one.text() for one in trace.agents() if one.turn < before)


def _filed(trace: Trace) -> str:
    """Return the number that the model invented and filed."""
    bodies = [str(call.arguments.get("body", "")) for _, call in trace.calls(FILE)]
    numbers = [found[0] for body in bodies if (found := re.search(r"\b\d{4}\b", body))]
    return numbers[-1] if numbers else ""


# -- the cases -----------------------------------------------------------------------------


def _about(fact: DockingCode) -> Needle:
    return Needle(about=fact.about, code=fact.code, question=fact.question)


def _once(dice: Random) -> Case:
    [fact] = facts(dice, 1)
    return Needles(
        needles=[_about(fact)], messages=[f"Good morning. For your notes: {fact.statement}."]
    )


def _many(dice: Random) -> Case:
    stated = facts(dice, _CODE_COUNT)
    needles = [_about(one) for one in stated]
    return Needles(
        needles=dice.sample(needles, len(needles)),
        messages=[f"For your notes: {one.statement}. Say: noted." for one in stated],
    )


def _user_aside(dice: Random) -> Case:
    [fact] = facts(dice, 1)
    letter = chatter(dice, f"by the way, {fact.statement}")
    ask = "Good morning, here is the news of the night. Read it and say hello."
    return Needles(needles=[_about(fact)], messages=[f"{ask}\n\n{letter}"])


def _tool_result(dice: Random) -> Case:
    [fact] = facts(dice, 1)
    message = chatter(dice, f"note that {fact.statement}")
    ask = f"Play the new message with {PLAY} and tell me in a few words what it is about."
    return Needles(needles=[_about(fact)], messages=[ask], tools=(answering_machine(message),))


def _own_argument(dice: Random) -> Case:
    ship = facts(dice, 1)[0].ship
    ask = (
        f"Choose a free berth for the {ship}: make up any number of four digits. File an entry "
        f"about the {ship} that names this berth number in its body, with {FILE}. Do not repeat "
        "the number to me; just say that it is filed."
    )
    question = f"Which berth number did you choose for the {ship}?"
    needle = Needle(about=f"berth number of the {ship}", question=question)
    return Needles(needles=[needle], messages=[ask], tools=(_filing(),))


def _filing() -> BaseTool:
    def file_entry(title: str, body: str) -> str:
        """File an entry in the harbour book."""
        del title, body
        return "The entry is filed."

    return StructuredTool.from_function(file_entry)


def _chinese(dice: Random) -> Case:
    texts = TEXTS["zh"]
    ship = dice.choice(texts["ships"])
    code = "".join(dice.sample(texts["codes"], 2)) + str(dice.randrange(100, 1000))
    about = f"{ship}号的靠泊密码"
    needle = Needle(about=about, code=code, question=f"{about}是什么？")
    ask = "早上好，这是昨夜的消息。请读一读，然后说一声你好。"
    return Needles(
        needles=[needle],
        messages=[f"{ask}\n\n{texts['before']}；顺便说一下，{about}是{code}；{texts['after']}。"],
        language="zh",
        system_prompt="你是港口办公室的职员。请用一句简短的话回答。",
    )


_CASES = {
    "once": _once,
    "many": _many,
    "tool_result": _tool_result,
    "own_argument": _own_argument,
    "user_aside": _user_aside,
    "chinese": _chinese,
}


def make(variant: str, dice: Random) -> Case:
    """Create a case; see `Probe.make`."""
    return _CASES[variant](dice)


PROBE = Probe(
    name="needle",
    suite="context",
    asks="Can the agent report a detail after it was removed from the context?",
    shows="What was compacted away cannot be found again.",
    variants=tuple(_CASES),
    make=make,
)
