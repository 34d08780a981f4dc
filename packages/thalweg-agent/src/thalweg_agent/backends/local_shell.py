"""A folder of this machine, and its shell."""

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local.commands import CommandOutput, Shell, finished
from thalweg_agent.backends.protocol import ExecuteResponse, SandboxBackendProtocol

DEFAULT_EXECUTE_TIMEOUT: Final = 120
"""Default seconds that a command may take."""
_TIMED_OUT: Final = 124
"""Exit code of a command whose time was over, as of `timeout(1)`."""
_KILLED: Final = 137
"""Exit code of a command that exceeded a limit, as a shell has it for SIGKILL."""


class LocalShellBackend(FilesystemBackend, SandboxBackendProtocol):
    r"""Files under a folder, and commands that run in it with all rights of this process.

    Nothing confines a command: `virtual_mode` and permissions hold for the file methods alone. It
    suits one's own machine and trusted agents, best with every `execute` approved (`interrupt_on`);
    for anything else, subclass `BaseSandbox` around a container.

    A command runs in a session of its own. When its time is over, or the task that awaits it is
    cancelled, its whole process group is killed. Its background processes survive its normal end,
    as in a terminal; redirect the output of such a process.

    Args:
        root_dir: The folder of the files, in which commands start; the current folder when `None`.
        virtual_mode: `/` in a path of the file methods is `root_dir`, and nothing above it is
            reached.
        timeout: Seconds a command may take.
        max_output_bytes: Maximum bytes of a command's output in the result; the rest is discarded.
        env: Environment of commands.
        inherit_env: Commands see the environment of this process, below `env`.

    Raises:
        ValueError: `timeout` is not above zero.

    Example:
        >>> LocalShellBackend("/", env={"NAME": "you"}).execute("echo hello $NAME").output
        'hello you\n'
    """

    command_folders: Mapping[str, str] = MappingProxyType({})
    """Folders of this machine that commands see, with their paths in a command; empty: all."""

    def __init__(
        self,
        root_dir: str | Path | None = None,
        *,
        virtual_mode: bool = True,
        timeout: float = DEFAULT_EXECUTE_TIMEOUT,
        max_output_bytes: int = 100_000,
        env: dict[str, str] | None = None,
        inherit_env: bool = False,
    ) -> None:
        _refuse_unless_positive(timeout)
        super().__init__(root_dir=root_dir, virtual_mode=virtual_mode, max_file_size_mb=10)
        self._default_timeout = timeout
        self._max_output_bytes = max_output_bytes
        self._env = {**(os.environ if inherit_env else {}), **(env or {})}
        self._sandbox_id = f"local-{uuid.uuid4().hex[:8]}"

    @property
    def id(self) -> str:
        """`local-` and eight digits, new for each instance."""
        return self._sandbox_id

    @property
    def command_root(self) -> str:
        """The path of `/` as commands see it; empty if it is `/`, too."""
        return str(self.cwd) if self.virtual_mode and self.cwd.parent != self.cwd else ""

    def execute(self, command: str, *, timeout: float | None = None) -> ExecuteResponse:
        """Run a command with `/bin/sh`, without input.

        Its standard output comes first, then each line of its standard error after `[stderr]`; a
        code other than 0 is added at the end.

        Args:
            command: A line for the shell.
            timeout: Seconds for this command, in place of the backend's.

        Raises:
            ValueError: `timeout` is not above zero.
        """
        return finished(self.aexecute(command, timeout=timeout))

    async def aexecute(
        self,
        command: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  # the protocol's
    ) -> ExecuteResponse:
        """See `execute`; takes no thread, and a cancelled task kills its command."""
        if not (command and isinstance(command, str)):  # what a model passes is not validated
            return ExecuteResponse(output="Error: Command must be a non-empty string.", exit_code=1)
        seconds = self._default_timeout if timeout is None else timeout
        _refuse_unless_positive(seconds)
        try:
            printed = await self._shell().run(command, seconds)
        except (OSError, ValueError) as error:
            problem = f"Error executing command ({type(error).__name__}): {error}"
            return ExecuteResponse(output=problem, exit_code=1)
        return self._response(printed, seconds, is_custom=timeout is not None)

    def _shell(self) -> Shell:
        # One byte more than the limit, so that output of exactly this size is not reported as
        # truncated.
        return Shell(folder=str(self.cwd), environment=self._env, room=self._max_output_bytes + 1)

    def _response(
        self, printed: CommandOutput, seconds: float, *, is_custom: bool
    ) -> ExecuteResponse:
        output, is_cut = _bounded(_combined(printed), self._max_output_bytes)
        is_cut = is_cut or printed.is_cut
        if is_cut:
            output += f"\n\n... Output truncated at {self._max_output_bytes} bytes."
        if printed.stopped:
            output = f"Error: Command killed: {printed.stopped}." + (output and f"\n\n{output}")
            return ExecuteResponse(output=output, exit_code=_KILLED, truncated=is_cut)
        if printed.exit_code is None:
            output = _too_late(seconds, is_custom=is_custom) + (output and f"\n\n{output}")
            return ExecuteResponse(output=output, exit_code=_TIMED_OUT, truncated=is_cut)
        output = output or "<no output>"
        if printed.exit_code != 0:
            output = f"{output.rstrip()}\n\nExit code: {printed.exit_code}"
        return ExecuteResponse(output=output, exit_code=printed.exit_code, truncated=is_cut)


def _refuse_unless_positive(seconds: float) -> None:
    if seconds <= 0:
        message = f"timeout must be positive, got {seconds}"
        raise ValueError(message)


def _combined(printed: CommandOutput) -> str:
    parts = [text] if (text := printed.out.text()) else []
    if errors := printed.err.text():
        parts += [f"[stderr] {line}" for line in errors.strip().split("\n")]
    return "\n".join(parts)


def _bounded(text: str, max_bytes: int) -> tuple[str, bool]:
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text, False
    return encoded[:max_bytes].decode(errors="ignore"), True


def _too_late(seconds: float, *, is_custom: bool) -> str:
    if is_custom:
        return (
            f"Error: Command timed out after {seconds} seconds (custom timeout). "
            "The command may be stuck or require more time."
        )
    return (
        f"Error: Command timed out after {seconds} seconds. "
        "For long-running commands, re-run using the timeout parameter."
    )


__all__ = ["DEFAULT_EXECUTE_TIMEOUT", "LocalShellBackend"]
