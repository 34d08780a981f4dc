"""Following an answer on a terminal: events in a thread of their own, the screen in this one."""

import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from thalweg.errors import ThalwegError
from thalweg_server.api.events import Event, Numbered
from thalweg_server.cli.chat.screen import Screen, quiet_keys
from thalweg_server.cli.chat.status import status_line
from thalweg_server.cli.chat.telling import EventRenderer

FRAME_S = 0.05
"""Between two changes of the screen."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


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
