"""Imported sessions next to threads of a gateway: listed, read, branched, and not answered.

The routes come from the document, so a new one is tried as well.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from recorder_tests.e2e.test_cli import environment, posix
from server_tests.e2e.forked_command import run
from server_tests.e2e.test_chat_terminal import chat
from server_tests.gateway import worlds
from server_tests.gateway.test_owners import DOCUMENT, body_of
from server_tests.serving import Served, gateway
from thalweg.errors import RecordedThreadError
from thalweg_server.api.paths import path_of
from thalweg_server.client import ThalwegClient

SESSION = "11111111-1111-4111-8111-111111111111"
IMPORTED = f"claude-code:{SESSION}"
TITLE = "Cutover of the shop"
QUESTION = "When do we cut over the database of the shop to the new cluster?"
ANSWER = "On the ninth of May."
OF_A_THREAD = [
    (method, path, operation["operationId"])
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
    if "{thread}" in path
]
CHANGES = {
    "compact_thread",
    "pin",
    "rewind_thread",
    "start_run",
    "stream",
    "undo_compaction",
    "unpin",
    "update_thread",
    "upload_file",
}
"""Operations that are refused: the session is its agent's."""
PARTS = {"cancel_run", "delete_upload", "download_artifact", "get_media", "get_run", "join_run"}
PARTS |= {"wait_run"}
"""Operations on a run or a file, which an imported session does not have."""
UNRECORDED = {"get_context"}
"""No request of this session is in its journal."""


def log(home: Path, session: str = SESSION, *, year: int = 2026) -> Path:
    """Write the log of a session of Claude Code."""
    base = {"sessionId": session, "cwd": "/src/shop", "timestamp": f"{year}-11-01T10:00:00.000Z"}
    answer = {
        "id": "m1",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": ANSWER}],
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    rows = [
        {"type": "ai-title", "aiTitle": TITLE, "sessionId": session},
        {**base, "type": "user", "uuid": "a", "message": {"role": "user", "content": QUESTION}},
        {**base, "type": "assistant", "uuid": "b", "parentUuid": "a", "message": answer},
    ]
    path = home / f"{session}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def thalweg(
    home: Path, *arguments: str, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of the person whose sessions are imported."""
    env = environment(HOME=str(home), THALWEG_HOME=str(home / "data"))
    return run(*arguments, cwd=home, env=env, given=given)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    done = thalweg(folder, "record", "import", str(log(folder)))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def served(home: Path) -> Iterator[Served]:
    with gateway(worlds.settings(home / "data"), owner="local") as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[ThalwegClient]:
    with ThalwegClient(served.url) as opened:
        yield opened


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [one for one in OF_A_THREAD if one[2] != "delete_thread"],
    ids=lambda value: value if "/" not in value else "",
)
def test_every_route_takes_the_id_or_says_why_not(
    served: Served, method: str, path: str, operation: str
) -> None:
    template = path.replace("{thread}", "{}")
    names = {"run": "r-none", "name": "none.md", "path": "none.md"}
    for name, value in names.items():
        template = template.replace(f"{{{name}}}", value)
    url = served.url + path_of(template, IMPORTED)

    body = {"json": {}} if operation == "branch_thread" else body_of(operation)

    response = httpx2.request(method, url, timeout=30, **body)

    problem = {} if response.is_success else response.json()
    assert "^" not in problem.get("detail", "")
    if operation in CHANGES:
        assert (response.status_code, problem["code"]) == (409, "thread.recorded")
        assert "claude-code recorded" in problem["detail"]
        assert "branch it" in problem["detail"]
    elif operation in PARTS:
        assert response.status_code == 404
        assert not problem["code"].startswith("route.")
    elif operation in UNRECORDED:
        assert (response.status_code, problem["code"]) == (422, "archive")
        assert "no request to a model is recorded in it" in problem["detail"]
    else:
        assert response.is_success, response.text


def test_a_session_is_found_and_read(client: ThalwegClient) -> None:
    items = client.list_threads(words="ninth May").items
    (found,) = (one for one in items if one.id == IMPORTED)

    assert (found.recorded_by, found.messages, found.model_calls) == ("claude-code", 2, 1)
    assert client.get_thread(IMPORTED) == found
    assert [one.message.text for one in client.get_history(IMPORTED).items] == [QUESTION, ANSWER]
    assert [one.kind for one in client.list_turns(IMPORTED).items] == ["import"]
    assert QUESTION in client.export_thread(IMPORTED)


def test_it_has_the_same_title_everywhere(home: Path, client: ThalwegClient) -> None:
    sessions = json.loads(thalweg(home, "record", "search", "--json").stdout)["sessions"]
    replayed = json.loads(thalweg(home, "replay", f"{SESSION}.jsonl", "--json").stdout)

    assert {one["title"] for one in sessions} == {TITLE}
    assert {one["title"] for one in replayed["runs"]} == {TITLE}
    assert client.get_thread(IMPORTED).title == TITLE


def test_a_chat_continues_a_thread_of_its_own(tmp_path: Path) -> None:
    """One session is older than the chat, another one newer."""
    assert thalweg(tmp_path, "record", "import", str(log(tmp_path))).returncode == 0
    with gateway(worlds.settings(tmp_path / "data"), owner="local") as served:
        chat = ("chat", "--url", served.url)
        nothing = thalweg(tmp_path, *chat, "--continue", given="hello")
        assert nothing.returncode == 2
        assert "there is no thread yet" in nothing.stderr
        assert thalweg(tmp_path, *chat, "--thread", "trip", given="hello").returncode == 0
        later = "22222222-2222-4222-8222-222222222222"
        newest = str(log(tmp_path, later, year=2999))
        assert thalweg(tmp_path, "record", "import", newest).returncode == 0
        with ThalwegClient(served.url) as client:
            listed = [one.id for one in client.list_threads().items]

        continued = thalweg(tmp_path, *chat, "--continue", given="and on")

    assert (listed[0], continued.returncode) == (f"claude-code:{later}", 0)
    assert "and on" in thalweg(tmp_path, "thread", "show", "trip", "--messages").stdout


def test_a_chat_does_not_answer_it_and_says_how_to_go_on(home: Path, served: Served) -> None:
    done = thalweg(home, "chat", "--url", served.url, "--thread", IMPORTED, given="hello")

    assert (done.returncode, done.stdout) == (2, "")
    assert "claude-code recorded" in done.stderr
    assert "/branch" in done.stderr


@posix
def test_a_chat_on_a_terminal_shows_it_refuses_and_branches(home: Path, served: Served) -> None:
    with chat(home, "--url", served.url, "--thread", "trip") as terminal:
        terminal.until_asked()
        for typed, seen in (
            ("/threads", TITLE),
            (f"/thread {IMPORTED}", "recorded by claude-code: read only; /branch continues"),
            ("hello", "is a session that"),
            ("/branch", "thread "),
        ):
            terminal.say(typed)
            terminal.until_seen(seen)
            terminal.until_asked()
        assert any(re.fullmatch("thread [0-9a-f]{32}", row) for row in terminal.all_rows())
        terminal.say("/quit")
        assert terminal.wait() == 0


def test_a_branch_of_it_is_answered(client: ThalwegClient) -> None:
    branch = client.branch_thread(IMPORTED, "shop/cutover")

    assert client.chat("And then?", branch.id)
    texts = [one.message.text for one in client.get_history(branch.id).items]
    assert texts[:2] == [QUESTION, ANSWER]
    assert "And then?" in texts
    assert (branch.title, branch.recorded_by) == (TITLE, "")


@pytest.mark.parametrize("thread", ["team/42", "é?#&=% ü", "..", "a%2Fb", "x:y@z", "名前"])
def test_an_id_of_any_letters_works_in_each_place(
    home: Path, served: Served, client: ThalwegClient, thread: str
) -> None:
    """A run, its location, a file, the log, and the command line."""
    assert client.chat("hello", thread)
    (one,) = client.list_runs(thread).items
    sent = client.upload_file(thread, ("a.md", b"words"))
    content = client.download_artifact(thread, sent.items[0].path)
    exported = httpx2.get(served.url + path_of("/api/threads/{}/export", thread))

    assert client.wait_run(thread, one.id).thread == thread
    assert content == b"words"
    assert exported.is_success
    assert client.get_thread(thread).id == thread
    assert "hello" in thalweg(home, "thread", "show", thread, "--messages").stdout
    assert client.delete_thread(thread).thread == thread


def test_the_error_of_a_client_is_the_error_of_the_gateway(client: ThalwegClient) -> None:
    with pytest.raises(RecordedThreadError, match="claude-code recorded"):
        client.chat("hello", IMPORTED)


def test_deleting_it_says_what_brings_it_back(tmp_path: Path) -> None:
    assert thalweg(tmp_path, "record", "import", str(log(tmp_path))).returncode == 0
    with ThalwegClient(worlds.settings(tmp_path / "data")) as client:
        deleted = client.delete_thread(IMPORTED)

        assert any("`thalweg record forget`" in line for line in deleted.left)
        assert client.list_threads().items == ()
