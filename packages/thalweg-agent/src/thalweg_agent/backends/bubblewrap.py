"""A folder of this machine, and commands that run confined to it by bubblewrap."""

import os
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Final

from thalweg.errors import ConfigError
from thalweg_agent.backends.local.commands import Shell
from thalweg_agent.backends.local.control_groups import (
    ProcessGroups,
    find_process_groups,
    ulimit_binds,
)
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_agent.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend
from thalweg_agent.backends.paths import is_under

WORKSPACE: Final = "/workspace"
"""Path of the folder as a command sees it."""
HOME: Final = "/home/agent"
PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_PROGRAM: Final = "bwrap"
_SYSTEM: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into `/usr` on most systems of today, folders on others."""
_ETC: Final = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_ETC_FOR_NETWORK: Final = (
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
)
_ID: Final = "1000"
_PROBE_S: Final = 20
_SETTING: Final = "sandbox.use: bubblewrap"


class BubblewrapBackend(LocalShellBackend):
    """Files under a folder, and commands that see this folder and the programs of this machine.

    A command runs in namespaces of its own (bubblewrap): it sees the folder as `/workspace`, `/usr`
    and a few files of `/etc` read-only, an empty `/tmp` and home folder, no other process, no
    network by default, and an environment of PATH, HOME, LANG and `env`. All its processes end with
    it. Entries of the folder are linked at `/`, so that a path of the file methods names the same
    file in a command.

    The programs are this machine's; commands can read every file below `/usr` and `read_only` that
    is readable here. With `network`, commands reach all that this machine reaches, its own services
    included.
    The kernel enforces the number of processes: by the user namespace of a command, and for root,
    whom that does not bind, by a control group for each command.

    Args:
        root_dir: The folder of the files.
        limits: Limits of one command.
        network: Whether commands reach the network.
        read_only: More folders of this machine that commands see, at the same paths.
        hidden: Folders that commands must not see even if they are below a visible one.
        env: More variables of the environment.
        is_private: Whether files that commands create are for this user alone.
        timeout: Seconds a command may take.
        max_output_bytes: Maximum bytes of a command's output in the result.

    Raises:
        ConfigError: bubblewrap is not installed, or the number of processes cannot be limited here.

    Example:
        ```python
        agent = create_deep_agent(model, backend=BubblewrapBackend("./work"))
        ```
    """

    command_root = WORKSPACE

    def __init__(
        self,
        root_dir: str | Path,
        *,
        limits: ProcessLimits | None = None,
        network: bool = False,
        read_only: Iterable[str | Path] = (),
        hidden: Iterable[str | Path] = (),
        env: Mapping[str, str] | None = None,
        is_private: bool = False,
        timeout: float = DEFAULT_EXECUTE_TIMEOUT,
        max_output_bytes: int = 100_000,
    ) -> None:
        environment = {"PATH": PATH, "HOME": HOME, "LANG": "C.UTF-8", **(env or {})}
        super().__init__(
            root_dir, timeout=timeout, max_output_bytes=max_output_bytes, env=environment
        )
        self.is_private = is_private
        self._program = find_bubblewrap()
        self._groups = _find_bound()
        self._limits = limits or ProcessLimits()
        self._network = network
        self._read_only = tuple(os.path.realpath(each) for each in read_only)
        others = ("/usr", *_SYSTEM, *_ETC, *_ETC_FOR_NETWORK, *self._read_only)
        self.command_folders = {str(self.cwd): WORKSPACE, **{path: path for path in others}}
        self._hidden = tuple(os.path.realpath(each) for each in hidden)
        for path in self._read_only:
            if any(is_under(path, folder) for folder in self._hidden):
                what, problem = f"sandbox.read_only: {path}", "commands must not see what is in it"
                raise ConfigError(what, problem, "leave it out")
        self._sandbox_id = f"bubblewrap-{self.cwd.name}"

    def _shell(self) -> Shell:
        return Shell(
            folder=str(self.cwd),
            environment=self._env,
            room=self._max_output_bytes + 1,
            prefix=(self._program, *self._arguments(), "--"),
            setup="; ".join(self._setup()),
            exceeded=self._limits.exceeded_by,
            surround=self._surround,
        )

    def _surround(self) -> AbstractContextManager[tuple[str, ...]]:
        if self._groups is None:
            return nullcontext(())
        return self._groups.entered(self._limits.processes)

    def _setup(self) -> Iterator[str]:
        """Set the limits that the kernel enforces; the monitor checks the processes' totals."""
        if self.is_private:
            yield "umask 077"
        yield "ulimit -c 0"
        yield f"ulimit -d {self._limits.memory_mb * 1_024}"
        if self._groups is None:
            most = self._limits.processes
            yield f"ulimit -u {most} 2> /dev/null || ulimit -p {most}"  # of bash, of other shells

    def _arguments(self) -> Iterator[str]:
        yield from _NAMESPACES
        if self._network:
            yield "--share-net"
        yield from ("--ro-bind", "/usr", "/usr")
        for path in _SYSTEM:
            yield from _as_on_this_machine(path)
        for path in (*_ETC, *(_ETC_FOR_NETWORK if self._network else ())):
            yield from ("--ro-bind-try", path, path)
        size = str(self._limits.memory_mb << 20)
        yield from ("--proc", "/proc", "--dev", "/dev")
        yield from ("--size", size, "--tmpfs", "/tmp", "--size", size, "--tmpfs", "/home")  # noqa: S108 (inside)
        # Later mounts cover earlier ones.
        for path in self._read_only:
            yield from ("--ro-bind", path, path)
        for path in self._hidden:
            if any(is_under(path, visible) for visible in ("/usr", *self._read_only)):
                yield from ("--tmpfs", path)
        yield from ("--dir", HOME, "--bind", str(self.cwd), WORKSPACE)
        taken = {"usr", "etc", "proc", "dev", "tmp", "home", "workspace"}
        taken |= {path.split("/")[1] for path in (*_SYSTEM, *self._read_only)}
        for name in link_names(self.cwd, taken):
            yield from ("--symlink", f"{WORKSPACE}/{name}", f"/{name}")
        yield from ("--remount-ro", "/", "--chdir", WORKSPACE)


def link_names(folder: Path, taken: Collection[str]) -> list[str]:
    """Return the entries of the folder to link at `/`: those with names that are not taken.

    Of many entries, folders come first: the arguments of a program have a limit of length.
    """
    entries = [one for one in os.scandir(folder) if one.name not in taken]
    entries.sort(key=lambda one: (not one.is_dir(follow_symlinks=False), one.name))
    return [one.name for one in entries[:_LINKS]]


_LINKS: Final = 500
"""Most entries of the folder that have a link at `/`."""


_NAMESPACES: Final = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--uid",
    _ID,
    "--gid",
    _ID,
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--new-session",
    "--die-with-parent",
)


@cache
def _find_bound() -> ProcessGroups | None:
    """Return what bounds the processes of a command; `None` where `ulimit -u` does.

    Raises:
        ConfigError: Nothing does.
    """
    uid_map = Path("/proc/self/uid_map").read_text()
    if ulimit_binds(os.uname().release, uid_map, os.geteuid()):
        return None
    groups = find_process_groups()
    if groups is None:
        problem = "the number of processes of a command cannot be limited here"
        fix = (
            "run as a user that is not root, on Linux 5.14 or later; or let this process make "
            "control groups (a service of systemd: Delegate=pids); or use docker or podman"
        )
        raise ConfigError(_SETTING, problem, fix)
    return groups


def _as_on_this_machine(path: str) -> tuple[str, ...]:
    if os.path.islink(path):  # noqa: PTH114 (a name of the system)
        return ("--symlink", os.readlink(path), path)  # noqa: PTH115 (the same)
    return ("--ro-bind-try", path, path)


def find_bubblewrap() -> str:
    """Return the path of the program.

    Raises:
        ConfigError: It is not installed.
    """
    found = shutil.which(_PROGRAM)
    if found is None:
        fix = "install it (Debian, Ubuntu, Fedora: the package bubblewrap), or use another sandbox"
        problem = f"{_PROGRAM} is not installed"
        raise ConfigError(_SETTING, problem, fix)
    return found


def check_bubblewrap() -> None:
    """Run the empty command confined, as agents' commands will be.

    Raises:
        ConfigError: bubblewrap is not installed, this machine does not let it work, or nothing
            bounds the number of processes.
    """
    _find_bound()
    minimal = ("--ro-bind", "/", "/", "--", "/bin/true")
    arguments = (find_bubblewrap(), *_NAMESPACES, *minimal)
    try:
        ran = subprocess.run(  # noqa: S603 (ours)
            arguments, capture_output=True, text=True, timeout=_PROBE_S, check=False
        )
        failure = ran.stderr.strip() if ran.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    if failure:
        fix = (
            "allow unprivileged user namespaces (Ubuntu 24.04: an AppArmor profile for bwrap; a "
            "container: --security-opt seccomp=unconfined), or use another sandbox"
        )
        problem = f"it fails here ({failure})"
        raise ConfigError(_SETTING, problem, fix)
