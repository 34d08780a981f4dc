"""Output kept where a command ran: what is returned, what is stored, how it ended."""

from pathlib import Path

import pytest

from agent_tests.sandboxes import FolderSandbox
from thalweg_agent.backends.protocol import ExecuteOffloadResult, ExecuteResponse

KEPT = "/results/call-1"


class Capturing(FolderSandbox):
    """Declares that its shell has what is needed."""

    enable_capture_offload = True


@pytest.fixture
def sandbox(tmp_path: Path) -> Capturing:
    return Capturing(tmp_path)


def offload(
    sandbox: FolderSandbox, command: str, *, inline: int = 100, keep: int | None = None
) -> ExecuteOffloadResult:
    return sandbox.execute_with_offload(
        command, KEPT, max_inline_bytes=inline, max_capture_bytes=keep
    )


def kept(sandbox: FolderSandbox) -> Path:
    return Path(sandbox.inside(KEPT))


def test_small_output_comes_back_and_nothing_is_kept(sandbox: Capturing) -> None:
    """With both streams and the code."""
    done = offload(sandbox, "echo out; echo bad >&2; exit 7")

    assert done == ExecuteOffloadResult(
        offloaded=False, response=ExecuteResponse("out\nbad\n", 7, truncated=False)
    )
    assert not kept(sandbox).exists()


def test_large_output_stays_and_its_ends_come_back(sandbox: Capturing) -> None:
    """Every byte of it can be read there."""
    done = offload(sandbox, "seq 1 1000; exit 3")

    assert (done.offloaded, done.preview_has_truncation_marker) == (True, True)
    assert done.response.exit_code == 3
    assert not done.response.truncated
    assert done.response.output == (
        "1\n2\n3\n4\n5\n... [990 lines truncated] ...\n996\n997\n998\n999\n1000\n"
    )
    assert kept(sandbox).read_text("utf-8") == "".join(f"{n}\n" for n in range(1, 1001))


def test_output_of_few_long_lines_is_cut_and_says_so(sandbox: Capturing) -> None:
    """There is no middle to omit."""
    done = offload(sandbox, "head -c 9000 /dev/zero | tr '\\0' x")

    assert (done.offloaded, done.preview_has_truncation_marker) == (True, False)
    assert done.response.output == (
        "x" * 4000 + "\n... [cut here; 9000 bytes are in the file] ...\n"
    )


def test_many_lines_that_are_long_are_cut_and_said_to_be(sandbox: Capturing) -> None:
    """The marker is on a line of its own all the same."""
    line = "head -c 900 /dev/zero | tr '\\0' x; echo"
    done = offload(sandbox, f"for n in 1 2 3 4 5 6 7 8 9 10 11 12; do {line}; done")

    rows = done.response.output.split("\n")
    assert "... [2 lines truncated] ..." in rows
    assert "... [lines beside this are cut: they are too long] ..." in rows
    assert len(done.response.output) < 4_200


@pytest.mark.parametrize(("printed", "is_cut"), [(4999, False), (5000, False), (5001, True)])
def test_what_is_lost_is_told_and_the_command_is_not_killed_for_it(
    sandbox: Capturing, printed: int, *, is_cut: bool
) -> None:
    """Exactly as much as is kept is all of it."""
    command = f"head -c {printed} /dev/zero | tr '\\0' x; exit 4"
    done = offload(sandbox, command, keep=5000)

    assert done.response.truncated is is_cut
    assert done.response.exit_code == 4
    assert kept(sandbox).stat().st_size == min(printed, 5000)
    assert ("the rest is lost" in done.response.output) is is_cut


def test_a_command_that_ends_its_shell_ends_only_its_own(sandbox: Capturing) -> None:
    """Its text may contain anything a script can choke on."""
    words = "it's $HOME `id` %s %d \\n <<'EOF'"
    done = offload(
        sandbox, f"printf '%s' \"$1\"; cat <<'EOF'\n{words}\nEOF\nset -e; false; echo no"
    )

    assert done.response.output == f"{words}\n"
    assert done.response.exit_code == 1


def test_where_nothing_can_be_kept_the_command_runs_all_the_same(sandbox: Capturing) -> None:
    """Once, and with its own output and code."""
    Path(sandbox.inside("/results")).write_text("a file is in the way", encoding="utf-8")

    done = offload(sandbox, "echo run >> log; seq 1 1000; exit 5")

    assert not done.offloaded
    assert done.response.exit_code == 5
    assert done.response.output.startswith("1\n2\n")
    assert Path(sandbox.inside("/log")).read_text("utf-8") == "run\n"


def test_who_does_not_ask_for_it_gets_all_output(tmp_path: Path) -> None:
    """Not every image has what it takes."""
    done = offload(FolderSandbox(tmp_path), "seq 1 1000")

    assert not done.offloaded
    assert len(done.response.output.split()) == 1_000
