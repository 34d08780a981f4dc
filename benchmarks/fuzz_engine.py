"""Fuzz the engine: no dead thread, no request over the window, no message lost or doubled.

Run `python -m benchmarks.fuzz_engine --turns 100000 --seed 1`. Each thread is a sequence of random
runs, edits, removals, rewinds, forks, pins and compactions, with odd characters, media, changes of
the model and damaged engine snapshots, as a checkpointer and the middleware drive it. After each
turn the request is compared with a model of the thread that is a plain list.
"""

import argparse
import json
import logging
import random
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.operations import compact, pin, rewind, undo, unpin
from thalweg.archive.threads.session import ThreadSession, manual_operations_since, open_session
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import (
    Media,
    Message,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    is_same,
    stored_form,
)
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg.errors import ArchiveError, PinError, WindowExceededError

TURNS = 100_000
EXAMPLES = 20
"""Most faults that are printed."""
THREADS = 20
"""Threads of one archive."""
WINDOWS = (2_000, 2_000, 3_000, 4_000, 8_000, 32_000, 200_000)
MODELS = ("anthropic:claude-sonnet-4-6", "openai:gpt-4o", "google_genai:gemini-2.5-pro", "x:y")
VENDORS = tuple(sorted(TARIFFS))
ODD = (
    *("", "", "", "", "half \ud83d", "\ude00 half", "\ud83d\ude00", "caf\udce9", "nul \x00"),
    *("\ufeff", "\U0001f600", "e\u0301", "\u202eabc", "\r\n", "</thread-record>", "{", "日本語"),
)
PINNED = "Never touch the dam."
OPERATIONS = (
    *("request", "request", "request", "request", "request", "fail", "edit", "edit", "remove"),
    *("replace", "resend", "truncate", "rewind", "undo", "pin", "unpin", "compact"),
    *("fork", "restart", "model", "damage", "request", "request"),
)
KINDS = ("dead", "over", "lost", "doubled", "sent", "invalid", "changed")
"""Kinds of faults: a turn that raises, a request over the window, a message that is neither in the
request nor compacted or not in the log, a message twice, a removed message that is sent, a request
that breaks the order of calls and results, and an older request that is rebuilt as another."""
_MARKER = re.compile(r"\bm\d+m\b")
_HANDLE = re.compile(r'recall\(handle="([^"#]+)')


def count(text: str) -> int:
    """Count a token for every four characters begun."""
    return (len(text) + 3) // 4


class FuzzArchive(SqliteArchive):
    """An archive in memory, some of whose engine snapshots are read damaged."""

    damaged: Callable[[bytes], bytes] | None = None

    def turn_state(self, key: ThreadKey, turn: int) -> bytes:
        """See `Archive.turn_state`."""
        saved = super().turn_state(key, turn)
        return saved if self.damaged is None else self.damaged(saved)


@dataclass(slots=True)
class FuzzResult:
    """Figures of a fuzz run."""

    turns: int = 0
    threads: int = 0
    folds: int = 0
    rebuilt: int = 0
    """Engines that were rebuilt from an earlier turn or the log."""
    too_small: int = 0
    """Turns refused with `WindowExceededError`."""
    operations: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    """By kind; see `KINDS`."""
    examples: list[str] = field(default_factory=list)

    def fault(self, kind: str, detail: str) -> None:
        """Count a fault, and keep the first few with details."""
        self.faults[kind] += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{kind}: {detail}")


@dataclass(slots=True)
class State:
    """A checkpoint: its messages, its turn, and what the thread has besides them."""

    messages: list[Message] = field(default_factory=list)
    mark: int | None = None
    released: list[str] = field(default_factory=list)
    """Markers of the messages in the branch that are no longer in the state, oldest first."""

    @property
    def story(self) -> list[str]:
        """Markers of all messages of the thread, oldest first."""
        return [*self.released, *map(marker_of, self.messages)]

    def copy(self) -> "State":
        """Return a copy."""
        return State(list(self.messages), self.mark, list(self.released))


class Fuzzer:
    """One thread under random operations, and what it should contain."""

    def __init__(self, archive: FuzzArchive, key: ThreadKey, rng: random.Random) -> None:
        self.archive, self.key, self.rng = archive, key, rng
        self.result = FuzzResult(threads=1)
        self.state = State()
        self.number = 0
        self.log: list[str] = []
        """Markers by position."""
        self.first: dict[str, Message] = {}
        """Messages as they were first received, by marker."""
        self.saved: dict[int, State] = {}
        """Checkpoints by the record of their turn."""
        self.sent: dict[int, list[Message]] = {}
        self.turns: dict[int, int] = {}
        """The numbers of turns by their records."""
        self.is_fork = False
        """Whether the state is an older one, chosen by a person."""
        self.rewound: list[str] | None = None
        """The story to which a rewind has reset the thread since the state was saved."""
        self.is_stored = not self.once_in(5)
        """Whether a checkpointer stores the state, which changes lone surrogates."""
        self.newest: int | None
        """How many messages the state keeps at least."""
        self.newest, self.cuts = rng.choice(((None, True), (6, True), (1, False)))
        self.session: ThreadSession | None = None
        self.model()

    def run(self, turns: int) -> FuzzResult:
        """Apply operations until so many turns are taken, or a fault ends the thread."""
        self.request()
        while self.result.turns < turns and not self.result.faults:
            operation = self.rng.choice(OPERATIONS)
            self.result.operations[operation] += 1
            getattr(self, operation)()
        if not self.result.faults:
            self.check_log()
        return self.result

    # Content.

    def once_in(self, times: int) -> bool:
        """Return true once in so many calls."""
        return self.rng.randrange(times) == 0

    def text(self, size: int = 0) -> str:
        """Return a text with a new marker and odd characters, of about `size` tokens."""
        self.number += 1
        odd = self.rng.choice(ODD)
        return f"m{self.number}m {odd} " + f"{odd}and so on " * (size // 3)

    def size(self) -> int:
        """Return a size in tokens: mostly small, sometimes above a third of the window."""
        window = min(self.budget.window, 8_000)
        return self.rng.choice((3, 3, 10, 30, 100, window // 20, window // 8, window // 3))

    def message(self, role: Role, *parts: Part) -> Message:
        """Return a message with an id of its own."""
        return Message(role, parts, uid=f"u{self.number}")

    def image(self) -> list[Part]:
        """Return an image, rarely."""
        if not self.once_in(20):
            return []
        return [Media("image/png", data="iVBORw0KGgo=" * self.rng.choice((1, 400)))]

    def user(self) -> None:
        """Add a message of the user to the state."""
        text = self.text(self.size()) + self.rng.choice(("", PINNED))
        self.state.messages.append(self.message("user", Text(text), *self.image()))

    def use_tools(self) -> None:
        """Add an answer with calls to the state, and results for most of them."""
        rng = self.rng
        calls: list[ToolCall] = []
        text = self.text(self.size() // 4)
        for _ in range(rng.choice((1, 1, 2, 3))):
            arguments = text if self.once_in(20) else json.dumps({"path": text})
            call_id = rng.choice((f"c{self.number}", f"c{self.number}", "c1", ""))
            calls.append(ToolCall(call_id, rng.choice(("read", "run", "edit_file")), arguments))
        self.state.messages.append(self.message("assistant", *calls))
        for call in calls:
            if not self.once_in(20):
                result = self.message("tool", Text(self.text(self.size())), *self.image())
                named = replace(result, answers=call.id, name=call.name)
                self.state.messages.append(replace(named, is_error=self.once_in(10)))

    # Runs.

    def request(self) -> None:
        """Send a request; the model answers after some tool calls."""
        self.user()
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 4))):
            if not self.turn():
                return
            self.use_tools()
        if self.turn():
            signed = [Thinking("So.", signature="c2ln")] if self.once_in(5) else []
            answer = Text(self.text(self.size() // 3))
            self.state.messages.append(self.message("assistant", *signed, answer))

    def fail(self) -> None:
        """Send a request whose model fails: the state has the input, or not even that."""
        before = self.state.copy()
        self.user()
        after = self.state.copy()
        if self.turn() and self.session is not None:
            self.session.enter(replace(self.session.page, kind="end", note=""), ())
            self.state = self.rng.choice((before, after))
            self.session = None

    def turn(self) -> bool:
        """Take one turn, and compare its request with the thread; return whether it was made."""
        self.result.turns += 1
        story = self.state.story
        if self.rewound is not None:
            known = set(self.saved[self.state.mark].story if self.state.mark is not None else ())
            story = [*self.rewound, *(marker for marker in story if marker not in known)]
        try:
            session = self.opened()
            gone = set(session.release(self.newest))
            edits = [edit for batch in session.engine.steps() for edit in batch]
            number = session.enter(self.page(session), edits)
        except WindowExceededError:
            self.result.too_small += 1
            self.session, self.budget = None, Budget(window=200_000, max_output=0)
            return False
        except Exception:  # noqa: BLE001 (each is a fault to report)
            self.result.fault("dead", f"{self.key}: {traceback.format_exc(limit=-6)}")
            return False
        for message in self.state.messages:
            self.first.setdefault(marker_of(message), message)
        self.result.folds += sum(isinstance(edit, Fold) for edit in edits)
        self.turns[number] = session.page.turns or 0
        self.sent[number] = [item.message for item in session.engine.window.items]
        self.check(session, story, self.sent[number])
        self.leave(session, story, gone)
        self.saved[number] = self.state.copy()
        return not self.result.faults

    def opened(self) -> ThreadSession:
        """Open the thread at its state, or take it as it was after the last turn."""
        state, session = self.state, self.session
        by_hand = (
            None if self.is_fork else manual_operations_since(self.archive, self.key, state.mark)
        )
        if session is None or by_hand is not None or not session.knows(state.messages):
            session = open_session(
                self.archive,
                self.key,
                state.mark,
                state.messages,
                self.engine,
                by_hand,
                starts_at_state=self.cuts,
            )
            self.result.rebuilt += bool(session.note)
        session.sync(state.messages, others_belong=lambda: False)
        engine = session.engine
        engine.budget, engine.binds = self.budget, self.binds
        engine.speak_to(self.name)
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.tariff = self.tariff
        return session

    def engine(self, name_span: Callable[[int, int], str]) -> Engine:
        """Return a new engine."""
        return Engine(self.budget, RentOrBuy(self.tariff), count, name_span, model=self.name)

    def page(self, session: ThreadSession) -> TurnRecord:
        """Return the record of a turn."""
        return TurnRecord(
            kind="call",
            at=0.0,
            length=session.length,
            model=self.name,
            window=self.budget.window,
            limit=self.budget.limit,
            tokens={k: n for k, n in session.engine.window.ledger.tokens.items() if n},
        )

    def leave(self, session: ThreadSession, story: list[str], gone: set[str]) -> None:
        """Update the state as the middleware and the checkpointer do."""
        messages = [message for message in self.state.messages if message.uid not in gone]
        if self.is_stored:
            messages = [stored_form(message) for message in messages]
        there = set(map(marker_of, messages))
        released = [marker for marker in story if marker not in there]
        self.state = State(messages, session.number, released)
        self.session, self.is_fork, self.rewound = session, False, None

    # What a person does to the state.

    def edited(self, messages: list[Message]) -> None:
        """Set the messages of the state, and what then remains of those that it has no more."""
        state = self.state
        saved = None if state.mark is None else self.saved[state.mark]
        there = {message.uid for message in messages}
        held = [] if saved is None else [m.uid for m in saved.messages]
        survivors = [k for k, uid in enumerate(held) if uid in there]
        if held and (not survivors or (self.cuts and survivors[0])):
            state.released = []
        state.messages = messages
        if self.once_in(2):
            self.session = None

    def some(self) -> int:
        """Return the index of a message of the state; the newest ones more often."""
        size = len(self.state.messages)
        return self.rng.choice((size - 1, max(0, size - 3), self.rng.randrange(size)))

    def changed(self, message: Message) -> Message:
        """Return a message with other words, and the calls it had."""
        text = self.text(self.size() // 4)
        calls = [replace(c, arguments=json.dumps({"path": text})) for c in message.calls]
        return replace(message, parts=tuple(calls) or (Text(text),), origin=None)

    def edit(self) -> None:
        """Change a message under its id."""
        if messages := list(self.state.messages):
            at = self.some()
            messages[at] = self.changed(messages[at])
            self.edited(messages)

    def remove(self) -> None:
        """Remove a message."""
        if messages := list(self.state.messages):
            del messages[self.some()]
            self.edited(messages)

    def replace(self) -> None:
        """Replace a message by one with another id."""
        if messages := list(self.state.messages):
            at = self.some()
            messages[at] = replace(self.changed(messages[at]), uid=f"u{self.number}")
            self.edited(messages)

    def resend(self) -> None:
        """Change a request, and remove all that follows it."""
        messages = self.state.messages
        if places := [k for k, message in enumerate(messages) if message.role == "user"]:
            at = self.rng.choice(places[-3:])
            self.edited([*messages[:at], self.changed(messages[at])])

    def truncate(self) -> None:
        """Remove the oldest or the newest messages."""
        messages = self.state.messages
        at = self.rng.randrange(len(messages) + 1)
        self.edited(messages[at:] if self.once_in(2) else messages[:at])

    def fork(self) -> None:
        """Continue from an older checkpoint."""
        self.state = self.saved[self.rng.choice(list(self.saved))].copy()
        self.is_fork, self.session, self.rewound = True, None, None

    def restart(self) -> None:
        """Continue in another process."""
        self.session = None

    def model(self) -> None:
        """Choose another model, with another window and other prices."""
        rng = self.rng
        self.name, self.tariff = rng.choice(MODELS), TARIFFS[rng.choice(VENDORS)]
        self.budget = Budget(
            window=rng.choice(WINDOWS),
            max_output=rng.choice((0, 200)),
            tail_tokens=rng.choice((200, 1_000)),
            record_tokens=rng.choice((300, 2_000)),
        )
        self.binds = self.once_in(5)

    def damage(self) -> None:
        """Take a turn while the engine snapshots are damaged."""
        share = self.rng.random()
        self.archive.damaged = lambda saved: saved[: int(len(saved) * share)]
        self.session = None
        self.user()
        self.turn()
        self.archive.damaged = None

    # What a person does to the archive.

    def by_hand(self, operation: Callable[[], object]) -> bool:
        """Apply a manual operation to a thread between two runs; return whether it was applied."""
        newest = self.archive.turn_count(self.key) - 1
        if self.is_fork or self.state.mark != newest or self.state != self.saved[newest]:
            return False
        try:
            operation()
        except (ArchiveError, PinError, WindowExceededError):
            return False
        except Exception:  # noqa: BLE001 (each is a fault to report)
            self.result.fault("dead", f"{self.key}: {traceback.format_exc(limit=-6)}")
            return False
        return True

    def rewind(self) -> None:
        """Reset the thread to an older turn of its branch, and send a request."""
        story = self.state.story
        turns = [n for n, saved in self.saved.items() if saved.story == story[: len(saved.story)]]
        turn = self.rng.choice(turns or [0])
        if turns and self.by_hand(lambda: rewind(self.archive, self.key, self.turns[turn])):
            self.rewound = self.saved[turn].story
            self.request()

    def undo(self) -> None:
        """Undo the newest compaction."""
        self.by_hand(lambda: undo(self.archive, self.key))

    def compact(self) -> None:
        """Compact the thread."""
        self.by_hand(lambda: compact(self.archive, self.key))

    def pin(self) -> None:
        """Pin words of a request, or of none."""
        if self.session is not None and self.session.line:
            at = self.rng.choice(list(self.session.line))
            self.by_hand(lambda: pin(self.archive, self.key, at, PINNED))

    def unpin(self) -> None:
        """Unpin words."""
        if self.session is not None and (pins := self.session.engine.window.pins):
            words = self.rng.choice(pins)
            self.by_hand(lambda: unpin(self.archive, self.key, words.position, words.text))

    # Checks.

    def check(self, session: ThreadSession, story: list[str], sent: list[Message]) -> None:
        """Compare a request with the messages that the thread should have."""
        window, fault = session.engine.window, self.result.fault
        if session.length > len(self.log):
            self.log += map(marker_of, self.archive.messages(self.key, len(self.log)))
        line = list(session.line)
        markers = [self.log[position] for position in line]
        if markers != story:
            kind = "doubled" if len(set(markers)) < len(markers) else "lost"
            fault(kind, f"{self.key}: {markers[-9:]} where {story[-9:]} was expected")
        if window.tokens > session.engine.budget.limit:
            fault("over", f"{self.key}: {window.tokens} of {session.engine.budget.limit} tokens")
        if session.engine.problems:
            fault("invalid", f"{self.key}: {session.engine.problems}")
        shown = Counter(item.position for item in window.items if item.position >= 0)
        if twice := [position for position, times in shown.items() if times > 1]:
            fault("doubled", f"{self.key}: positions {twice[:5]} in one request")
        folded = range(window.systems, -1 if window.fold is None else window.fold.last + 1)
        if gone := [p for p in line if p not in shown and p not in folded]:
            fault("lost", f"{self.key}: positions {gone[:5]} are not in the request")
        self.check_text("\n".join(map(all_text, sent)), story, window.fold)

    def check_text(self, text: str, story: list[str], fold: Fold | None) -> None:
        """Check that a request has its summary, nothing that was removed, and good references."""
        fault = self.result.fault
        if fold is not None and fold.record not in text:
            fault("lost", f"{self.key}: the summary up to {fold.last}")
        if others := set(_MARKER.findall(text)).difference(story):
            fault("sent", f"{self.key}: {sorted(others)[:5]} were removed")
        try:
            for handle in set(_HANDLE.findall(text)):
                self.archive.span(self.key, handle)
        except ArchiveError as error:
            fault("lost", f"{self.key}: {error}")

    def check_log(self) -> None:
        """Check that the log has each message as it was first received, and an older request."""
        log = self.archive.messages(self.key)
        there = {marker_of(message): message for message in reversed(log)}
        for marker, message in self.first.items():
            if marker not in there or not is_same(there[marker], message):
                self.result.fault("lost", f"{self.key}: {marker} is not in the log as received")
        number = self.rng.choice(list(self.sent))
        try:
            again = context_at(self.archive, self.key, self.turns[number]).messages
        except Exception:  # noqa: BLE001 (each is a fault to report)
            self.result.fault("dead", f"{self.key}: {traceback.format_exc(limit=-6)}")
        else:
            same = len(again) == len(self.sent[number])
            if not same or not all(map(is_same, again, self.sent[number])):
                self.result.fault(
                    "changed", f"{self.key}: the request of turn {self.turns[number]}"
                )


def all_text(message: Message) -> str:
    """Return the text of a message and the arguments of its calls."""
    return "\n".join((message.text, *(call.arguments for call in message.calls)))


def marker_of(message: Message) -> str:
    """Return the marker of a message."""
    found = _MARKER.search(all_text(message))
    return "" if found is None else found[0]


def fuzz(turns: int, seed: int, each: Callable[[FuzzResult], None] = lambda _: None) -> FuzzResult:
    """Fuzz threads until so many turns are taken.

    Args:
        turns: Turns to take.
        seed: Seed of the random generator; the same seed produces the same threads.
        each: Called with the figures so far after each thread.
    """
    whole = FuzzResult()
    archive = FuzzArchive(":memory:", secret=b"fuzz")
    while whole.turns < turns:
        if whole.threads % THREADS == THREADS - 1:
            archive.close()
            archive = FuzzArchive(":memory:", secret=b"fuzz")
        rng = random.Random(f"{seed}-{whole.threads}")  # noqa: S311 (no secret)
        key = ThreadKey("fuzz", f"t{whole.threads}")
        one = Fuzzer(archive, key, rng).run(rng.choice((10, 30, 60, 120)))
        for name in ("turns", "threads", "folds", "rebuilt", "too_small"):
            setattr(whole, name, getattr(whole, name) + getattr(one, name))
        whole.operations.update(one.operations)
        whole.faults.update(one.faults)
        whole.examples += one.examples
        each(whole)
    archive.close()
    return whole


def main() -> int:
    """Run the fuzzer and print its figures; return 1 if there was a fault."""
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.getLogger("thalweg").setLevel(logging.ERROR)  # damage is reported, with a traceback
    began = time.process_time()

    def progress(so_far: FuzzResult) -> None:
        if so_far.threads % 100 == 0:
            faults = sum(so_far.faults.values())
            print(f"{so_far.turns} turns, {faults} faults", file=sys.stderr)

    result = fuzz(given.turns, given.seed, progress)
    for example in result.examples[:EXAMPLES]:
        print(example)
    operations = ", ".join(f"{name} {n}" for name, n in sorted(result.operations.items()))
    faults = ", ".join(f"{result.faults[kind]} {kind}" for kind in KINDS)
    print(f"operations: {operations}")
    print(
        f"{result.turns} turns of {result.threads} threads, {result.folds} compactions, "
        f"{result.rebuilt} engines rebuilt, {result.too_small} turns larger than any window: "
        f"{faults} ({time.process_time() - began:.0f} s of CPU)"
    )
    return 1 if result.faults else 0


if __name__ == "__main__":
    sys.exit(main())
