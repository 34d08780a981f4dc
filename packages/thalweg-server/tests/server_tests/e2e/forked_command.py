"""The command line in a process that `core_tests.forking` forks: it has loaded LangChain before.

    python -m server_tests.e2e.forked_command ARGUMENT...

A terminal that is its input controls it.
"""

import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from core_tests.forking import start
from thalweg.cli import main
from thalweg.engine.tokens import exact_counter
from thalweg_server.cli.chat import printing

LATE = (
    "anyio._backends._asyncio",
    "httpcore2",
    "langchain_anthropic",
    "langchain_openai",
    "openai.lib.streaming.chat",
    "openai.resources.chat.completions.completions",
    "thalweg.cli.app",
    "thalweg.database.migrations.history",
    "thalweg_server.app.agents",
    "thalweg_server.app.memory",
    "thalweg_server.app.opening",
    "thalweg_server.app.performing",
    "thalweg_server.checkpoints.sqlite",
    "thalweg_server.cli.chat.command",
    "thalweg_server.cli.chat.session",
    "thalweg_server.cli.doctor.command",
    "thalweg_server.client.connection",
    "thalweg_server.client.in_process",
    "thalweg_server.client.streams",
    "thalweg_server.gateway.create",
    "thalweg_server.gateway.serving",
    "thalweg_server.models.compatible",
    "thalweg_server.runs.sqlite",
)
"""What `thalweg chat` and `thalweg serve` import when they are called: 3 s of CPU in a process."""


def warm_up() -> None:
    """Import what commands import late, and load the tokenizer."""
    for module in LATE:
        import_module(module)
    exact_counter()("river")


def own_streams() -> None:
    """Reopen the standard streams: those of the forking process refer to other files."""
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115


def run(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int = subprocess.DEVNULL,
    given: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end in a forked process; its input, if any, is sent through a pipe."""
    process = start(
        "server_tests.e2e.forked_command",
        *arguments,
        cwd=cwd,
        env=env,
        stdin=stdin if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        out, err = process.communicate(given, timeout=600)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return subprocess.CompletedProcess(arguments, process.wait(), out, err)


@contextmanager
def serving(*options: str, cwd: Path, env: Mapping[str, str]) -> Iterator[list[str]]:
    """Run `thalweg serve` on a free port in a forked process; yield what it prints at its start."""
    process = start(
        "server_tests.e2e.forked_command",
        *("serve", "--port", "0", *options),
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process:
        try:
            yield [process.stdout.readline() for _ in range(5)]
        finally:
            process.send_signal(signal.SIGTERM)


if __name__ == "__main__":
    own_streams()
    if os.isatty(0) and os.getsid(0) == os.getpid():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    printing.SILENCE_S = float(os.environ.get("THALWEG_TEST_SILENCE_S", printing.SILENCE_S))
    main()
