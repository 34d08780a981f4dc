"""Imports add what is new, once, in any state of the source."""

import json
import os
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.archives import archive_in_memory
from recorder_tests.unit.recorder.sessions import (
    KEY,
    SESSION,
    JsonRow,
    call,
    compacted,
    import_one,
    logged,
    model,
    numbered,
    result,
    text,
    texts,
    user,
    write,
)
from thalweg.archive import Archive, open_archive
from thalweg.archive.threads.journal import read_pages
from thalweg.archive.threads.thread_history import history
from thalweg.engine.entries import Media, Message, Opaque, ToolCall
from thalweg.engine.pricing.usage import Usage
from thalweg_recorder import import_sessions, importing, list_sessions
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.importing import redact_escaped, without_secrets
from thalweg_recorder.recordings import Recording
from thalweg_recorder.recordings.base import ResumePoint
from thalweg_recorder.recordings.files import read_growing

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def archive() -> Archive:
    return archive_in_memory()


def test_an_import_of_nothing_new_adds_nothing(archive: Archive, tmp_path: Path) -> None:
    path = write(tmp_path, numbered([1, 2]))

    assert import_one(archive, path).new == 2
    os.utime(path)  # changed, but for nothing in it
    assert import_one(archive, path).new == 0
    assert texts(archive) == ["request 1", "request 2"]
    assert import_one(archive, path).skipped == "unchanged"


def test_rows_that_were_added_are_imported_alone(archive: Archive, tmp_path: Path) -> None:
    import_one(archive, write(tmp_path, numbered([1, 2])))

    assert import_one(archive, write(tmp_path, numbered([1, 2, 3]))).new == 1
    assert texts(archive) == ["request 1", "request 2", "request 3"]


def test_a_row_that_is_being_written_is_imported_when_it_is_whole(
    archive: Archive, tmp_path: Path
) -> None:
    whole = write(tmp_path, numbered([1, 2])).read_text()

    import_one(archive, write(tmp_path, [whole[:-30]]))
    assert texts(archive) == ["request 1"]
    import_one(archive, write(tmp_path, [whole]))
    assert texts(archive) == ["request 1", "request 2"]


def test_an_answer_that_was_not_complete_gets_its_further_parts(
    archive: Archive, tmp_path: Path
) -> None:
    rows = [
        user(1, "list it"),
        model(2, "m1", text("I look.")),
        model(3, "m1", call("c1", command="ls")),
        result(4, "c1", "README.md"),
    ]

    import_one(archive, write(tmp_path, rows[:2]))
    import_one(archive, write(tmp_path, rows))
    import_one(archive, write(tmp_path, rows))

    asked, begun, rest, listed = logged(archive)
    assert (asked.text, begun.text, listed.text) == ("list it", "I look.", "README.md")
    assert [part.name for part in rest.calls] == ["Bash"]
    assert rest.text == ""
    ((_, session),) = list_sessions(archive)
    assert (session.total.calls, session.total.input) == (1, 1_500)


@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_log_is_read_whole_if_its_thread_changed_since_the_point_was_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_deleted: bool
) -> None:
    rows = [
        row for n in (1, 3, 5, 7) for row in (user(n, f"{n}"), model(n + 1, f"m{n}", text("ok")))
    ]
    with open_archive(tmp_path / "a.db") as archive:
        import_one(archive, write(tmp_path, rows[:4]))

        def read_slowly(path: Path, agent: str, point: ResumePoint) -> Recording:
            recording = read_growing(path, agent, point)
            assert recording.resumed == point
            monkeypatch.undo()
            if is_deleted:
                archive.delete(KEY)
            else:
                import_one(archive, write(tmp_path, rows))
            return recording

        path = write(tmp_path, rows[:6])
        monkeypatch.setattr(importing, "read_growing", read_slowly)
        import_one(archive, path)

        ((_, session),) = list_sessions(archive)
        assert session.total.calls == (3 if is_deleted else 4)
        assert len(texts(archive)) == (6 if is_deleted else 8)


def test_equal_rows_without_ids_are_counted(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    row = '{"role": "user", "content": "yes"}\n{"role": "assistant", "content": "ok"}\n'
    for rows, new in ((2, 4), (1, 0), (3, 2)):
        path.write_text(row * rows)
        assert import_one(archive, path).new == new


@settings(deadline=None, max_examples=60)
@given(states=st.lists(st.lists(st.integers(0, 9), max_size=8), min_size=1, max_size=6))
def test_every_row_that_an_import_saw_stays_once(
    tmp_path_factory: pytest.TempPathFactory, states: list[list[int]]
) -> None:
    """However the file is truncated, rewritten or reordered between two imports."""
    folder = tmp_path_factory.mktemp("session")
    with open_archive(":memory:") as archive:
        seen: Counter[str] = Counter()
        for state in states:
            for _ in import_sessions(archive, [write(folder, numbered(state))]):
                pass
            seen |= Counter(f"request {number}" for number in set(state))
            assert Counter(texts(archive)) == seen
        pages = read_pages(archive, KEY).values()
        assert all(one.length <= other.length for one, other in pairwise(pages))
        assert len(history(archive, KEY)) == archive.length(KEY)


def test_a_session_is_described_and_what_it_lost_stays(archive: Archive, tmp_path: Path) -> None:
    rows = [user(1, "Fix the cart"), model(2, "m1", text("done")), *compacted(3, "They fixed it.")]
    import_one(archive, write(tmp_path, rows))
    import_one(archive, write(tmp_path, [user(9, "And now?")]))

    ((thread, session),) = list_sessions(archive)
    assert thread == KEY.thread
    assert (session.agent, session.project, session.branch) == ("claude-code", "/src/shop", "main")
    assert (session.title, session.model) == ("Fix the cart", "claude-opus-4-5")
    (usage,) = session.usage
    assert usage == Usage(1_500, cached=500, output=10, model="claude-opus-4-5")
    assert session.cost == pytest.approx((1_000 * 5 + 500 * 0.5 + 10 * 25) / 1e6)
    assert session.started_at < session.compacted_at < session.ended_at
    assert session.compactions == 1


def test_a_compaction_is_kept_with_its_place_and_summary(archive: Archive, tmp_path: Path) -> None:
    rows = [user(1, "Fix it"), *compacted(3, f"Uses {SECRET}."), user(5, "Go on")]
    import_one(archive, write(tmp_path, rows))

    (page,) = read_pages(archive, KEY).values()
    (compaction,) = page.session["new_compactions"]
    assert (compaction["position"], compaction["tokens_before"]) == (1, 150_000)
    summary = archive.attachment(KEY, compaction["summary"])
    assert summary == "Uses [redacted: GitHub token]."
    assert texts(archive) == ["Fix it", "Go on"]


def test_secrets_do_not_reach_the_archive(tmp_path: Path) -> None:
    rows = [
        {"type": "custom-title", "customTitle": f"Use {SECRET}", "sessionId": SESSION},
        user(1, f"Use {SECRET}"),
        model(2, "m1", call("c1", command=f"export T={SECRET}")),
        result(3, "c1", f"T={SECRET}"),
    ]
    place = tmp_path / "a.db"
    with open_archive(place) as archive:
        import_one(archive, write(tmp_path, rows))
        ((_, session),) = list_sessions(archive)
        assert session.resume is not None
        assert session.resume.session.title == "Use [redacted: GitHub token]"
        assert archive.search(KEY, "export")
    assert SECRET.encode() not in place.read_bytes()


def test_no_beginning_of_a_secret_is_left_where_a_text_is_cut(
    archive: Archive, tmp_path: Path
) -> None:
    """A title and the text about a result are the beginnings of others."""
    words = "the service of our customers needs a key today, so use "
    rows = [
        user(1, f"{words}{SECRET}"),
        model(2, "m1", call("c1", command=f"deploy {words}{SECRET}")),
        result(3, "c1", "deployed"),
    ]
    import_one(archive, write(tmp_path, rows))
    ((_, session),) = list_sessions(archive)
    (about,) = filter(None, (hit.about for hit in archive.search(KEY, "deployed")))
    assert session.title.startswith(f"{words}[redact")
    assert about.startswith(f"Bash(deploy {words}[")
    assert SECRET[:5] not in f"{session.title} {about}"


def test_what_is_excluded_or_opted_out_is_not_imported(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / ".thalweg-off").touch()
    path = write(tmp_path, [{**user(1, "hi"), "cwd": str(tmp_path / "deep" / "in")}])

    (one,) = import_sessions(archive, [path])
    (other,) = import_sessions(archive, [path], exclude=[f"{tmp_path}/*"])
    assert (one.skipped, other.skipped) == ("opted out", "excluded")
    assert archive.threads("local") == []


def test_gemini_cli_names_the_project_beside_its_sessions(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "tmp" / "shop" / "chats" / "session-1.json"
    path.parent.mkdir(parents=True)
    (path.parent.parent / ".project_root").write_text("/src/shop\n")
    said = '{"id": "1", "type": "user", "content": "hi"}'
    path.write_text(f'{{"sessionId": "s1", "messages": [{said}]}}')
    import_one(archive, path)
    ((thread, session),) = list_sessions(archive)
    assert (thread, session.project) == ("gemini-cli:s1", "/src/shop")


def test_a_project_is_excluded_by_its_path(archive: Archive, tmp_path: Path) -> None:
    path = write(tmp_path, numbered([1]))
    (one,) = import_sessions(archive, [path], exclude=["/src/shop"])
    assert one.skipped == "excluded"


def test_every_session_of_a_file_is_imported_once(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "chats.jsonl"
    chats = [{"messages": [{"role": "user", "content": text}]} for text in ("hi", "ho")]
    path.write_text("".join(f"{json.dumps(chat)}\n" for chat in chats))

    assert [one.new for one in import_sessions(archive, [path])] == [1, 1]
    assert [one.skipped for one in import_sessions(archive, [path])] == ["unchanged"] * 2
    sources = [Path(session.source).name for _, session in list_sessions(archive)]
    assert sorted(sources) == ["chats.jsonl#0", "chats.jsonl#1"]


def test_what_was_forgotten_is_not_imported_again(archive: Archive, tmp_path: Path) -> None:
    forgotten = ForgottenNames(tmp_path / "home")
    forgotten.add([KEY.thread])
    path = write(tmp_path, numbered([1]))
    (one,) = import_sessions(archive, [path], forgotten=forgotten)
    assert one.skipped == "forgotten"
    assert KEY.thread not in (tmp_path / "home" / "forgotten").read_text()


def test_a_source_that_cannot_be_read_does_not_stop_the_others(
    archive: Archive, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_text('"no session"\n')
    gone = tmp_path / "gone.jsonl"

    results = list(import_sessions(archive, [odd, gone, write(tmp_path, numbered([1]))]))
    assert [bool(one.error) for one in results] == [True, True, False]
    assert "no such file" in results[1].error
    assert results[2].new == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": 'password: "hunter2hunter2"'},
        {"content": 'x = 1\nDB_PASSWORD="hunter2hunter2"'},
        {"edits": [{"new": '{"password": "hunter2hunter2", "n": 1}'}]},
        {"content": json.dumps({"body": '{"password": "hunter2hunter2"}'})},
        {"password": "hunter2hunter2"},
        {"command": f"curl -H 'x: {SECRET}' \\"},
    ],
)
def test_secrets_inside_of_arguments_are_redacted(arguments: dict[str, object]) -> None:
    """Of calls and of parts in an unknown form; they stay JSON."""
    body = json.dumps(arguments)
    message = Message("assistant", (ToolCall("c", "Write", body), Opaque("w", body)), extra=body)
    safe = without_secrets(message)
    written, opaque = safe.parts
    assert isinstance(written, ToolCall)
    assert isinstance(opaque, Opaque)
    for stored in (written.arguments, opaque.json, safe.extra):
        assert "hunter2" not in stored
        assert SECRET not in stored
        assert json.loads(stored).keys() == arguments.keys()


def test_only_the_content_of_media_is_kept_as_it_is() -> None:
    url = "https://ada:hunter2hunter2@example.org/a.png"
    (media,) = without_secrets(Message("user", (Media("image/png", "aGk=", url),))).parts
    assert isinstance(media, Media)
    assert (media.data, "hunter2" in media.url) == ("aGk=", False)


@pytest.mark.parametrize("body", ["", "{", "[" * 100_000, '{"a": 1.50,  "b": "\\ud800"}'])
def test_arguments_without_secrets_are_kept_as_they_are(body: str) -> None:
    message = Message("assistant", (ToolCall("c", "Write", body),), extra=body)
    assert without_secrets(message) == message


@pytest.mark.timeout(60)  # quadratic time needs eleven minutes
@pytest.mark.parametrize(
    "text",
    [
        '{"command": "export API_KEY=\\"hunter2hunter2hunter2',
        '{"command": "export API_KEY=\\"hunter2hunter2hunter2\\""',
        '{"command": "cd /src\nexport API_KEY=\\"hunter2hunter2hunter2\\""}',
        '{"content": "' + 'a \\"b\\" c' * 20_000 + ' API_KEY=\\"hunter2hunter2hunter2',
    ],
)
def test_a_string_that_is_cut_off_or_of_several_lines_is_redacted(text: str) -> None:
    """Its marks stay as many as they were; a long one takes no longer for each of its marks."""
    safe = redact_escaped(text)
    assert "hunter2" not in safe
    assert safe.count('"') == text.count('"')


def test_a_redacted_string_with_half_a_character_can_be_stored() -> None:
    safe = redact_escaped('{"a": "\\ud800 API_KEY=\\"hunter2hunter2hunter2\\""}')
    assert "hunter2" not in safe
    assert safe.encode().startswith(b'{"a": "? API_KEY=')


def test_a_session_without_a_message_is_skipped_unless_a_row_is_in_another_form(
    tmp_path: Path,
) -> None:
    rows: list[JsonRow | str] = [
        {"type": "summary", "summary": "Fix the cart", "leafUuid": "u1"},
        {"type": "file-history-snapshot", "isSnapshotUpdate": False},
        {"type": "queue-operation", "sessionId": SESSION},
    ]
    with open_archive(":memory:") as archive:
        (none,) = import_sessions(archive, [write(tmp_path, rows)])
        (other,) = import_sessions(archive, [write(tmp_path, [*rows, {"type": "turn"}])])
        header = {"sessionId": SESSION, "projectHash": "f0", "kind": "main"}
        (gemini,) = import_sessions(archive, [write(tmp_path, [header])])
        (broken,) = import_sessions(archive, [write(tmp_path, [*rows, "{broken\n"])])
    assert (none.skipped, none.error) == ("without messages", "")
    assert (gemini.skipped, gemini.error) == ("without messages", "")
    assert "unknown format" in other.error
    assert "no message that can be read" in broken.error
