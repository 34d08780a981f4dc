"""A process that performs a run is killed: another resumes it, and nothing is repeated."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from core_tests.forking import start
from server_tests.e2e.app_killed import TOOLS
from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import answer, check_laws
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def kill_at(home: Path, step: str, message: str) -> None:
    performing = "thalweg_server.app.performing"
    given = ("server_tests.e2e.app_killed", home, step, message)
    with start(*given, stdout=subprocess.PIPE, imports=[performing]) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("step", "message", "said"),
    [
        ("tool", "use slow carefully", "The tool said: CAREFULLY"),
        ("writing", "dictate it", "about 1 requests"),
    ],
)
async def test_what_was_asked_is_in_the_thread_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, message: str, said: str
) -> None:
    await asyncio.to_thread(kill_at, tmp_path, step, message)
    monkeypatch.setenv("THALWEG_TEST_FAST", "1")
    async with open_app(settings(tools=TOOLS), home=tmp_path) as app:
        ada = app.tenant("ada")
        events = [one async for one in ada.runs.follow("t1", "r1")]
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        told = [one.event for one in events]
        assert [event.type for event in told].count("run.started") == 1
        assert "run.resumed" in [event.type for event in told]
        check_laws(told)
        assert said in answer(told)
        history = (await ada.threads.history("t1")).items
        assert [one.message.text for one in history if one.message.role == "user"] == [message]
        assert history[0].message.id == "r1-0"
        after = await ada.runs.start("t1", NewRun(message="go on"))
        await ada.runs.wait("t1", after.id)
        roles = [one.message.role for one in (await ada.threads.history("t1")).items]
        assert roles.count("user") == 2


async def test_the_same_request_after_a_crash_is_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(kill_at, tmp_path, "tool", "use slow twice")
    monkeypatch.setenv("THALWEG_TEST_FAST", "1")
    async with open_app(settings(tools=TOOLS), home=tmp_path) as app:
        ada = app.tenant("ada")
        again = await ada.runs.start("t1", NewRun(id="r1", message="use slow twice"))
        done = await ada.runs.wait("t1", again.id, timeout_s=30)
        assert (done.status, done.attempts) == ("completed", 2)
        requests = [
            one for one in (await ada.threads.history("t1")).items if one.message.role == "user"
        ]
        assert len(requests) == 1


@pytest.mark.parametrize(
    ("step", "message"), [("tool", "use slow carefully"), ("deleted", "hello again")]
)
async def test_a_second_run_that_is_killed_continues_from_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, message: str
) -> None:
    """The first left one checkpoint, in which its messages are whole."""
    async with open_app(settings(tools=TOOLS), home=tmp_path) as app:
        first = await app.tenant("ada").runs.start("t1", NewRun(message="hello"))
        await app.tenant("ada").runs.wait("t1", first.id)
    await asyncio.to_thread(kill_at, tmp_path, step, message)
    monkeypatch.setenv("THALWEG_TEST_FAST", "1")
    async with open_app(settings(tools=TOOLS), home=tmp_path) as app:
        ada = app.tenant("ada")
        events = [one async for one in ada.runs.follow("t1", "r1")]
        assert [one.seq for one in events] == list(range(1, len(events) + 1))
        check_laws([one.event for one in events])
        third = await ada.runs.start("t1", NewRun(message="third"))
        await ada.runs.wait("t1", third.id)
        told = [one.event async for one in ada.runs.follow("t1", third.id)]
        assert answer(told) == "You said: third. Before it: 2 requests."
        texts = [one.message.text for one in (await ada.threads.history("t1")).items]
        assert [text for text in texts if text in {"hello", message, "third"}] == [
            "hello",
            message,
            "third",
        ]
