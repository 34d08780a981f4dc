"""A chat from start to end: typed lines are sent to the client, answers to the screen.

A chat has a new thread of the gateway, or an existing one. The events of an answer are read in a
thread of the process for them alone; the screen is updated in the calling one.
"""

import json
import queue
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from pydantic import JsonValue

from thalweg.errors import BusyError, ConfigError, NoSuchThreadError, ThalwegError
from thalweg_server.api.events import Event, Numbered
from thalweg_server.api.threads import Question
from thalweg_server.api.usage import Usage
from thalweg_server.cli.chat import text
from thalweg_server.cli.chat.approvals import Action, answer_to, decision, edit
from thalweg_server.cli.chat.commands import MODES, perform
from thalweg_server.cli.chat.event_rendering import EventRenderer
from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.screen import Screen, quiet_keys
from thalweg_server.cli.chat.status import Status, status_line
from thalweg_server.client import BlockingStream, ThalwegClient

if TYPE_CHECKING:  # prompt_toolkit is of an extra
    from thalweg_server.cli.chat.prompt import MessagePrompt

_PAGE = 100
"""Threads that are listed at once."""
FRAME_S = 0.05
"""Between two changes of the screen."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_OFFERS = {
    "approve": "[a]pprove",
    "edit": "[e]dit",
    "reject": "[r]eject",
    "respond": "[s]et the result",
}
_WORDS = {"approve": "approve", "edit": "edit", "reject": "reject", "respond": "say"}
_LAST = 12
"""Messages looked through for the newest question and its answer."""


def new_thread() -> str:
    """Return an id that people can distinguish: the time at which the thread began."""
    return f"chat-{datetime.now(UTC).astimezone():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def newest_thread(client: ThalwegClient) -> str:
    """Return the thread that was used last; imported sessions cannot be continued.

    Raises:
        ConfigError: There is none.
    """
    before: str | None = None
    while True:
        page = client.list_threads(limit=_PAGE, before=before)
        for thread in page.items:
            if not thread.recorded_by:
                return thread.id
        if (before := page.before) is None:
            raise ConfigError("--continue", "there is no thread yet", "omit it to begin one")


class EventReader:
    """A stream of events, read in a thread of its own; its error comes with its last event."""

    def __init__(self, stream: Iterable[Numbered]) -> None:
        self._events: queue.SimpleQueue[Event | ThalwegError | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self._reader.start()

    def _read(self, stream: Iterable[Numbered]) -> None:
        end: ThalwegError | None = None
        try:
            for numbered in stream:
                self._events.put(numbered.event)
        except ThalwegError as error:
            end = error
        finally:
            self._events.put(end)

    def waiting(self, patience_s: float) -> Iterator[Event | None]:
        """Yield the received events; wait for the first. `None` is last if the stream ended.

        Raises:
            ThalwegError: The error that ended the stream.

        """
        try:
            one = self._events.get(timeout=patience_s)
            while True:
                if isinstance(one, ThalwegError):
                    raise one
                yield one
                if one is None:
                    return
                one = self._events.get_nowait()
        except queue.Empty:
            return


def show_answer(
    renderer: EventRenderer,
    stream: Iterable[Numbered],
    screen: Screen,
    cancel: Callable[[], object],
) -> None:
    """Show a run until it ends.

    Args:
        renderer: Converts its events, and keeps how the run ended.
        stream: The run's events.
        screen: The screen that shows it.
        cancel: Ends the run; called with the first Ctrl-C.

    Raises:
        ThalwegError: The error that ended the stream, or that of cancelling.
        KeyboardInterrupt: A second Ctrl-C; the run continues.
    """
    feed, started_at, interrupt_count = EventReader(stream), time.monotonic(), 0
    with quiet_keys(), _interrupts() as interrupts:
        try:
            is_over = False
            while not is_over:
                lines = []
                for event in feed.waiting(FRAME_S):
                    is_over = event is None
                    lines += [] if event is None else renderer.handle(event)
                if len(interrupts) > interrupt_count:
                    interrupt_count = len(interrupts)
                    if interrupt_count > 1:
                        raise KeyboardInterrupt
                    cancel()
                screen.show(
                    lines,
                    renderer.now(),
                    _status(renderer, started_at, screen.width, interrupt_count),
                )
                time.sleep(FRAME_S / 2)
        finally:
            screen.show([])


def _status(renderer: EventRenderer, started_at: float, width: int, interrupt_count: int) -> str:
    passed = time.monotonic() - started_at
    turn = _SPINNER[int(passed / 0.1) % len(_SPINNER)]
    doing = "stopping" if interrupt_count else "Ctrl-C stops"
    head = f"{turn} {passed:.0f} s · {doing} · "
    return head + status_line(renderer.status, width - len(head))


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Count each Ctrl-C meanwhile instead of raising `KeyboardInterrupt`."""
    counted: list[int] = []

    def count(number: int, frame: FrameType | None) -> None:
        del frame
        counted.append(number)

    before = signal.signal(signal.SIGINT, count)
    try:
        yield counted
    finally:
        signal.signal(signal.SIGINT, before)


class ChatSession:
    """A chat on a terminal.

    Attributes:
        client: The client of the gateway.
        status: The state of the chat.
        is_over: Whether the user ended it.
    """

    def __init__(
        self, client: ThalwegClient, screen: Screen, status: Status, place: str = ""
    ) -> None:
        self.client = client
        self.status = status
        self.is_over = False
        self._screen = screen
        self._place = place
        self._prompt: MessagePrompt | None = None
        self._open: tuple[Question, ...] = ()

    def run(self, prompt: "MessagePrompt", first: str = "") -> None:
        """Chat until the user ends it.

        Args:
            prompt: Asks for messages.
            first: A message that is there already.
        """
        self._prompt = prompt
        self._guarded(lambda: self._screen.show(self.turn_to(self.status.thread)))
        self._answer_open()
        if first.strip():
            self._take(first.strip())
        while not self.is_over:
            try:
                line = prompt.ask().strip()
            except EOFError:
                return
            if line:
                self._take(line)

    def status_line(self) -> str:
        """Return the line below the prompt."""
        return status_line(self.status, self._screen.width)

    def names(self, command: str) -> Sequence[str]:
        """Return the names that a command can be completed with."""
        try:
            match command:
                case "model":
                    return [model.name for model in self.client.list_models().items]
                case "thread":
                    return [thread.id for thread in self.client.list_threads().items]
                case "context":
                    return ["edits", "messages", "system", "tools"]
                case "memory":
                    return ["forget ", *MODES]
        except ThalwegError:
            pass  # no reason to disturb whoever types
        return []

    # -- what commands need ----------------------------------------------------------------

    def confirm(self, question: str) -> bool:
        """See `CommandContext.confirm`."""
        assert self._prompt is not None  # noqa: S101 (commands are typed)
        try:
            return self._prompt.ask_line(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
        except (EOFError, KeyboardInterrupt):
            return False

    def turn_to(self, thread: str) -> list[PrintedLine]:
        """See `CommandContext.turn_to`."""
        is_new = not thread
        now = self.status
        self.status = Status(
            model=now.model,
            chosen_model=now.chosen_model,
            memory=now.memory,
            thread=thread or new_thread(),
        )
        self._open = ()
        if is_new:
            return text.printed(f"thread {self.status.thread}; /help shows what can be typed")
        try:
            state = self.client.get_state(thread)
        except NoSuchThreadError:
            return text.printed(f"thread {thread} begins")
        self._open = state.questions
        self._count()
        lines = text.last_exchange(self.client.get_history(thread, limit=_LAST))
        self._screen.show(lines)
        if agent := state.thread.recorded_by:
            return text.printed(f"recorded by {agent}: read only; /branch continues from its end")
        if state.thread.run:
            self._screen.show(text.printed("an answer is under way"))
            self._follow(self.client.join_stream(thread, state.thread.run))
        return []

    # -- asking ----------------------------------------------------------------------------

    def _take(self, line: str) -> None:
        """Process a typed line."""
        self._screen.begin()
        if line.startswith("/") and not line.startswith("//"):
            self._guarded(lambda: self._screen.show(perform(line, self)))
        else:
            self._guarded(lambda: self._ask(line.removeprefix("/") if line[:1] == "/" else line))
        self._answer_open()

    def _ask(self, message: str) -> None:
        try:
            self._follow(self._stream(message, None))
        except BusyError as error:
            busy = "an answer is in progress, and is shown; send your message again after it"
            self._screen.show(text.printed(busy))
            self._follow(self.client.join_stream(self.status.thread, error.run))

    def _resume(self, word: JsonValue) -> None:
        self._follow(self._stream(None, word))

    def _stream(self, message: str | None, resume: JsonValue) -> BlockingStream:
        status = self.status
        return self.client.stream(
            message,
            status.thread,
            resume=resume,
            model=status.chosen_model or None,
            memory=status.memory,
            place=self._place or None,
        )

    def _follow(self, stream: BlockingStream) -> None:
        self._open = ()
        renderer = EventRenderer(replace(self.status, now=Usage()))
        try:
            show_answer(
                renderer,
                stream,
                self._screen,
                lambda: self.client.cancel_run(stream.thread, stream.run),
            )
        except KeyboardInterrupt:
            stream.close()
            self._screen.show(
                text.printed("it continues in the background; --continue returns to it")
            )
        self.status = renderer.status
        self._open = renderer.questions
        self._count()

    def _count(self) -> None:
        """Read from the gateway what all runs of the thread have spent."""
        try:
            spent = self.client.get_thread_usage(self.status.thread)
        except ThalwegError:
            return  # what the run told of itself still stands
        self.status = replace(
            self.status,
            before=spent.total,
            now=Usage(),
            limit=spent.limit or self.status.limit,
            tokens=sum(spent.sections.values()) or self.status.tokens,
        )

    def _guarded(self, work: Callable[[], object]) -> None:
        """Perform a step; show its error and continue the chat."""
        try:
            work()
        except (ThalwegError, OSError) as error:
            self._screen.show([PrintedLine("error", str(error))])
        except KeyboardInterrupt:
            self._screen.show(text.printed("left off"))

    # -- questions of the agent ------------------------------------------------------------

    def _answer_open(self) -> None:
        """Ask the open questions of the agent until there are none."""
        while self._open and not self.is_over:
            questions = self._open
            try:
                word = answer_to(questions, self._decide, self._ask_line)
            except (EOFError, KeyboardInterrupt):
                self._screen.show(text.printed("the question is still open; --continue repeats it"))
                self._open = ()
                return
            self._guarded(partial(self._resume, word))

    def _decide(self, action: Action) -> dict[str, JsonValue]:
        self._screen.show(text.question(action))
        offer = ", ".join(_OFFERS[each] for each in action.allowed)
        while True:
            reply = self._ask_line(f"{offer}? ").strip().lower()
            chosen = [each for each in action.allowed if reply and _WORDS[each].startswith(reply)]
            if not chosen:
                continue
            match chosen[0]:
                case "approve":
                    return decision("approve")
                case "reject":
                    reason = self._ask_line("why? (the agent sees the reason) ").strip()
                    return decision("reject", reason)
                case "respond":
                    return decision("respond", self._ask_line("what is the result? "))
                case "edit" if (edited := self._edited(action)) is not None:
                    return edited

    def _edited(self, action: Action) -> dict[str, JsonValue] | None:
        before = json.dumps(dict(action.arguments), indent=2, ensure_ascii=False)
        if "\n" not in before:
            before += "\n"
        reply = self._ask_line("", before)
        try:
            given = json.loads(reply)
        except ValueError as error:
            self._screen.show([PrintedLine("error", f"that is no JSON: {error}")])
            return None
        if not isinstance(given, dict):
            self._screen.show([PrintedLine("error", 'arguments are an object: {"name": value}')])
            return None
        return edit(action, given)

    def _ask_line(self, question: str, default: str = "") -> str:
        assert self._prompt is not None  # noqa: S101 (questions come in a chat)
        return self._prompt.ask_line(question, default)
