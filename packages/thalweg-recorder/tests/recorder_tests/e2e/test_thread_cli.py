"""`thalweg thread` on an archive with a driven thread."""

import json
import os
import pty
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core_tests.unit.archive.threads.driver import KEY, Driver
from recorder_tests.e2e.test_cli import (
    environment,
    here,
    in_turn,
    posix,
    thalweg,
    told_in_one_sentence,
)
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.archive.threads.contexts import context_at
from thalweg.archive.threads.thread_history import turns
from thalweg.engine.entries import Media, Message, Text
from thalweg.engine.wires.registry import WIRES

ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202eback\rover"
NASTY = f"数一数河岸上的鸟，绝对不要漏掉苍鹭。{ESCAPES}"
BEYOND = "9" * 23
"""More than a database or a clock takes."""
NUMBERED = ("show", "export", "undo", "rewind")
"""The commands that take a turn."""
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill an archive: a thread that folded, and one without a journal."""
    place = tmp_path_factory.mktemp("home") / "thalweg.db"
    with open_archive(place) as archive:
        driver = Driver(archive=archive)
        for bank in range(6):
            driver.ask(f"{NASTY} Bank {bank}.")
        driver.end()
        picture = Message("user", (Text("Look."), Media("image/png", "aGVsbG8=")))
        archive.append(ThreadKey("local", f"plain {ESCAPES}"), [Logged(picture)])
    return place


def copied(place: Path, folder: Path) -> Path:
    """Copy an archive, to change it."""
    with (
        closing(sqlite3.connect(place)) as source,
        closing(sqlite3.connect(folder / "thalweg.db")) as target,
    ):
        source.backup(target)
    return folder / "thalweg.db"


def test_every_command_prints_nothing_that_a_terminal_acts_on(place: Path, tmp_path: Path) -> None:
    with open_archive(place) as archive:
        handle = next(iter(archive.handles(KEY)))
    commands = [
        ["list"],
        ["show", "t1"],
        ["show", "t1", "--turn", "1"],
        ["show", "t1", "--context"],
        ["show", "t1", "--messages", "--abandoned"],
        ["search", "t1", "苍鹭", "bank"],
        ["show", "t1", f"{handle}#0"],
    ]
    told = [["thread", *command, "--archive", str(place)] for command in commands]
    done = in_turn([*told, *([*c, "--json"] for c in told)], tmp_path)

    for command in done:
        assert (command.returncode, command.stderr) == (0, "")
        assert not ACTS.search(command.stdout), command.args
    for command in done[3:7]:
        assert r"\x1b[31mred" in command.stdout
        assert "苍鹭" in command.stdout
    for command in done[7:]:
        assert json.loads(command.stdout)


def test_the_context_of_a_turn_is_told_as_it_was_sent(place: Path) -> None:
    """With the system prompt, the tools and the record of what was folded."""
    with open_archive(place) as archive:
        folded = next(t.turn for t in turns(archive, KEY) if t.page.edits)
        context = context_at(archive, KEY, folded)
    where = ("--turn", str(folded), "--archive", place)
    told = here("thread", "show", "t1", "--context", *where).stdout
    plain = json.loads(here("thread", "show", "t1", "--context", "--json", *where).stdout)

    assert "Count birds." in told
    assert "== record, as user (injected)" in told
    assert "fold " in told
    assert plain["turn"] == folded
    assert [m["position"] is None for m in plain["messages"]] == [
        item.position < 0 for item in context.items
    ]
    assert plain["tools"] == [{"function": {"name": "look"}}]


def test_the_archive_of_the_home_folder_is_the_default(place: Path, tmp_path: Path) -> None:
    """The default is THALWEG_HOME, or `.thalweg` if it exists."""
    done = thalweg("thread", "list", cwd=tmp_path, THALWEG_HOME=str(place.parent))
    assert done.stdout.splitlines()[1].endswith("  t1")

    (tmp_path / ".thalweg").mkdir()
    copied(place, tmp_path / ".thalweg")
    assert thalweg("thread", "list", cwd=tmp_path).stdout == done.stdout


@pytest.mark.parametrize("form", ["jsonl", "openai"])
def test_an_export_is_replayed(place: Path, tmp_path: Path, form: str) -> None:
    """Every call of it."""
    file = tmp_path / f"thread.{form}"
    exported = here(
        "thread", "export", "t1", "--format", form, "--output", file, "--archive", place
    )
    assert (exported.returncode, exported.stdout, exported.stderr) == (0, "", "")

    done = here("replay", file, "--json", "--policy", "none")
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert run["calls"] == 12
    assert run["invalid_requests"] == 0


def test_media_are_in_every_export(place: Path) -> None:
    """By value, where they were."""
    name = f"plain {ESCAPES}"
    with open_archive(place) as archive:
        (message,) = archive.messages(ThreadKey("local", name))
    for form in ("jsonl", "openai"):
        done = here("thread", "export", name, "--format", form, "--archive", place)
        assert "aGVsbG8=" in done.stdout
        if form == "openai":
            wire = WIRES["openai-chat"]
            assert wire.read(json.loads(done.stdout)["messages"])[0][0].parts == message.parts


def test_what_a_person_does_is_told_and_stands_in_the_list(place: Path, tmp_path: Path) -> None:
    """The output states that an undone compaction that does not fit comes back."""
    at = ["--archive", str(copied(place, tmp_path))]
    undone, pinned, again, unpinned, rewound, shown, left = in_turn(
        [
            ["thread", "undo", "t1", *at],
            ["thread", "pin", "t1", "0", "绝对不要漏掉苍鹭", *at],
            ["thread", "pin", "--off", "t1", "0", "苍", *at],
            ["thread", "pin", "--off", "t1", "0", "绝对不要漏掉苍鹭", "--json", *at],
            ["thread", "rewind", "t1", "--turn", "2", *at],
            ["thread", "show", "t1", *at],
            ["thread", "show", "t1", "--messages", "--abandoned", *at],
        ],
        tmp_path,
    )

    assert "that does not fit, so the next turn compacts again" in undone.stdout
    assert "Pinned in message #0" in pinned.stdout
    assert "'苍'" in told_in_one_sentence(again)
    assert json.loads(unpinned.stdout)["fits"] is False
    assert "as it was when turn 2 was asked" in rewound.stdout
    assert 'pin #0 "绝对不要漏掉苍鹭"' in shown.stdout
    assert re.search(r"^x +3  call", shown.stdout, re.MULTILINE)
    assert "== x #5 " in left.stdout


def test_a_thread_is_deleted_only_when_that_is_confirmed(place: Path, tmp_path: Path) -> None:
    """Without a terminal, `--yes` is required."""
    at = ("--archive", copied(place, tmp_path))
    refused = subprocess.run(
        [sys.executable, "-m", "thalweg", "thread", "delete", "t1", *map(str, at)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "--yes" in told_in_one_sentence(refused)
    assert "  t1\n" in here("thread", "list", *at).stdout

    assert here("thread", "delete", "t1", "--yes", *at).returncode == 0
    assert "  t1\n" not in here("thread", "list", *at).stdout


@posix
@pytest.mark.parametrize(("answer", "stays"), [(b"n\n", True), (b"y\n", False)])
def test_a_person_is_asked_before_a_thread_is_deleted(
    place: Path, tmp_path: Path, answer: bytes, *, stays: bool
) -> None:
    """No deletes nothing."""
    file = copied(place, tmp_path)
    ours, theirs = pty.openpty()
    os.write(ours, answer)
    done = subprocess.run(
        [sys.executable, "-m", "thalweg", "thread", "delete", "t1", "--archive", str(file)],
        env=environment(),
        stdin=theirs,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    os.close(theirs)
    os.close(ours)

    assert "Delete thread t1 with 24 messages?" in done.stdout
    assert done.returncode == (2 if stays else 0)
    with open_archive(file) as archive:
        assert ("t1" in archive.threads("local")) is stays


def test_what_is_wrong_is_told_in_one_sentence(place: Path, tmp_path: Path) -> None:
    """And nothing is made where an archive was expected."""
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE birds (name)")
    connection.close()
    before = other.read_bytes()
    missing, at = str(tmp_path / "none.db"), ["--archive", str(place)]
    wanted = {
        "there is no archive": ["list", "--archive", missing],
        "holds no archive": ["list", "--archive", str(other)],
        "near it: 't1'": ["show", "t2", *at],
        "owner 'bob' has no thread": ["show", "t1", "--owner", "bob", *at],
        "no turn 99": ["rewind", "t1", "--turn", "99", *at],
        "has no turn -1": ["show", "t1", "--turn", "-1", *at],
        "has no active compaction": ["undo", "t1", "--turn", "1", *at],
        "has no turns": ["show", f"plain {ESCAPES}", "--context", *at],
        "no handle": ["show", "t1", "nope", *at],
        "is no range": ["show", "t1", "nope", "--lines", "3:4", *at],
        "--messages: it has no effect with HANDLE": ["show", "t1", "nope", "--messages", *at],
        "any more; use thalweg thread show ID HANDLE": ["read", "t1", "nope", *at],
        "there is no format 'xml'": ["export", "t1", "--format", "xml", *at],
        "the archive itself": ["export", "t1", "--output", str(place), *at],
        "no request at position 1": ["pin", "t1", "1", "Answer", *at],
        "no such file or directory": ["export", "t1", "--output", str(tmp_path / "a/b"), *at],
    }
    done = [here("thread", *command) for command in wanted.values()]

    for command, words in zip(done, wanted, strict=True):
        told = told_in_one_sentence(command)
        assert words in told
        assert not ACTS.search(told)
    assert not Path(missing).exists()
    assert other.read_bytes() == before
    with open_archive(place) as archive:
        assert archive.length(KEY) == 24


def test_no_number_is_too_large_for_a_sentence(place: Path, tmp_path: Path) -> None:
    """Wherever a command takes one."""
    at = ["--archive", str(place)]
    commands = [
        *(["thread", name, "t1", "--turn", BEYOND, *at] for name in NUMBERED),
        ["thread", "pin", "t1", BEYOND, "words", *at],
        ["replay", "--window", BEYOND],
        ["replay", "--newest", BEYOND],
    ]
    for command in in_turn(commands, tmp_path):
        assert "the number is out of range; pass one up to" in told_in_one_sentence(command)


def test_nothing_to_list_or_to_find_is_no_error(place: Path, tmp_path: Path) -> None:
    """A message on stderr reports it."""
    at = ["--archive", str(place)]
    nobody, nothing = in_turn(
        [["thread", "list", "--owner", "bob", *at], ["thread", "search", "t1", "walrus", *at]],
        tmp_path,
    )

    assert (nobody.returncode, nobody.stdout) == (0, "")
    assert "bob has no threads" in nobody.stderr
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr


def test_a_terminal_without_unicode_gets_escapes(place: Path) -> None:
    """Not an error."""
    done = thalweg(
        "thread", "show", "t1", "--messages", "--archive", place, PYTHONIOENCODING="ascii"
    )

    assert done.returncode == 0
    assert r"\u82cd\u9e6d" in done.stdout


def test_help_of_every_command_says_what_it_does(tmp_path: Path) -> None:
    """In full sentences, none cut."""
    (done,) = in_turn([["thread", "--help"]], tmp_path)

    listed = done.stdout.partition("Commands:")[2].splitlines()[1:]
    assert len(listed) == 8
    assert all(line.endswith(".") and "..." not in line for line in listed)
