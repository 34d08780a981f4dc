"""What a framework may hand over: its whole history, the last view, or either one changed."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from thalweg.archive import Archive, SqliteArchive, ThreadKey
from thalweg.archive.table_rows import index_progress
from thalweg.archive.threads import rewind
from thalweg.archive.threads.session import INDEX_BATCH
from thalweg.engine.entries import Media, Message, Text, ToolCall
from thalweg.engine.settings import ContextPolicy
from thalweg_integrations.slot import EngineSlot, HostCall

CALL = HostCall("openai:gpt-5.1", "openai-chat", 8_000)
KEY = ThreadKey("local", "t")
POLICY = ContextPolicy(window=8_000, max_output=500)


@pytest.fixture
def slot() -> Iterator[EngineSlot]:
    with EngineSlot(ContextPolicy(window=8_000, max_output=500), archive=":memory:") as slot:
        yield slot


def user(text: str) -> Message:
    return Message("user", (Text(text),))


def thread(rounds: int) -> list[Message]:
    """Make a thread of questions with one large tool result each."""
    sent: list[Message] = []
    for k in range(rounds):
        sent.append(user(f"question {k}"))
        sent.append(Message("assistant", (ToolCall(f"c{k}", "look", f'{{"n": {k}}}'),)))
        text = "\n".join(f"{k} {line} is {k * line}" for line in range(250))
        sent.append(Message("tool", (Text(text),), answers=f"c{k}", name="look"))
        sent.append(Message("assistant", (Text(f"answer {k}"),)))
    return sent


def logged(slot: EngineSlot) -> list[str]:
    messages = slot.archive.messages(KEY, 0, slot.archive.length(KEY) - 1)
    return [m.text for m in messages if m.role == "user"]


def compacted(slot: EngineSlot) -> tuple[list[Message], list[Message]]:
    """Return a thread and its first view that is a compaction."""
    for rounds in range(1, 20):
        sent = [*thread(rounds), user(f"question {rounds}")]
        view = slot.view("t", sent, CALL)
        if "<thread-record>" in view[0].text:
            return sent, view
    pytest.fail("nothing was compacted")


def test_a_view_takes_the_place_of_the_history(slot: EngineSlot) -> None:
    sent, view = compacted(slot)
    slot.view("t", [*view, Message("assistant", (Text("so"),)), user("more")], CALL)
    assert logged(slot) == [m.text for m in (*sent, user("more")) if m.role == "user"]


def test_adjacent_messages_of_a_view_are_joined(slot: EngineSlot) -> None:
    sent, view = compacted(slot)
    asked = view[0].text + "\n\n" + "\n\n".join(m.text for m in view[1:] if m.role == "user")
    if all(m.role == "user" for m in view):
        state = [user(asked)]
    else:  # the record and the question before it stand together
        first = next(k for k, m in enumerate(view) if m.role != "user")
        state = [user("\n\n".join(m.text for m in view[:first])), *view[first:]]
    slot.view("t", [*state, Message("assistant", (Text("so"),)), user("more")], CALL)
    assert logged(slot) == [m.text for m in (*sent, user("more")) if m.role == "user"]


def test_words_joined_to_a_view_are_new(slot: EngineSlot) -> None:
    sent, view = compacted(slot)
    last = view[-1]
    assert last.role == "user"
    slot.view("t", [*view[:-1], user(f"{last.text}\n\nand this")], CALL)
    assert logged(slot) == [*(m.text for m in sent if m.role == "user"), "and this"]


def test_another_history_begins_the_thread_there(slot: EngineSlot) -> None:
    compacted(slot)
    view = slot.view("t", [user("something else")], CALL)
    assert [m.text for m in view] == ["something else"]


def test_an_edited_message_is_logged_again(slot: EngineSlot) -> None:
    slot.view("t", thread(1), CALL)
    sent = [user("question zero"), *thread(1)[1:]]
    view = slot.view("t", [*sent, user("more")], CALL)
    assert [m.text for m in view if m.role == "user"] == ["question zero", "more"]
    assert logged(slot) == ["question 0", "question zero", "more"]


def test_a_manual_rewind_takes_precedence(slot: EngineSlot) -> None:
    slot.view("t", [user("question 0")], CALL)
    slot.view("t", [*thread(2), user("question 2")], CALL)
    rewind(slot.archive, KEY, 1)
    view = slot.view("t", [*thread(2), user("question 2"), user("again")], CALL)
    assert [m.text for m in view if m.role == "user"] == ["question 0", "again"]


def test_unknown_threads_and_arguments_of_recall(slot: EngineSlot) -> None:
    compacted(slot)
    assert "question 0" in slot.recall("t", query="question 0", made_up=1)
    assert "question 0" not in slot.recall("u", query="question 0")


@pytest.mark.parametrize(("rounds", "rewound"), [(0, False), (1, False), (1, True)])
def test_a_message_written_before_a_conflict_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rounds: int, *, rewound: bool
) -> None:
    """Another slot adds a turn to the thread between a message and its turn."""
    policy, path = ContextPolicy(window=8_000, max_output=500), tmp_path / "t.db"
    with EngineSlot(policy, archive=path) as first, EngineSlot(policy, archive=path) as other:
        if rounds:
            other.view("t", thread(rounds), CALL)
        if rewound:
            rewind(first.archive, KEY, 1)
        left = ["a conflict"]
        add_turn = type(first.archive).add_turn

        def conflicting(archive: Archive, *given: Any, **named: Any) -> int:  # noqa: ANN401
            if left and archive is first.archive:
                left.clear()
                archive.append(KEY, named["log"], expected=named["length"])  # as `write` does
                other.view("t", [*thread(rounds), user("theirs")], CALL)
            return add_turn(archive, *given, **named)

        monkeypatch.setattr(type(first.archive), "add_turn", conflicting)
        first.view("t", [user("ours")], CALL)
        assert not left
        assert logged(first).count("ours") == 1
        assert logged(first).count("theirs") == 1


class CountedReads:
    """Counts the messages that are read from an archive's logs."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.read = 0
        messages = SqliteArchive.messages

        def counted(archive: SqliteArchive, *given: Any, **named: Any) -> list[Message]:  # noqa: ANN401
            found = messages(archive, *given, **named)
            self.read += len(found)
            return found

        patch.setattr(SqliteArchive, "messages", counted)


def reopened(
    path: Path, sent: list[Message], patch: pytest.MonkeyPatch
) -> tuple[list[Message], int]:
    """Return the view of a thread in a new process, and how many messages of its log were read."""
    with patch.context() as context, EngineSlot(POLICY, archive=path) as slot:
        counted = CountedReads(context)
        return slot.view("t", sent, CALL), counted.read


def test_a_restart_reads_only_what_the_last_request_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rounds in (10, 40):
        path, sent = tmp_path / f"{rounds}.db", [*thread(rounds), user("more")]
        with EngineSlot(POLICY, archive=path) as slot:
            slot.view("t", sent[:-5], CALL)
            before = slot.view("t", sent, CALL)
        after, read = reopened(path, sent, monkeypatch)
        assert [m.text for m in after] == [m.text for m in before]
        assert read < 20


@pytest.mark.parametrize("position", [0, 2, 30])
def test_a_message_that_was_changed_before_a_restart_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    sent = [*thread(10), user("more")]
    with EngineSlot(POLICY, archive=tmp_path / "t.db") as slot:
        slot.view("t", sent, CALL)
    sent[position] = replace(sent[position], parts=(Text("Something else."),))
    view, read = reopened(tmp_path / "t.db", [*sent, user("and now?")], monkeypatch)
    assert len(sent) <= read < 2 * len(sent)
    kept = "\n".join(m.text for m in view)
    assert "Something else." in kept
    assert position or "question 0" not in kept


def test_a_message_that_was_removed_before_a_restart_is_in_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [user("My code is 4711."), *thread(10), user("more")]
    with EngineSlot(POLICY, archive=tmp_path / "t.db") as slot:
        assert "4711" in "".join(m.text for m in slot.view("t", sent, CALL))
    view, read = reopened(tmp_path / "t.db", [*sent[1:], user("and now?")], monkeypatch)
    assert read < 2 * len(sent)
    assert "4711" not in "".join(m.text for m in view)


def test_a_thread_of_an_older_version_is_compared_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [*thread(3), user("more")]
    with monkeypatch.context() as older, EngineSlot(POLICY, archive=tmp_path / "t.db") as slot:
        older.setattr("thalweg.archive.threads.session.StateDigest.of", lambda *_: "")
        before = slot.view("t", sent, CALL)
    after, read = reopened(tmp_path / "t.db", sent, monkeypatch)
    assert [m.text for m in after] == [m.text for m in before]
    assert read >= len(sent)
    _, read = reopened(tmp_path / "t.db", [*sent, user("and now?")], monkeypatch)
    assert read < 2 * len(sent)


def test_a_call_has_its_batch_of_messages_indexed(slot: EngineSlot) -> None:
    """The index is complete before the first search."""
    slot.view("t", [user(f"gauge {n}") for n in range(2 * INDEX_BATCH)], CALL)
    for worker in threading.enumerate():
        if worker.name == "thalweg-index":
            worker.join()
    with slot.archive._database.reading("local") as db:  # noqa: SLF001 (no public count)
        assert index_progress(db, ThreadKey("local", "t")) is None


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@pytest.mark.parametrize(
    "media",
    [
        Media("", url="https://x/y.png"),
        Media("application/pdf", url="https://x/y.pdf"),
        Media("image/jpg", data="aGVsbG8="),
    ],
    ids=["an address", "a file by address", "another name of a type"],
)
def test_media_that_a_frameworks_client_converts_are_sent(
    slot: EngineSlot, wire: str, media: Media
) -> None:
    """It reads addresses, and sets the types that its provider knows."""
    sent = [Message("user", (Text("What is this?"), media))]
    view = slot.view("t", sent, replace(CALL, wire=wire))
    assert media in view[0].parts


@pytest.mark.parametrize("name", ["thread", "self"])
def test_an_argument_that_a_model_makes_up_is_ignored(slot: EngineSlot, name: str) -> None:
    """Also one with the name of a parameter."""
    slot.view("t", [user("heron")], CALL)
    assert slot.recall("t", query="heron", **{name: "x"}) == slot.recall("t", query="heron")
