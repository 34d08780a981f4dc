"""A folder of this machine, and commands that run in containers over it."""

import csv
import io
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from thalweg.errors import ConfigError
from thalweg_agent.backends.bubblewrap import WORKSPACE
from thalweg_agent.backends.local.commands import Shell
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_agent.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend

IMAGE: Final = "docker.io/library/python:3.13-slim"
"""An image with Python and a shell."""
Runtime = Literal["docker", "podman"]
_PROBE_S: Final = 30
_HOME: Final = "/tmp/home"  # noqa: S108 (inside)


class ContainerBackend(LocalShellBackend):
    """Files under a folder, and commands that each run in a container of their own.

    A container sees the folder as `/workspace` and its image, which is read-only but for `/tmp`. It
    has no capabilities, no network by default, limits of memory and processes that the runtime
    enforces, and is removed when its command ends.

    Args:
        root_dir: The folder of the files; the runtime must see it at the same path.
        runtime: The program that runs containers.
        image: The image of the container; it needs `/bin/sh`.
        limits: Limits of one command.
        network: Whether commands reach the network.
        env: Variables of the environment in addition to those of the image.
        is_private: Whether files that commands create are for this user alone.
        timeout: Seconds a command may take.
        max_output_bytes: Maximum bytes of a command's output in the result.

    Raises:
        ConfigError: The runtime is not installed.

    Example:
        ```python
        agent = create_deep_agent(model, backend=ContainerBackend("./work", runtime="podman"))
        ```
    """

    command_root = WORKSPACE

    def __init__(
        self,
        root_dir: str | Path,
        *,
        runtime: Runtime = "docker",
        image: str = IMAGE,
        limits: ProcessLimits | None = None,
        network: bool = False,
        env: Mapping[str, str] | None = None,
        is_private: bool = False,
        timeout: float = DEFAULT_EXECUTE_TIMEOUT,
        max_output_bytes: int = 100_000,
    ) -> None:
        super().__init__(root_dir, timeout=timeout, max_output_bytes=max_output_bytes)
        self.command_folders = {str(self.cwd): WORKSPACE}
        self.is_private = is_private
        self._program = find_runtime(runtime)
        self._runtime = runtime
        self._image = image
        self._limits = limits or ProcessLimits()
        self._network = network
        self._inside = {"HOME": _HOME, "LANG": "C.UTF-8", **(env or {})}
        # The client of the runtime finds its server and its images by these.
        passed = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONFIG", "XDG_RUNTIME_DIR")
        self._env = {name: os.environ[name] for name in passed if name in os.environ}
        self._env |= self._inside_only()
        self._sandbox_id = f"{runtime}-{self.cwd.name}"

    def _inside_only(self) -> dict[str, str]:
        """Variables that the client passes on by name: values are in no list of processes."""
        return {f"THALWEG_INSIDE_{name}": value for name, value in self._inside.items()}

    def _shell(self) -> Shell:
        name = f"thalweg-{secrets.token_hex(8)}"
        exports = "; ".join(f'export {each}="$THALWEG_INSIDE_{each}"' for each in self._inside)
        forget = f"unset {' '.join(self._inside_only())}"
        umask = "umask 077; " if self.is_private else ""
        return Shell(
            folder=str(self.cwd),
            environment=self._env,
            room=self._max_output_bytes + 1,
            prefix=(self._program, "run", *self._arguments(name), self._image),
            setup=f"{umask}{exports}; {forget}; mkdir -p {_HOME}",
            cleanup=(self._program, "rm", "--force", name),
        )

    def _arguments(self, name: str) -> Iterator[str]:
        yield from ("--rm", "--init", "--name", name, "--read-only", "--cap-drop", "ALL")
        yield from ("--security-opt", "no-new-privileges", "--tmpfs", "/tmp:exec")  # noqa: S108 (inside)
        yield from ("--memory", f"{self._limits.memory_mb}m")
        yield from ("--memory-swap", f"{self._limits.memory_mb}m")
        yield from ("--pids-limit", str(self._limits.processes))
        yield from ("--ulimit", "core=0")
        if not self._network:
            yield from ("--network", "none")
        if self._runtime == "podman" and os.getuid() != 0:
            yield from ("--userns", "keep-id")
        yield from ("--user", f"{os.getuid()}:{os.getgid()}")
        for each in self._inside_only():
            yield from ("--env", each)
        yield from ("--mount", _mount(str(self.cwd)), "--workdir", WORKSPACE)


def _mount(folder: str) -> str:
    """Return the value of `--mount` for a folder: one line of CSV, so that it may have any name."""
    line = io.StringIO()
    fields = ("type=bind", f"source={folder}", f"target={WORKSPACE}")
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def find_runtime(runtime: str) -> str:
    """Return the path of the program.

    Raises:
        ConfigError: It is not installed.
    """
    found = shutil.which(runtime)
    if found is None:
        what, problem = f"sandbox.use: {runtime}", f"{runtime} is not installed"
        raise ConfigError(what, problem, "install it, or use another sandbox")
    return found


def check_runtime(runtime: str) -> None:
    """Ask a runtime whether it can run containers.

    Raises:
        ConfigError: It is not installed, or its server is not there.
    """
    try:
        ran = subprocess.run(  # noqa: S603 (ours)
            (find_runtime(runtime), "info"),
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
        errors = ran.stderr.strip().splitlines()[-1:] if ran.returncode else []
    except (OSError, subprocess.TimeoutExpired) as error:
        errors = [str(error)]
    if errors:
        what, problem = f"sandbox.use: {runtime}", f"it cannot be used ({errors[0]})"
        fix = f"start it (`{runtime} info` shows the problem), or use another sandbox"
        raise ConfigError(what, problem, fix)
