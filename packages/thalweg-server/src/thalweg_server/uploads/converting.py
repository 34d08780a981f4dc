"""Conversion of documents to text, each in a process of its own that may be killed.

A document is untrusted. An attack on the library that reads it affects only a process without an
environment, with limits of time and memory, in an empty folder. Many owners share a few slots, of
which each holds one at most; those who wait are served in their order.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from thalweg.engine.extras import install_command
from thalweg_server.uploads.intake import Kind, UploadPolicy

INSTALL: Final = install_command("documents")
_UNREADABLE: Final = 3
_GRACE_S: Final = 2.0
"""For starting the process, beyond the time that a conversion has."""
_ALARM: Final = 14
_CPU: Final = 24
"""Signals by which the system ends a process whose time is over; Windows has none."""


_CHILD: Final = str(Path(__file__).with_name("child.py"))


@dataclass(frozen=True, slots=True)
class Converted:
    """The result of a conversion.

    Attributes:
        text: Markdown; `None` if there is none.
        note: The reason why text is missing, in whole or in part; empty if it is complete.
    """

    text: str | None
    note: str = ""


def can_convert() -> bool:
    """Whether the extra `documents` is installed."""
    return find_spec("kreuzberg") is not None


class Converter:
    """Turns documents into text, so many at a time.

    Args:
        policy: Limits of time, memory and text.
        child: The program that converts one document; see `thalweg/server/uploads/child.py`.
    """

    def __init__(self, policy: UploadPolicy, *, child: str = _CHILD) -> None:
        self._policy = policy
        self._child = child
        self._slots = asyncio.Semaphore(policy.conversions)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def convert(self, kind: Kind, content: bytes, *, owner: str = "") -> Converted:
        """Convert a document to Markdown, if its kind can be converted.

        Nothing is raised: a document without a text is still a document.

        Args:
            kind: Its kind.
            content: The whole document.
            owner: The owner that waits for it: of each, one document is converted at a time.
        """
        if not kind.converts:
            return Converted(None)
        if not self._policy.convert:
            return Converted(None, "conversion of documents to text is disabled (uploads: convert)")
        if not can_convert():
            return Converted(None, f"there is no text of it: {INSTALL} turns {kind.title} to text")
        async with self._turns.setdefault(owner, asyncio.Lock()), self._slots:
            return await self._converted(kind, content)

    async def _converted(self, kind: Kind, content: bytes) -> Converted:
        seconds = self._policy.convert_timeout_s
        with tempfile.TemporaryDirectory(
            prefix="thalweg-convert-", ignore_cleanup_errors=True
        ) as folder:
            process = await self._start(kind, folder)
            try:
                async with asyncio.timeout(seconds + _GRACE_S):
                    text, _ = await asyncio.gather(
                        _read(process, self._policy.max_text_bytes + 2), _write(process, content)
                    )
                    code = await process.wait()
            except TimeoutError:
                return Converted(None, _too_long(seconds))
            finally:
                await _end(process)
        return self._result(code, text)

    async def _start(self, kind: Kind, folder: str) -> Process:
        policy = self._policy
        limits = (policy.convert_timeout_s, policy.convert_memory_bytes, policy.max_text_bytes + 1)
        # Isolated: neither PYTHON… variables nor the working folder affect its imports.
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", self._child, kind.media_type, *map(str, limits)),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            cwd=folder,
            env=_environment(folder),
            start_new_session=True,
        )

    def _result(self, code: int, text: bytes) -> Converted:
        if code in {-_ALARM, -_CPU}:
            return Converted(None, _too_long(self._policy.convert_timeout_s))
        if code == _UNREADABLE:
            why = " ".join(text.decode(errors="replace").split())[:200]
            return Converted(None, f"no text could be read from it: {why}")
        if code:
            return Converted(None, f"its conversion failed (exit code {code}, memory or damage)")
        most = self._policy.max_text_bytes
        markdown = text[:most].decode(errors="ignore").replace("\0", "\N{REPLACEMENT CHARACTER}")
        if not markdown.strip():
            return Converted(None, "there is no text in it; it may be a scan or an image")
        if len(text) > most:
            return Converted(markdown, f"only the first {most:,} bytes of its text were kept")
        return Converted(markdown)


def _too_long(seconds: float) -> str:
    return f"its conversion exceeded {seconds:g} s and was stopped"


def _environment(folder: str) -> dict[str, str]:
    """Return the environment of a conversion: a home of its own; no keys, no addresses."""
    kept = {"SYSTEMROOT": os.environ["SYSTEMROOT"]} if "SYSTEMROOT" in os.environ else {}
    return {**kept, "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "2"}


async def _read(process: Process, most: int) -> bytes:
    """Read the output up to its end; kill a process that writes more than allowed."""
    assert process.stdout is not None  # noqa: S101 (it is a pipe)
    try:
        received = await process.stdout.readexactly(most)
    except asyncio.IncompleteReadError as output:
        return output.partial
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    return received


async def _write(process: Process, content: bytes) -> None:
    assert process.stdin is not None  # noqa: S101 (it is a pipe)
    # A process that closed its input has ended, or is about to report an error.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()


async def _end(process: Process) -> None:
    """Kill a process that has not ended, with all its children, and wait for its exit."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
