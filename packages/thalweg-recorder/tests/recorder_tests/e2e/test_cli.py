"""The real command line in a process of its own: what it prints, and how it ends."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from thalweg.cli import main
from thalweg.engine.pricing.table import TARIFFS
from thalweg_recorder.replay.policies import POLICIES, POLICY_FACTORIES
from thalweg_recorder.replay.recorded import RECORDED
from thalweg_recorder.replay.sample import sample_path

posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a process: ours, without what colours or resizes its output."""
    unwanted = {"FORCE_COLOR", "COLUMNS", "THALWEG_HOME", "PYTHONUTF8", "PYTHONIOENCODING"}
    return {name: told for name, told in os.environ.items() if name not in unwanted} | changes


def thalweg(
    *arguments: str | Path, cwd: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in this environment."""
    return subprocess.run(
        [sys.executable, "-m", "thalweg", *map(str, arguments)],
        cwd=cwd,
        env=environment(**changes),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


MANY = """
import contextlib, io, json, sys
from thalweg.cli import main
for arguments in json.load(sys.stdin):
    sys.argv = ["thalweg", *arguments]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def in_turn(commands: Sequence[Sequence[str]], cwd: Path) -> list[subprocess.CompletedProcess[str]]:
    """Run several commands in one process: most of the time of one is loading."""
    done = subprocess.run(
        [sys.executable, "-c", MANY],
        input=json.dumps(commands),
        cwd=cwd,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=240,
    )
    assert done.stderr == ""
    ends = map(json.loads, done.stdout.splitlines())
    return [
        subprocess.CompletedProcess(command, *end)
        for command, end in zip(commands, ends, strict=True)
    ]


def here(
    *arguments: str | Path, cwd: Path | None = None, **changes: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in this process, where nothing of it asks for a process of its own."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["thalweg", *map(str, arguments)])
        patch.setattr(os, "cpu_count", lambda: 1)
        for name in ("FORCE_COLOR", "COLUMNS", "THALWEG_HOME"):
            patch.delenv(name, raising=False)
        for name, value in changes.items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def chat(turns: int = 4, words: int = 150) -> list[dict[str, Any]]:
    """Make a thread in which tools are called."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Count the birds of the delta."}]
    for turn in range(turns):
        function = {"name": "count", "arguments": json.dumps({"bank": turn})}
        call = {"id": f"c{turn}", "type": "function", "function": function}
        rows.append({"role": "assistant", "content": f"Bank {turn}.", "tool_calls": [call]})
        result = " ".join(f"bird{turn}x{n}" for n in range(words))
        rows.append({"role": "tool", "tool_call_id": f"c{turn}", "content": result})
    return [*rows, {"role": "assistant", "content": "Counted."}]


def write(path: Path, rows: list[dict[str, Any]] | None = None) -> Path:
    """Write a recording."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(json.dumps, rows or chat())) + "\n")
    return path


def told_in_one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """Check that a command ended as an error does, and return its sentence."""
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("thalweg: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("thalweg: ").rstrip()


# What a newcomer does first.


def test_help_names_the_commands_in_full_sentences() -> None:
    """None of them is cut."""
    done = here("--help")

    assert done.returncode == 0
    assert re.search(
        r"replay +Compare policies on recorded sessions: cost and losses\.", done.stdout
    )
    assert re.search(r"doctor +Check this installation\.", done.stdout)
    assert "..." not in done.stdout.partition("Commands:")[2]


def test_help_of_replay_names_every_policy_and_tariff() -> None:
    """The help also names the default source of threads."""
    done = here("replay", "--help")

    whole = re.sub(r"-\n\s+", "-", done.stdout)  # a line may end at a hyphen
    words = whole.replace(",", " ").replace(". ", " ").split()
    assert {*POLICIES, *TARIFFS, "--json", "--html", "--newest"} <= set(words)
    assert "[PATH]...\n" in done.stdout


def test_the_version_is_told() -> None:
    """As the package has it."""
    assert here("--version").stdout.startswith("thalweg 0.")


def test_without_a_command_the_help_is_shown() -> None:
    """Not an error alone."""
    done = here()

    assert "Commands:" in done.stdout + done.stderr


# Without a PATH.


@pytest.mark.slow
def test_without_a_path_or_sessions_the_sample_is_replayed(tmp_path: Path) -> None:
    """So that the first command shows something anywhere."""
    done = here("replay", "--policy", "thalweg", HOME=str(tmp_path))

    assert done.returncode == 0
    assert "replaying the sample" in done.stderr
    assert str(tmp_path) in done.stderr
    assert done.stdout.splitlines()[1].split()[:2] == ["sample", "thalweg"]


def session(home: Path, name: str, at: int) -> Path:
    """Write a session of Claude Code, changed last at this second."""
    rows = [
        {
            "type": role,
            "uuid": f"{name}{n}",
            "sessionId": name,
            "message": {"role": role, "content": f"message {n}"},
        }
        for n, role in enumerate(["user", "assistant"] * 3)
    ]
    path = write(home / ".claude" / "projects" / "x" / f"{name}.jsonl", rows)
    os.utime(path, (at, at))
    return path


def test_without_a_path_all_sessions_are_replayed_when_they_are_few(tmp_path: Path) -> None:
    """Each is named before."""
    paths = [session(tmp_path, name, at) for at, name in enumerate("ab")]

    done = here("replay", "--policy", "thalweg", HOME=str(tmp_path))

    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [f"  {path}" for path in reversed(paths)]
    assert "replaying all" in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["b", "a"]


def test_without_a_path_the_newest_sessions_are_replayed_when_they_are_many(
    tmp_path: Path,
) -> None:
    """As many sessions as asked for are replayed; an empty one is reported, and is no failure."""
    paths = [session(tmp_path, name, at) for at, name in enumerate("abc")]
    empty = write(paths[0].with_name("d.jsonl"), [{"type": "summary", "summary": "x"}])

    done = here("replay", "--newest", "3", "--policy", "thalweg", HOME=str(tmp_path))

    assert done.returncode == 0
    assert "the newest 3 (--newest)" in done.stderr
    assert f"thalweg: {empty}: " in done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["c", "b"]


# What is printed.

EDITS = dict.fromkeys(("evict", "elide", "supersede", "fold"), int)
FIELDS: dict[str, Any] = {
    "trajectory": str,
    "title": str,
    "project": str,
    "started_at": str,
    "policy": str,
    "tariff": str,
    **dict.fromkeys(("window", "messages", "calls", "compactions", "changes"), int),
    "edits": EDITS,
    **dict.fromkeys(("peak_tokens", "over_window", "invalid_requests"), int),
    **dict.fromkeys(("input_tokens", "cached_tokens", "written_tokens"), int),
    **dict.fromkeys(("prefix_breaks", "summaries"), int),
    **dict.fromkeys(("summary_input_tokens", "summary_output_tokens", "beside_tokens"), int),
    **dict.fromkeys(("cost", "cost_unmanaged"), float),
    "steps": dict.fromkeys(("uses", "needed", "lost"), int),
    "cost_with_steps": float,
    "faults": {"recoverable": int, "lost": int},
    "cost_with_faults": float,
    "bill": {
        **dict.fromkeys(("unit", "prices"), str),
        "whole": bool,
        **dict.fromkeys(
            ("input", "output", "summaries", "steps", "total", "unmanaged", "logged"), float
        ),
    },
    "usd_per_million": float,
    **dict.fromkeys(("saved", "cost_beyond_window"), float),
    "savings": list,
    "recall": {
        **dict.fromkeys(("inline", "search", "lost"), int),
        "search_tokens": int,
    },
    "goals": {"verbatim": int, "lost": int},
    **dict.fromkeys(("evicted_tokens", "unread_evicted_tokens", "unrecoverable_bytes"), int),
}
"""The fields of a run, as they are documented."""


def types_of(value: object) -> object:
    """Return the fields of a JSON value with their types."""
    if isinstance(value, dict):
        return {name: types_of(told) for name, told in value.items()}
    return type(value)


def test_json_has_the_documented_fields_for_every_policy(tmp_path: Path) -> None:
    """No more, no less, and in this order."""
    names = [p for p in POLICIES if p != RECORDED]
    every = ",".join(names)
    path = write(tmp_path / "sample.jsonl", chat(turns=20))
    done = here("replay", path, "--json", "--window", "4000", "--policy", every)
    printed = json.loads(done.stdout)

    assert list(printed) == ["runs"]
    assert [run["policy"] for run in printed["runs"]] == names
    for run in printed["runs"]:
        assert types_of(run) == FIELDS
        assert list(run) == list(FIELDS)
        assert run["trajectory"] == "sample"
        assert run["window"] == 4_000


@pytest.mark.slow
def test_json_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    """In one process and over several."""
    for n in (1, 2):
        write(tmp_path / f"{n}.jsonl", chat(turns=3 * n))
    arguments = ("replay", tmp_path, "--json", "--window", "2000")

    one, two = here(*arguments), thalweg(*arguments)

    assert one.stdout == two.stdout


@pytest.mark.slow
def test_the_table_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    """And has a line for each thread and policy, then the sums."""
    for name in "ba":
        write(tmp_path / f"{name}.jsonl")
    arguments = ("replay", tmp_path, "--window", "2000")

    one, two = here(*arguments), thalweg(*arguments)

    assert one.stdout == two.stdout
    rows = [line.split()[:4] for line in one.stdout.splitlines()[1:7]]
    assert [row[0] for row in rows] == ["a", "a", "b", "b", "all", "all"]
    assert "\x1b" not in one.stdout


def test_every_window_is_kept_to(tmp_path: Path) -> None:
    """Nothing over it, nothing invalid, nothing out of reach."""
    path = write(tmp_path / "a.jsonl", chat(turns=30, words=300))
    ask = ("replay", str(path), "--policy", "thalweg", "--json", "--window")
    windows = (2_000, 8_000, 128_000, 1_000_000)
    for window, done in zip(
        windows, in_turn([(*ask, str(w)) for w in windows], tmp_path), strict=True
    ):
        (run,) = json.loads(done.stdout)["runs"]
        assert run["over_window"] == run["invalid_requests"] == run["unrecoverable_bytes"] == 0
        assert run["peak_tokens"] <= window


def test_several_tariffs_are_replayed_side_by_side(tmp_path: Path) -> None:
    """Each run names its tariff; the table has a column of them, and the report a name."""
    path = write(tmp_path / "a.jsonl", chat(turns=20))
    ask = ("replay", path, "--window", "4000", "--prices", "openai,deepseek")
    policies = "thalweg,langchain"
    told = json.loads(here(*ask, "--json", "--policy", policies).stdout)["runs"]
    table = here(*ask, "--policy", policies, "--html", tmp_path / "r.html").stdout

    pairs = [(run["policy"], run["tariff"]) for run in told]
    assert pairs == [(p, t) for p in policies.split(",") for t in ("openai", "deepseek")]
    assert table.splitlines()[0].split()[:3] == ["thread", "policy", "prices"]
    assert [tuple(line.split()[1:3]) for line in table.splitlines()[1:5]] == pairs
    assert "langchain, deepseek" in (tmp_path / "r.html").read_text()


def test_every_tariff_gives_a_cost(tmp_path: Path) -> None:
    """Which is no more than the whole by much."""
    path = write(tmp_path / "a.jsonl", chat(turns=20))
    ask = ("replay", str(path), "--policy", "thalweg", "--json", "--prices")
    for done in in_turn([(*ask, prices) for prices in TARIFFS], tmp_path):
        (run,) = json.loads(done.stdout)["runs"]
        assert 0 < run["cost"] <= 1.1 * run["cost_unmanaged"]


def test_the_report_is_named_at_the_end(tmp_path: Path) -> None:
    """On stderr when stdout is JSON."""
    recording, report = write(tmp_path / "a.jsonl"), tmp_path / "report.html"

    table = here("replay", recording, "--html", report)
    as_json = here("replay", recording, "--html", report, "--json")

    assert table.stdout.endswith(f"\nReport: {report}\n")
    assert as_json.stderr.endswith(f"\nReport: {report}\n")
    json.loads(as_json.stdout)
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl", "report.html"]


# What goes wrong.


ERRORS: list[tuple[list[str], str]] = [
    (["missing.jsonl"], "missing.jsonl: there is no such file or folder"),
    (["empty.jsonl"], "empty.jsonl: the file is empty"),
    (["binary.jsonl"], "binary.jsonl: is a binary file"),
    (["nothing"], "nothing: holds no recording"),
    (["*.log"], "*.log: holds no recording"),
    (["a" * 300], "name too long"),
    (
        ["ok.jsonl", "--policy", "thalwek"],
        "there is no policy 'thalwek'; did you mean thalweg? use thalweg,",
    ),
    (["ok.jsonl", "--policy", ","], "--policy: no policy is named"),
    (["ok.jsonl", "--prices", "gold"], "no prices of 'gold'; use anthropic,"),
    (["ok.jsonl", "--window", "0"], "--window: 0 should be greater than 0"),
    (["ok.jsonl", "--window", "-5"], "--window: -5 should be greater than 0"),
    (["ok.jsonl", "--window", "500"], "leaves 438 tokens, and 1000 are needed"),
    (["ok.jsonl", "--html", "missing/r.html"], "--html missing/r.html: the report cannot"),
    (["ok.jsonl", "--html", "nothing"], "--html nothing: the report cannot be written: it is"),
    (["ok.jsonl", "--html", "ok.jsonl"], "it is one of the recordings"),
    (["two.json", "--html", "two.json"], "two.json: the report cannot be written: it is one of"),
    (["ok.jsonl", "--html", os.devnull], "the report cannot be written"),
    (
        ["rules.jsonl", "--window", "4000", "--policy", "thalweg"],
        "rules.jsonl under thalweg: the smallest context needs 50",
    ),
]


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> list[subprocess.CompletedProcess[str]]:
    """Run every command that cannot be done; not one of them writes or changes a file."""
    folder = tmp_path_factory.mktemp("errors")
    write(folder / "ok.jsonl")
    write(folder / "rules.jsonl", [{"role": "system", "content": "rule " * 5_000}, *chat()])
    (folder / "two.json").write_text(json.dumps([{"messages": chat()}] * 2), "utf-8")
    (folder / "empty.jsonl").touch()
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 8)
    (folder / "nothing").mkdir()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}

    done = in_turn([["replay", *arguments] for arguments, _ in ERRORS], folder)

    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    return done


@pytest.mark.parametrize("k", range(len(ERRORS)), ids=[said for _, said in ERRORS])
def test_an_error_is_one_sentence_and_nothing_else(
    ends: list[subprocess.CompletedProcess[str]], k: int
) -> None:
    """Exit code 2, and nothing on stdout."""
    assert ERRORS[k][1] in told_in_one_sentence(ends[k])
    assert ends[k].stdout == ""


def test_a_window_that_is_no_number_is_told(tmp_path: Path) -> None:
    """With the usage, as every other slip of the keys."""
    done = here("replay", "--window", "abc", cwd=tmp_path)

    assert done.returncode == 2
    assert "Invalid value for '--window'" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_window_cannot_shrink_is_named(tmp_path: Path) -> None:
    """The system prompt, with its size, and what to do."""
    path = write(tmp_path / "a.jsonl", [{"role": "system", "content": "rule " * 5_000}, *chat()])

    done = here("replay", path, "--window", "4000", "--policy", "thalweg,none")

    sentence = told_in_one_sentence(done)
    assert "parts that cannot shrink: system 50" in sentence
    assert sentence.endswith("use a larger window or shorten these")
    assert done.stdout.splitlines()[1].split()[:2] == ["a", "none"]


def test_what_could_be_replayed_is_reported_beside_what_could_not(tmp_path: Path) -> None:
    """The exit code reports that some could not be replayed."""
    (empty := tmp_path / "b.jsonl").touch()
    write(tmp_path / "a.jsonl")
    report = tmp_path / "out" / "r.html"
    report.parent.mkdir()

    done = here("replay", tmp_path / "a.jsonl", empty, "--html", report, "--json")

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"thalweg: {empty}: the file is empty; record a thread first",
        "",
        f"Report: {report}",
    ]
    assert len(json.loads(done.stdout)["runs"]) == 2
    assert report.is_file()


def test_questions_with_more_fields_are_read_and_broken_ones_are_told(tmp_path: Path) -> None:
    """A replay continues without them."""
    needle = {"trajectory": "ok", "question": "Which?", "answer": "bird0x3", "message_index": 2}
    write(tmp_path / "good" / "ok.jsonl")
    write(tmp_path / "good" / "needles.jsonl", [{**needle, "quote": "x", "else": [1]}])
    write(tmp_path / "broken" / "ok.jsonl")
    (tmp_path / "broken" / "needles.jsonl").write_text(json.dumps(needle) + '\n{"traj')

    done = here("replay", tmp_path, "--policy", "none", "--json")

    assert "needles.jsonl: line 2 is no JSON" in told_in_one_sentence(done)
    runs = {run["trajectory"]: run["recall"]["inline"] for run in json.loads(done.stdout)["runs"]}
    assert runs == {"broken/ok": 0, "good/ok": 1}


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_a_thread_of_one_speaker_is_replayed(role: str, tmp_path: Path) -> None:
    """Without a model call, or with nothing but them."""
    path = write(tmp_path / "a.jsonl", [{"role": role, "content": f"word {n}"} for n in range(4)])

    done = here("replay", path, "--json", "--html", tmp_path / "r.html")

    assert done.returncode == 0
    for run in json.loads(done.stdout)["runs"]:
        assert types_of(run) == FIELDS
        assert run["calls"] == (4 if role == "assistant" else 0)
        assert run["invalid_requests"] == 0


def test_half_a_character_in_a_thread_or_its_name_is_printed_all_the_same(tmp_path: Path) -> None:
    """It is printed as an escape that is valid in JSON, and as a mark in the table."""
    rows = chat()
    rows[0]["content"] = "half \ud800 a pair"
    path = write(tmp_path / "half.jsonl", rows)
    try:
        named = path.rename(tmp_path / "na\udcffme.jsonl")
    except OSError:
        named = path

    as_json = here("replay", named, "--json", "--html", tmp_path / "r.html")
    table = thalweg("replay", named, "--policy", "thalweg")

    assert as_json.returncode == table.returncode == 0
    assert as_json.stdout.isascii()
    assert len(json.loads(as_json.stdout)["runs"]) == 2
    assert table.stdout.splitlines()[1].startswith(("na?me", "half"))


def test_a_locale_without_unicode_is_no_trouble(tmp_path: Path) -> None:
    """What it lacks is written as an escape."""
    path = write(tmp_path / "日本.jsonl")

    table, missing = (
        thalweg("replay", place, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
        for place in (path, tmp_path / "ü.jsonl")
    )

    assert table.returncode == 0
    # Whether an argument is decoded at all is up to the platform.
    assert table.stdout.splitlines()[1].startswith(("\\u65e5\\u672c", "??"))
    assert "there is no such file" in told_in_one_sentence(missing)


# How it ends before its time.


@posix
@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_a_reader_that_has_had_enough_is_no_error(tmp_path: Path, extra: tuple[str, ...]) -> None:
    """As `| head -1` is."""
    path = write(tmp_path / "a.jsonl")
    command = [sys.executable, "-m", "thalweg", "replay", str(path), *extra]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""


@posix
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """Though it is noticed only at the end."""
    path = write(tmp_path / "a.jsonl")
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this machine")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "thalweg", "replay", str(path)],
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )

    assert "no space left" in told_in_one_sentence(done)


@posix
@pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
    reason="interrupts are ignored here, as in a shell's background, and so by what is started",
)
@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, threads: int) -> None:
    """No half report, no process, no traceback; with one process and with several."""
    folder = tmp_path / ".pi" / "agent" / "sessions" / "x"
    folder.mkdir(parents=True)
    for n in range(threads):
        shutil.copy(sample_path(), folder / f"{n}.jsonl")
    every = ",".join(POLICY_FACTORIES)
    command = ["replay", "--html", str(tmp_path / "r.html"), "--policy", every]
    with subprocess.Popen(
        [sys.executable, "-m", "thalweg", *command],
        env=environment(HOME=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr
        assert process.stdout
        # It says what it will replay, and then begins.
        told = [process.stderr.readline() for _ in range(1 + threads)]
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(timeout=60) == 130
        # Whoever is left of the group would hold these open.
        assert process.stderr.read() == b""
        assert process.stdout.read() == b""

    assert told[0].startswith(b"No PATH")
    assert [path.name for path in tmp_path.iterdir()] == [".pi"]


@posix
@pytest.mark.parametrize("columns", [80, 200])
def test_the_table_fits_its_terminal(tmp_path: Path, columns: int) -> None:
    """Nothing is cut or wrapped; columns that do not fit are named."""
    termios = pytest.importorskip("termios")
    path = write(tmp_path / "6f1d5c1e-0000-4000-8000-000000000000.jsonl", chat(turns=12))
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    command = [sys.executable, "-m", "thalweg", "replay", str(path), "--window", "2000"]
    environ = environment(TERM="xterm", NO_COLOR="1")
    with subprocess.Popen(
        command, env=environ, stdout=theirs, stderr=subprocess.PIPE, close_fds=True
    ) as process:
        os.close(theirs)
        printed = _all_of(ours)
        assert process.wait() == 0

    lines = printed.replace("\x1b[1m", "").replace("\x1b[0m", "").splitlines()
    assert all(len(line.rstrip()) <= columns for line in lines)
    assert "6f1d5c1e-0000-4000-8000-000000000000" in lines
    assert ("Hidden: " in printed) == (columns == 80)


def _all_of(descriptor: int) -> str:
    """Read a terminal until its other end is closed."""
    pieces: list[bytes] = []
    while True:
        try:
            piece = os.read(descriptor, 65_536)
        except OSError:
            piece = b""
        if not piece:
            os.close(descriptor)
            return b"".join(pieces).decode()
        pieces.append(piece)


# What it takes to load.


def modules_after(code: str) -> set[str]:
    """List the packages that are loaded when this has run."""
    told = f"import sys\n{code}\nprint(*{{name.split('.')[0] for name in sys.modules}}, sep=' ')"
    done = subprocess.run(
        [sys.executable, "-c", told],
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


def test_importing_thalweg_loads_nothing_heavy() -> None:
    """Every part is loaded by who uses it."""
    heavy = {"langchain_core", "langgraph", "pydantic", "typer", "rich", "sqlite3", "bpe_openai"}

    assert modules_after("import thalweg") & heavy == set()


def test_the_help_loads_no_command_and_no_library() -> None:
    """It would wait for them."""
    code = (
        "sys.argv = ['thalweg', '--help']\nfrom thalweg.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )

    loaded = modules_after(code)
    assert "argparse" in loaded
    assert loaded & {"langchain_core", "langgraph", "pydantic", "rich", "typer", "yaml"} == set()
