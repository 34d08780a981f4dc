"""A thread driven as the middleware drives it, without an agent: states, marks and forks."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from core_tests.archives import archive_in_memory
from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.session import ThreadSession, manual_operations_since, open_session
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message, Part, Role, Text, ToolCall, message_to_json
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.usage import Usage
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.budget import Budget

KEY = ThreadKey("local", "t1")
SYSTEM = Message("system", (Text("Count birds."),))


@dataclass
class Driver:
    """The agent's side of a thread: what its state holds, and the turn it stopped in."""

    window: int = 2_000
    archive: Archive = field(default_factory=archive_in_memory)
    state: list[Message] = field(default_factory=list)
    mark: int | None = None
    sent: dict[int, list[Message]] = field(default_factory=dict)
    """What each call sent, by its record."""
    turns: dict[int, int] = field(default_factory=dict)
    """The number of each turn, by its record."""
    line: dict[int, list[str]] = field(default_factory=dict)
    """The messages of the thread, by record."""
    states: dict[int, list[Message]] = field(default_factory=dict)
    """The state after each call, by its record."""
    number: int = 0
    """Of the next message."""
    said: list[str] = field(default_factory=list)
    """The current messages of the thread, as far as they were logged."""
    waiting: list[str] = field(default_factory=list)
    """What the state has and no turn has yet."""
    is_rewound: bool = False

    def say(self, message: Message) -> None:
        """Put a message into the state, under an id of its own."""
        self.state.append(message)
        self.waiting.append(message.text)

    def message(self, role: Role, words: str, calls: Sequence[ToolCall] = ()) -> Message:
        """Make a message of words that appear only once."""
        self.number += 1
        parts: tuple[Part, ...] = (Text(f"{words} {self.number}"), *calls)
        usage = Usage(input=1_000 + self.number) if role == "assistant" else None
        return Message(role, parts, uid=f"m{self.number}", usage=usage)

    def ask(self, words: str, *, tools: int = 1, size: int = 120) -> None:
        """Ask, call the model, run the tools it asks for, until it answers."""
        self.say(self.message("user", words))
        for _ in range(tools):
            self.call()
            call = ToolCall(f"c{self.number}", "look", f'{{"bank":{self.number}}}')
            self.say(self.message("assistant", "I look", [call]))
            self.number += 1
            result = f"result {self.number} " + " ".join(f"bird{n}" for n in range(size))
            self.say(
                Message(
                    "tool", (Text(result),), answers=call.id, name="look", uid=f"m{self.number}"
                )
            )
        self.call()
        self.say(self.message("assistant", "Answer"))

    def call(self) -> None:
        """Take one turn."""
        session = self._opened()
        if self.is_rewound:
            self.is_rewound = False
        gone = session.release(1)
        edits: list[Edit] = []
        for batch in session.engine.steps():
            edits += batch
        window = session.engine.window
        system, tools = self.archive.attach(
            KEY, message_to_json(SYSTEM), '[{"function":{"name":"look"}}]'
        )
        page = TurnRecord(
            kind="call",
            at=time.time(),
            length=session.length,
            model="scriptedmodel:scripted",
            window=self.window,
            limit=session.engine.budget.limit,
            tokens={k: n for k, n in window.ledger.tokens.items() if n},
            system=system,
            tools=tools,
        )
        self._entered(session.enter(page, edits))
        assert self.mark is not None
        assert session.page.turns is not None
        self.turns[self.mark] = session.page.turns
        self.sent[self.mark] = [item.message for item in window.items]
        self.state = [message for message in self.state if message.uid not in gone]
        self.states[self.mark] = list(self.state)

    def fail(self, words: str) -> None:
        """Fail a call: the model cannot be reached, and the state remains as the input made it."""
        self.say(self.message("user", words))
        state, mark, said, waiting = list(self.state), self.mark, self.said, self.waiting
        self.call()
        self.end()
        self.state, self.mark, self.said, self.waiting = state, mark, said, waiting

    def end(self) -> None:
        """End the run."""
        session = self._opened()
        page = replace(session.page, kind="end", at=time.time(), spent=None)
        self._entered(session.enter(page, ()))

    def _opened(self) -> ThreadSession:
        by_hand = None if self.is_rewound else manual_operations_since(self.archive, KEY, self.mark)
        session = open_session(self.archive, KEY, self.mark, self.state, self._engine, by_hand)
        session.sync(self.state, others_belong=lambda: False)
        return session

    def _engine(self, name_span: Callable[[int, int], str]) -> Engine:
        return Engine(
            budget=Budget(window=self.window, max_output=600),
            policy=RentOrBuy(TARIFFS["anthropic"]),
            count=exact_counter(),
            name_span=name_span,
        )

    def _entered(self, number: int) -> None:
        self.mark = number
        self.said = [*self.said, *self.waiting]
        self.waiting = []
        self.line[number] = self.said

    def went_back(self, record: int) -> None:
        """Take note that a person rewound the thread to a turn."""
        self.said = self.line[record]
        self.waiting = []

    def fork(self, record: int) -> None:
        """Go back to the state after an older call, as LangGraph does."""
        self.state, self.mark, self.is_rewound = list(self.states[record]), record, True
        self.said, self.waiting = self.line[record], []
