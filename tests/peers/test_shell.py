"""The local shell, compared with the installed peer: the same commands, the same results."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thalweg_agent.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend

pytest.importorskip("deepagents")

COMMANDS = (
    "echo hello",
    "printf hello",
    "true",
    "false",
    "exit 42",
    "echo out; echo bad >&2",
    "echo bad >&2; exit 2",
    "printf 'a\\n\\nb\\n\\n' >&2",
    "printf '   \\n' >&2",
    "printf 'a\\r\\nb\\rc'",
    "cat",
    "cat /no/such/file",
    "no-such-command",
    "echo $UNSET$HOME",
    "pwd",
    "echo 'ü 日本'",
    "kill -9 $$",
    "seq 1 400",
    "seq 1 400 >&2; exit 1",
    "seq 1 400; echo bad >&2; exit 1",
    "printf '%099d' 7; printf ü",
    "",
    "echo \0",
    "(",
)


def both(folder: Path, **settings_: Any) -> tuple[Any, Any]:  # noqa: ANN401  # of either side
    from deepagents.backends import LocalShellBackend as Theirs  # noqa: PLC0415  # if it is there

    return LocalShellBackend(folder, **settings_), Theirs(root_dir=folder, **settings_)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("awaited", [False, True], ids=["blocking", "awaited"])
def test_a_command_tells_the_same(tmp_path: Path, command: str, *, awaited: bool) -> None:
    """Output, code, and whether it was cut."""
    told = [
        asdict(asyncio.run(side.aexecute(command)) if awaited else side.execute(command))
        for side in both(tmp_path, env={"HOME": "/h"}, max_output_bytes=100)
    ]

    assert told[0] == told[1]


def test_a_command_out_of_time_tells_the_same_and_more(tmp_path: Path) -> None:
    """Ours shows what it printed until then."""
    ours, theirs = both(tmp_path, timeout=1)

    one, other = (side.execute("echo begun; sleep 3") for side in (ours, theirs))
    assert (one.exit_code, one.truncated) == (other.exit_code, other.truncated)
    assert one.output == f"{other.output}\n\nbegun\n"
    one, other = (side.execute("sleep 3", timeout=1) for side in (ours, theirs))
    assert one.output == other.output


def test_the_limits_are_the_same(tmp_path: Path) -> None:
    """The default limits are the same."""
    from deepagents.backends import DEFAULT_EXECUTE_TIMEOUT as THEIRS  # noqa: PLC0415

    assert DEFAULT_EXECUTE_TIMEOUT == THEIRS
    for seconds in (0, -1):
        said = []
        for side in both(tmp_path):
            with pytest.raises(ValueError, match="timeout must be positive") as caught:
                side.execute("true", timeout=seconds)
            said.append(str(caught.value))
        assert said[0] == said[1]


PIECES = st.lists(st.tuples(st.sampled_from("12"), st.text("ab\n\tü ", max_size=30)), max_size=6)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=PIECES, code=st.sampled_from([0, 1, 255]), room=st.integers(20, 120))
def test_any_output_is_told_the_same(
    tmp_path: Path, pieces: list[tuple[str, str]], code: int, room: int
) -> None:
    """Both streams are handled alike in any mixture, under any limit."""
    script = tmp_path / "script.sh"
    script.write_text(
        "".join(f"printf '%s' '{text}' >&{stream}\n" for stream, text in pieces) + f"exit {code}",
        encoding="utf-8",
    )

    one, other = (side.execute("sh script.sh") for side in both(tmp_path, max_output_bytes=room))

    assert asdict(one) == asdict(other)
