"""The script of a thread: what is asked for, and the agent's way through it.

Shares are those of recorded sessions of coding agents: which tools are called and how many at
once, how many turns a request takes, how long people are away.
"""

import json
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import log
from random import Random

from benchmarks.arena.workloads.phrases import phrases_of
from benchmarks.arena.workloads.plot import Scenario
from benchmarks.arena.workloads.tools import CompletedCall, Pages, Tools
from benchmarks.arena.workloads.writing import Writer
from thalweg.engine.entries import Message, Role, Text, ToolCall
from thalweg_recorder.replay.questions import Goal, NeedleQuestion

ACTIONS = {"read": 27, "run": 33, "edit": 21, "search": 14, "write": 3, "list": 2}
"""What an agent does next, in percent."""
SEVERAL = 0.2
"""Share of the turns that read or search in which it does so more than once."""
AGAIN = 0.4
"""Share of edits after which the file is read again."""
FOLLOWS = 0.6
"""Share of the turns that do what an edit calls for: read the file again, run the tests."""
TURNS_PER_REQUEST = (2, 4, 5, 6, 7, 8, 9, 10, 12, 16, 22, 34)
"""What a dozen requests take, in some order."""
PLANNED_FROM = 8
"""Turns of a request from which on the agent may write a list of todos."""
CONSTRAINED, PASTED, PLANNED, LOOKED_UP = 0.4, 0.1, 0.5, 0.5
"""Shares: of requests with a constraint, with a piece of a log; of long requests with todos;
of the turns that use a detail in which it is searched for."""
PAUSES = {"short": 9, "away": 2, "gone": 1}
"""Of twelve pauses: under five minutes, up to fifty, over an hour. (Recorded: 84 %, 14 % and 2 %;
a thread of 300 turns would show the last kind hardly ever.)"""
BUILT = 0.01
"""Share of commands that run for more than five minutes."""


@dataclass(slots=True)
class Script:
    """A thread being written, turn by turn."""

    language: str
    pages: Pages
    turns: int
    seed: str
    messages: list[Message] = field(default_factory=list)
    needles: list[NeedleQuestion] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    dice: Random = field(init=False)
    """Random generator for the pace of the thread; texts and actions have generators of their own,
    so that a change of a text or a size does not affect the rest."""
    writer: Writer = field(init=False)
    plot: Scenario = field(init=False)
    tools: Tools = field(init=False)
    _now: datetime = datetime(2026, 9, 7, 8, 30, tzinfo=UTC)
    _turn: int = 0
    _calls: int = 0
    _lengths: list[int] = field(default_factory=list)
    """Turns of requests still to be dealt."""
    _pauses: list[str] = field(default_factory=list)
    """Kinds of pauses still to be dealt."""
    _next: deque[str] = field(default_factory=deque)
    """Actions that earlier ones call for."""

    def __post_init__(self) -> None:
        words, deeds, self.dice = (
            Random(f"{what} {self.seed}")  # noqa: S311 (not a secret)
            for what in ("words", "deeds", "pace")
        )
        self.writer = Writer(phrases_of(self.language), words)
        self.plot = Scenario(self.writer, deeds, self.turns)
        self.tools = Tools(self.writer, self.plot, deeds, self.pages)

    def write(self) -> None:
        """Write the whole thread."""
        self._say("system", Text(self.writer.phrases.talk.system))
        while self._turn < self.turns:
            self._ask()
            if not self._lengths:
                self._lengths = self.dice.sample(TURNS_PER_REQUEST, k=len(TURNS_PER_REQUEST))
            turns = min(self._lengths.pop(), self.turns - self._turn)
            for k in range(turns - 1):
                plans = k == 0 and turns > PLANNED_FROM and self.dice.random() < PLANNED
                self._work(plans=plans)
            self._rest()

    def _ask(self) -> None:
        self._wait(self._pause())
        talk, line, is_first = self.writer.phrases.talk, len(self.messages), not self._turn
        request = self.writer.fill(talk.goal) if is_first else self.writer.pick(talk.request)
        self.goals.append(Goal(request, "goal" if is_first else "request", line))
        said = [request]
        if self.dice.random() < CONSTRAINED:
            constraint = self.writer.pick(talk.constraint)
            self.goals.append(Goal(constraint, "constraint", line))
            said.append(constraint)
        if found := self.plot.fact("said", self._turn):
            says, asked = found
            self.needles.append(NeedleQuestion(asked.question, asked.answer, line))
            said.append(says)
        text = self.writer.phrases.gap.join(said)
        if self.dice.random() < PASTED:
            lines = self.writer.lines("log", self.dice.randint(400, 6_000))
            text = "\n".join((text, "", talk.paste, *lines))
        self._say("user", Text(text))

    def _pause(self) -> float:
        """Draw the seconds that a person takes: most a minute or two, some hours."""
        if not self._pauses:
            self._pauses = [kind for kind, number in PAUSES.items() for _ in range(number)]
            self.dice.shuffle(self._pauses)
        match self._pauses.pop():
            case "gone":
                return self.dice.uniform(3_700, 50_000)
            case "away":
                return self.dice.uniform(310, 3_000)
            case _:
                return min(280.0, self.dice.lognormvariate(log(70), 0.8))

    def _work(self, *, plans: bool) -> None:
        said, details = self._think()
        if plans:
            done = [self.tools.plan()]
        elif details and self.dice.random() < LOOKED_UP:
            done = [self.tools.grep(details[0], self._turn)]
        else:
            done = self._act()
        ids = [f"call_{self._calls + k}" for k in range(len(done))]
        self._calls += len(done)
        calls = [
            ToolCall(call_id, one.tool, json.dumps(one.arguments, ensure_ascii=False))
            for call_id, one in zip(ids, done, strict=True)
        ]
        self._say("assistant", Text(said), *calls)
        for call_id, one in zip(ids, done, strict=True):
            self._return(call_id, one)

    def _act(self) -> list[CompletedCall]:
        """Do what is called for, or what agents do."""
        if self._next and self.dice.random() < FOLLOWS:
            action = self._next.popleft()
        else:
            action = self.dice.choices([*ACTIONS], [*ACTIONS.values()])[0]
        number = self.dice.choice((2, 2, 3, 4)) if self.dice.random() < SEVERAL else 1
        recent, turn = self.tools.recent, self._turn
        match action:
            case "again" if recent:
                done = [self.tools.read(recent[-1], turn)]
            case "edit" if recent:
                self._next.extend(("again", "run") if self.dice.random() < AGAIN else ("run",))
                done = [self.tools.edit(self.dice.choice(recent))]
            case "run":
                done = [self.tools.run(turn)]
            case "search":
                patterns = (self.writer.fill("<function>") for _ in range(number))
                done = [self.tools.grep(pattern, turn) for pattern in patterns]
            case "write":
                done = [self.tools.write()]
            case "list":
                done = [self.tools.list_files()]
            case _:
                done = [self.tools.read(path, turn) for path in self.tools.files_to_read(number)]
        return done

    def _return(self, call_id: str, done: CompletedCall) -> None:
        slow = done.tool == "execute"
        long = slow and self.dice.random() < BUILT
        seconds = self.dice.uniform(310, 900) if long else self.dice.lognormvariate(0, 1)
        self._wait(min(900, 4 * seconds if slow and not long else seconds))
        line = len(self.messages)
        self.needles += [NeedleQuestion(asked.question, asked.answer, line) for asked in done.asked]
        self._say(
            "tool", Text(done.result), answers=call_id, name=done.tool, is_error=done.is_error
        )

    def _rest(self) -> None:
        said, _ = self._think()
        answers = self.writer.phrases.talk.answer
        more = (self.writer.pick(answers) for _ in range(self.dice.randint(1, 5)))
        self._say("assistant", Text("\n\n".join((said, *more))))

    def _think(self) -> tuple[str, list[str]]:
        """Begin a turn: return the agent's text before it acts, and the details in it."""
        self._turn += 1
        self._wait(self.dice.uniform(3, 25))
        talk, details = self.writer.phrases.talk, self.plot.due(self._turn)
        said = [self.writer.pick(talk.think) for _ in range(self.dice.choice((1, 1, 2)))]
        said += [self.writer.pick(talk.recalls, detail=detail) for detail in details]
        return self.writer.phrases.gap.join(said), details

    def _say(
        self,
        role: Role,
        *parts: Text | ToolCall,
        answers: str = "",
        name: str = "",
        is_error: bool = False,
    ) -> None:
        self.messages.append(
            Message(
                role,
                parts,
                answers=answers,
                name=name,
                is_error=is_error,
                at=self._now.isoformat(timespec="milliseconds"),
                line=len(self.messages),
            )
        )

    def _wait(self, seconds: float) -> None:
        self._now += timedelta(milliseconds=round(seconds * 1_000))
