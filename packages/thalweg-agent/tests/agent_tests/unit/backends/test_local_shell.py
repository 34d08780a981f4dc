"""Commands of the local shell: what they return, and that nothing of them remains."""

import asyncio
import os
import resource
import time
from pathlib import Path
from typing import Any

import pytest

from thalweg_agent.backends.local.commands import Stream
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import ExecuteResponse, SandboxBackendProtocol

TREE = "echo $$ >> pids; sh -c 'echo $$ >> pids; sleep 300 & echo $! >> pids; wait' & wait"
"""A shell, a shell in it, and a program in that; each writes down its number."""


@pytest.fixture
def shell(tmp_path: Path) -> LocalShellBackend:
    return LocalShellBackend(tmp_path, inherit_env=True, timeout=60)


def run(shell: LocalShellBackend, command: str, *, awaited: bool) -> ExecuteResponse:
    return asyncio.run(shell.aexecute(command)) if awaited else shell.execute(command)


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids: Path) -> bool:
    """Whether all three of a tree have ended, within a patience that is never needed."""
    patience = time.monotonic() + 20
    while time.monotonic() < patience:
        numbers = [int(line) for line in pids.read_text(encoding="utf-8").split()]
        if len(numbers) == 3 and not any(map(lives, numbers)):
            return True
        time.sleep(0.02)
    return False


def wait_for(pids: Path) -> None:
    """Wait until all three of a tree have begun."""
    while not pids.exists() or len(pids.read_text(encoding="utf-8").split()) < 3:
        time.sleep(0.01)


both_ways = pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])


@both_ways
def test_output_comes_first_then_errors_then_a_code(
    shell: LocalShellBackend, *, awaited: bool
) -> None:
    """In the form that models of Deep Agents know."""
    told = run(shell, "echo out; echo bad >&2; echo worse >&2; exit 3", awaited=awaited)

    assert told.output == "out\n\n[stderr] bad\n[stderr] worse\n\nExit code: 3"
    assert (told.exit_code, told.truncated) == (3, False)
    assert run(shell, "true", awaited=awaited).output == "<no output>"
    assert run(shell, "", awaited=awaited).output == "Error: Command must be a non-empty string."


@both_ways
def test_a_command_out_of_time_tells_what_it_printed_and_leaves_no_process(
    tmp_path: Path, *, awaited: bool
) -> None:
    """The whole tree ends, not the shell alone."""
    shell = LocalShellBackend(tmp_path, inherit_env=True, timeout=2)

    told = run(shell, f"echo begun; {TREE}", awaited=awaited)

    assert told.exit_code == 124
    assert told.output == (
        "Error: Command timed out after 2 seconds. For long-running commands, re-run using the "
        "timeout parameter.\n\nbegun\n"
    )
    assert gone(tmp_path / "pids")


def test_a_cancelled_task_leaves_no_process(shell: LocalShellBackend, tmp_path: Path) -> None:
    """Stopping a run stops what it started."""

    async def cancelled() -> None:
        running = asyncio.create_task(shell.aexecute(TREE))
        await asyncio.to_thread(wait_for, tmp_path / "pids")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())

    assert gone(tmp_path / "pids")


def test_a_task_cancelled_while_its_command_starts_leaves_no_process(
    shell: LocalShellBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command runs already, and the loop ends before it is notified."""

    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        start = loop.subprocess_exec

        async def start_slowly(*given: Any, **settings: Any) -> Any:  # noqa: ANN401 (the loop's)
            started = await start(*given, **settings)
            await asyncio.sleep(0.5)
            return started

        monkeypatch.setattr(loop, "subprocess_exec", start_slowly)
        running = asyncio.create_task(shell.aexecute(TREE))
        await asyncio.to_thread(wait_for, tmp_path / "pids")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())

    assert gone(tmp_path / "pids")


def test_a_task_cancelled_at_once_leaves_no_process(
    shell: LocalShellBackend, tmp_path: Path
) -> None:
    """Also while the shell is being started."""

    async def cancelled(steps: int) -> None:
        running = asyncio.create_task(shell.aexecute("echo $$ >> pids; sleep 300"))
        for _ in range(steps):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await asyncio.sleep(0.2)

    for steps in range(6):
        asyncio.run(cancelled(steps))

    pids = tmp_path / "pids"
    begun = [int(line) for line in pids.read_text("utf-8").split()] if pids.exists() else []
    assert not any(map(lives, begun))


@both_ways
def test_a_command_that_prints_without_end_fills_no_memory(
    tmp_path: Path, *, awaited: bool
) -> None:
    """Output that exceeds the limit is never stored."""
    shell = LocalShellBackend(tmp_path, inherit_env=True, timeout=2, max_output_bytes=1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    told = run(shell, "yes", awaited=awaited)

    assert told.truncated
    assert told.exit_code == 124
    assert len(told.output) < 1_300
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


@both_ways
def test_what_is_cut_says_so_and_what_fits_exactly_does_not(
    tmp_path: Path, *, awaited: bool
) -> None:
    """Bytes count, and no character is cut in half."""
    shell = LocalShellBackend(tmp_path, inherit_env=True, max_output_bytes=9)

    fits = run(shell, "printf 123456789", awaited=awaited)
    assert (fits.output, fits.truncated) == ("123456789", False)
    cut = run(shell, "printf 12345678ü9; exit 1", awaited=awaited)
    assert cut.output == "12345678\n\n... Output truncated at 9 bytes.\n\nExit code: 1"
    assert (cut.exit_code, cut.truncated) == (1, True)


@both_ways
def test_output_that_is_no_text_is_shown_as_far_as_it_is(
    shell: LocalShellBackend, *, awaited: bool
) -> None:
    """A program may print anything; that is no failure of the command."""
    told = run(shell, r"printf 'a\377b\r\nc\0d'", awaited=awaited)

    assert (told.output, told.exit_code) == ("a\ufffdb\nc\0d", 0)


@both_ways
def test_a_command_has_no_input(shell: LocalShellBackend, *, awaited: bool) -> None:
    """One that reads ends at once, and does not wait for someone to type."""
    assert run(shell, "cat; echo read", awaited=awaited).output == "read\n"


@both_ways
def test_nobody_waits_for_a_process_in_the_background(
    shell: LocalShellBackend, tmp_path: Path, *, awaited: bool
) -> None:
    """It lives on, also if it holds the output of a shell that has ended."""
    told = run(shell, "sleep 300 & echo $! > pid; echo started", awaited=awaited)

    pid = int((tmp_path / "pid").read_text("utf-8"))
    try:
        assert (told.output, told.exit_code) == ("started\n", 0)
        assert lives(pid)
    finally:
        os.kill(pid, 9)


@both_ways
def test_what_cannot_be_started_is_told(tmp_path: Path, *, awaited: bool) -> None:
    """A missing folder is reported, and a command that no system takes."""
    folder = tmp_path / "gone"
    folder.mkdir()
    shell = LocalShellBackend(folder)
    folder.rmdir()

    assert "FileNotFoundError" in run(shell, "true", awaited=awaited).output
    nul = run(LocalShellBackend(tmp_path), "echo \0", awaited=awaited)
    assert nul.output.startswith("Error executing command (ValueError)")
    assert nul.exit_code == 1


def test_many_commands_at_once_take_no_threads_from_each_other(shell: LocalShellBackend) -> None:
    """Sixty that each wait for the last to begin: with a pool of threads they would hang."""

    async def together() -> list[ExecuteResponse]:
        wait = "mkdir -p at; touch at/{}; while [ $(ls at | wc -l) -lt 60 ]; do sleep 0.2; done"
        return await asyncio.gather(*(shell.aexecute(wait.format(n)) for n in range(60)))

    assert {told.exit_code for told in asyncio.run(together())} == {0}


def test_an_environment_is_empty_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets of the host reach no command by default."""
    monkeypatch.setenv("SECRET", "of the host")
    ask = 'echo "$SECRET$OWN"'

    assert LocalShellBackend(tmp_path).execute(ask).output == "\n"
    assert LocalShellBackend(tmp_path, env={"OWN": "x"}).execute(ask).output == "x\n"
    inherited = LocalShellBackend(tmp_path, env={"OWN": "!"}, inherit_env=True)
    assert inherited.execute(ask).output == "of the host!\n"


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_time_that_is_none_is_refused(
    shell: LocalShellBackend, tmp_path: Path, seconds: int
) -> None:
    """The constructor raises for the developer, the call for its caller."""
    with pytest.raises(ValueError, match=f"timeout must be positive, got {seconds}"):
        LocalShellBackend(tmp_path, timeout=seconds)
    with pytest.raises(ValueError, match=f"timeout must be positive, got {seconds}"):
        shell.execute("true", timeout=seconds)


def test_a_command_of_its_own_time_says_that_it_was_its_own(shell: LocalShellBackend) -> None:
    """A model can see which number to raise."""
    told = shell.execute("sleep 5", timeout=0.2)

    assert told.output.startswith("Error: Command timed out after 0.2 seconds (custom timeout).")


def test_it_is_a_sandbox_of_its_own(tmp_path: Path) -> None:
    """Two of one folder have different names."""
    one, other = LocalShellBackend(tmp_path), LocalShellBackend(tmp_path)

    assert isinstance(one, SandboxBackendProtocol)
    assert one.id.startswith("local-")
    assert len(one.id) == 14
    assert one.id != other.id


def test_a_stream_keeps_its_beginning_and_knows_that_there_was_more() -> None:
    """However it came."""
    stream = Stream(room=5)
    for chunk in (b"123", b"45", b""):
        stream.take(chunk)
    assert (stream.text(), stream.is_cut) == ("12345", False)

    stream.take(b"6")
    assert (stream.text(), stream.is_cut) == ("12345", True)
