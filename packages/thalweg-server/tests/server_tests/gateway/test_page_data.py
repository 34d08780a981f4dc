"""The data of the page: equal to those of the other operations, the terminal and the report."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server_tests.browser import page_world
from server_tests.gateway import worlds
from server_tests.serving import gateway
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.archive.threads.journal import ThreadBranch, TurnRecord, append_page
from thalweg.engine.entries import Media, Message, Text
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.recordings import read_recording
from thalweg_recorder.replay.fleet import tariff_of
from thalweg_recorder.replay.questions import Questions, requests_of
from thalweg_recorder.replay.recorded import recorded_run
from thalweg_recorder.replay.subject import subject_of, terms_of
from thalweg_server.api.paths import path_of
from thalweg_server.app.page import _request_message

RECORDED = path_of("/api/page/threads/{}", page_world.RECORDED)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    page_world.make_archive(folder / "home")
    with open_archive(folder / "home/thalweg.db") as archive:
        page = TurnRecord(kind="import", at=1.7e9, length=1, line=ThreadBranch.of([0]))
        media = (Media("image/png", "A"), Media("image/png", "", "https://example.org/a.png"))
        key = ThreadKey(page_world.OWNER, "unreadable")
        append_page(archive, key, page, length=0, log=[Logged(Message("user", media))])
    return folder


@pytest.fixture(scope="module")
def http(home: Path) -> Iterator[httpx2.Client]:
    with (
        gateway(worlds.settings(home / "home"), owner=page_world.OWNER) as served,
        httpx2.Client(base_url=served.url, timeout=30) as client,
    ):
        yield client


def read(http: httpx2.Client, path: str) -> Any:  # noqa: ANN401 (JSON)
    return http.get(path).raise_for_status().json()


def test_figures_are_those_of_turns_usage_and_context(http: httpx2.Client) -> None:
    found = read(http, "/api/page/threads/cutover")
    turns = read(http, "/api/threads/cutover/turns")["items"]
    usage = read(http, "/api/threads/cutover/usage")
    context = read(http, "/api/threads/cutover/context?turn=12")
    request = read(http, "/api/page/threads/cutover/request?turn=12")

    calls = [one for one in turns if one["turn"]]
    assert [one["tokens"] for one in found["calls"]] == [one["tokens"] for one in calls]
    assert found["thread"]["cost"] == usage["total"]["cost"]
    assert sum(one["cost"] for one in found["calls"]) == pytest.approx(usage["total"]["cost"])
    assert found["saved"] == pytest.approx(usage["saved"])
    assert found["lost"] == []
    edits = [edit for one in found["changes"] for edit in one["edits"]]
    assert edits == [edit for one in turns for edit in one["edits"]]
    assert [one["text"] for one in request["messages"]] == [
        one["text"][:1500] for one in context["messages"]
    ]
    assert {one["form"] for one in request["messages"]} == {"whole", "summary"}


def test_one_message_of_a_request_is_returned_whole(http: httpx2.Client) -> None:
    request = read(http, "/api/page/threads/cutover/request?turn=3")
    (long,) = [one for one in request["messages"] if one["is_new"] and one["more"]]

    (whole,) = read(http, f"/api/page/threads/cutover/request?turn=3&index={long['index']}")[
        "messages"
    ]

    assert len(whole["text"]) == len(long["text"]) + long["more"]
    assert whole["more"] == 0


def test_a_recorded_session_has_the_costs_and_the_losses_of_the_report(
    http: httpx2.Client, home: Path
) -> None:
    found = read(http, RECORDED)
    recording = read_recording(home / f"{page_world.SESSION}.jsonl")
    subject = subject_of(recording, Questions(goals=requests_of(recording)))

    run = recorded_run(subject, terms_of(subject, tariff_of(recording), "model"), 200_000)

    tariff = run.usd_per_million or 0.0
    assert found["thread"]["cost"] == pytest.approx(sum(c["cost"] for c in found["calls"]))
    assert found["thread"]["cost"] == pytest.approx(run.logged_bill * tariff / 1e6)
    saved = run.bill_unmanaged - sum(call.bill.total for call in run.calls)
    assert found["saved"] == pytest.approx(saved * tariff / 1e6)
    assert [one["text"][:160] for one in found["lost"]] == list(run.goals_missing)
    assert [sum(c["sections"].values()) for c in found["calls"]] == [
        c["input_tokens"] for c in found["calls"]
    ]
    assert [one["kind"] for one in found["changes"]] == ["compaction"]
    # The log states 160 tokens of each answer but the first, of which it states the first token.
    assert [c["is_output_counted"] for c in found["calls"]] == [True, *[False] * 17]
    assert found["calls"][0]["output_tokens"] > 10


def test_a_recorded_request_is_the_summary_and_what_followed(http: httpx2.Client) -> None:
    first = read(http, f"{RECORDED}/request?turn=1")
    after = read(http, f"{RECORDED}/request?turn=10")

    assert [one["form"] for one in first["messages"]] == ["whole"]
    assert [one["form"] for one in after["messages"]] == ["summary", "whole"]
    assert after["removed"] == [{"first": 0, "last": 18}]


def test_words_find_a_thread_and_the_passage(http: httpx2.Client) -> None:
    (row,) = read(http, "/api/page/threads?q=primary key")["items"]

    assert (row["id"], row["compactions"]) == ("cutover", 1)
    assert "primary key" in row["passage"]
    (named,) = read(http, "/api/page/threads?q=flaky")["items"]
    assert (named["id"], named["passage"]) == (page_world.RECORDED, "")


def test_threads_of_an_agent_a_project_or_a_compaction_are_listed_alone(
    http: httpx2.Client,
) -> None:
    def names(query: str = "") -> list[str]:
        return [row["id"] for row in read(http, f"/api/page/threads?{query}")["items"]]

    found = read(http, "/api/page/threads")

    assert (found["agents"], found["projects"]) == (["claude-code", "own"], ["/src/shop"])
    assert {row["id"]: row["lost"] for row in found["items"]}[page_world.RECORDED] == 3
    assert names("agent=own") == ["cutover", "unreadable"]
    assert names("agent=claude-code") == names("project=/src/shop") == [page_world.RECORDED]
    assert names("compacted=true") == ["cutover", page_world.RECORDED]
    assert names("agent=own&q=flaky") == []
    first = read(http, "/api/page/threads?agent=own&limit=1")
    assert (first["items"][0]["id"], first["agents"]) == ("cutover", ["claude-code", "own"])
    second = read(http, f"/api/page/threads?agent=own&limit=1&before={first['before']}")
    assert [row["id"] for row in second["items"]] == ["unreadable"]
    assert (second["before"], second["agents"]) == (None, [])


def test_a_picture_of_a_message_is_returned_as_it_is(http: httpx2.Client) -> None:
    found = http.get(f"{RECORDED}/media?position=0").raise_for_status()

    assert found.headers["Content-Type"] == "image/png"
    assert base64.b64encode(found.content).decode() == page_world.PIXEL


def test_a_picture_of_a_request_has_its_number_in_the_message_of_the_thread() -> None:
    """Of two pictures the first was replaced by its name."""
    first, second = Media("image/png", "AAAA"), Media("image/jpeg", "BBBB")
    item = WindowItem(Message("user", (Text("[picture]"), second)), 3, 9, section="history")

    shown = _request_message(0, item, Message("user", (first, second)), None, is_new=True)
    assert [(one.mime, one.index) for one in shown.media] == [("image/jpeg", 1)]


def test_a_picture_that_cannot_be_read_is_refused_with_the_reason(http: httpx2.Client) -> None:
    path = "/api/page/threads/unreadable/media?position=0"

    assert "base64" in http.get(path).json()["detail"]
    assert "is not stored here" in http.get(f"{path}&index=1").json()["detail"]
    assert "has 2" in http.get(f"{path}&index=2").json()["detail"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/page/threads/none", 404),
        ("/api/page/threads/cutover/request?turn=99", 422),
        (f"{RECORDED}/request?turn=99", 422),
        (f"{RECORDED}/media?position=1", 404),
        ("/api/page/threads/unreadable/media?position=0&index=0", 404),
        ("/api/page/threads/unreadable/media?position=0&index=1", 404),
    ],
)
def test_what_is_not_there_is_named(http: httpx2.Client, path: str, status: int) -> None:
    response = http.get(path)

    assert response.status_code == status
    assert response.json()["detail"]


def test_the_page_and_its_files_need_no_token_and_run_no_script_of_others(
    http: httpx2.Client,
) -> None:
    root = http.get("/")

    assert "default-src 'none'" in root.headers["Content-Security-Policy"]
    assert http.get("/page/page.js").is_success
    assert http.get("/page/none.js").status_code == 404
