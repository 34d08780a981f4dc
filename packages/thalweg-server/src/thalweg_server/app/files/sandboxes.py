"""The shell over the files of a thread that the settings name."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, assert_never

from thalweg.errors import ConfigError
from thalweg_agent.backends.bubblewrap import BubblewrapBackend, check_bubblewrap
from thalweg_agent.backends.container import ContainerBackend, check_runtime
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import SandboxBackendProtocol
from thalweg_server.app.agents.importing import import_named
from thalweg_server.settings.fields import thawed
from thalweg_server.settings.sections import SandboxSettings

OpenShell = Callable[[Path], LocalShellBackend]
"""Makes the shell of one thread, whose files are in the folder."""
MakeSandbox = Callable[[str, str], SandboxBackendProtocol]
"""Makes the sandbox of a thread: of its owner and its id."""
_OF_HOST = ("PATH", "HOME", "LANG")


def shell_over(settings: SandboxSettings, hidden: Iterable[Path]) -> OpenShell:
    """Return the factory of the shells of threads.

    Args:
        settings: The place where commands run, and their limits.
        hidden: Folders of this application that no command sees but for its thread's own files.

    Raises:
        ConfigError: The configured sandbox is not installed. Raised when a shell is created.
    """
    limits = ProcessLimits(memory_mb=settings.memory_mb, processes=settings.processes)
    env, timeout = settings.variables, settings.timeout_seconds
    kept_back = tuple(hidden)

    def opened(folder: Path) -> LocalShellBackend:
        match settings.use:
            case "bubblewrap":
                return BubblewrapBackend(
                    folder,
                    limits=limits,
                    network=settings.network,
                    read_only=settings.read_only,
                    hidden=kept_back,
                    env=env,
                    is_private=True,
                    timeout=timeout,
                )
            case "docker" | "podman":
                return ContainerBackend(
                    folder,
                    runtime=settings.use,
                    image=settings.image,
                    limits=limits,
                    network=settings.network,
                    env=env,
                    is_private=True,
                    timeout=timeout,
                )
            case "host" | "none" | "custom":
                known = {name: os.environ[name] for name in _OF_HOST if name in os.environ}
                return LocalShellBackend(folder, env={**known, **env}, timeout=timeout)
            case _:
                assert_never(settings.use)

    return opened


def made_by_factory(settings: SandboxSettings) -> MakeSandbox:
    """Import what makes the sandbox of each thread.

    Raises:
        ConfigError: It cannot be imported, or is nothing to call.
    """
    factory = import_named(str(settings.factory), "sandbox.factory")
    options = thawed(settings.options)
    if not callable(factory) or not isinstance(options, dict):
        problem, fix = "it is nothing to call", "name a function of owner and thread"
        raise ConfigError("sandbox.factory", problem, fix)
    make: Any = factory
    return lambda owner, thread: make(owner, thread, **options)


def check_sandbox(settings: SandboxSettings) -> None:
    """Validate that the configured sandbox can run commands; takes milliseconds to seconds.

    Raises:
        ConfigError: It cannot.
    """
    if settings.use == "bubblewrap":
        check_bubblewrap()
    elif settings.use in {"docker", "podman"}:
        check_runtime(settings.use)
    elif settings.use == "custom":
        made_by_factory(settings)
