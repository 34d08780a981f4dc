"""Real processes that are forked instead of started, so that each costs milliseconds.

One process, which serves all tests of a run, imports what is asked for once. `start` has it fork a
process that runs a module as `python -m` does. There is no thread in it when it forks. The forked
processes have one hash seed: what has to hold for different ones starts processes of its own.

    python -m core_tests.forking DESCRIPTOR

is that process; it takes requests from a socket.
"""

import atexit
import gc
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self

ROOT = Path(__file__).parents[4]
PYTHON_PATH = os.pathsep.join(map(str, (ROOT, *sorted(ROOT.glob("packages/*/tests")))))
"""`PYTHONPATH` of a process that imports tests."""
_MOST_BYTES = 1 << 17
"""Of a request: its arguments and its environment."""
_DEVNULL = subprocess.DEVNULL
_PIPE = subprocess.PIPE
_lock = threading.Lock()
_forks: "_Forks | None" = None

Stream = int | IO[bytes] | None
"""As for `subprocess.Popen`: `PIPE`, `DEVNULL`, a file, or None for that of this process."""


class Forked:
    """A process with the methods and fields of `subprocess.Popen[str]` that tests use."""

    def __init__(self, link: socket.socket, pipes: Sequence[IO[str] | None]) -> None:
        self._lines = link.makefile()
        link.close()
        self.pid = int(self._lines.readline())
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = pipes
        self._waiting = threading.Thread(target=self._wait, daemon=True)
        self._waiting.start()

    def _wait(self) -> None:
        with self._lines:
            self.returncode = int(self._lines.readline())

    def poll(self) -> int | None:
        """Return its exit code, if it has ended."""
        return None if self._waiting.is_alive() else self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended."""
        self._waiting.join(timeout)
        if self._waiting.is_alive():
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self._waiting.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def communicate(
        self, given: str | None = None, timeout: float | None = None
    ) -> tuple[str, str]:
        """Write its input, read all its output, and wait until it has ended."""
        said: dict[str, str] = {}
        readers = [
            threading.Thread(target=lambda n=name, p=pipe: said.update({n: p.read()}), daemon=True)
            for name, pipe in (("out", self.stdout), ("err", self.stderr))
            if pipe is not None and not pipe.closed
        ]
        for reader in readers:
            reader.start()
        with suppress(BrokenPipeError):
            if self.stdin is not None and not self.stdin.closed:
                self.stdin.write(given or "")
                self.stdin.close()
        self.wait(timeout)
        for reader in readers:
            reader.join(timeout)
        self.close()
        return said.get("out", ""), said.get("err", "")

    def close(self) -> None:
        """Close its pipes."""
        for pipe in (self.stdin, self.stdout, self.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
        self.wait()


class _Forks:
    """The process that forks, as seen from here."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process_id = subprocess.Popen(
                [sys.executable, "-m", "core_tests.forking", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=_DEVNULL,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": PYTHON_PATH},
            )

    def start(self, request: dict[str, Any], streams: Sequence[Stream]) -> Forked:
        """Have a process forked."""
        pipes: list[IO[str] | None] = []
        with ExitStack() as stack:
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            given = [theirs.fileno()]
            for number, stream in enumerate(streams):
                pipe: IO[str] | None = None
                if stream == _PIPE:
                    ends = os.pipe()
                    kept, handed = ends if number else ends[::-1]
                    pipe = open(kept, "r" if number else "w", encoding="utf-8")  # noqa: SIM115, PTH123
                    stack.callback(os.close, handed)
                elif stream == _DEVNULL:
                    handed = os.open(os.devnull, os.O_RDWR)
                    stack.callback(os.close, handed)
                elif stream is None or isinstance(stream, int):
                    handed = number if stream is None else stream
                else:
                    handed = stream.fileno()
                pipes.append(pipe)
                given.append(handed)
            socket.send_fds(self._requests, [json.dumps(request).encode()], given)
        return Forked(ours, pipes)

    @property
    def lives(self) -> bool:
        """Whether it serves: a module that cannot be imported ends it."""
        return self._process_id.poll() is None

    def end(self) -> None:
        """End it."""
        self._requests.close()
        self._process_id.wait(60)


def start(
    module: str,
    *arguments: object,
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    imports: Sequence[str] = (),
    new_session: bool = False,
) -> Forked:
    """Start a module in a process of its own, as `python -m MODULE ARGUMENT...` would.

    Args:
        module: Its name. It is imported before the process is forked, and its function `warm_up`
            is called, if it has one, to import what is imported late.
        arguments: Its arguments.
        cwd: Its working directory.
        env: Its environment; that of this process by default.
        stdin: Its input; as for `subprocess.Popen`, with text in a pipe.
        stdout: Its output.
        stderr: Its errors.
        imports: Modules that are treated like that, too.
        new_session: Whether it leads a group of processes of its own.
    """
    global _forks  # noqa: PLW0603 (one for all tests of a run)
    request = {
        "module": module,
        "arguments": [str(argument) for argument in arguments],
        "cwd": str(cwd),
        "env": dict(os.environ if env is None else env),
        "imports": [module, *imports],
        "new_session": new_session,
    }
    with _lock:
        if _forks is None or not _forks.lives:
            _forks = _Forks()
            atexit.register(_forks.end)
        return _forks.start(request, (stdin, stdout, stderr))


def _serve(requests: socket.socket) -> dict[str, Any] | None:
    """Fork for each request. Returns in every forked process what it is to do."""
    imported: set[str] = set()
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, _MOST_BYTES, 4)
        if not message:
            return None
        request: dict[str, Any] = json.loads(message)
        for name in request["imports"]:
            if name not in imported:
                imported.add(name)
                getattr(import_module(name), "warm_up", int)()
        assert threading.active_count() == 1, threading.enumerate()
        gc.collect()
        gc.freeze()
        if os.fork() == 0:
            requests.close()
            _watch(descriptors, new_session=request["new_session"])
            _enter(request, descriptors)
            return request
        for descriptor in descriptors:
            os.close(descriptor)
        _reap()


def _watch(descriptors: Sequence[int], *, new_session: bool) -> None:
    """Fork once more, for the process itself, and report its number and how it ended."""
    ready, leads = os.pipe()
    worker = os.fork()
    if worker == 0:
        if new_session:
            os.setsid()
        os.close(ready)
        os.close(leads)
        return
    os.close(leads)
    os.read(ready, 1)  # until it leads its group
    link, *handed = descriptors
    for descriptor in (0, 1, 2, *handed):
        os.close(descriptor)
    os.write(link, f"{worker}\n".encode())
    _, status = os.waitpid(worker, 0)
    os.write(link, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _enter(request: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Become the process that was asked for."""
    for number, descriptor in enumerate(descriptors[1:]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    random.seed()


def _reap() -> None:
    """Reap children that have ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        request = _serve(requests)
    if request is None:
        while True:  # their CPU time counts as that of this process
            try:
                os.wait()
            except ChildProcessError:
                return
    sys.argv[1:] = request["arguments"]
    warnings.filterwarnings("ignore", ".* found in sys.modules", RuntimeWarning)
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
