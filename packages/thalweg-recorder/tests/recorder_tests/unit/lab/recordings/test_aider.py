"""Chat histories of aider.

`agent_logs/aider.md` has excerpts of the chats in aider's own `tests/fixtures/chat-history.md`
(Apache-2.0); `HISTORY` has the forms that histories of versions 0.4 to 0.86 in public repositories
have besides.
"""

import re
import shutil
from pathlib import Path

import pytest

from recorder_tests.unit.lab.recordings.log_files import codes
from thalweg.archive import ThreadKey, open_archive
from thalweg.errors import RecordingError
from thalweg_recorder import import_sessions
from thalweg_recorder.recordings import find_recordings, read_recording
from thalweg_recorder.recordings.files import sessions_in
from thalweg_recorder.sessions import list_sessions

LOG = Path(__file__).parents[3] / "agent_logs" / "aider.md"
STARTED = "\n# aider chat started at 2025-06-02 11:47:4"
HISTORY = f"""\
{STARTED}0

> Aider v0.86.2  \n\
> ^C KeyboardInterrupt  \n\
{STARTED}1

> Main model: gemini/pro with diff edit format  \n\
> Weak model: gemini/flash  \n\
> # 1 SEARCH/REPLACE block failed to match!

The SEARCH section must match.  \n\
>  \n\

#### <blank>  \n\

#### Restore the lines:  \n\
####   \n\
#### - all of them  \n\

#### src/App.css

> a quotation of the model

<<<<<<< SEARCH
>>>>>>> REPLACE

> Tokens: 2.4k sent, 104 received.  \n\
{STARTED}2

#### And now?  \n\
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    (path := tmp_path / "shop" / ".aider.chat.history.md").parent.mkdir()
    path.write_text(HISTORY, encoding="utf-8")
    return path


def test_chats_of_a_history_are_sessions_of_its_folder(tmp_path: Path) -> None:
    path = Path(shutil.copy(LOG, tmp_path / ".aider.chat.history.md"))

    first, second = map(read_recording, sessions_in(path))

    assert codes(first) == codes(second) == []
    for one, started in ((first, "2024-08-06T08:55:14"), (second, "2024-08-13T13:42:45")):
        assert one.session.id == f"{started}.{tmp_path.name}"
        assert one.session.project == str(tmp_path)
        assert one.session.model == "claude-3-5-sonnet-20240620"
        assert {message.at for message in one.messages} == {started}
    assert second.title == "do a bar graph with the % code on the y-axis"
    requests = [one.text for one in second.messages if one.role == "user" and one.kind == "said"]
    assert len(requests) == 4
    assert "wraps the `site.data.blame" in second.messages[5].text


def test_speakers_are_recognized_by_how_their_lines_end(history: Path) -> None:
    recording = read_recording(sessions_in(history)[0])

    assert [(m.role, m.kind, m.text) for m in recording.messages] == [
        ("user", "injected", "Aider v0.86.2\n^C KeyboardInterrupt"),
        ("user", "injected", recording.messages[1].text),
        ("user", "said", "<blank>"),
        ("user", "said", "Restore the lines:\n\n- all of them"),
        (
            "assistant",
            "said",
            "#### src/App.css\n\n> a quotation of the model\n\n<<<<<<< SEARCH\n>>>>>>> REPLACE",
        ),
        ("user", "injected", "Tokens: 2.4k sent, 104 received."),
    ]
    assert recording.messages[1].text.endswith("match!\n\nThe SEARCH section must match.")
    assert recording.session.model == "gemini/pro"
    assert HISTORY.split("\n")[recording.messages[4].line + 1] == "#### src/App.css"


def test_a_history_without_spaces_at_the_ends_of_lines_is_read(history: Path) -> None:
    history.write_text(re.sub(" +$", "", HISTORY, flags=re.MULTILINE), encoding="utf-8")

    first, second = map(read_recording, sessions_in(history))

    assert "Restore the lines:" in [m.text.split("\n")[0] for m in first.messages if m.is_request]
    assert [message.text for message in second.messages] == ["And now?"]


def test_a_history_that_grows_adds_its_new_rows_alone(history: Path, tmp_path: Path) -> None:
    archive, chats = open_archive(tmp_path / "a.db"), HISTORY.split(STARTED)
    for count in (2, 3, 4):
        history.write_text(STARTED.join(chats[:count]), encoding="utf-8")
        assert find_recordings([tmp_path])
        new = sum(one.new for one in import_sessions(archive, [history]))
        assert new == {2: 1, 3: 5, 4: 1}[count]

    threads = {name: archive.length(ThreadKey("local", name)) for name, _ in list_sessions(archive)}
    assert threads == {"aider:2025-06-02T11:47:40.shop": 6, "aider:2025-06-02T11:47:42.shop": 1}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quotation_in_an_answer_leaves_the_answer_whole(history: Path, end: str) -> None:
    answer = "> a quotation\n\nThe conclusion.\nA line of Markdown with a break  "
    begin = f"{STARTED}3\n\n> aider --message Fix:\n\nall  \n\n#### Why?  \n"
    chat = f"{begin}\n{answer}\n\n> Tokens: 1  \n"
    history.write_bytes(chat.replace("\n", end).encode())

    assert [(m.role, m.text.replace(end, "\n")) for m in read_recording(history).messages] == [
        ("user", "aider --message Fix:\n\nall"),
        ("user", "Why?"),
        ("assistant", answer),
        ("user", "Tokens: 1"),
    ]


def test_a_page_that_shows_the_header_is_no_history(tmp_path: Path) -> None:
    (page := tmp_path / "README.md").write_text(f"About aider.\n{STARTED}1\n\n#### hi  \n")

    with pytest.raises(RecordingError, match="no recording"):
        find_recordings([tmp_path])
    with pytest.raises(RecordingError, match="unknown format"):
        read_recording(page)
