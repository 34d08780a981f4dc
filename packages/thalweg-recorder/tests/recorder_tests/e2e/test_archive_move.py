"""An archive that an earlier version kept in the checkpointer's database is moved to its own."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.test_new_branches import AT, KEY
from core_tests.postgres import fresh_database
from recorder_tests.e2e.test_cli import here
from thalweg import ContextMiddleware
from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow, moving, open_archive
from thalweg.archive.moving import move_archive
from thalweg.archive.threads import history
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError, ConfigError, LostThreadError
from thalweg.testing import ScriptedModel

LARGE = "a text that is kept apart " * 200
OTHER = ThreadKey("ada", "other \0 é")


def said(text: str) -> Logged:
    """Make a message."""
    return Logged(Message("user", (Text(text),), uid=f"id {text[:20]}"), "about")


def filled(archive: Archive, messages: int = 7) -> dict[ThreadKey, Any]:
    """Fill threads of two owners; return what is in the archive."""
    for key in (KEY, OTHER):
        archive.append(key, [said(f"{n} {LARGE}") for n in range(messages)])
        archive.append(key, [said(LARGE), said("\0 \ud800")])
        archive.add_turn(key, TurnRow('{"a":1}', b"state"), length=messages + 2)
        archive.attach(key, "a system prompt")
        archive.add_summary(key, "00ff", "a summary")
        handle = archive.handle(key, Span(0, 2))
        archive.release(key, [archive.handle(key, Span(1, 1))])
        assert archive.read(key, handle).text
        archive.search(key, "apart")
    return content(archive)


def content(archive: Archive) -> dict[ThreadKey, Any]:
    """Return what can be read of the threads."""
    return {
        key: (
            archive.messages(key),
            archive.turns(key),
            archive.turn_state(key, 0),
            archive.handles(key),
            [archive.read(key, str(handle)).text for handle in archive.handles(key)],
            archive.summary(key, "00ff"),
            [passage.position for passage in archive.search(key, "apart")],
            archive.identity,
        )
        for key in (KEY, OTHER)
    }


@pytest.fixture(params=["file to file", "file to server", "server to file", "server to server"])
def places(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_server: str
) -> Iterator[tuple[str, str]]:
    """Return the old and the new place."""
    with ExitStack() as stack:
        found = [
            str(tmp_path / f"{number}.db")
            if name == "file"
            else stack.enter_context(fresh_database(postgres_server))
            for number, name in enumerate(str(request.param).split(" to "))
        ]
        yield found[0], found[1]


def test_the_copy_has_the_same_content_references_and_identity(
    places: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all owners, in several pages; the old place keeps it until its removal is asked for."""
    monkeypatch.setattr(moving, "_PAGE_ROWS", 5)
    source, target = places
    with open_archive(source) as archive:
        before = filled(archive, 12)
    moved = move_archive(source, target)
    assert (moved.threads, moved.messages) == (2, 2 * 14)
    for place in places:
        with open_archive(place) as archive:
            assert content(archive) == before
    move_archive(source, target, removes=True)
    with open_archive(target) as archive:
        assert content(archive) == before
        assert archive.attachment(KEY, archive.attach(KEY, "a system prompt")[0])
        archive.append(KEY, [said("more")], expected=14)
    if "://" in source:
        with open_archive(source) as archive:
            assert [archive.threads(owner) for owner in ("local", "ada")] == [[], []]
        with psycopg.connect(source) as connection:
            assert connection.execute("SELECT count(*) FROM archive_blob").fetchone() == (0,)
    else:
        with closing(sqlite3.connect(source)) as connection:
            assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
        assert b"kept apart" not in Path(source).read_bytes()


def test_an_interrupted_move_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was copied is compared; nothing is removed before all is."""
    source, target = str(tmp_path / "old.db"), str(tmp_path / "new.db")
    with open_archive(source) as archive:
        before = filled(archive)
    copy: Callable[..., None] = moving._copy  # noqa: SLF001 (interrupted here)

    def once(old: Archive, new: Archive, key: ThreadKey) -> None:
        if key == OTHER:
            raise KeyboardInterrupt
        copy(old, new, key)

    with monkeypatch.context() as patch:
        patch.setattr(moving, "_copy", once)
        with pytest.raises(KeyboardInterrupt):
            move_archive(source, target, removes=True)
    with open_archive(source) as archive:
        assert content(archive) == before
    assert move_archive(source, target, removes=True).threads == 2
    with open_archive(target) as archive:
        assert content(archive) == before


def test_a_copy_that_differs_removes_nothing(tmp_path: Path) -> None:
    """An agent that went on with one of both, or a damaged copy."""
    source, target = str(tmp_path / "old.db"), str(tmp_path / "new.db")
    with open_archive(source) as archive:
        filled(archive)
    move_archive(source, target)
    with open_archive(source) as archive:
        archive.append(KEY, [said("later")])
        before = content(archive)
    with pytest.raises(ArchiveError, match="'t' of owner 'local' differs in the copy"):
        move_archive(source, target, removes=True)
    with open_archive(source) as archive:
        assert content(archive) == before


def test_an_archive_is_moved_to_no_other_one_and_not_onto_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any name of the same place is refused: the only copy would be removed."""
    source, other = tmp_path / "old.db", tmp_path / "other.db"
    for path in (source, other):
        with open_archive(path) as archive:
            before = filled(archive)
    with open_archive(source) as archive:
        before = content(archive)
    with pytest.raises(ConfigError, match="it is another archive"):
        move_archive(str(source), str(other), removes=True)
    (tmp_path / "link.db").symlink_to(source)
    monkeypatch.chdir(tmp_path)
    for same in ("old.db", "link.db"):
        with pytest.raises(ConfigError, match="it is the place of the archive"):
            move_archive(str(source), same, removes=True)
    with open_archive(source) as archive:
        assert content(archive) == before
    (tmp_path / "none.db").touch()
    with pytest.raises(ConfigError, match="holds no archive"):
        move_archive(str(tmp_path / "none.db"), str(tmp_path / "new.db"))


def test_a_thread_of_an_earlier_version_goes_on_after_the_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error about its missing messages names the command; nothing of it remains in the file."""
    monkeypatch.chdir(tmp_path)
    heard: list[list[str]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        heard.append([m.text for m in messages if isinstance(m, HumanMessage)])
        return "yes"

    def ask(text: str, **named: Any) -> None:  # noqa: ANN401 (of the middleware)
        connection = sqlite3.connect("state.db", check_same_thread=False)
        with closing(connection), ContextMiddleware({"window": 20_000}, **named) as context:
            saver, model = SqliteSaver(connection), ScriptedModel(script=script)
            agent: Any = create_agent(model, middleware=[context], checkpointer=saver)
            agent.invoke({"messages": [HumanMessage(text)]}, AT)

    open_archive("state.db").close()  # before the saver made its tables, as an earlier version did
    for text in "abc":
        ask(text, archive="state.db", state=1)
    with closing(sqlite3.connect("state.db")) as connection:
        connection.executescript(
            "CREATE TABLE archive_deleted (thread TEXT PRIMARY KEY);"
            "CREATE TRIGGER archive_thread_deleted AFTER DELETE ON checkpoints"
            " BEGIN INSERT OR IGNORE INTO archive_deleted VALUES (OLD.thread_id); END;"
            "UPDATE thalweg_version SET version = '0006';"
        )
    with pytest.raises(LostThreadError, match=r"`thalweg db move`"):
        ask("d")
    done = here("db", "move", "state.db", "threads.db", "--remove", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 threads with 6 messages" in done.stdout
    ask("e", archive="threads.db", state=1)
    assert heard[-1] == [*"abcde"], "the state has what the failed run was asked"
    with open_archive("threads.db") as archive:
        assert len(history(archive, KEY)) == 9
    with closing(sqlite3.connect("state.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    assert not [name for name in names if "archive" in name or "thalweg" in name]
