"""Processes that run models: one per file, started at its first use, ended with this process."""

import atexit
import json
import os
import secrets
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Final

from thalweg.engine.extras import install_command
from thalweg.errors import ConfigError, MissingExtraError

CACHE_MIB: Final = 1_024
"""Most memory for prompts that were read before: a thread that comes back is not read again."""


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
        self._process: subprocess.Popen[str] | None = None
        self._server: ModelServer | None = None

    def server(self) -> ModelServer:
        """Return the server, started if none runs.

        Raises:
            ConfigError: llama.cpp cannot load the file; the error has its reason.
        """
        with self._lock:
            if self._server is None or self._process is None or self._process.poll() is not None:
                if self._process is not None:
                    _end(self._process)
                self._server = self._start()
            return self._server

    @property
    def pid(self) -> int | None:
        """The process; `None` while none was started."""
        return None if self._process is None else self._process.pid

    def stop(self) -> None:
        """End the process, if it runs. The next request starts another."""
        with self._lock:
            self._server = None
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def leave(self) -> None:
        """Forget the process, in a fork: it is the parent's."""
        self._lock = Lock()
        process, self._process, self._server = self._process, None, None
        if process is not None:
            process.returncode = 0  # not ours to wait for
            _let_go(process)

    def _start(self) -> ModelServer:
        key = secrets.token_urlsafe(24)
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
            process = _spawn(errors)
            try:
                answer = _ask(process, self.load, key)
            except BaseException:
                _end(process)
                raise
            if "address" not in answer:
                _end(process)
                errors.seek(0)
                raise _refusal(self.load, answer.get("problem", ""), errors.read())
        self._process = process
        return ModelServer(answer["address"], key)


def _spawn(errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "thalweg.server.models.local.host"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        start_new_session=True,  # Ctrl-C is for whoever asks, not for the model
    )


def _ask(process: "subprocess.Popen[str]", load: ModelLoad, key: str) -> dict[str, str]:
    """Send the process its task, and wait until the model is loaded."""
    if process.stdin is None or process.stdout is None:  # never: both are pipes
        return {}
    said = {
        "path": str(load.path),
        "window": load.window,
        "threads": load.threads,
        "template": load.template,
        "cache_mib": CACHE_MIB,
        "key": key,
    }
    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(said) + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    answer: dict[str, str] = json.loads(line) if line else {}
    return answer


def _refusal(load: ModelLoad, problem: str, errors: str) -> ConfigError:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    if any("No module named 'xllamacpp'" in line for line in lines):
        problem = "the package xllamacpp is not installed"
        return MissingExtraError(str(load.path), problem, install_command("local"))
    told = "; ".join(lines[-3:])[-400:] or problem or "its process ended"
    mend = "check the file, the free memory for its size, and the window"
    return ConfigError(str(load.path), f"llama.cpp cannot load it: {told}", mend)


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()  # it keeps nothing that would have to be written
    process.wait()
    _let_go(process)


def _let_go(process: "subprocess.Popen[str]") -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


@cache
def _hosts() -> dict[ModelLoad, ModelProcess]:
    """Hold the hosts of this process."""
    hosts: dict[ModelLoad, ModelProcess] = {}

    def end_all() -> None:
        for host in hosts.values():
            host.stop()

    def leave_all() -> None:
        for host in hosts.values():
            host.leave()

    atexit.register(end_all)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave_all)
    return hosts


def host_of(load: ModelLoad) -> ModelProcess:
    """Find the host of a model; the same for everybody who loads it alike."""
    return _hosts().setdefault(load, ModelProcess(load))
