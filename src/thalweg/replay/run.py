"""Drive one recording through the engine under one policy, call by call, and account for it."""

import time
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from thalweg.archive import Archive, Logged, Span, ThreadKey
from thalweg.context.budget import Budget
from thalweg.context.edits import Edit, Fold
from thalweg.context.engine import Engine
from thalweg.context.pricing import Tariff
from thalweg.context.reading import Reader
from thalweg.context.window import Item, Window
from thalweg.entries import Entry, Message
from thalweg.recordings.base import Recording
from thalweg.replay.cache import PrefixCache
from thalweg.replay.policies import policy_named
from thalweg.replay.questions import (
    RECALL_TOKENS,
    Questions,
    ask,
    goals_in,
    handles_shown,
    unreachable_bytes,
)
from thalweg.replay.results import Call, Line, Run
from thalweg.replay.uses import Use, find_uses
from thalweg.tokens import Counter, exact_counter
from thalweg.transcript import speaker

ASK_TOKENS = 60
"""Tokens of the call that asks for them."""
HEAD_CHARS = 100
"""Beginning of a message that an outline shows."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A recording and what is the same under every policy."""

    recording: Recording
    questions: Questions
    uses: Mapping[int, Sequence[Use]]
    """Later uses of tool results, by the position of the turn that uses them."""
    cold: frozenset[int]
    """Positions of assistant messages that were asked for after the cache had expired."""
    cost_unmanaged: float
    """Of sending every call whole, in a window without end."""


def subject_of(recording: Recording, questions: Questions, tariff: Tariff) -> Subject:
    """Read a recording once for all policies."""
    reader = Reader(exact_counter())
    entries = [reader.read(message) for message in recording.messages]
    uses: dict[int, list[Use]] = defaultdict(list)
    for use in find_uses(entries):
        uses[use.turn].append(use)
    cold = frozenset(_cold_turns(recording.messages, tariff.lifetime_s))
    return Subject(recording, questions, uses, cold, _cost_whole(entries, cold, tariff))


def _cost_whole(entries: Sequence[Entry], cold: Container[int], tariff: Tariff) -> float:
    window, cache, cost = Window(exact_counter()), PrefixCache(tariff), 0.0
    for entry in entries:
        if entry.message.role == "assistant":
            window.settle()
            cost += cache.send(window.items, cold=entry.position in cold).cost
        window.add(entry)
    return cost


def _cold_turns(messages: Sequence[Message], lifetime_s: float | None) -> list[int]:
    cold: list[int] = []
    asked_at = answered_at = None
    for position, message in enumerate(messages):
        if message.role == "assistant":
            if lifetime_s and asked_at and answered_at:
                cold += [position] if (asked_at - answered_at).total_seconds() > lifetime_s else []
            answered_at = _time(message.at) or answered_at
        else:
            asked_at = _time(message.at) or asked_at
    return cold


def _time(at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(at).replace(tzinfo=None)
    except ValueError:
        return None


@dataclass(slots=True)
class Replay:
    """One subject under one policy, under way."""

    subject: Subject
    policy: str
    budget: Budget
    tariff: Tariff
    archive: Archive
    count: Counter = field(default_factory=exact_counter)
    key: ThreadKey = field(init=False)
    engine: Engine = field(init=False)
    cache: PrefixCache = field(init=False)
    entries: list[Entry] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    outlines: list[list[Line]] = field(default_factory=list)
    fetched: set[int] = field(default_factory=set)
    """Tool results that a fault brought back since the last fold."""
    fault_cost: float = 0.0
    lost: int = 0
    summary_input: int = 0
    summary_output: int = 0
    _logged: int = 0
    _receiving_s: float = 0.0

    def __post_init__(self) -> None:
        self.key = ThreadKey("replay", f"{self.subject.recording.name} under {self.policy}")
        self.cache = PrefixCache(self.tariff)
        self.engine = Engine(
            budget=self.budget,
            policy=policy_named(self.policy, self.tariff),
            count=self.count,
            name_span=lambda first, last: self.archive.handle(self.key, Span(first, last)),
        )

    def run(self) -> Run:
        """Replay the recording to its end.

        Raises:
            WindowExceededError: The window cannot hold what must stay.
        """
        for position, message in enumerate(self.subject.recording.messages):
            if message.role == "assistant":
                self._call(position)
            started = time.perf_counter()
            self.entries.append(self.engine.receive(message))
            self._receiving_s += time.perf_counter() - started
        self._log()
        return self._result([*self.engine.prepare()])

    def _log(self) -> None:
        """Put what arrived since the last call into the archive, before anything leaves."""
        new = self.entries[self._logged :]
        logged = [Logged(e.message, e.answers.brief if e.answers else "") for e in new]
        self._logged = self.archive.append(self.key, logged, expected=self._logged)

    def _call(self, position: int) -> None:
        self._log()
        cold = position in self.subject.cold
        done, epoch = len(self.engine.history), self.engine.window.epoch
        started = time.perf_counter()
        items = self.engine.prepare(cold=cold)
        spent = time.perf_counter() - started + self._receiving_s
        self._receiving_s = 0.0
        edits = tuple(self.engine.history[done:])
        for fold in (edit for edit in edits if isinstance(edit, Fold)):
            self.fetched.clear()
            self.summary_input += fold.summary_input
            self.summary_output += fold.summary_output
        if epoch != self.engine.window.epoch or not self.outlines:
            self.outlines.append([])
        self._outline(items)
        charge = self.cache.send(items, cold=cold)
        faults = self._faults(position, items, charge.tokens)
        self.calls.append(
            Call(
                turn=self.engine.turn,
                position=position,
                tokens=charge.tokens,
                cached=charge.cached,
                written=charge.written,
                cost=charge.cost,
                cold=cold,
                broke_at=charge.broke_at,
                edits=edits,
                faults=faults,
                engine_ms=spent * 1e3,
                outline=len(self.outlines) - 1,
                length=len(items),
                problems=self.engine.problems,
            )
        )

    def _outline(self, items: Sequence[Item]) -> None:
        """Keep the longest request of each stretch between rewrites: it begins with the others."""
        if not self.outlines:
            self.outlines.append([])
        seen = self.outlines[-1]
        seen.extend(map(self._line, items[len(seen) :]))

    def _faults(self, position: int, items: Sequence[Item], tokens: int) -> int:
        """Count the uses by this turn of what the request no longer shows, and price them."""
        uses = self.subject.uses.get(position)
        if not uses:
            return 0
        rewritten = self.engine.window.rewrites
        whole = {item.position for item in items if item.position not in rewritten}
        other = "\n".join(
            i.message.text for i in items if i.position in rewritten or i.position < 0
        )
        missed = 0
        for use in uses:
            if use.source in self.fetched or any(p in whole for p in use.said_at):
                continue
            if use.identifier and use.identifier in other:
                continue
            self.fetched.add(use.source)
            missed += 1
            self._pay(use, items, tokens)
        return missed

    def _pay(self, use: Use, items: Sequence[Item], tokens: int) -> None:
        size = self.entries[use.source].tokens
        if not self._reachable(use.source, items):
            self.lost += 1
        else:
            size = min(size, RECALL_TOKENS)
        self.fault_cost += (
            self.tariff.read * tokens
            + self.tariff.write * (ASK_TOKENS + size)
            + self.tariff.output * ASK_TOKENS
        )

    def _reachable(self, position: int, items: Sequence[Item]) -> bool:
        return unreachable_bytes(self.archive, self.key, items, [self.entries[position]]) == 0

    def _result(self, final: Sequence[Item]) -> Run:
        recording, questions = self.subject.recording, self.subject.questions
        verbatim, lost = goals_in(questions.goals, final)
        spent = self.summary_input + self.summary_output * self.tariff.output
        cost = sum(call.cost for call in self.calls) + spent
        return Run(
            trajectory=recording.name,
            policy=self.policy,
            window=self.budget.window,
            tariff=self.tariff.name,
            limit=self.budget.limit,
            messages=len(recording.messages),
            calls=tuple(self.calls),
            outlines=tuple(map(tuple, self.outlines)),
            summary_input_tokens=self.summary_input,
            summary_output_tokens=self.summary_output,
            cost=cost,
            cost_unmanaged=self.subject.cost_unmanaged,
            faults_recoverable=sum(call.faults for call in self.calls) - self.lost,
            faults_lost=self.lost,
            cost_with_faults=cost + self.fault_cost,
            recall=ask(questions.needles, self.archive, self.key, self.entries, final, self.count),
            goals_verbatim=verbatim,
            goals_lost=lost,
            unrecoverable_bytes=unreachable_bytes(self.archive, self.key, final, self.entries),
            notes=tuple(f"line {note.line + 1}: {note.text}" for note in recording.notes),
        )

    def _line(self, item: Item) -> Line:
        edit: Edit | None = self.engine.window.rewrites.get(item.position)
        shown = "whole" if edit is None else type(edit).__name__.lower()
        if item.position < 0:
            shown = "record" if item.section == "summary" else "note"
        head = " ".join(item.message.text[: 2 * HEAD_CHARS].split())[:HEAD_CHARS]
        calls = ", ".join(f"{call.name}(…)" for call in item.message.calls)
        points = () if shown == "whole" else handles_shown(self.archive, self.key, [item])
        handle = next(iter(points), "")
        return Line(item.position, speaker(item.message), item.tokens, shown, head or calls, handle)
