"""How a call ended: hosts' fixed texts, exit codes, flags; and what was to be reached by it."""

import json

import pytest

from core_tests.property.driving import quick_count
from core_tests.unit.engine.test_fold import record_of
from core_tests.unit.engine.threads import call, entries, result, user
from thalweg.engine.compaction.call_status import aims, status
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import render
from thalweg.engine.entries import Message, Text
from thalweg.engine.serialization import snapshot_from_bytes, snapshot_to_bytes
from thalweg.engine.snapshot import EngineSnapshot, Record

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
)
DENIED = "The user denied this operation and provided the following feedback:\n<feedback>\n"
EDIT = '{"file_path": "src/app.py", "old_string": "a", "new_string": "b"}'


def run(command: str) -> str:
    return json.dumps({"command": command})


def refusal(call_id: str, text: str) -> Message:
    return Message("tool", (Text(text),), answers=call_id, is_error=True)


def ended(name: str, arguments: str, text: str, *, is_error: bool = False) -> tuple[str, str]:
    read = entries(
        call("a", name, arguments),
        Message("tool", (Text(text),), answers="a", is_error=is_error),
    )
    assert read[1].answers is not None
    seen = status(read[1].answers, read[1].message)
    return seen.state, seen.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (REJECTED + "To tell you how to proceed, the user said:\nuse tabs\nhere", "use tabs\nhere"),
        (REJECTED + "STOP what you are doing and wait for the user to tell you how.", ""),
        ("The user doesn't want to take this action right now. STOP what you are doing", ""),
        ("[Request interrupted by user for tool use]", ""),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", ""),
        ("exec command rejected by user", ""),
        ("patch rejected by user", ""),
        ("[Operation Cancelled] Reason: User denied execution.", ""),
        ("Action has been rejected by the user! Waiting for further user input.", ""),
        ("OBSERVATION:\nno\n[Last action has been rejected by the user]", ""),
        ("The user denied this operation.", ""),
        (DENIED + "use tabs\n</feedback>", "use tabs"),
        ("The user rejected permission to use this specific tool call.", ""),
        ("Error: The user rejected permission with feedback: use tabs", "use tabs"),
        ("User rejected the tool call for `edit` with reason: use tabs", "use tabs"),
        ("User rejected the tool call for `edit` with id 7", ""),
    ],
)
def test_a_refusal_has_the_users_words(text: str, words: str) -> None:
    assert ended("Edit", EDIT, text, is_error=True) == ("refused", words)
    assert ended("Bash", run("make"), text) == ("refused", "")  # a page may have such a text
    assert ended("Read", '{"file_path": "a.md"}', f"The log has: {text}") == ("ok", "")


@pytest.mark.parametrize(
    ("command", "text", "flag", "state"),
    [
        ("make", "Exit code 2\nmake: *** [all] Error 2", True, "failed"),
        ("make", "Exit code: 1\nWall time: 0.2 seconds\nOutput:\n", False, "failed"),
        ("make", "Exit code: 0\nWall time: 0.2 seconds\nOutput:\nerror: none", False, "ok"),
        ("make", "Wall time: 1.0 seconds\nProcess exited with code 2\nOutput:\n", False, "failed"),
        (
            "make",
            "Command: make\nOutput: x\nError: (none)\nExit Code: 1\nSignal: 0",
            False,
            "failed",
        ),
        ("make", "done\n[The command completed with exit code 0.]", False, "ok"),
        ("make", "x\n[The command completed with exit code 1.]", False, "failed"),
        ("make", "boom\n\nCommand exited with code 1", True, "failed"),
        ("make", "<returncode>1</returncode>\n<output>\n", False, "failed"),
        ("make", "x\n[Command failed with exit code 3]", False, "failed"),
        ("make", '{"stdout": "", "stderr": "x", "exitCode": 1}', False, "failed"),
        ("make", '{"output": "x", "metadata": {"exit_code": 0}}', False, "ok"),
        ("make", "Command aborted", True, "failed"),
        ("make", "the script says exit 1 somewhere\nand ends well", False, "ok"),
        ("go test ./... 2>&1 | tail -5", "ok\nFAIL\tpkg\t0.1s\nFAIL", False, "failed"),
        ("go test ./... 2>&1 | tail -5", "ok\tpkg\t0.1s", False, "unknown"),
        ("go test ./... | grep panic", "Exit code 1", True, "unknown"),
        ("pytest -q; true", "1 failed, 3 passed in 0.10s", False, "failed"),
        ("pytest -q", "1 failed, 3 passed in 0.10s\nexit status 1", False, "failed"),
        ("python -m unittest || true", "FAILED (failures=1)", False, "failed"),
        ("grep -r x . | head", "Exit code 1", True, "unknown"),
        ("git -C /a cat-file -t abc", "Exit code 128\nfatal: no", True, "unknown"),
        ("gh api repos/a/b/pulls/1", "Exit code 1\ngh: Not Found", True, "unknown"),
        ("gh api repos/a/b/replies -f body=x", "Exit code 1\ngh: Not Found", True, "failed"),
        ("cat log.txt", "FAIL\npanic: of the log", False, "ok"),
    ],
)
def test_a_command_failed_by_its_exit_code_or_by_its_programs_line(
    command: str, text: str, flag: object, state: str
) -> None:
    assert ended("Bash", run(command), text, is_error=flag is True) == (state, "")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>File has not been read yet.</tool_use_error>",
        "ERROR:\nNo replacement was performed, old_str `x` did not appear verbatim",
        "OBSERVATION: No replacement was performed, old_str `x` did not appear",
        "Your proposed edit has introduced new syntax error(s). Please read",
        "apply_patch verification failed: Failed to find expected lines",
        "Error: String not found in file",
    ],
)
def test_an_edit_that_failed_changes_nothing(text: str) -> None:
    record = record_of(call("a", "Edit", EDIT), result("a", text))

    assert "changed" not in record
    assert "## Open errors\n#1 Edit(src/app.py" in record
    assert ended("Edit", EDIT, f"updated\n{text}") == ("ok", "")


def test_what_reads_may_begin_as_an_error_does() -> None:
    """A log is no failure of the tool that read it."""
    assert ended("Read", '{"file_path": "a.log"}', "Error: of yesterday") == ("ok", "")
    assert ended("Read", '{"file_path": "a.log"}', "no such file", is_error=True)[0] == "failed"


@pytest.mark.parametrize(
    ("command", "reached"),
    [
        ("cd /src && CI=1 sudo mise run test 2>&1 | tail -50", {"mise run test"}),
        ("mise run fmt && mise run lint; git status", {"mise run fmt", "mise run lint"}),
        ("uv run python -m pytest -q tests/a.py::test_x", {"pytest"}),
        ("timeout 60 ./scripts/check.sh --all > out.txt", {"check.sh"}),
        ("python tests/runtests.py admin.inlines", {"runtests.py"}),
        ("npm --silent run build -- -x", {"npm run build"}),
        ("go test -run 'A|B && C' ./...", {"go test"}),
        ("cat > a.py <<'EOF'\nmake install\nEOF\npytest", {"pytest"}),
        ("x=$(git rev-parse HEAD | cut -c1-7) && docker compose up", {"docker compose up"}),
        ("git gc --auto --dry-run", set()),
        ("grep -r x . | sort | head; ls", set()),
        ("sed -n 1,5p a.py", set()),
        ("sed -i s/a/b/ a.py", {"sed"}),
    ],
)
def test_the_aim_of_a_command_is_its_programs(command: str, reached: set[str]) -> None:
    (use,) = entries(call("a", "Bash", run(command)))[0].uses

    assert aims(use) == reached


def test_an_error_is_open_until_the_same_is_reached() -> None:
    """By other flags, through a pipe, in a chain; not by another program."""
    failed = call("a", "Bash", run("make test")), result("a", "x\nexit code 2")
    other = call("b", "Bash", run("make lint")), result("b", "fine")
    mended = call("c", "Bash", run("cd x && make test -j4 2>&1 | tail -3")), result("c", "fine")
    again = call("d", "Bash", run("make test")), result("d", "y\nexit code 2")

    assert "## Open errors\n#1 Bash(make test)" in record_of(*failed, *other)
    assert "Open errors" not in record_of(*failed, *other, *mended)
    assert "## Open errors\n#3 Bash(make test)" in record_of(*failed, *again)


def test_the_eight_newest_open_errors_are_listed_and_older_ones_are_commands() -> None:
    failures = [
        message
        for n in range(9)
        for message in (
            call(f"c{n}", "Bash", run(f"make part{n}")),
            result(f"c{n}", "x\nexit code 2"),
        )
    ]
    _, _, rest = record_of(*failures).partition("## Open errors\n")
    errors, _, commands = rest.partition("## Commands\n")

    assert [f"make part{n}" in errors for n in range(9)] == [False, *[True] * 8]
    assert "#1 Bash(make part0)" in commands


def test_what_was_looked_for_in_vain_is_no_open_error() -> None:
    text = record_of(
        call("a", "Grep", '{"pattern": "x"}'),
        Message("tool", (Text("Path does not exist"),), answers="a", is_error=True),
        call("b", "Read", '{"file_path": "gone.py"}'),
        Message("tool", (Text("File does not exist."),), answers="b", is_error=True),
        call("c", "Bash", run("grep x a.py")),
        result("c", "\nexit code 1"),
    )

    assert "Open errors" not in text


def test_refusals_are_requests_and_whole() -> None:
    """However many other requests there are; the call itself changed nothing and is no error."""
    words = "Not like this: keep the old parser. " * 12
    log = [
        user("Rewrite the parser."),
        call("a", "Edit", EDIT),
        refusal("a", f"{REJECTED}To tell you how to proceed, the user said:\n{words}"),
        *(user(f"Request {n} with some words about part {n}. " * 20) for n in range(200)),
    ]
    record = absorb(Record(), entries(*log))
    kept = snapshot_from_bytes(snapshot_to_bytes(EngineSnapshot(record=record)))
    assert kept is not None
    text = render(
        kept.record, handle="a" * 16, budget=1_500, count=quick_count, widest_tokens=3_000
    )

    assert f"#2 {words.strip()} (the user refused Edit(src/app.py" in text
    assert "#2 Edit(src/app.py" in text
    assert "Open errors" not in text
    assert "changed" not in text


def test_a_slash_command_with_a_request_is_shown_as_it_was_typed() -> None:
    text = record_of(
        user("<command-name>/exit</command-name>\n<command-args></command-args>"),
        user(
            "<command-name>/review</command-name>\n<command-message>review</command-message>\n"
            "<command-args>the public API, not the tests</command-args>"
        ),
    )

    assert "## Requests\n#1 /review the public API, not the tests\n" in text


def test_a_change_has_a_path() -> None:
    """The text of an issue is none."""
    text = record_of(
        call("a", "create_issue", json.dumps({"description": "The parser fails."})),
        result("a", "created"),
        call("b", "edit_file", '{"filePath": "src/app.py"}'),
        result("b", "edited"),
    )

    assert "## Files\nsrc/app.py: changed 1x, last #3" in text
    assert "parser fails.: changed" not in text
