"""Search over sessions is narrowed by project, agent, time, file, command and error."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from core_tests.archives import archive_in_memory
from recorder_tests.unit.recorder.sessions import KEY, call, import_one, model, result, user, write
from thalweg.archive import Archive, Logged, SqliteArchive, ThreadKey, TurnRow
from thalweg.engine.entries import Message, Text
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ConfigError
from thalweg_memory.facts.recall.rendering import closing as memory_closing
from thalweg_memory.facts.recall.rendering import opening
from thalweg_recorder.answers import Answers
from thalweg_recorder.searching import SearchFilter, render_found, search_sessions
from thalweg_recorder.sessions import RecordedSession, list_origins, list_sessions
from thalweg_recorder.worker import summarize


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    archive = archive_in_memory()
    failed = result(5, "c2", "heron test failed")
    failed["message"]["content"][0]["is_error"] = True
    rows = [
        user(1, "Where is the heron?"),
        model(2, "m1", call("c1", "Read", file_path="/src/shop/birds.py")),
        result(3, "c1", "class Heron: pass"),
        model(4, "m2", call("c2", command="make test")),
        failed,
    ]
    import_one(archive, write(tmp_path, rows))
    archive.append(ThreadKey("local", "own"), [Logged(Message("user", (Text("a heron here"),)))])
    return archive


def positions(archive: Archive, **fields: object) -> set[str]:
    only = SearchFilter(**fields)  # type: ignore[arg-type]  # of any field
    return {one.reference for one in search_sessions(archive, "heron", only)}


def test_all_threads_are_searched(archive: Archive) -> None:
    assert {hit.thread for hit in search_sessions(archive, "heron")} == {"own", KEY.thread}


def test_a_hit_has_the_messages_around_it_once(archive: Archive) -> None:
    """Each exchange is one hit; what a filter names is a hit of its own."""
    found = {hit.thread: hit for hit in search_sessions(archive, "heron")}
    hit = found[KEY.thread]
    positions = [hit.passage.position, *(one.position for one in hit.exchange)]
    assert sorted(positions) == [0, 1, 2, 3, 4]
    assert "#2 tool Read\nclass Heron: pass" in render_found([hit])
    assert not any(
        hit.exchange for hit in search_sessions(archive, "heron", SearchFilter(file="birds.py"))
    )


def test_other_words_find_what_the_query_does_not(archive: Archive) -> None:
    assert search_sessions(archive, "ornithology") == []
    (hit, *_) = search_sessions(archive, ["ornithology", "make test"])
    assert hit.thread == KEY.thread
    only = SearchFilter(file="birds.py")
    (hit, *_) = search_sessions(archive, ["ornithology", "heron class"], only)
    assert hit.reference == f"{KEY.thread}#2"
    many = [f"{bird} of pond {k} in the reeds" for k, bird in enumerate(["ibis", "stork"] * 5)]
    assert search_sessions(archive, many, only)
    assert "heron test failed" in Answers(archive).recall("ornithology", ["make test"])


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"project": "/src"}, True),
        ({"project": "../../src/shop/"}, True),
        ({"agent": "claude-code"}, True),
        ({"since": "2026-11-23"}, True),
        ({"since": "2026-11-24"}, False),
        ({"until": "2026-11-23"}, True),
        ({"since": "2026-11-23 10:05"}, False),
        ({"until": "2026-11-22"}, False),
        ({"since": "2026-11-23T11:59+02:00"}, True),
        ({"until": "2026-11-23T11:30+02:00"}, False),
        ({"until": "2026-11-23T08:30-02:00"}, True),
    ],
)
def test_sessions_are_chosen(
    archive: Archive,
    fields: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
    *,
    found: bool,
) -> None:
    monkeypatch.chdir("/usr/bin")
    references = positions(archive, **fields)
    assert bool(references) is found
    assert "own#0" not in references


def test_a_linked_project_comes_before_the_folders_above_the_link(tmp_path: Path) -> None:
    project, link = tmp_path.resolve() / "data" / "proj", tmp_path / "home" / "link"
    project.mkdir(parents=True)
    link.parent.mkdir()
    link.symlink_to(project)
    sessions = [
        (str(folder), RecordedSession(agent="codex", project=str(folder)))
        for folder in (project, link.parent)
    ]
    only = SearchFilter(project=str(link), or_above=True)
    assert only.select(sessions) == sessions[:1]
    assert only.select(sessions[1:]) == sessions[1:]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"project": "/sr"}, ["/sr", "/src/shop"]),
        ({"agent": "claude"}, ["'claude'", "claude-code"]),
        ({"since": "28.11.2026"}, ["since", "28.11.2026"]),
        ({"since": "3 days ago"}, ["since", "3 days ago"]),
        ({"since": "20261120"}, ["since", "2026-11-20"]),
        ({"until": "2026-11-31"}, ["until", "2026-11-31"]),
    ],
)
def test_a_wrong_filter_is_an_error_with_the_values_that_exist(
    archive: Archive, fields: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(ConfigError) as raised:
        positions(archive, **fields)
    assert all(word in str(raised.value) for word in words)


def test_an_archive_without_sessions_names_the_command_that_imports() -> None:
    for fields in ({"agent": "codex"}, {"project": "."}):
        with pytest.raises(ConfigError, match="thalweg record import"):
            positions(archive_in_memory(), **fields)


def test_a_hit_has_the_time_of_its_message_and_its_session(archive: Archive) -> None:
    by_reference = {hit.reference: hit for hit in search_sessions(archive, "Where is the heron?")}
    hit = by_reference[f"{KEY.thread}#0"]
    assert (hit.at[:19], hit.title, hit.project) == (
        "2026-11-23T10:00:01",
        "Where is the heron?",
        "/src/shop",
    )
    assert "(2026-11-23 10:00 · Where is the heron? · /src/shop)" in render_found([hit])
    assert render_found([hit, hit]).count("/src/shop)") == 1
    assert render_found([by_reference["own#0"]]) == "own#0 user\na heron here"


@pytest.mark.parametrize(
    ("fields", "position"),
    [({"file": "birds.py"}, 2), ({"command": "make test"}, 4), ({"errors": True}, 4)],
)
def test_messages_are_chosen(archive: Archive, fields: dict[str, object], position: int) -> None:
    assert f"{KEY.thread}#{position}" in positions(archive, **fields)
    assert f"{KEY.thread}#0" not in positions(archive, **fields)


@pytest.mark.parametrize("fields", [{}, {"command": "git status"}, {"file": "birds.py"}])
def test_errors_are_found_that_do_not_have_the_word(
    archive: Archive, tmp_path: Path, fields: dict[str, object]
) -> None:
    """Among many that have it and are none, the newest session first."""
    failed = result(3, "c1", f"{'birds.py ' * 200}fatal: not a git repository")
    failed["message"]["content"][0]["is_error"] = True
    said = [user(k, f"an error in birds.py of git status, error {k}") for k in range(10, 60)]
    rows = [user(1, "Go"), model(2, "m1", call("c1", command="git status")), failed, *said]
    import_one(archive, write(tmp_path, rows))

    found = search_sessions(archive, "", SearchFilter(errors=True, **fields))  # type: ignore[arg-type]
    assert found[0].passage.text.endswith("fatal: not a git repository")
    assert found[0].passage.about == "Bash(git status)"
    assert all("an error" not in hit.passage.text for hit in found)


def test_an_error_is_found_among_many_messages_with_its_words(
    archive: Archive, tmp_path: Path
) -> None:
    """They would fill the answer, and are no errors."""
    failed = result(3, "c1", "The crane is not in the pond")
    failed["message"]["content"][0]["is_error"] = True
    words = [" ".join(f"{word}{k}" for word in ("reed", "moss", "fern") * 9) for k in range(60)]
    other = [user(k + 10, f"error: crane in the pond, {text}") for k, text in enumerate(words)]
    rows = [user(1, "Go"), model(2, "m1", call("c1", command="make test")), failed, *other]
    import_one(archive, write(tmp_path, rows))

    only = SearchFilter(errors=True)
    (hit,) = search_sessions(archive, ["Pond crane", "bird"], only, max_tokens=400)
    assert hit.passage.text == "The crane is not in the pond"
    assert search_sessions(archive, "reed7 reed8", only, max_tokens=400) == []


def test_what_is_found_stays_in_its_budget(archive: Archive) -> None:
    for tokens in (5, 40, 80):
        found = search_sessions(archive, "heron", max_tokens=tokens)
        assert exact_counter()(render_found(found)) <= tokens


def test_the_index_is_updated_before_the_first_search(tmp_path: Path) -> None:
    with SqliteArchive(tmp_path / "a.db") as archive:
        archive.append(KEY, [Logged(said("a heron"))])
        archive.update_index("local", ["another"])
        assert _unindexed(tmp_path / "a.db") == 1
        archive.update_index("local")
        assert _unindexed(tmp_path / "a.db") == 0


def test_what_thalweg_put_into_a_session_answers_no_question() -> None:
    """Its summary, its answer to a tool and its block of memory hold the words of the original."""
    archive = archive_in_memory()
    original = ThreadKey("local", "original")
    archive.append(original, [Logged(said("the bittern nests in ring nine"))])
    summary, answer = summarize(archive, original), Answers(archive).recall("bittern", scope="all")
    memory = f"{opening()}the bittern nests in ring nine\n{memory_closing()}"
    assert all("ring nine" in text for text in (summary, answer, memory))
    blocks = [text for own in (summary, answer, memory) for text in (own, json.dumps([own])[2:-2])]
    later = ThreadKey("local", "later")
    archive.append(later, [Logged(said(f"before {own} and after")) for own in blocks])
    archive.append(later, [Logged(said(own[: len(own) // 2 + 40])) for own in blocks])

    assert {hit.thread for hit in search_sessions(archive, "bittern nine")} == {"original"}
    assert {hit.thread for hit in search_sessions(archive, "after")} == {"later"}


def test_filters_read_no_record_of_a_session(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((thread, session),) = list_sessions(archive)
    monkeypatch.setattr(SqliteArchive, "turns", None)

    ((found, origin),) = list_origins(archive)

    assert found == thread == KEY.thread
    for name in ("agent", "project", "started_at", "ended_at"):
        assert getattr(origin, name) == getattr(session, name) != ""


def test_a_session_whose_newest_record_has_no_state_is_filtered(archive: Archive) -> None:
    (body,) = archive.turns(KEY)
    archive.add_turn(KEY, TurnRow(body, b"another state"), length=archive.length(KEY))

    assert [*list_origins(archive)] == [*list_sessions(archive)]
    assert positions(archive, project="/src/shop")


def test_a_command_to_the_harness_answers_no_question() -> None:
    archive = archive_in_memory()
    commands = (
        "<command-message>nest is running</command-message>\n<command-name>/nest</command-name>"
    )
    archive.append(KEY, [Logged(said(commands)), Logged(said("the nest of a heron"))])
    assert [hit.passage.position for hit in search_sessions(archive, "nest")] == [1]


def test_a_text_about_such_a_block_is_found() -> None:
    archive = archive_in_memory()
    about = [
        "what stands in a <thread-record> stays",
        "<memory>\nmy own notes of a bittern\n</memory>",
    ]
    archive.append(KEY, [Logged(said(text)) for text in about])
    assert [hit.passage.text for hit in search_sessions(archive, "bittern notes")] == [about[1]]
    assert [hit.passage.text for hit in search_sessions(archive, "stands stays")] == [about[0]]


def _unindexed(place: Path) -> int:
    with closing(sqlite3.connect(place)) as db:
        found = db.execute("SELECT COUNT(*) FROM archive_thread WHERE indexed < length").fetchone()
        return int(found[0])


def test_an_old_passage_is_found_among_many_with_its_common_words(archive: Archive) -> None:
    """More passages than one look into the index returns have each of its words but one."""
    noise = [Logged(Message("user", (Text(f"nest {n} of the colony"),))) for n in range(4_200)]
    archive.append(ThreadKey("local", "old"), [Logged(said("the nest of the colony of bitterns"))])
    archive.append(ThreadKey("local", "noise"), noise)

    found = archive.search_threads("local", "bittern colony nest")

    assert (found[0].thread, found[0].passage.position) == ("old", 0)


def test_two_common_words_together_find_an_old_passage(archive: Archive) -> None:
    archive.append(ThreadKey("local", "old"), [Logged(said("the nest of the colony"))])
    for word in ("nest", "colony"):
        noise = [Logged(said(f"{word} number {n}")) for n in range(4_200)]
        archive.append(ThreadKey("local", word), noise)

    found = archive.search_threads("local", "colony nest")

    assert (found[0].thread, found[0].passage.position) == ("old", 0)


def said(text: str) -> Message:
    return Message("user", (Text(text),))
