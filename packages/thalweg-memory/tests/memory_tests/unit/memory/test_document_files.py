"""A memory with a document: changes of either reach the other, and none is lost."""

import asyncio
import json
import logging
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from thalweg.errors import (
    ConfigError,
    DocumentError,
    NoSuchFactError,
    StaleWriteError,
    StorageError,
)
from thalweg_memory import Memory
from thalweg_memory.cli.options import forget_owner
from thalweg_memory.document_files import DocumentFiles
from thalweg_memory.facts.document import export
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    RemoveFact,
    Scope,
    Statement,
    Trust,
    WriteSection,
)
from thalweg_memory.handle import attach_document, documents_of, open_memory
from thalweg_memory.store.records import Operation, Selection
from thalweg_memory.store.tables import MemoryStore

ME = Scope("local")
NOW = "2026-03-01T10:00:00Z"
HIDDEN = "User hid the key under the third flowerpot"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryStore]:
    with opened(tmp_path) as one:
        yield one


def opened(folder: Path) -> MemoryStore:
    store = open_memory(folder / "thalweg.db")
    attach_document(store, in_document(folder / "memory.json"))
    return store


def in_document(path: Path) -> MemorySettings:
    return MemorySettings(storage="json", storage_path=str(path))


def documents(memory: MemoryStore) -> DocumentFiles:
    found = documents_of(memory)
    assert found is not None
    return found


def fact(name: str, content: str, **fields: Any) -> Fact:  # noqa: ANN401 (any field)
    return Fact(FactId(name), content, "preference", 0.9, NOW, "thread-1", **fields)


def commit(memory: MemoryStore, *changes: Change, actor: str = "user") -> Operation | None:
    while True:
        version = memory.version(ME)
        try:
            return memory.commit(ME, changes, expected=version, actor=actor, now=NOW)
        except StaleWriteError:
            continue


def learn(memory: MemoryStore, *facts: Fact) -> None:
    commit(memory, *(PutFact(one, "learned") for one in facts), actor="learned:m")


def contents(memory: MemoryStore) -> list[str]:
    return sorted(one.content for one in memory.facts(ME))


def body(memory: MemoryStore) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(documents(memory).path_of(ME).read_text(encoding="utf-8"))
    return told


def told(memory: MemoryStore) -> list[str]:
    return sorted(one["content"] for one in body(memory)["facts"])


def save(memory: MemoryStore, value: object) -> None:
    """Save as editors do: another file, put in the place of the one that was there."""
    path = documents(memory).path_of(ME)
    beside = path.with_suffix(".swp")
    beside.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    beside.replace(path)


def test_what_is_learned_stands_in_the_document(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    commit(memory, WriteSection(ProfileSection("topOfMind", "The garden"), "asked"))
    assert told(memory) == ["User drinks tea"]
    assert body(memory)["userContext"]["topOfMind"] == "The garden"


def test_the_document_of_any_owner_goes_with_the_owner(tmp_path: Path) -> None:
    """Also where the memory in `memory.json` itself was never used."""
    with opened(tmp_path) as store:
        bob = Memory(store, Scope("bob", "coder"))
        bob.remember(HIDDEN)
        path = documents(store).path_of(bob.scope)
    assert "flowerpot" in path.read_text("utf-8")
    assert not (tmp_path / "memory.json").exists()
    forget_owner(str(tmp_path / "thalweg.db"), "bob", dry_run=False)
    kept = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
    assert not [one for one in kept if b"flowerpot" in one]


def test_an_edit_by_hand_is_there_at_the_next_reading(memory: MemoryStore) -> None:
    quote = Evidence("thread-1", "u", "I drink tea", NOW, Trust.USER)
    learn(memory, fact("f1", "User drinks tea", evidence=(quote,)))
    edited = body(memory)
    edited["facts"][0]["content"] = "User drinks coffee"
    save(memory, edited)
    (found,) = memory.facts(ME)
    assert (found.content, found.evidence, found.written_by) == ("User drinks coffee", (), "user")
    assert memory.operations(ME)[0].why == "memory.json was edited by hand"


def test_an_edit_of_the_same_length_in_the_same_moment_is_noticed(memory: MemoryStore) -> None:
    """Neither the size nor, at the clock's coarseness, the time of the file shows it."""
    learn(memory, fact("f1", "User drinks tea"))
    path = documents(memory).path_of(ME)
    memory.facts(ME)
    before = path.stat()
    path.write_text(path.read_text("utf-8").replace("tea", "ale"), "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert contents(memory) == ["User drinks ale"]


def test_what_is_written_by_hand_gets_an_id(memory: MemoryStore) -> None:
    save(memory, {"facts": [{"content": "User rows"}]})
    assert contents(memory) == ["User rows"]
    (written,) = body(memory)["facts"]
    assert written["id"].startswith("fact-")
    assert memory.facts(ME)[0].id == written["id"]


def test_what_is_taken_out_by_hand_goes_and_can_be_brought_back(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"), fact("f2", "User rows"))
    edited = body(memory)
    del edited["facts"][0]
    save(memory, edited)
    assert contents(memory) == ["User rows"]
    memory.undo(ME, memory.operations(ME)[0].id, now=NOW)
    assert contents(memory) == told(memory) == ["User drinks tea", "User rows"]


def test_a_hand_and_a_learner_do_not_lose_a_change_to_each_other(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    edited = body(memory)
    edited["facts"].append({"content": "User rows"})
    save(memory, edited)
    with opened(documents(memory).path_of(ME).parent) as other:
        learn(other, fact("f2", "User has a dog"))
    learn(memory, fact("f3", "User reads"))
    expected = ["User drinks tea", "User has a dog", "User reads", "User rows"]
    assert contents(memory) == told(memory) == expected


def test_a_planner_that_read_before_an_edit_plans_again(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    version = memory.version(ME)
    edited = body(memory)
    edited["facts"] = []
    save(memory, edited)
    with pytest.raises(StaleWriteError):
        memory.commit(
            ME, [PutFact(fact("f1", "User drinks tea"), "said again")], expected=version,
            actor="learned:m", now=NOW,
        )  # fmt: skip
    assert contents(memory) == told(memory) == []


def test_a_broken_edit_is_told_and_the_memory_goes_on(
    memory: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    whole = documents(memory).path_of(ME).read_text("utf-8")
    broken = whole.replace("tea", "coffee").rstrip().removesuffix("}")
    save(memory, broken)
    with caplog.at_level(logging.WARNING, "thalweg.memory"):
        assert contents(memory) == contents(memory) == ["User drinks tea"]
        learn(memory, fact("f2", "User rows"))
    (record,) = caplog.records
    assert "memory.json: line 22 column 1" in record.message
    with pytest.raises(DocumentError, match=r"line 22 column 1: expecting ',' delimiter"):
        documents(memory).reload(ME)
    assert documents(memory).path_of(ME).read_text("utf-8") == broken

    save(memory, broken + "}")
    assert contents(memory) == told(memory) == ["User drinks coffee", "User rows"]


def test_what_is_forgotten_is_in_no_file(memory: MemoryStore) -> None:
    learn(memory, fact("f1", HIDDEN), fact("f2", "User rows"))
    edited = body(memory)
    edited["notes"] = [f"Remember: {HIDDEN}!"]
    edited["kept"] = "as it is"
    edited["facts"][1]["note"] = f"said with: {HIDDEN}"
    edited["facts"].append({"content": "User reads", "tags": ["evenings"]})
    edited["userContext"]["mine"] = HIDDEN
    save(memory, edited)
    memory.forget(ME, Selection(facts=(FactId("f1"),)), now=NOW)
    folder = documents(memory).path_of(ME).parent
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert {file.name for file in files} >= {"memory.json", ".memory.json.seen", "thalweg.db"}
    for file in files:
        assert b"flowerpot" not in file.read_bytes(), file.name
    assert told(memory) == ["User reads", "User rows"]
    assert body(memory)["kept"] == "as it is"
    assert body(memory)["facts"][1]["tags"] == ["evenings"]


def test_nothing_is_forgotten_while_nobody_can_tell_what_the_document_holds(
    memory: MemoryStore,
) -> None:
    learn(memory, fact("f1", HIDDEN))
    save(memory, "{")
    with pytest.raises(DocumentError):
        memory.forget(ME, Selection(facts=(FactId("f1"),)), now=NOW)
    assert contents(memory) == [HIDDEN]


def test_what_was_taken_out_before_is_forgotten_in_the_document_too(memory: MemoryStore) -> None:
    learn(memory, fact("f1", HIDDEN))
    edited = body(memory)
    edited["notes"] = f"Remember: {HIDDEN}!"
    save(memory, edited)
    commit(memory, RemoveFact(FactId("f1"), "asked"))
    receipt = memory.forget(ME, Selection(words="flowerpot"), now=NOW)
    assert receipt.facts == (FactId("f1"),)
    folder = documents(memory).path_of(ME).parent
    assert all(b"flowerpot" not in file.read_bytes() for file in folder.iterdir())


def test_a_view_does_not_change_when_the_document_is_edited(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    edited = body(memory)
    edited["facts"] = []
    with memory.view(ME):
        save(memory, edited)
        assert contents(memory) == ["User drinks tea"]
    assert contents(memory) == []


def test_a_line_that_is_taken_out_hides_its_turns_from_the_next_reading(
    memory: MemoryStore,
) -> None:
    """In any order of reading: a learner reads turns, and never asks for facts before them."""
    said = Statement("thread-1", 0, "user", "I drink tea", NOW, Trust.USER, uid="u")
    memory.capture(ME, "thread-1", [said])
    quote = Evidence("thread-1", "u", "I drink tea", NOW, Trust.USER)
    learn(memory, fact("f1", "User drinks tea", evidence=(quote,)))
    edited = body(memory)
    edited["facts"] = []
    save(memory, edited)
    assert memory.turns(ME, "thread-1") == []


def test_a_dry_run_changes_nothing(memory: MemoryStore) -> None:
    learn(memory, fact("f1", HIDDEN))
    receipt = memory.forget(ME, Selection(everything=True), now=NOW, dry_run=True)
    assert receipt.facts == (FactId("f1"),)
    assert contents(memory) == told(memory) == [HIDDEN]


def test_deleting_the_document_empties_the_memory(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    commit(memory, WriteSection(ProfileSection("topOfMind", "The garden"), "asked"))
    documents(memory).path_of(ME).unlink()
    done = documents(memory).reload(ME)
    assert done is not None
    assert contents(memory) == told(memory) == []
    assert memory.profile(ME).text("topOfMind") == ""
    memory.undo(ME, done.id, now=NOW)
    assert contents(memory) == told(memory) == ["User drinks tea"]
    assert body(memory)["userContext"]["topOfMind"] == "The garden"


def test_a_document_that_is_gone_is_an_empty_memory_at_the_next_reading(
    memory: MemoryStore,
) -> None:
    """At once, and its turns are gone with it; a new, empty file takes its place."""
    said = Statement("thread-1", 0, "user", "I drink tea", NOW, Trust.USER, uid="u")
    memory.capture(ME, "thread-1", [said])
    learn(memory, fact("f1", "User drinks tea"))
    documents(memory).path_of(ME).unlink()
    assert contents(memory) == []
    assert memory.turns(ME, "thread-1") == []
    assert told(memory) == []
    assert memory.operations(ME)[0].why == "memory.json was deleted"


def test_a_document_that_an_editor_writes_anew_is_not_deleted(memory: MemoryStore) -> None:
    """The editor renames the old one, and then writes the new one."""
    learn(memory, fact("f1", "User drinks tea"))
    path = documents(memory).path_of(ME)
    before = path.rename(path.with_suffix(".bak"))
    editor = Timer(0.1, before.rename, [path])
    editor.start()
    assert contents(memory) == ["User drinks tea"]
    editor.join()
    assert contents(memory) == told(memory) == ["User drinks tea"]
    assert len(memory.operations(ME)) == 1


def test_a_document_of_deerflow_is_taken_over_as_it_is(memory: MemoryStore) -> None:
    given: dict[str, Any] = {
        "version": "1.0",
        "lastUpdated": "2025-01-01T00:00:00Z",
        "user": {"workContext": {"summary": "Backend architect", "updatedAt": ""}},
        "history": {},
        "facts": [
            {
                "id": "fact_a1",
                "content": "User wants pnpm, not npm",
                "category": "correction",
                "confidence": 0,
                "createdAt": "2025-01-01T00:00:00.5Z",
                "source": "thread-7",
                "sourceError": "npm was used",
            }
        ],
    }
    save(memory, given)
    (found,) = memory.facts(ME)
    assert (found.trust, found.written_by, found.confidence) == (Trust.IMPORT, "import", 0)
    learn(memory, fact("f2", "User rows"))
    after = body(memory)
    assert after["facts"][0] == given["facts"][0]
    assert after["user"] == given["user"]
    assert [one["id"] for one in after["facts"]] == ["fact_a1", "f2"]


def test_a_change_whose_writing_was_cut_off_is_written_by_the_next_process(
    memory: MemoryStore,
) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    folder = documents(memory).path_of(ME).parent
    with open_memory(folder / "thalweg.db") as bare:
        change = PutFact(fact("f2", HIDDEN), "learned")
        bare.commit(ME, [change], expected=bare.version(ME), actor="user", now=NOW)
    part = folder / ".memory.json.part"
    part.write_text("half of", "utf-8")
    with opened(folder) as other:
        assert contents(other) == told(other) == sorted([HIDDEN, "User drinks tea"])
    assert not part.exists()


def test_the_rights_and_the_link_of_a_document_stay(memory: MemoryStore) -> None:
    path = documents(memory).path_of(ME)
    learn(memory, fact("f1", "User drinks tea"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    real = path.with_name("elsewhere.json")
    path.rename(real)
    path.symlink_to(real)
    real.chmod(0o640)
    learn(memory, fact("f2", "User rows"))
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert told(memory) == ["User drinks tea", "User rows"]


class Killed(BaseException):
    """The process is killed."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Let the process be killed before one of the steps that write the document."""
    steps = iter(range(step + 1))

    def killing(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (any)
            if next(steps) == step:
                raise Killed
            return do(*args, **kwargs)

        return call

    monkeypatch.setattr(os, "fsync", killing(os.fsync))
    monkeypatch.setattr(Path, "replace", killing(Path.replace))
    monkeypatch.setattr(Path, "unlink", killing(Path.unlink))


@pytest.mark.parametrize(("first", "second"), [(n % 5, n) for n in range(12)])
def test_two_processes_killed_at_any_step_lose_and_restore_nothing(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch, first: int, second: int
) -> None:
    """One edits and adds, the next removes; a person edits the document that they leave."""
    learn(memory, fact("f1", "User drinks tea"), fact("f2", "User rows"))
    folder = documents(memory).path_of(ME).parent
    for step, changes in (
        (first, [PutFact(fact("f1", "User drinks ale"), "x"), PutFact(fact("f3", "New"), "x")]),
        (second, [RemoveFact(FactId("f1"), "x"), RemoveFact(FactId("f3"), "x")]),
    ):
        with opened(folder) as other, monkeypatch.context() as patched, suppress(Killed):
            kill_at(patched, step)
            version = other.version(ME)  # repairs the document first
            other.commit(ME, changes, expected=version, actor="user", now=NOW)
        with open_memory(folder / "thalweg.db") as bare:
            facts = bare.facts(ME)
    edited = body(memory)
    gone = edited["facts"].pop()["id"]
    edited["facts"].append({"content": "User reads"})
    save(memory, edited)
    expected = sorted([*(one.content for one in facts if one.id != gone), "User reads"])
    with opened(folder) as other:
        assert contents(other) == told(other) == expected
        assert documents(other).reload(ME) is None


def test_every_scope_has_a_document_of_its_own(tmp_path: Path) -> None:
    scopes = [
        Scope(owner, agent)
        for owner in ("local", "Ada", "ada", "ada/agents/x", "..", "owners")
        for agent in ("", "coder", "../memory")
    ]
    with opened(tmp_path) as memory:
        paths = [documents(memory).path_of(scope) for scope in scopes]
    assert len({str(path).casefold() for path in paths}) == len(scopes)
    assert all(path.resolve().is_relative_to(tmp_path) for path in paths)
    assert all(".." not in path.parts for path in paths)


def test_one_scope_does_not_see_the_document_of_another(memory: MemoryStore) -> None:
    learn(memory, fact("f1", "User drinks tea"))
    assert memory.facts(Scope("ada")) == []
    assert not documents(memory).path_of(Scope("ada")).exists()


def test_the_settings_say_whether_there_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    with open_memory(":memory:") as store:
        attach_document(store, MemorySettings())
        assert documents_of(store) is None
        attach_document(store, in_document(path))
        attach_document(store, in_document(tmp_path / "another.json"))
        assert documents(store).path_of(ME) == path


def test_text_of_another_encoding_is_reported_with_its_line(memory: MemoryStore) -> None:
    documents(memory).path_of(ME).write_bytes(b"{}\n\n\xff")
    with pytest.raises(DocumentError, match="line 3: it is not written in UTF-8; save it as"):
        documents(memory).reload(ME)


def test_a_place_that_cannot_be_used_is_reported(memory: MemoryStore, tmp_path: Path) -> None:
    path = documents(memory).path_of(ME)
    path.mkdir()
    with pytest.raises(StorageError, match="is a directory; check the place"):
        documents(memory).reload(ME)
    path.rmdir()
    (tmp_path / "agents").write_text("a file")
    with pytest.raises(StorageError, match="check the place"):
        documents(memory).reload(Scope("local", "coder"))


@pytest.mark.parametrize("left", ["", "{", '{"file": "x"}', "[]"])
def test_without_digests_a_document_is_imported(memory: MemoryStore, left: str) -> None:
    """Nothing is removed if it is unknown what was last written."""
    learn(memory, fact("f1", "User drinks tea"))
    documents(memory).path_of(ME).with_name(".memory.json.seen").write_text(left)
    save(memory, {"facts": [{"content": "User rows"}]})
    assert contents(memory) == told(memory) == ["User drinks tea", "User rows"]
    assert memory.operations(ME)[0].why == "memory.json was found"


def test_a_change_between_reading_and_replacing_is_not_overwritten(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor saves after the file was read, and before its new content is written."""
    learn(memory, fact("f1", "User drinks tea"))
    edited = body(memory)
    edited["facts"].append({"content": "User rows"})

    def save_and_export(*args: Any, **kwargs: Any) -> str:  # noqa: ANN401 (any)
        monkeypatch.undo()
        save(memory, edited)
        return export(*args, **kwargs)

    monkeypatch.setattr("thalweg_memory.document_files.export", save_and_export)
    learn(memory, fact("f2", "User reads"))
    expected = ["User drinks tea", "User reads", "User rows"]
    assert contents(memory) == told(memory) == expected


def test_dropping_and_editing_at_once_is_settled(memory: MemoryStore) -> None:
    """A fact dropped here and edited there: the later edit is a person's last word on it."""
    learn(memory, fact("f1", "User drinks tea"))
    edited = body(memory)
    edited["facts"][0]["content"] = "User drinks coffee"
    with open_memory(documents(memory).path_of(ME).parent / "thalweg.db") as bare:
        bare.commit(
            ME,
            [RemoveFact(FactId("f1"), "asked")],
            expected=bare.version(ME),
            actor="user",
            now=NOW,
        )
    save(memory, edited)
    assert contents(memory) == told(memory) == ["User drinks coffee"]


def test_a_fact_that_was_taken_in_is_not_taken_in_again_without_its_id(
    memory: MemoryStore,
) -> None:
    """An editor that still had the text without it saved again; nothing was taken out either."""
    learn(memory, fact("f1", "User drinks tea"))
    edited = body(memory)
    edited["facts"].append({"content": "User rows"})
    save(memory, edited)
    assert contents(memory) == ["User drinks tea", "User rows"]
    save(memory, edited)
    with opened(documents(memory).path_of(ME).parent) as other:
        assert contents(other) == told(other) == ["User drinks tea", "User rows"]
        assert len(other.operations(ME)) == 2


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "thalweg.db") as store:
        yield Memory(store, ME, settings=in_document(tmp_path / "memory.json"))


def test_a_handle_has_the_document_that_its_settings_name(mine: Memory, tmp_path: Path) -> None:
    mine.remember("User drinks tea")
    path = tmp_path / "memory.json"
    path.write_text(path.read_text("utf-8").replace("drinks tea", "drinks rum"), "utf-8")
    assert "rum" in mine.recall("What does the user drink?").text
    path.write_text(path.read_text("utf-8").replace("rum", "ale"), "utf-8")
    done = asyncio.run(mine.areload())
    assert done is not None
    assert [one.content for one in mine.facts()] == ["User drinks ale"]


def test_what_is_deleted_or_cleared_leaves_the_document(mine: Memory, tmp_path: Path) -> None:
    first, second = mine.remember("User drinks tea"), mine.remember("User rows on Sundays")
    with pytest.raises(NoSuchFactError):
        mine.delete(first.id, "nowhere")
    mine.delete(first.id)
    path = tmp_path / "memory.json"
    assert [one["id"] for one in json.loads(path.read_text())["facts"]] == [second.id]
    done = mine.clear()
    assert done is not None
    assert json.loads(path.read_text())["facts"] == []
    mine.undo(done.id)
    assert [one["id"] for one in json.loads(path.read_text())["facts"]] == [second.id]


def test_a_memory_without_a_document_cannot_be_reloaded() -> None:
    with open_memory(":memory:") as store, pytest.raises(ConfigError, match="no document"):
        Memory(store, ME).reload()


def test_the_document_of_a_deleted_memory_is_read_by_the_next_one(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        commit(memory, PutFact(fact("f1", "User sails"), "saved"))
        commit(memory, PutFact(fact("f2", "User bakes"), "saved"))
    for file in tmp_path.glob("thalweg.db*"):
        file.unlink()

    with opened(tmp_path) as memory:
        commit(memory, PutFact(fact("f3", "User rows"), "saved"))
        contents = {one.content for one in memory.facts(ME)}

    assert contents == {"User sails", "User bakes", "User rows"}
    written = json.loads((tmp_path / "memory.json").read_text("utf-8"))
    assert {one["content"] for one in written["facts"]} == contents
