"""`thalweg memory` as people run it."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recorder_tests.e2e.test_cli import (
    environment,
    here,
    in_turn,
    posix,
    thalweg,
    told_in_one_sentence,
)
from thalweg_memory import open_memory
from thalweg_memory.facts.values import Evidence, Fact, FactId, PutFact, Scope, Trust
from thalweg_memory.store.records import utc_now

ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202eback"
ACTS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
SHOWN = re.compile(r"(fact-\w+)  (.*)")

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command of the memory in a folder; it must succeed."""

    def command(*arguments: str | Path) -> str:
        done = here("memory", *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return command


def fails(folder: Path, *arguments: str | Path) -> str:
    return told_in_one_sentence(here("memory", *arguments, cwd=folder))


def shown(told: str) -> dict[str, str]:
    """Read what is listed: contents by id."""
    return dict(SHOWN.findall(told))


def as_json(told: str) -> Any:  # noqa: ANN401 (of any shape)
    return json.loads(told)


def quarantined(folder: Path) -> FactId:
    """Put a fact into a memory that came from a page and was not accepted yet."""
    quote = Evidence("t1", "u1", "the user banks with Golden Goose", utc_now(), Trust.WEB)
    fact = Fact(
        FactId("fact-web"), "User banks with Golden Goose", "context", 0.9, utc_now(), "t1",
        evidence=(quote,), trust=Trust.WEB, status="quarantined", written_by="learned:m",
    )  # fmt: skip
    with open_memory(folder / ".thalweg" / "thalweg.db") as store:
        scope = Scope("local")
        store.commit(
            scope,
            [PutFact(fact, "told by a page")],
            expected=store.version(scope),
            actor="learned:m",
            now=utc_now(),
        )
    return fact.id


def test_what_is_added_is_shown_and_found(run: Run) -> None:
    """The first minutes of a new user."""
    run("add", "User lives in Berlin")
    run("add", "User prefers tea", "--category", "preference", "--confidence", "0.8")

    assert list(shown(run("show")).values()) == ["User lives in Berlin", "User prefers tea"]
    assert "User prefers tea" in run("search", "does", "the", "user", "like", "tea?")
    told = run("search", "tea", "--why")
    assert "shown" in told
    assert "words 1.00" in told
    lines = told.splitlines()
    (fact,) = [at for at, line in enumerate(lines) if "User prefers tea" in line]
    assert [len(line) - len(line.lstrip()) for line in lines[fact : fact + 2]] == [8, 12]


def test_a_fact_is_shown_with_where_it_comes_from(run: Run, tmp_path: Path) -> None:
    run("add", "User prefers tea")
    name = quarantined(tmp_path)
    told = run("show", name)
    assert "quarantined, 0.90, from t1 (web)" in told
    assert '"the user banks with Golden Goose"' in told
    assert as_json(run("show", name, "--json"))["evidence"][0]["trust"] == "web"


def test_an_edit_is_in_the_history_and_can_be_undone(run: Run) -> None:
    (name,) = shown(run("add", "User prefers tea"))
    run("add", "User prefers coffee", "--replace", name, "--protect")
    assert "protected" in run("show")
    told = run("history", name)
    assert "User prefers coffee (edited)" in told
    run("undo")
    assert shown(run("show")) == {name: "User prefers tea"}
    run("undo")
    assert shown(run("show")) == {name: "User prefers coffee"}


def test_what_is_deleted_can_be_brought_back(run: Run) -> None:
    names = [*shown(run("add", "User prefers tea")), *shown(run("add", "User rows on Sundays"))]
    assert run("delete", *names, "--dry-run").count("deleted by hand") == 2
    assert len(shown(run("show"))) == 2
    run("delete", *names)
    run("undo")
    assert set(shown(run("show"))) == set(names)


def test_several_changes_are_undone_at_once(run: Run) -> None:
    run("add", "User prefers tea")
    run("add", "User rows on Sundays")
    run("add", "User has two brothers")
    run("undo", "2", "--and-later")
    assert list(shown(run("show")).values()) == ["User prefers tea"]


def test_what_is_cleared_is_out_and_comes_back(run: Run, tmp_path: Path) -> None:
    run("add", "User prefers tea")
    assert "there is no terminal to ask in" in fails(tmp_path, "delete", "--all")
    assert "Would change:" in run("delete", "--all", "--dry-run")
    run("delete", "--all", "--yes")
    assert here("memory", "show", cwd=tmp_path).stderr == "Nothing is remembered here.\n"
    run("undo")
    assert list(shown(run("show")).values()) == ["User prefers tea"]


def test_what_is_forgotten_is_in_no_file(run: Run, tmp_path: Path) -> None:
    """Its text is shown before; afterwards only the count, and no file has a word of it."""
    (name,) = shown(run("add", "User hides the key under the third flowerpot"))
    run("add", "User prefers tea")
    assert "there is no terminal to ask in" in fails(tmp_path, "delete", name, "--forever")
    dry = run("delete", name, "--forever", "--dry-run")
    assert dry.startswith("Would forget 1 fact,")
    assert "third flowerpot" in dry
    told = run("delete", name, "--forever", "--yes")
    assert told.splitlines()[-2].startswith("Forgot 1 fact,")
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"flowerpot" not in file.read_bytes(), file
    assert list(shown(run("show")).values()) == ["User prefers tea"]
    assert "its content was forgotten" in run("history")
    assert as_json(run("delete", "--all", "--forever", "--yes", "--json"))["dry_run"] is False


def test_forgetting_by_words_says_what_goes_first(run: Run) -> None:
    run("add", "User hides the key under the third flowerpot")
    run("add", "User prefers tea")
    told = run("delete", "--forever", "--query", "key flowerpot", "--dry-run")
    assert list(shown(told.replace("    fact", "fact")).values()) == [
        "User hides the key under the third flowerpot"
    ]


@posix
@pytest.mark.parametrize(("answer", "left"), [("n", 1), ("y", 0)])
def test_a_person_is_asked_before_anything_is_forgotten(
    run: Run, tmp_path: Path, answer: str, left: int
) -> None:
    """The user is asked on a terminal, after a list of what would be removed."""
    (name,) = shown(run("add", "User prefers tea"))
    person, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "thalweg", "memory", "delete", name, "--forever"],
        cwd=tmp_path, env=environment(), stdin=terminal, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
    ) as command:  # fmt: skip
        os.write(person, f"{answer}\n".encode())
        out, _ = command.communicate(timeout=120)
    os.close(person)
    os.close(terminal)
    assert "Delete all this permanently?" in out
    assert command.returncode == (0 if answer == "y" else 2)
    with open_memory(tmp_path / ".thalweg" / "thalweg.db") as store:
        assert len(store.facts(Scope("local"))) == left


def test_a_document_goes_out_and_comes_in(run: Run, tmp_path: Path) -> None:
    run("add", "User prefers tea", "--category", "preference")
    run("export", "--output", tmp_path / "mine.json")
    body = json.loads((tmp_path / "mine.json").read_text())
    assert list(body) == ["userContext", "history", "facts"]
    assert as_json(run("export", "--format", "deerflow"))["user"]["topOfMind"]["summary"] == ""

    body["facts"].append({"id": "mine", "content": "User rows on Sundays", "category": "behavior"})
    (tmp_path / "mine.json").write_text(json.dumps(body))
    to = ("--db", tmp_path / "other.db")
    assert run("import", tmp_path / "mine.json", "--dry-run", *to).count("put  ") == 2
    assert run("import", tmp_path / "mine.json", *to).count("put  ") == 2
    assert run("import", tmp_path / "mine.json", *to) == "Nothing changed.\n"
    told = as_json(run("show", "--json", *to))
    assert [fact["trust"] for fact in told["facts"]] == ["import", "import"]


def test_a_document_that_cannot_be_read_is_told_with_its_place(run: Run, tmp_path: Path) -> None:
    run("add", "User prefers tea")
    broken = tmp_path / "broken.json"
    broken.write_text('{"facts": [{"content": "x", "confidence": 95}]}')
    told = fails(tmp_path, "import", broken)
    assert told.startswith(f"{broken}: facts[0].confidence: 95 is no number from 0 to 1; write one")
    broken.write_text('{"facts": [\n{"content": "x"}\n{"content": "y"}]}')
    assert "line 3 column 1: expecting ',' delimiter" in fails(tmp_path, "import", broken)
    broken.write_bytes(b"\xff\xfe")
    assert "it is not written in UTF-8" in fails(tmp_path, "import", broken)


def test_what_waits_is_reviewed(run: Run, tmp_path: Path) -> None:
    """No fact from a page is recalled before the user accepts it."""
    run("add", "User prefers tea")
    name = quarantined(tmp_path)
    asked = ("search", "where", "does", "the", "user", "bank?")
    assert "Golden Goose" in run("review")
    assert "Golden Goose" not in here("memory", *asked, cwd=tmp_path).stdout
    assert "Golden Goose" not in run("review", "--accept", name)
    assert "Golden Goose" in run(*asked)
    assert f"no fact {name!r}" in fails(tmp_path, "review", "--reject", name)


def test_scopes_are_apart(run: Run) -> None:
    run("add", "User prefers tea")
    run("add", "User prefers ale", "--owner", "ada")
    run("add", "User wants short answers", "--agent", "coder")
    assert list(shown(run("show")).values()) == ["User prefers tea"]
    assert list(shown(run("show", "--owner", "ada")).values()) == ["User prefers ale"]
    assert list(shown(run("show", "--agent", "coder")).values()) == ["User wants short answers"]


def test_the_document_beside_a_memory_is_edited_by_hand(run: Run, tmp_path: Path) -> None:
    """Every command takes in what was edited; `history` reports it."""
    run("add", "User prefers tea", "--document", tmp_path / ".thalweg" / "memory.json")
    document = tmp_path / ".thalweg" / "memory.json"
    document.write_text(document.read_text().replace("tea", "ale"))
    assert list(shown(run("show")).values()) == ["User prefers ale"]
    document.write_text(document.read_text().replace("ale", "rum"))
    assert run("history").count("memory.json was edited by hand") == 2

    document.write_text(document.read_text()[:-4])
    done = here("memory", "show", cwd=tmp_path)
    assert done.returncode == 2
    assert list(shown(done.stdout).values()) == ["User prefers rum"]
    assert "memory.json: line" in done.stderr
    assert here("memory", "show", *shown(done.stdout), cwd=tmp_path).returncode == 2
    run("search", "rum")

    document.unlink()
    assert here("memory", "show", cwd=tmp_path).stdout == ""
    run("undo")
    assert list(shown(run("show")).values()) == ["User prefers rum"]


def test_a_document_without_a_memory_is_imported(run: Run, tmp_path: Path) -> None:
    document = tmp_path / "memory.json"
    document.write_text('{"facts": [{"content": "User prefers tea"}]}', "utf-8")
    before = document.read_bytes()
    assert "there is no memory" in fails(tmp_path, "show", "--document", document)
    assert document.read_bytes() == before
    run("import", document, "--document", document)
    assert list(shown(run("show", "--document", document)).values()) == ["User prefers tea"]


def test_a_thread_is_kept_out_of_memory(run: Run, tmp_path: Path) -> None:
    run("add", "User prefers tea")
    assert run("learn", "--thread", "t1") == "on\n"
    assert run("learn", "--thread", "t1", "--mode", "incognito") == "incognito\n"
    assert run("learn", "--thread", "t1") == "incognito\n"
    assert "there is no mode 'incognita'; did you mean" in fails(
        tmp_path, "learn", "--thread", "t1", "--mode", "incognita"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "nowhere"], "no fact 'nowhere' in this memory"),
        (["add", "User rows", "--replace", "nowhere"], "no fact 'nowhere' in this memory"),
        (["add", "User rows", "--replace", ""], "no fact '' in this memory"),
        (["delete", "nowhere"], "no fact 'nowhere' in this memory"),
        (["delete", "nowhere", "--forever", "--yes"], "no fact 'nowhere' in this memory"),
        (["delete", "--forever", "--yes"], "nothing to forget is named"),
        (["delete"], "name facts or all; pass an ID, or --all"),
        (["delete", "x", "--all"], "name facts or all; pass an ID, or --all"),
        (["delete", "--query", "tea"], "--query: an undo restores facts alone; pass --forever"),
        (["delete", "--message", "m1"], "--message: an undo restores facts alone"),
        (["add"], "nothing to remember is passed; pass one statement"),
        (["undo", "99"], "no change 99 in this memory"),
        (["add", "x", "--category", "preferense"], "did you mean preference?"),
        (["add", "User rows", "--confidence", "9"], "9 is not between 0 and 1"),
        (["export", "--format", "deer"], "did you mean deerflow?"),
        (["import", "missing.json"], "missing.json: no such file or directory"),
    ],
)
def test_a_mistake_is_told_in_one_sentence(
    run: Run, tmp_path: Path, arguments: list[str], told: str
) -> None:
    run("add", "User prefers tea")
    assert told in fails(tmp_path, *arguments)


@pytest.mark.parametrize("command", ["show", "review", "history", "export", "learn --thread t1"])
def test_where_nothing_is_remembered_nothing_is_made(tmp_path: Path, command: str) -> None:
    assert "there is no memory" in fails(tmp_path, *command.split())
    assert list(tmp_path.iterdir()) == []


def test_no_command_prints_what_a_terminal_acts_on(run: Run, tmp_path: Path) -> None:
    """A fact that was imported may hold anything."""
    document = tmp_path / "nasty.json"
    text = f"User likes {ESCAPES}"
    body = {
        "userContext": {"topOfMind": text},
        "facts": [{"id": "fact-x", "content": text, "source": ESCAPES}],
    }
    document.write_text(json.dumps(body))
    run("import", document)
    quarantined(tmp_path)
    commands = [
        ["show"],
        ["show", "fact-x"],
        ["search", "likes"],
        ["search", "likes", "--why"],
        ["history"],
        ["review"],
        ["delete", "fact-x", "--dry-run"],
        ["delete", "fact-x", "--forever", "--dry-run"],
        ["delete", "--all", "--dry-run"],
    ]
    told = [["memory", *command] for command in commands]
    for command in in_turn([*told, *([*one, "--json"] for one in told)], tmp_path):
        assert command.returncode == 0, command
        assert not ACTS.search(command.stdout), command.args
        if "--json" in command.args:
            assert json.loads(command.stdout)
        elif command.args[1] != "review":
            assert r"\x1b[31mred" in command.stdout, command.args


def test_help_names_every_command_whole() -> None:
    done = thalweg("memory", "--help")
    assert done.returncode == 0
    commands = done.stdout.partition("Commands:")[2]
    assert "..." not in commands
    names = "show search add delete export import history review undo learn"
    for name in names.split():
        assert re.search(rf"^  {name} ", commands, re.MULTILINE), name
