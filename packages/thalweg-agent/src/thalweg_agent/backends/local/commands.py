"""Commands of the local shell: run to their end, with bounded output, and killed as a tree.

Two rules: memory holds at most the beginning of each stream, for any size of output; a command that
is stopped, by a timeout or a cancelled task, has no surviving process of its group.
"""

import asyncio
import codecs
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

POLL_S: Final = 0.05
"""Seconds between two checks of a command's usage against its limits."""
_GRACE_S: Final = 1.0
"""Seconds to wait for writers to the output after a command has ended: a process in the background
keeps the streams open, and a server may never end."""
_REAPED_S: Final = 10.0
"""Most seconds to wait for the end of a process that was killed; a busy machine needs some."""
_CLEANUP_S: Final = 30
"""How long `cleanup` may take: a runtime that hangs must not hold the caller of a command."""


_Result = TypeVar("_Result")


def finished(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine to its end, for a caller that does not await it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as aside:  # of a loop that waits for this call
        return aside.submit(asyncio.run, work).result()


@dataclass(slots=True)
class Stream:
    """The beginning of a process's output to one stream."""

    room: int
    """Bytes kept at most."""
    kept: bytearray = field(default_factory=bytearray)
    is_cut: bool = False
    """There was more."""

    def take(self, chunk: bytes) -> None:
        """Store what fits, and discard the rest."""
        room = self.room - len(self.kept)
        self.kept += chunk[:room]
        self.is_cut = self.is_cut or len(chunk) > room

    def text(self) -> str:
        r"""Decode it; bytes that are no text become marks, `\r` and `\r\n` become `\n`."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self.kept), final=not self.is_cut)
        return text.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(slots=True)
class CommandOutput:
    """Both streams of a command, and how it ended."""

    out: Stream
    err: Stream
    exit_code: int | None = None
    """`None` when its time was over; below zero for the signal that killed it."""
    stopped: str = ""
    """Which limit it exceeded, if it was killed for that."""

    @property
    def is_cut(self) -> bool:
        """Some of the output was forgotten."""
        return self.out.is_cut or self.err.is_cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Where and how commands run."""

    folder: str
    environment: Mapping[str, str]
    room: int
    """Bytes kept of each stream."""
    prefix: tuple[str, ...] = ()
    """Program and arguments that run the shell: a sandbox. None runs it on this machine."""
    setup: str = ""
    """Shell commands that run before it, in the same shell."""
    exceeded: Callable[[int], str] | None = None
    """Asked every `POLL_S` seconds with the process id: the limit it exceeds, or an empty text."""
    cleanup: tuple[str, ...] = ()
    """Program and arguments that remove the remains of a killed `prefix`: a container."""
    surround: Callable[[], AbstractContextManager[tuple[str, ...]]] = lambda: nullcontext(())
    """Makes what one command runs in, such as a control group: the program and arguments that
    enter it and run the arguments after them."""

    async def run(self, command: str, timeout_s: float) -> CommandOutput:
        """Run a command to its end, or to the end of its time; a cancelled task kills it.

        Raises:
            OSError: It cannot be started.
            ValueError: There is a NUL in it.
        """
        with self.surround() as enter:
            return await self._arun((*enter, *self._arguments(command)), timeout_s)

    async def _arun(self, arguments: tuple[str, ...], timeout_s: float) -> CommandOutput:
        printed = CommandOutput(Stream(self.room), Stream(self.room))
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                lambda: _Listener(printed),
                *arguments,
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        try:
            transport, listener = await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(_kill_started)
            # A loop that ends now would cancel it and leave children, or leave the shell unreaped.
            with suppress(Exception):
                _, listener = await asyncio.shield(starting)
                await asyncio.wait_for(listener.exited.wait(), _REAPED_S)
            raise
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended(transport, listener, printed), timeout_s)
                with suppress(TimeoutError):
                    await asyncio.wait_for(listener.closed.wait(), _GRACE_S)
        finally:
            code = transport.get_returncode()
            if code is None:
                _kill(transport.get_pid())
                with suppress(TimeoutError):
                    await asyncio.wait_for(listener.exited.wait(), _REAPED_S)
                await asyncio.shield(asyncio.to_thread(self._clean_up))
            transport.close()
        printed.exit_code = code
        return printed

    def _arguments(self, command: str) -> list[str]:
        if not self.setup:
            return [*self.prefix, "/bin/sh", "-c", command]
        return [*self.prefix, "/bin/sh", "-c", f'{self.setup}; exec /bin/sh -c "$1"', "sh", command]

    async def _ended(
        self, transport: asyncio.SubprocessTransport, listener: "_Listener", printed: CommandOutput
    ) -> None:
        """Wait until the process has ended, or exceeds a limit."""
        while not listener.exited.is_set():
            with suppress(TimeoutError):
                patience = None if self.exceeded is None else POLL_S
                await asyncio.wait_for(listener.exited.wait(), patience)
                return
            if self.exceeded is not None:
                printed.stopped = self.exceeded(transport.get_pid())
                if printed.stopped:
                    raise TimeoutError

    def _clean_up(self) -> None:
        if not self.cleanup:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(  # noqa: S603 (ours)
                self.cleanup,
                env=dict(self.environment),
                capture_output=True,
                timeout=_CLEANUP_S,
                check=False,
            )


class _Listener(asyncio.SubprocessProtocol):
    """Collects the output of a process, and records its end."""

    def __init__(self, printed: CommandOutput) -> None:
        self._streams = {1: printed.out, 2: printed.err}
        self._open = set(self._streams)
        self.exited = asyncio.Event()
        self.closed = asyncio.Event()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._streams[fd].take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc  # the end of a stream is its end
        self._open.discard(fd)
        if not self._open:
            self.closed.set()

    def process_exited(self) -> None:
        self.exited.set()


def _kill_started(
    starting: asyncio.Future[tuple[asyncio.SubprocessTransport, _Listener]],
) -> None:
    if not starting.cancelled() and starting.exception() is None:
        transport, _ = starting.result()
        if transport.get_returncode() is None:
            _kill(transport.get_pid())
        transport.close()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
