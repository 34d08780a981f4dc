"""A real terminal around a process, and what it shows."""

import fcntl
import os
import pty
import signal
import struct
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyte

from core_tests.forking import start

KEYS = {
    "enter": "\r",
    "alt-enter": "\x1b\r",
    "ctrl-c": "\x03",
    "ctrl-d": "\x04",
    "tab": "\t",
    "up": "\x1b[A",
}
_PROMPT = b"\x1b[?2004h"
"""Each prompt begins by asking for pastes in brackets."""
_PATIENCE_S = 60.0


class _Screen(pyte.HistoryScreen):
    """Answers what a program asks its terminal, as terminals do."""

    def __init__(self, columns: int, rows: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, rows, history=5_000, ratio=0.5)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        """See `pyte.Screen`."""
        self._answer(data)


class Terminal:
    """A command of Thalweg in a terminal."""

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environ: Mapping[str, str],
        columns: int = 90,
        rows: int = 30,
    ) -> None:
        self._ours, theirs = pty.openpty()
        self._resize(columns, rows)
        self._screen = _Screen(columns, rows, self.type)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self.process = start(
            "server_tests.e2e.forked_command",
            *arguments,
            cwd=cwd,
            env={**environ, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            new_session=True,
        )
        os.close(theirs)
        self.written = b""
        self._said_at = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        self._reader.join(_PATIENCE_S)
        os.close(self._ours)

    def kill(self) -> None:
        """Kill the process as a machine that fails would."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self._ours, text.encode())

    def key(self, name: str) -> None:
        """Press a key."""
        self.type(KEYS[name])

    def say(self, text: str) -> None:
        """Type a line, and send it."""
        with self._lock:
            self._said_at = self.written.count(_PROMPT)
        self.type(text)
        self.key("enter")

    def resize(self, columns: int, rows: int) -> None:
        """Change its size, as dragging its corner does."""
        with self._lock:
            self._screen.resize(rows, columns)
        self._resize(columns, rows)

    def rows(self) -> list[str]:
        """Return the rows that are shown, without the empty ones at the end."""
        with self._lock:
            rows = [row.rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def all_rows(self) -> list[str]:
        """Return the rows that scrolled away, too."""
        with self._lock:
            above = [
                "".join(row[column].data for column in range(self._screen.columns)).rstrip()
                for row in self._screen.history.top
            ]
        return [*above, *self.rows()]

    def until(self, is_so: Callable[[list[str]], bool], what: str) -> list[str]:
        """Wait until it shows something."""
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            rows = self.rows()
            if is_so(rows):
                return rows
            time.sleep(0.02)
        shown = "\n".join(rows)
        message = f"not seen: {what}\n{shown}"
        raise AssertionError(message)

    def until_seen(self, words: str) -> list[str]:
        """Wait until some words are shown."""
        return self.until(lambda rows: any(words in row for row in rows), words)

    def until_asked(self) -> list[str]:
        """Wait for an empty prompt below everything else, not the one that a line was typed at."""

        def is_asked(rows: list[str]) -> bool:
            spoken = [row for row in rows if row]
            is_new = self.written.count(_PROMPT) > self._said_at
            return is_new and bool(spoken) and spoken[-1] == ">"

        return self.until(is_asked, "an empty prompt")

    def wait(self) -> int:
        """Wait for the end of the process."""
        return self.process.wait(_PATIENCE_S)

    def _resize(self, columns: int, rows: int) -> None:
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, size)

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self._ours, 65_536)
            except OSError:
                return
            if not part:
                return
            with self._lock:
                self.written += part
                self._stream.feed(part)
