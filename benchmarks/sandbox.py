"""What one owner's shell reaches of another owner, and what a confined command costs.

    python -m benchmarks.sandbox

Each attack is a command that prints everything it finds. A marker of 64 bits is in another owner's
file, in the environment of this process, in the arguments and environment of a running command of
the other owner, and on a server of this machine; an attack succeeds if it prints the marker.
"""

import os
import secrets
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from thalweg_agent.backends.bubblewrap import PATH, BubblewrapBackend
from thalweg_agent.backends.local_shell import LocalShellBackend

COMMANDS = {
    "true": "true",
    "python": "python3 -c 'print(1)'",
    "grep": "grep -r x /usr/share/doc",
}
REPEATS = 15
_CONNECT = "import socket; print(socket.create_connection(('127.0.0.1', {port}), 1).recv(99))"
ATTACKS = (
    "env",
    "cat /proc/*/environ | tr '\\0' '\\n'",
    "cat /proc/[0-9]*/cmdline | tr '\\0' ' '",
    "ps auxwwe",
    "cat ../*/*.txt ../../*/*/*.txt",
    "cat {home}/bob/t1/*",
    "cat /proc/1/root{home}/bob/t1/* /proc/self/root{home}/bob/t1/*",
    "ln -s {home} link; cat link/bob/t1/*",
    "ln {home}/bob/t1/secret.txt hard; cat hard",
    "unshare -rm sh -c 'mkdir -p m; mount --bind / m; cat m{home}/bob/t1/*'",
    f'python3 -c "{_CONNECT}"',
)
Open = Callable[[Path], LocalShellBackend]


def confined(folder: Path) -> LocalShellBackend:
    """Open a folder with a confined shell."""
    return BubblewrapBackend(folder, timeout=20)


def unconfined(folder: Path) -> LocalShellBackend:
    """Open a folder with the shell of this machine, with the smallest environment."""
    return LocalShellBackend(folder, timeout=20, env={"PATH": PATH})


@contextmanager
def neighbour(home: Path, mark: str) -> Iterator[int]:
    """Have another owner's file, running command and server, and yield the server's port."""
    (home / "bob" / "t1").mkdir(parents=True)
    (home / "bob" / "t1" / "secret.txt").write_text(mark)
    os.environ["BOB_KEY"] = mark
    running = subprocess.Popen(
        ["/bin/sleep", "120"], env={"SECRET": mark, "PATH": PATH}, executable="/bin/sleep"
    )
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                connection.sendall(mark.encode())

    threading.Thread(target=answer, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        running.kill()
        running.wait()
        del os.environ["BOB_KEY"]


def attack(open_: Open) -> list[str]:
    """Return the attacks that found the marker."""
    mark = secrets.token_hex(8)
    with tempfile.TemporaryDirectory() as folder, neighbour(Path(folder), mark) as port:
        mine = Path(folder, "ada", "t1")
        mine.mkdir(parents=True)
        shell = open_(mine)
        commands = [one.format(home=folder, port=port) for one in ATTACKS]
        return [one for one in commands if mark in shell.execute(one).output]


def cost_ms(open_: Open, command: str) -> float:
    """Return the median wall time of a command, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        shell = open_(Path(folder))
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            shell.execute(command)
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1_000


def main() -> None:
    """Print both tables."""
    for name, open_ in (("bubblewrap", confined), ("host", unconfined)):
        found = attack(open_)
        print(f"{name}: {len(found)} of {len(ATTACKS)} attacks found the other owner's marker")
        for one in found:
            print(f"    {one[:90]}")
    print(f"{'command':<10}{'host ms':>10}{'confined ms':>13}")
    for name, command in COMMANDS.items():
        host, inside = cost_ms(unconfined, command), cost_ms(confined, command)
        print(f"{name:<10}{host:>10.1f}{inside:>13.1f}")


if __name__ == "__main__":
    main()
