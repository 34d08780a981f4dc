"""Threads made up for measuring: any length, the same for the same length and seed.

Sizes are like those of recorded sessions: most tool results are short, some fill a page, a few
are whole files; a user sends a message now and then; about a third of the turns call several
tools.
"""

import json
import random
from collections.abc import Iterator
from itertools import islice

from thalweg.engine.entries import Message, Text, ToolCall

_TOOLS = (
    ("read_file", "path", 5),
    ("grep", "pattern", 3),
    ("run", "command", 3),
    ("edit_file", "path", 2),
    ("list_files", "path", 1),
)
_SYLLABLES = ("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro")
_VOCABULARY = 4_000


def made_up_thread(messages: int, seed: int = 1) -> Iterator[Message]:
    """Make the first messages of an endless thread, turn by turn."""
    yield from islice(_endless(random.Random(seed)), messages)  # noqa: S311 (not a secret)


def _endless(dice: random.Random) -> Iterator[Message]:
    words = ["".join(dice.choices(_SYLLABLES, k=dice.randint(1, 4))) for _ in range(_VOCABULARY)]
    yield Message("system", (Text(_prose(dice, words, 300)),))
    turn = 0
    while True:
        if turn % 12 == 0:
            yield Message("user", (Text(_prose(dice, words, dice.randint(8, 120))),))
        turn += 1
        number = dice.choices((0, 1, 2, 3), (1, 8, 3, 1))[0]
        calls = [_call(dice, words, f"call_{turn}_{k}") for k in range(number)]
        said = Text(_prose(dice, words, dice.randint(5, 60)))
        yield Message("assistant", (said, *calls))
        for call in calls:
            text = _lines(dice, words, dice.choices((4, 25, 90, 500), (50, 35, 14, 1))[0])
            yield Message("tool", (Text(text),), answers=call.id, name=call.name)
        if not calls:
            yield Message("user", (Text(_prose(dice, words, dice.randint(3, 40))),))


def _call(dice: random.Random, words: list[str], call_id: str) -> ToolCall:
    name, key, _ = dice.choices(_TOOLS, [weight for *_, weight in _TOOLS])[0]
    arguments = {key: f"src/{dice.choice(words)}/{dice.choice(words)}.py"}
    if name == "edit_file":
        arguments |= {"old": _lines(dice, words, 3), "new": _lines(dice, words, 6)}
    return ToolCall(call_id, name, json.dumps(arguments))


def _prose(dice: random.Random, words: list[str], length: int) -> str:
    return " ".join(dice.choices(words, k=length))


def _lines(dice: random.Random, words: list[str], mean: int) -> str:
    length = dice.randint(1, 2 * mean)
    return "\n".join(f"{n:5}  {_prose(dice, words, dice.randint(2, 14))}" for n in range(length))
