"""Processes that run models: one per file, started at its first use, ended with this process."""

import json
import os
import secrets
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from threading import Lock

from thalweg.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ModelLoad:
    """What is loaded, and how."""

    path: Path
    window: int
    """Tokens of one request and its answer."""
    threads: int
    template: str = ""
    """In place of the file's own; empty for that."""


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A model that listens on this machine."""

    address: str
    key: str


class ModelProcess:
    """The process of one model. Safe to share between threads; a fork starts its own."""

    def __init__(self, load: ModelLoad) -> None:
        self.load = load
        self._lock = Lock()
        self._running: tuple[subprocess.Popen[str], ModelServer] | None = None

    def server(self) -> ModelServer:
        """Return the server, started if none runs.

        Raises:
            ConfigError: llama.cpp cannot load the file; the error has its reason.
        """
        with self._lock:
            if self._running is None or self._running[0].poll() is not None:
                if self._running is not None:
                    _end(self._running[0])
                self._running = self._started()
            return self._running[1]

    @property
    def pid(self) -> int | None:
        """The process; `None` while none was started."""
        return self._running[0].pid if self._running else None

    def stop(self) -> None:
        """End the process, if it runs. The next request starts another."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            _end(running[0])

    def leave(self) -> None:
        """Forget the process, in a fork: it is the parent's, and ends when all close its input."""
        self._lock = Lock()
        running, self._running = self._running, None
        if running is not None:
            running[0].returncode = 0  # not ours to wait for
            _close_pipes(running[0])

    def _started(self) -> "tuple[subprocess.Popen[str], ModelServer]":
        key = secrets.token_urlsafe(24)
        task = {**asdict(self.load), "path": str(self.load.path), "key": key}
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "thalweg.server.models.local.host"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C is for the parent, not for the model
            )
            try:
                answer = _ask(process, task)
            except BaseException:
                _end(process)
                raise
            if "address" in answer:
                return process, ModelServer(answer["address"], key)
            _end(process)
            errors.seek(0)
            lines = [line.strip() for line in errors if line.strip()]
        reason = "; ".join(lines[-3:])[-400:] or answer.get("problem", "its process ended")
        mend = "check the file, the free memory for its size, and the window"
        raise ConfigError(str(self.load.path), f"llama.cpp cannot load it: {reason}", mend)


def _ask(process: "subprocess.Popen[str]", task: dict[str, object]) -> dict[str, str]:
    """Send a process its task, and wait until the model is loaded."""
    if process.stdin is None or process.stdout is None:  # never: both are pipes
        return {}
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
    answer: dict[str, str] = json.loads(process.stdout.readline() or "{}")
    return answer


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()  # it keeps nothing that would have to be written
    process.wait()
    _close_pipes(process)


def _close_pipes(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


@cache
def _processes() -> dict[ModelLoad, ModelProcess]:
    processes: dict[ModelLoad, ModelProcess] = {}

    def leave_all() -> None:
        for process in processes.values():
            process.leave()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave_all)
    return processes


def process_of(load: ModelLoad) -> ModelProcess:
    """Return the process of a model; the same for everybody who loads it alike."""
    return _processes().setdefault(load, ModelProcess(load))
