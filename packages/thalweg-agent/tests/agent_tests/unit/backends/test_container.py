"""Command lines of containers, with a program on `PATH` in the place of a runtime.

It records its arguments, and runs the command on this machine with what a container would have:
the folder that was mounted, and only those variables that were passed.
"""

import asyncio
import os
import shlex
import stat
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from thalweg.errors import ConfigError
from thalweg_agent.backends.container import IMAGE, ContainerBackend, check_runtime
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_agent.backends.protocol import ExecuteResponse

RUNTIME = r"""#!/bin/sh
for each; do printf '%s\0' "$each"; done >> CALLS
printf '\n\0' >> CALLS
case "$1" in info) cat INFO >&2; exit "$(wc -l < INFO)";; rm) exit;; esac
while [ "$1" != "docker.io/library/python:3.13-slim" ]; do
    case "$1" in
        --env) passed="$passed $2=$(printenv "$2")";;
        --mount) folder=${2##*source=}; folder=${folder%%,target=*}; folder=${folder%\"};;
    esac
    shift
done
shift
cd "$folder" && exec env -i PATH="$PATH" $passed "$@"
"""


@dataclass(frozen=True)
class StandIn:
    """The program and what it was called with."""

    folder: Path

    @property
    def calls(self) -> list[list[str]]:
        """Return the arguments of each call."""
        text = (self.folder / "calls").read_text()
        return [call.split("\0")[:-1] for call in text.split("\n\0")[:-1]]

    def answer_info(self, text: str) -> None:
        """Print a text when the program is asked about itself; it fails unless that is empty."""
        (self.folder / "info").write_text(text)


@pytest.fixture(params=["docker", "podman"])
def runtime(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def stand_in(tmp_path: Path, runtime: str, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "bin")
    made.folder.mkdir()
    program = RUNTIME
    for name in ("calls", "info"):
        program = program.replace(name.upper(), shlex.quote(str(made.folder / name)))
        (made.folder / name).touch()
    (made.folder / runtime).write_text(program)
    (made.folder / runtime).chmod(0o755)
    monkeypatch.setenv("PATH", f"{made.folder}:{os.environ['PATH']}")
    return made


Make = Callable[..., ContainerBackend]


@pytest.fixture
def make(tmp_path: Path, runtime: str, stand_in: StandIn) -> Make:
    del stand_in

    def made(name: str = "work", **options: object) -> ContainerBackend:
        (tmp_path / name).mkdir(exist_ok=True)
        return ContainerBackend(tmp_path / name, runtime=runtime, **options)  # type: ignore[arg-type]

    return made


def run(backend: ContainerBackend, command: str, *, awaited: bool) -> ExecuteResponse:
    return asyncio.run(backend.aexecute(command)) if awaited else backend.execute(command)


def value_after(option: str, call: list[str]) -> list[str]:
    return [value for before, value in pairwise(call) if before == option]


def test_a_command_is_confined_by_the_arguments_of_its_container(
    make: Make, stand_in: StandIn, runtime: str, tmp_path: Path
) -> None:
    """No network, no capabilities, a read-only image, limits, this user, one folder."""
    make(limits=ProcessLimits(memory_mb=300, processes=40)).execute("echo $((6 * 7))")
    (call,) = stand_in.calls

    assert call[:4] == ["run", "--rm", "--init", "--name"]
    assert "--read-only" in call
    assert value_after("--network", call) == ["none"]
    assert value_after("--cap-drop", call) == ["ALL"]
    assert value_after("--security-opt", call) == ["no-new-privileges"]
    assert value_after("--memory", call) == value_after("--memory-swap", call) == ["300m"]
    assert value_after("--pids-limit", call) == ["40"]
    assert value_after("--user", call) == [f"{os.getuid()}:{os.getgid()}"]
    assert value_after("--mount", call) == [f"type=bind,source={tmp_path}/work,target=/workspace"]
    assert value_after("--workdir", call) == ["/workspace"]
    is_mapped = runtime == "podman" and os.getuid() != 0
    assert value_after("--userns", call) == (["keep-id"] if is_mapped else [])
    assert not {"--privileged", "--volume", "-v", "--publish", "--pid", "--ipc"} & set(call)
    assert call[call.index(IMAGE) + 1 :][:2] == ["/bin/sh", "-c"]
    assert call[-1] == "echo $((6 * 7))"


def test_a_network_is_given_on_purpose_alone(make: Make, stand_in: StandIn) -> None:
    """Then the runtime's own default holds."""
    make(network=True).execute("true")
    assert "--network" not in stand_in.calls[0]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_command_runs_in_the_folder_of_the_file_methods(make: Make, *, awaited: bool) -> None:
    """What one writes, the other reads; output and exit code arrive."""
    backend = make()
    backend.write("/a.txt", "from a tool")
    answer = run(backend, "cat a.txt; echo made > b.txt; exit 3", awaited=awaited)

    assert "from a tool" in answer.output
    assert answer.exit_code == 3
    assert "made" in str(backend.read("/b.txt"))


def test_values_of_variables_are_in_no_list_of_processes(
    make: Make, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command sees its own under their names, and none of this process's."""
    monkeypatch.setenv("OTHER_KEY", "s3cret-of-the-host")
    printed = make(env={"TOKEN": "s3cret"}).execute("env").output
    seen = {line.split("=")[0] for line in printed.splitlines()}

    assert "TOKEN=s3cret" in printed.splitlines()
    assert "s3cret-of-the-host" not in printed
    assert not any(name.startswith("THALWEG_INSIDE_") for name in seen)
    assert "s3cret" not in "\n".join(stand_in.calls[0])


@pytest.mark.parametrize("awaited", [False, True])
def test_the_container_of_a_command_that_takes_too_long_is_removed(
    make: Make, stand_in: StandIn, *, awaited: bool
) -> None:
    """Killing the runtime's client would not stop it."""
    answer = run(make(timeout=0.3), "sleep 60", awaited=awaited)
    ran, removed = stand_in.calls

    assert answer.exit_code == 124
    assert removed == ["rm", "--force", *value_after("--name", ran)]


def test_every_command_has_a_container_of_its_own(make: Make, stand_in: StandIn) -> None:
    """Two at a time, or of two owners, do not remove one another's."""
    backend = make()
    backend.execute("true")
    backend.execute("true")
    names = {name for call in stand_in.calls for name in value_after("--name", call)}
    assert len(names) == 2


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("a:b", "source={}"),
        ("a:b:ro", "source={}"),
        ("a b", "source={}"),
        ("a,readonly", '"source={}"'),
        ('a"b,c', '"source={}"'),
    ],
)
def test_a_folder_may_have_any_name(
    make: Make, stand_in: StandIn, tmp_path: Path, name: str, field: str
) -> None:
    """A colon or a comma in it names no other folder and sets no other option."""
    make(name).execute("true")
    source = field.format(str(tmp_path / name).replace('"', '""'))
    (mount,) = value_after("--mount", stand_in.calls[0])
    assert mount == f"type=bind,{source},target=/workspace"


def test_files_of_a_private_sandbox_are_for_this_user_alone(make: Make, tmp_path: Path) -> None:
    """The umask of the image has no effect."""
    make(is_private=True).execute("echo x > private.txt")
    assert stat.S_IMODE((tmp_path / "work/private.txt").stat().st_mode) == 0o600


def test_a_runtime_that_cannot_run_says_why(stand_in: StandIn, runtime: str) -> None:
    """Its last line is the reason; one that answers is accepted."""
    check_runtime(runtime)
    stand_in.answer_info("WARNING: old\nCannot connect to the daemon\n")
    with pytest.raises(ConfigError, match="Cannot connect to the daemon"):
        check_runtime(runtime)


def test_a_runtime_that_is_not_there_is_an_error(
    tmp_path: Path, runtime: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any command is run."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="is not installed"):
        ContainerBackend(tmp_path, runtime=runtime)  # type: ignore[arg-type]
