"""A learner that extracts by rule, and a clock that is set by hand.

A user's message `I keep the KEY in drawer 17.` becomes a fact, word for word; the same sent
again about another thing (`Now I keep the MAP in drawer 17.`) brings it up to date.
"""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from langchain_core.messages import BaseMessage

from thalweg.testing import ScriptedModel
from thalweg_memory.facts.learning.questions import PLANTED
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope, Statement, Trust
from thalweg_memory.jobs.learner import JobReport, Learner, Respondent
from thalweg_memory.store.tables import MemoryStore

_TURN = re.compile(
    r"^§+ (\d+), [^\n]*\(learn from this\)\n(.*?)(?=\n\n§|\Z)", re.DOTALL | re.MULTILINE
)
_SAID = re.compile(r"(Now )?I keep the (\w+) in drawer ([\w-]+)\.")
_KNOWN = re.compile(r"^(F\d+): .*drawer ([\w-]+)\b", re.MULTILINE)
_PAIRED = re.compile(
    r"^([FN][1-9]\d*): The user keeps the (\w+) in drawer ([\w-]+)\b", re.MULTILINE
)
_NEW = re.compile(r"^(N\d+): (.*) \(turn \d+: ", re.MULTILINE)
_NAMED = re.compile(r"^(F\d+) \(", re.MULTILINE)


class Clock:
    """Returns the time that it was set to."""

    def __init__(self, at: str = "2026-03-01T10:00:00+00:00") -> None:
        self.at = datetime.fromisoformat(at)

    def __call__(self) -> str:
        """Return the time."""
        return self.at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

    def forward(self, seconds: float) -> None:
        """Let time pass."""
        self.at += timedelta(seconds=seconds)


def answer(messages: Sequence[BaseMessage]) -> str:
    """Answer a question by rule: about turns, or about the profile."""
    asked = str(messages[-1].content)
    if asked.startswith("Today is"):
        names = _NAMED.findall(asked)
        text = f"Keeps {len(names)} things in drawers."
        section = {"section": "personalContext", "text": text, "facts": names}
        return json.dumps({"sections": [section]})
    if asked.startswith("Now judge"):
        return _verdicts(asked)
    known = {drawer: name for name, drawer in _KNOWN.findall(asked)}
    facts = []
    for number, text in _TURN.findall(asked):
        for said in _SAID.finditer(text):
            now, thing, drawer = said.groups()
            is_update = bool(now) and drawer in known
            facts.append(
                {
                    "turn": int(number),
                    "quote": said[0],
                    "language": "en",
                    "content": f"The user keeps the {thing} in drawer {drawer}.",
                    "category": "context",
                    "confidence": 0.95,
                    "subject": f"drawer {drawer}",
                    "attribute": "content",
                    "value": thing,
                    "since": "",
                    "relation": "update" if is_update else "new",
                    "known": known.get(drawer, "") if is_update else "",
                }
            )
    return json.dumps({"facts": facts})


def sources(asked: str) -> list[dict[str, object]]:
    """Answer that every new fact is the user's own, and what is right of the planted ones."""
    planted = {one.content: one for one in PLANTED}
    found: list[dict[str, object]] = []
    for name, content in _NEW.findall(asked):
        one = planted.get(content)
        whose, carries = (one.whose, one.carries) if one else ("own", True)
        found.append({"new": name, "whose": whose, "carries": carries})
    return found


def _verdicts(asked: str) -> str:
    """Answer how new facts relate to existing ones: of one drawer, the newer thing is in it."""
    rows = _PAIRED.findall(asked)
    pairs = [
        {
            "new": new,
            "known": known,
            "reason": "the same drawer",
            "verdict": "same" if thing == other else "replaces",
        }
        for new, thing, drawer in rows
        if new.startswith("N")
        for known, other, place in rows
        if (known.startswith("F") or known < new) and place == drawer
    ]
    return json.dumps({"sources": sources(asked), "pairs": pairs})


def turn(
    number: int, text: str, at: str, thread: str = "t", trust: Trust = Trust.USER
) -> Statement:
    """Make a turn; its id contains its thread and number."""
    role: Literal["user", "assistant"] = "user" if trust is Trust.USER else "assistant"
    return Statement(thread, 0, role, text, at, trust, position=number, uid=f"{thread}-{number}")


def say(
    store: MemoryStore,
    scope: Scope,
    *texts: str,
    clock: Clock,
    thread: str = "t",
    trust: Trust = Trust.USER,
    settings: MemorySettings | None = None,
) -> None:
    """Add a user's messages to a thread, and note that there is something to learn."""
    given = settings or MemorySettings()
    first = store.captured(scope, thread)
    turns = [turn(n, text, clock(), thread, trust) for n, text in enumerate(texts, start=first)]
    store.capture(scope, thread, turns, upto=first + len(turns))
    store.note(
        scope,
        thread,
        now=clock(),
        debounce_s=given.debounce_seconds,
        max_wait_s=given.max_wait_seconds,
    )


def learner(
    store: MemoryStore,
    clock: Callable[[], str],
    *,
    script: Callable[[Sequence[BaseMessage]], str] = answer,
    settings: MemorySettings | None = None,
    told: list[JobReport] | None = None,
) -> Learner:
    """Make a learner whose model answers by a script."""
    return Learner(
        store,
        Respondent(ScriptedModel(script=script), len, name="scripted"),
        settings or MemorySettings(),
        clock,
        count=lambda text: len(text) // 4,
        emit=(told if told is not None else []).append,
    )
