"""Threads made by hand, and what it takes to replay them."""

import json
from collections.abc import Sequence

from thalweg.engine.entries import Entry, Message, Role, Text, ToolCall
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget
from thalweg.engine.window.reading import Reader
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.replay.account import Account
from thalweg_recorder.replay.contestant import Contestant
from thalweg_recorder.replay.fleet import Begin, drive, replay_under
from thalweg_recorder.replay.policies import contestant_named
from thalweg_recorder.replay.questions import Questions
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.subject import ReplaySubject, subject_of, terms_of

FLAT = Tariff(name="flat", read=0.1, write=1.25, minimum=1)
"""Prices of a cache that takes any prefix and never forgets."""


def said(role: Role, text: str, line: int = -1) -> Message:
    """Make a message of plain text."""
    return Message(role, (Text(text),), line=line)


def asked(call: str, tool: str, text: str = "", **arguments: str) -> Message:
    """Make an assistant's tool call, with a text before it if there is one."""
    parts = (Text(text),) if text else ()
    return Message("assistant", (*parts, ToolCall(call, tool, json.dumps(arguments))))


def answered(call: str, tool: str, text: str, line: int = -1) -> Message:
    """Make the result of that call."""
    return Message("tool", (Text(text),), answers=call, name=tool, line=line)


def entries_of(messages: Sequence[Message]) -> list[Entry]:
    """Read messages as the engine does."""
    reader = Reader(exact_counter())
    return [reader.read(message) for message in messages]


def replayed(
    messages: Sequence[Message],
    policy: str,
    window: int,
    questions: Questions | None = None,
    tariff: Tariff = TARIFFS["anthropic"],
    begin: Begin = contestant_named,
) -> ReplayRun:
    """Replay a thread under a policy."""
    recording = Recording("by-hand", "by hand", tuple(messages))
    subject = subject_of(recording, questions or Questions())
    terms = [terms_of(subject, tariff)]
    return replay_under(subject, policy, Budget(window=window), terms, begin)[0]


def driven(
    subject: ReplaySubject, contestant: Contestant, tariff: Tariff = FLAT, window: int = 8_000
) -> ReplayRun:
    """Run a contestant through a recording."""
    account = Account(subject, terms_of(subject, tariff), "by-hand", Budget(window=window))
    return drive(subject, contestant, [account])[0]
