"""Can a detail be reported after it was removed from the context?"""

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from thalweg.engine.data_files import read_table
from thalweg_evals.material import SHIPS, Language
from thalweg_evals.moves import Move, Respond, Search, Use, View
from thalweg_evals.trace import Trace
from thalweg_evals.world import Conversation, Score, World, failed, passed, probe, untested

PLAY, FILE = "play_message", "file_entry"
SYSTEM = "You are a clerk in a harbour office. Answer in one short sentence."
UNKNOWN = "I do not know it."
_TEXTS = read_table("thalweg_evals", "harbour.toml")
_MANY = 5
_BARE = re.compile(r"[\W_]+")
_DENIAL = re.compile(
    r"\bnot\b|n['\u2019]t\b|\bno\b|\bnone\b|\bnever\b|\bunknown\b|\bunable\b|\bcannot\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"\b[A-Z]{2}[-\u2011 ]?\d{4}\b")
_QUESTIONS = (
    (r"What is the (docking code of the \w+)\?", "{} is ", r"([A-Z]{2}-\d{4})"),
    (r"Which berth number did you choose for the (\w+)\?", "The {} lies at berth ", r"(\d{4})"),
    (r"(\w+号的靠泊密码)是什么", "{}是", r"(?!什么)(\w+)"),
)
"""The question; the words of the statement; the pattern of the answer after them."""


def mentions(text: str, code: str) -> bool:
    """Return whether a text contains a code or a name, in any formatting.

    Example:
        >>> mentions("It is **ZQ 8128**.", "ZQ-8128")
        True
    """
    return _BARE.sub("", code).casefold() in _BARE.sub("", text).casefold()


@dataclass(frozen=True, slots=True)
class Needle:
    """A detail that is mentioned once, and asked for at the end."""

    about: str
    code: str
    """Empty if the model invents it (it is the filed number), or if it was never mentioned."""
    question: str

    @property
    def statement(self) -> str:
        """The detail as a clause."""
        return f"the {self.about} is {self.code}"


def draw(dice: Random, number: int) -> list[Needle]:
    """Draw the docking codes of different ships."""
    abouts = [f"docking code of the {ship}" for ship in dice.sample(SHIPS, number)]
    codes = (f"{''.join(dice.sample('HKQVXZ', 2))}-{dice.randrange(1000, 10_000)}" for _ in abouts)
    return [
        Needle(about, code, f"What is the {about}?")
        for about, code in zip(abouts, codes, strict=True)
    ]


def letter(dice: Random, sentence: str) -> str:
    """Return a long letter with a sentence in its middle."""
    before, after = dice.sample(_TEXTS["talk"], 8), dice.sample(_TEXTS["talk"], 8)
    return "; ".join([*before, sentence, *after]) + "."


@probe(
    "once",
    "many",
    "tool_result",
    "own_argument",
    "user_aside",
    "chinese",
    "never_said",
    asks="Can the agent report a detail after it was removed from the context?",
    shows="what was compacted away cannot be found again",
)
def needle(case: str, dice: Random, talk: Conversation) -> World:
    """Build a conversation in which needles are mentioned, buried, and asked for one at a time."""
    messages: Sequence[str] = ()
    tools: list[Callable[..., str]] = []
    language: Language = "en"
    system = SYSTEM
    needles = draw(dice, _MANY if case == "many" else 1)
    first = needles[0]
    match case:
        case "once":
            messages = [f"Good morning. For your notes: {first.statement}."]
        case "many":
            messages = [f"For your notes: {one.statement}. Say: noted." for one in needles]
            needles = dice.sample(needles, len(needles))
        case "user_aside":
            greeting = "Good morning, here is the news of the night. Read it and say hello."
            messages = [f"{greeting}\n\n{letter(dice, f'by the way, {first.statement}')}"]
        case "tool_result":
            tools = [_player(letter(dice, f"note that {first.statement}"))]
            messages = [
                f"Play the new message with {PLAY} and tell me in a few words what it is about."
            ]
        case "own_argument":
            ship = first.about.split()[-1]
            tools = [file_entry]
            messages = [_choose_berth(ship)]
            question = f"Which berth number did you choose for the {ship}?"
            needles = [Needle(f"berth number of the {ship}", "", question)]
        case "never_said":
            first, other = draw(dice, 2)
            messages = [f"For your notes: {other.statement}. Say: noted."]
            needles = [Needle(first.about, "", first.question)]
        case _:
            language, system = "zh", "你是港口办公室的职员。请用一句简短的话回答。"
            first, text = _chinese(dice)
            needles, messages = [first], [text]

    def user() -> None:
        for text in messages:
            talk.send(text)
        talk.fill(compactions=1, language=language)
        for one in needles:
            talk.send(one.question)

    def score(trace: Trace) -> Score:
        asked = trace.turn_of(needles[0].question)
        if not any(trace.requests[n].turn < asked for n in trace.compactions()):
            return untested("nothing was compacted before the question")
        if case == "never_said":
            return _score_unknown(trace.answer, trace.turns[0].text)
        missed: list[str] = []
        for one in needles:
            code = one.code or _filed(trace)
            shown = [each for each in trace.agents() if each.turn < asked]
            if not code or (one.code and not any(code in each.text() for each in shown)):
                return untested(f"the agent never saw the {one.about}")
            answer = trace.turns[trace.turn_of(one.question)].answer
            if not mentions(answer, code):
                missed.append(f"the {one.about} ({code}) was not reported: {answer[:100]!r}")
        reported = len(needles) - len(missed)
        if missed:
            return failed("; ".join(missed), reported)
        return passed(f"{reported} of {reported} were reported", reported)

    return World(user=user, score=score, tools=tools, system_prompt=system, act=_act)


def _score_unknown(answer: str, statement: str) -> Score:
    """Check that an answer invents no code; the one of another ship may be mentioned."""
    invented = [code for code in _CODE.findall(answer) if not mentions(statement, code)]
    if invented:
        return failed(f"{invented[0]} was reported, which was never mentioned")
    if not _DENIAL.search(answer):
        return failed(f"it did not admit that it does not know: {answer[:100]!r}")
    return passed("it admitted that it does not know")


def _player(message: str) -> Callable[..., str]:
    """Create a tool that plays a message once, and deletes it."""
    left = [message]

    def play_message() -> str:
        """Play the new message of the answering machine, and delete it."""
        return left.pop() if left else "There are no new messages."

    return play_message


def _choose_berth(ship: str) -> str:
    return (
        f"Choose a free berth for the {ship}: make up any number of four digits. File an entry "
        f"about the {ship} that names this berth number in its body, with {FILE}. Do not repeat "
        "the number to me; just say that it is filed."
    )


def file_entry(title: str, body: str) -> str:
    """File an entry in the harbour book."""
    del title, body
    return "The entry is filed."


def _chinese(dice: Random) -> tuple[Needle, str]:
    texts = _TEXTS["zh"]
    ship = dice.choice(texts["ships"])
    code = "".join(dice.sample(texts["codes"], 2)) + str(dice.randrange(100, 1000))
    about = f"{ship}号的靠泊密码"
    text = f"{texts['before']}；顺便说一下，{about}是{code}；{texts['after']}。"
    greeting = "早上好，这是昨夜的消息。请读一读，然后说一声你好。"
    return Needle(about, code, f"{about}是什么？"), f"{greeting}\n\n{text}"


def _filed(trace: Trace) -> str:
    """Return the number that the model invented and filed; empty if it filed none."""
    numbers = (re.search(r"\b\d{4}\b", call.text("body")) for _, call in trace.calls(FILE))
    return next((found[0] for found in reversed([*numbers]) if found), "")


def _act(view: View) -> Move:
    """Answer a question from the context or search for the answer; do any other request."""
    for question, words, sought in _QUESTIONS:
        if match := re.search(question, view.prompt):
            statement = words.format(match[1])
            found = view.find(re.escape(statement) + sought)
            known = Respond(f"It is {found[1]}.") if found else None
            return known or Search(statement.strip(), Respond(UNKNOWN))
    if PLAY in view.prompt:
        return Respond("The call was about a ship.") if view.results else Use(PLAY, {})
    if match := re.search(rf"entry about the (\w+) .* {FILE}", view.prompt):
        berth = 1000 + zlib.crc32(view.prompt.encode()) % 9000
        body = f"The {match[1]} lies at berth {berth}. She leaves with the morning tide."
        filing = Use(FILE, {"title": match[1], "body": body})
        return Respond("It is filed.") if view.results else filing
    return Respond("你好。" if "你好" in view.prompt else "Noted.")
