"""An application over SQLite: runs from beginning to end, and who sees what of them."""

import asyncio
import base64
import hashlib
import sqlite3
import threading
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from pydantic import JsonValue

from server_tests.e2e.talkers import SUMMARIZED, settings
from thalweg.errors import (
    AnswerError,
    BusyError,
    ConfigError,
    NoSuchModelError,
    NoSuchRunError,
    NoSuchThreadError,
    RunExistsError,
    ThreadExistsError,
    ThreadIdError,
    UploadRefusedError,
)
from thalweg_server.api.events import (
    Event,
    MessageCompleted,
    MessageDelta,
    MessageStarted,
    MessageWithdrawn,
    RunCompleted,
    RunFailed,
    ToolCompleted,
    ToolStarted,
)
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.api.runs import NewRun, Run
from thalweg_server.api.threads import Branch, NewThread, Pinned, Rewind, ThreadChange
from thalweg_server.app import App, Tenant, open_app
from thalweg_server.checkpoints.owners import RunSaver
from thalweg_server.uploads.intake import UploadPolicy

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def opened(home: Path, **others: Any) -> AsyncIterator[App]:  # noqa: ANN401 (as a file has them)
    async with open_app(settings(**others), home=home) as app:
        yield app


async def say(tenant: Tenant, thread: str, message: str, **more: Any) -> list[Event]:  # noqa: ANN401
    """Send a message, and return all events."""
    run = await tenant.runs.start(thread, NewRun(message=message, **more))
    return await told(tenant, run)


async def told(tenant: Tenant, run: Run) -> list[Event]:
    events = [one async for one in tenant.runs.follow(run.thread, run.id)]
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    return [one.event for one in events]


def answer(events: Sequence[Event]) -> str:
    last = events[-1]
    assert isinstance(last, RunCompleted), last
    return last.text.strip()


def check_laws(events: Sequence[Event]) -> None:
    """Every message that began is whole or withdrawn, every tool has answered."""
    open_, texts, tools = set[str](), dict[str, str](), set[str]()
    for event in events:
        match event:
            case MessageStarted(message=id_):
                open_.add(id_)
                texts[id_] = ""
            case MessageDelta(message=id_, text=text):
                texts[id_] += text
            case MessageCompleted(message=id_, text=text):
                open_.remove(id_)
                assert texts[id_] == text
            case MessageWithdrawn(message=id_):
                open_.discard(id_)
            case ToolStarted(call=call):
                tools.add(call)
            case ToolCompleted(call=call):
                tools.remove(call)
            case _:
                pass
    assert not open_
    assert not tools


@pytest.mark.parametrize("model", ["streamer", "talker"])
async def test_a_run_tells_all_it_does_in_order(tmp_path: Path, model: str) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        plain = await say(ada, "t1", "hello", model=model)
        tool = await say(ada, "t1", "use shout hi there", model=model)
        child = await say(ada, "t1", "delegate", model=model)
    for events in (plain, tool, child):
        check_laws(events)
    assert [event.type for event in plain][:2] == ["run.started", "message.started"]
    assert answer(plain) == "You said: hello. Before it: 0 requests."
    assert answer(tool) == "The tool said: HI THERE"
    callers = {event.caller for event in child if isinstance(event, MessageStarted)}
    assert callers == {"", "t3"}  # the call of the third request
    done = child[-1]
    assert isinstance(done, RunCompleted)
    assert done.usage.calls == 3


async def test_two_owners_with_one_thread_id_never_meet(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        await say(ada, "t1", "the secret is 42")
        await say(ada, "t1", "write it down")
        his = await say(bob, "t1", "hello")
        run = (await ada.runs.list("t1")).items[0].id
        assert answer(his) == "You said: hello. Before it: 0 requests."
        assert [i.message.text.strip() for i in (await bob.threads.history("t1")).items] == [
            "hello",
            "You said: hello. Before it: 0 requests.",
        ]
        assert (await bob.threads.state("t1")).files == ()
        assert (await ada.threads.state("t1")).files == ("/a.txt",)
        assert (await bob.usage.owner()).total.calls == 1
        with pytest.raises(NoSuchRunError):
            await bob.runs.get("t1", run)
        with pytest.raises(NoSuchRunError):
            await bob.runs.cancel("t1", run)
        await bob.threads.delete("t1")
        assert answer(await say(ada, "t1", "again")) == "You said: again. Before it: 2 requests."


async def test_a_subagent_of_one_owner_never_meets_that_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        both = await asyncio.gather(say(ada, "t", "delegate"), say(bob, "t", "delegate"))
        for events in both:
            check_laws(events)
            assert answer(events).startswith("The tool said: You said: look it up. Before it: 0")
        usage = await ada.usage.thread("t")
        assert {name: one.calls for name, one in usage.callers.items()} == {
            "agent": 2,
            "subagent:general-purpose": 1,
        }
        await ada.threads.delete("t")
        assert not app.parts.archive.threads("ada")
        assert len(app.parts.archive.threads("bob")) == 2


async def test_a_pruned_subagent_leaves_no_checkpoint(tmp_path: Path) -> None:
    async with opened(tmp_path, subagents={"max_threads": 1}) as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        for _ in range(4):
            check_laws(await say(ada, "t", "delegate"))
        await say(bob, "t", "delegate")
        kept = {name for name in app.parts.archive.threads("ada") if name != "t"}
        assert len(kept) == 1
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        for table in ("checkpoints", "writes"):
            named = f"SELECT DISTINCT thread_id, checkpoint_ns FROM {table}"  # noqa: S608 (ours)
            rows = database.execute(named)
            spaces: dict[str, set[str]] = {}
            for thread, space in rows:
                spaces.setdefault(thread, set()).add(space)
            tags = [hashlib.sha256(owner.encode()).hexdigest()[:32] for owner in ("ada", "bob")]
            of_ada, of_bob = (spaces[f"{tag}:t"] for tag in tags)
            assert of_ada - {""} == {name.removeprefix("t/~/") for name in kept}
            assert len(of_bob - {""}) == 1, "another owner's thread of the same id"


async def test_a_completed_run_leaves_one_checkpoint(tmp_path: Path) -> None:
    """Except in a thread of LangGraph's API, whose clients read and fork the others."""

    def stored(thread: str) -> list[int]:
        with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
            count = "SELECT count(*) FROM {} WHERE thread_id LIKE ?"
            tables = ("checkpoints", "writes")
            return [
                database.execute(count.format(t), (f"%:{thread}",)).fetchone()[0] for t in tables
            ]

    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        for _ in range(2):
            check_laws(await say(ada, "t1", "write it down"))
            assert stored("t1") == [1, 0]
        run = (await ada.runs.list("t1")).items[0].id
        with pytest.raises(ConfigError, match=r"no longer kept.*rewind"):
            await ada.graph_runs.roll_back("t1", {run})
        assert (await ada.runs.list("t1")).items[0].id == run
        assert stored("t1") == [1, 0]
        assert answer(await say(ada, "t1", "third")) == "You said: third. Before it: 2 requests."
        message: JsonValue = {"messages": [{"role": "user", "content": "hello"}]}
        started = await ada.graph_runs.start("t2", GraphRun(graph="agent", input=message))
        assert (await ada.graph_runs.wait(started)).status == "completed"
        checkpoints, writes = stored("t2")
        assert min(checkpoints, writes) > 1
        await say(ada, "t2", "again")
        assert stored("t2")[0] > checkpoints
        await ada.graph_threads.create("t3", {})
        await say(ada, "t3", "hello")
        assert stored("t3")[0] > 1
        await ada.graph_threads.update("t1", message)
        await say(ada, "t1", "fourth")
        assert stored("t1")[0] > 2


async def test_a_run_whose_steps_cannot_be_deleted_is_completed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next run of the thread deletes them."""
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
            other.execute(
                "CREATE TRIGGER refuse BEFORE DELETE ON checkpoints BEGIN"
                " SELECT RAISE(ABORT, 'no'); END"
            )
            for message in ("hello", "again"):
                assert answer(await say(ada, "t1", message)).startswith(f"You said: {message}.")
            other.execute("DROP TRIGGER refuse")
            assert caplog.text.count("steps of thread t1 are kept") == 2
            assert answer(await say(ada, "t1", "third")) == (
                "You said: third. Before it: 2 requests."
            )
            assert other.execute("SELECT count(*) FROM checkpoints").fetchone() == (1,)


async def test_a_run_that_is_cancelled_while_its_steps_are_deleted_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, keep_newest = asyncio.Event(), RunSaver.keep_newest

    async def slow(self: RunSaver, config: RunnableConfig, values: Mapping[str, Any]) -> None:
        await keep_newest(self, config, values)
        begun.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(RunSaver, "keep_newest", slow)
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(message="hello"))
        await asyncio.wait_for(begun.wait(), 30)
        await ada.runs.cancel("t1", run.id)
        events = await told(ada, run)
        check_laws(events)
        assert answer(events) == "You said: hello. Before it: 0 requests."


async def test_a_run_goes_on_from_a_thread_that_was_rewound(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "first")
        await say(ada, "t1", "second")
        calls = [one.turn for one in (await ada.threads.turns("t1")).items if one.turn]
        await ada.threads.rewind("t1", Rewind(turn=calls[1]))
        events = await say(ada, "t1", "third")
        # The second request stands, its answer does not: the thread is as it was when it was asked.
        assert answer(events) == "You said: third. Before it: 2 requests."
        assert answer(await say(ada, "t1", "fourth")) == "You said: fourth. Before it: 3 requests."
        texts = [i.message.text.strip() for i in (await ada.threads.history("t1")).items]
        assert "You said: second. Before it: 1 requests." not in texts
        every = (await ada.threads.history("t1", abandoned=True)).items
        assert [i.message.text.strip() for i in every if i.is_abandoned] == [
            "You said: second. Before it: 1 requests."
        ]


async def test_a_history_is_read_in_stretches_from_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        for word in ("one", "two", "three"):
            await say(ada, "t1", word)
        last = await ada.threads.history("t1", limit=4)
        first = await ada.threads.history("t1", limit=4, before=last.before)
        positions = [item.position for item in (*first.items, *last.items)]
        assert positions == [0, 1, 2, 3, 4, 5]
        assert (last.before, first.before) == (2, None)


async def test_a_branch_has_the_beginning_and_goes_its_own_way(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "first")
        await say(ada, "t1", "second")
        branch = await ada.threads.branch("t1", Branch(id="b1"))
        assert (branch.messages, branch.title) == (4, "first")
        assert answer(await say(ada, "b1", "third")) == "You said: third. Before it: 2 requests."
        assert answer(await say(ada, "b1", "fourth")) == "You said: fourth. Before it: 3 requests."
        assert (await ada.threads.get("t1")).messages == 4
        assert (await ada.threads.get("b1")).messages == 8
        early = await ada.threads.branch("t1", Branch(turn=1))
        assert early.messages == 1
        with pytest.raises(ThreadExistsError):
            await ada.threads.branch("t1", Branch(id="b1"))


async def test_a_thread_that_was_only_made_is_empty_and_not_an_error(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        made = await ada.threads.create(NewThread(id="t1", title="Plans"))
        assert (made.messages, made.run) == (0, None)
        assert (await ada.threads.history("t1")).items == ()
        assert (await ada.threads.turns("t1")).items == ()
        assert (await ada.threads.state("t1")).next == ()
        assert (await ada.usage.thread("t1")).total.calls == 0
        assert (await ada.runs.list("t1")).items == ()
        with pytest.raises(ThreadExistsError):
            await ada.threads.create(NewThread(id="t1"))
        renamed = await ada.threads.update("t1", ThreadChange(title="Other plans"))
        assert renamed.title == "Other plans"
        with pytest.raises(NoSuchThreadError):
            await app.tenant("bob").threads.get("t1")


async def test_threads_are_listed_from_the_one_used_last_in_stretches(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        for name in ("a", "b", "c"):
            await ada.threads.create(NewThread(id=name, title=f"About {name}"))
        await say(ada, "a", "the zebra crossing")
        first = await ada.threads.list(limit=2)
        rest = await ada.threads.list(limit=2, before=first.before)
        assert first.items[0].id == "a"
        assert {one.id for one in (*first.items, *rest.items)} == {"a", "b", "c"}
        assert rest.before is None
        assert [one.id for one in (await ada.threads.list(q="zebra")).items] == ["a"]
        assert [one.id for one in (await ada.threads.list(q="about B")).items] == ["b"]


async def test_a_run_that_is_sent_twice_is_one_run(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        one = await ada.runs.start("t1", NewRun(id="r1", message="hello"))
        other = await ada.runs.start("t1", NewRun(id="r1", message="hello"))
        assert (one.id, other.id) == ("r1", "r1")
        await ada.runs.wait("t1", "r1")
        assert len((await ada.threads.history("t1")).items) == 2


async def test_a_run_that_fails_says_why_without_a_secret(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        events = await say(ada, "t1", "fail please")
        failed = events[-1]
        assert isinstance(failed, RunFailed)
        assert "fail please" in failed.problem.detail
        assert "verysecret" not in failed.problem.detail
        check_laws(events)
        assert answer(await say(ada, "t1", "go on")) == "You said: go on. Before it: 1 requests."


async def test_a_run_asks_a_person_and_goes_on_with_the_answer(tmp_path: Path) -> None:
    async with opened(tmp_path, agent={"interrupt_on": ["shout"]}) as app:
        ada = app.tenant("ada")
        asked = await say(ada, "t1", "use shout quietly")
        assert asked[-1].type == "run.interrupted"
        check_laws(asked)
        assert not any(isinstance(event, ToolStarted) for event in asked)
        (question,) = (await ada.threads.state("t1")).questions
        assert isinstance(question.value, dict)
        resume: JsonValue = {"decisions": [{"type": "approve"}]}
        run = await ada.runs.start("t1", NewRun(resume=resume))
        events = await told(ada, run)
        check_laws(events)
        assert answer(events) == "The tool said: QUIETLY"
        assert (await ada.threads.state("t1")).questions == ()


@pytest.mark.parametrize(
    "resume",
    [
        "approve",
        {"decisions": []},
        {"decisions": [{"type": "approve"}] * 2},
        {"decisions": [{"type": "perhaps"}]},
        {"decisions": [{"type": "edit"}]},
        {"decisions": ["approve"]},
        {"another": {"decisions": [{"type": "approve"}]}},
    ],
)
async def test_an_answer_that_cannot_be_read_leaves_the_question_open(
    tmp_path: Path, resume: JsonValue
) -> None:
    async with opened(tmp_path, agent={"interrupt_on": ["shout"]}) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "use shout quietly")
        failed = await told(ada, await ada.runs.start("t1", NewRun(resume=resume)))
        assert isinstance(failed[-1], RunFailed)
        assert failed[-1].problem.code == "run.answer"
        (question,) = (await ada.threads.state("t1")).questions
        by_id: JsonValue = {question.id: {"decisions": [{"type": "approve"}]}}
        events = await told(ada, await ada.runs.start("t1", NewRun(resume=by_id)))
        assert answer(events) == "The tool said: QUIETLY"


async def test_an_answer_that_nothing_waits_for_says_so_and_changes_nothing(tmp_path: Path) -> None:
    approve: JsonValue = {"decisions": [{"type": "approve"}]}
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        for thread in ("t1", "t2"):
            if thread == "t2":
                await say(ada, thread, "hello")
            events = await told(ada, await ada.runs.start(thread, NewRun(resume=approve)))
            assert isinstance(events[-1], RunFailed), thread
            assert events[-1].problem.code == "run.answer"
        assert answer(await say(ada, "t2", "on")) == "You said: on. Before it: 1 requests."


async def test_what_is_refused_makes_no_thread(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "hello", id="r1")
        with pytest.raises(RunExistsError):
            await ada.runs.start("t2", NewRun(id="r1", message="hello"))
        with pytest.raises(ThreadIdError):
            await ada.runs.start("t3\n", NewRun(message="hello"))
        assert [one.id for one in (await ada.threads.list()).items] == ["t1"]


async def test_a_run_goes_on_when_its_checkpoints_can_be_written_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "first")
        with closing(sqlite3.connect(tmp_path / "runs.db", isolation_level=None)) as other:
            other.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON checkpoints"
                " BEGIN INSERT INTO no_such_table VALUES (1); END"
            )
            run = await ada.runs.start("t1", NewRun(message="second"))
            async for one in ada.runs.follow("t1", run.id):
                if one.event.type == "run.resumed":
                    other.execute("DROP TRIGGER refuse")
                    break
        assert answer(await told(ada, run)) == "You said: second. Before it: 1 requests."


@pytest.mark.parametrize("name", ["", " ", "ada\x1fbob", "a\0", "\ud800", "o" * 256])
async def test_nobody_has_a_name_that_could_be_taken_for_several(tmp_path: Path, name: str) -> None:
    async with opened(tmp_path) as app:
        with pytest.raises(ConfigError, match="no owner can be named"):
            app.tenant(name)


@pytest.mark.parametrize("told_", [f"{10**30}:t1", f"-{10**30}:t1", "-1:t1", "t1", ":", "9" * 99])
async def test_a_place_in_a_list_that_is_none_of_ours_is_refused(
    tmp_path: Path, told_: str
) -> None:
    before = base64.urlsafe_b64encode(told_.encode()).decode().rstrip("=")
    async with opened(tmp_path) as app:
        with pytest.raises(ConfigError, match="not a value of this gateway"):
            await app.tenant("ada").threads.list(before=before)


async def test_a_stream_of_an_idle_thread_reads_nothing_until_a_run_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short its pause is: a poll would read as often as the loop below."""
    async with opened(tmp_path) as app:
        ada, begun = app.tenant("ada"), app.parts.journal.begun
        await ada.graph_threads.create("t1", {})
        reads, is_read = 0, asyncio.Event()

        async def counted(owner: str, thread: str) -> Collection[str]:
            nonlocal reads
            reads += 1
            is_read.set()
            return await begun(owner, thread)

        monkeypatch.setattr(app.parts.journal, "begun", counted)
        async with aclosing(ada.graph_runs.follow_thread("t1", 0)) as stream:  # type: ignore[type-var]  # a generator
            first = asyncio.ensure_future(anext(stream))
            await is_read.wait()
            for _ in range(100):
                await begun("ada", "t1")
            assert reads < 10
            run = await ada.runs.start("t1", NewRun(message="Hello"))
            assert (await first)[0].key.run == run.id


async def test_synchronous_tools_leave_threads_for_other_calls(tmp_path: Path) -> None:
    """As many as a pool of Python's own has at most."""
    gate = threading.Event()
    async with opened(tmp_path) as app:
        loop = asyncio.get_running_loop()
        tools = [loop.run_in_executor(None, gate.wait) for _ in range(32)]
        try:
            async with asyncio.timeout(60):
                assert (await app.health()).status == "ok"
        finally:
            gate.set()
            await asyncio.gather(*tools)


async def test_requests_at_once_keep_the_limits_of_uploads(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        files = [app.tenant("ada").files for _ in range(8)]
        for one in files:
            one.policy = UploadPolicy(max_files=2)
        sent = [one.upload("t1", f"{n}.txt", b"x") for n, one in enumerate(files)]
        done = await asyncio.gather(*sent, return_exceptions=True)
        assert len(await files[0].uploads("t1")) == 2
    assert sum(isinstance(one, UploadRefusedError) for one in done) == 6


async def test_a_run_can_be_ended_and_the_thread_goes_on(tmp_path: Path) -> None:
    tools = [{"name": "slow", "use": "server_tests.e2e.talkers:slow"}]
    async with opened(tmp_path, tools=tools) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(message="use slow now"))
        events: list[Event] = []
        async for one in ada.runs.follow("t1", run.id):
            events.append(one.event)
            if isinstance(one.event, ToolStarted):
                assert (await ada.threads.get("t1")).run == run.id
                with pytest.raises(BusyError):
                    await ada.runs.start("t1", NewRun(message="more", if_busy="reject"))
                with pytest.raises(BusyError):
                    await ada.threads.rewind("t1", Rewind(turn=1))
                with pytest.raises(BusyError):
                    await ada.threads.branch("t1", Branch(id="t2"))
                with pytest.raises(BusyError):
                    await ada.threads.compact("t1")
                with pytest.raises(BusyError):
                    await ada.threads.delete("t1")
                await ada.runs.cancel("t1", run.id)
        assert events[-1].type == "run.cancelled"
        check_laws(events)
        assert (await ada.threads.get("t1")).run is None
        assert "requests" in answer(await say(ada, "t1", "and now"))


async def test_another_run_can_take_the_place_of_one_under_way(tmp_path: Path) -> None:
    tools = [{"name": "slow", "use": "server_tests.e2e.talkers:slow"}]
    async with opened(tmp_path, tools=tools) as app:
        ada = app.tenant("ada")
        first = await ada.runs.start("t1", NewRun(message="use slow now"))
        events = await say(ada, "t1", "instead", if_busy="cancel")
        assert "You said: instead" in answer(events)
        assert (await ada.runs.get("t1", first.id)).status == "cancelled"


async def test_a_run_without_an_end_is_continued_and_its_message_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = [{"name": "once_slow", "use": "server_tests.e2e.talkers:once_slow"}]
    async with opened(tmp_path, tools=tools) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(message="use once_slow now"))
        async for one in ada.runs.follow("t1", run.id):
            if isinstance(one.event, ToolStarted):
                await ada.runs.cancel("t1", run.id)
        monkeypatch.setenv("THALWEG_TEST_FAST", "1")
        again = await told(ada, await ada.runs.start("t1", NewRun(retry=True)))
        assert answer(again) == "The tool said: NOW"
        assert not any(isinstance(event, MessageDelta) and "I use" in event.text for event in again)
        nothing = await told(ada, await ada.runs.start("t1", NewRun(retry=True)))
        assert isinstance(nothing[-1], RunFailed)
        assert nothing[-1].problem.code == "run.answer"
        assert isinstance((await say(ada, "t1", "fail one"))[-1], RunFailed)
        assert "Before it: 2 requests" in answer(await say(ada, "t1", "two"))
        assert isinstance((await say(ada, "t1", "fail three"))[-1], RunFailed)
        dropped = await say(ada, "t1", "four", unanswered="drop")
        assert "You said: four. Before it: 3 requests" in answer(dropped)
        texts = [item.message.text for item in (await ada.threads.history("t1")).items]
        assert "fail one" in texts
        assert "fail three" not in texts


async def test_a_deleted_thread_is_gone_everywhere(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "write something")
        await ada.threads.delete("t1")
        with pytest.raises(NoSuchThreadError):
            await ada.threads.history("t1")
        assert (await ada.threads.list()).items == ()
        assert (await ada.usage.owner()).total.calls == 0
        assert answer(await say(ada, "t1", "new")) == "You said: new. Before it: 0 requests."
        assert (await ada.threads.state("t1")).files == ()


async def test_words_are_pinned_and_let_go_of(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "never touch main")
        done = await ada.threads.pin("t1", Pinned(position=0, quote="never touch main"))
        assert done.about == 0
        await ada.threads.unpin("t1", Pinned(position=0, quote="never touch main"))
        kinds = [one.kind for one in (await ada.threads.turns("t1")).items]
        assert kinds[-2:] == ["pin", "unpin"]


@pytest.mark.slow
async def test_a_thread_is_compacted_now_and_that_is_undone(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        for number in range(6):
            await say(ada, "t1", f"{number} " + "words to be folded away " * 300)
        before = (await ada.threads.turns("t1")).items[-1].tokens
        done = await ada.threads.compact("t1")
        assert done.tokens < before
        newest = (await ada.threads.turns("t1")).items[-1]
        assert newest.kind == "compact"
        assert "fold" in [edit.kind for edit in newest.edits]
        events = await say(ada, "t1", "and now")
        assert "You said: and now" in answer(events)
        sent = await ada.threads.context("t1")
        assert sent.tokens < before
        assert len((await ada.threads.history("t1")).items) == 14
        undone = await ada.threads.undo("t1")
        assert undone.tokens > done.tokens


async def test_a_compaction_by_hand_is_charged_and_uses_its_thread(tmp_path: Path) -> None:
    """As a call of a run; an update of the state is a use, too."""
    summarizer = {"name": "summarizer", "use": "server_tests.e2e.talkers:Summarizer"}
    talker = {"name": "talker", "use": "server_tests.e2e.talkers:Talker", "window": 32_000}
    models = [talker, {**summarizer, "window": 32_000}]
    named = {"model_name": "summarizer"}
    async with opened(tmp_path, models=models, summarization=named) as app:
        ada = app.tenant("ada")
        for number in range(6):
            await say(ada, "t1", f"{number} " + "words to be folded away " * 300)
        calls, used = await today(ada), (await ada.threads.get("t1")).updated
        await ada.threads.compact("t1")
        assert await today(ada) == calls + 1
        compacted = (await ada.threads.get("t1")).updated
        assert compacted > used
        await ada.graph_threads.update("t1", {"messages": [{"role": "user", "content": "x"}]})
        assert (await ada.threads.get("t1")).updated > compacted
        with pytest.raises(AnswerError):
            await ada.graph_threads.update("t1", {"messages": [5]})


async def today(tenant: Tenant) -> int:
    return sum(one.calls for one in await tenant.usage.today())


async def test_only_models_of_the_settings_can_be_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        assert [one.name for one in (await ada.models.list()).items] == ["streamer", "talker"]
        with pytest.raises(NoSuchModelError):
            await ada.runs.start("t1", NewRun(message="hi", model="openai:x@http://10.0.0.1/v1"))
        with pytest.raises(NoSuchModelError):
            await ada.models.get("gpt")
    async with opened(tmp_path, models=[]) as app:
        with pytest.raises(ConfigError):
            await app.tenant("ada").runs.start("t1", NewRun(message="hi"))


async def test_a_thread_is_there_when_the_application_is_opened_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as app:
        await say(app.tenant("ada"), "t1", "first")
    async with opened(tmp_path) as app:
        ada = app.tenant("ada")
        assert answer(await say(ada, "t1", "second")) == "You said: second. Before it: 1 requests."
        lines = [line async for line in ada.threads.export("t1")]
        assert len(lines) >= 4
        assert (await app.health()).status == "ok"


async def test_a_small_window_is_given_the_small_agent(tmp_path: Path) -> None:
    models = [{"name": "mini", "use": "server_tests.e2e.talkers:Talker", "window": 8_192}]
    async with opened(tmp_path, models=models, tools=[]) as app:
        ada = app.tenant("ada")
        assert "You said: hi" in answer(await say(ada, "t1", "hi"))
        sent = await ada.threads.context("t1")
        assert len(sent.tools) == 4
        assert sent.tokens < 1_500


@pytest.mark.parametrize("window", [8_000, 32_000, 200_000])
async def test_a_named_summarizer_is_asked_in_every_window(tmp_path: Path, window: int) -> None:
    models = [
        {"name": "main", "use": "server_tests.e2e.talkers:Talker", "window": window},
        {"name": "cheap", "use": "server_tests.e2e.talkers:Summarizer", "window": 32_000},
    ]
    policy = {
        "model_name": "cheap",
        "background": False,
        "trigger": {"type": "messages", "value": 8},
        "keep": {"type": "messages", "value": 2},
    }
    SUMMARIZED.clear()
    async with opened(tmp_path, models=models, tools=[], summarization=policy) as app:
        for number in range(8):
            message = f"River {number} is long." + " It flows." * 150
            last = answer(await say(app.tenant("ada"), "t1", message))
    assert int(last.split("Before it: ")[1].split()[0]) < 5  # of 7
    assert SUMMARIZED
    assert "River 0 is long." in str(SUMMARIZED[0])


@pytest.mark.parametrize(
    ("named", "expected"), [({"subagents": {"max_turns": 9}}, "task"), ({}, "recall")]
)
async def test_a_small_window_leaves_a_tool_that_the_settings_name(
    tmp_path: Path, named: dict[str, Any], expected: str
) -> None:
    models = [{"name": "mini", "use": "server_tests.e2e.talkers:Talker", "window": 8_192}]
    async with opened(tmp_path, models=models, tools=[], **named) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "hi")
        sent = await ada.threads.context("t1")
        names = [tool["function"]["name"] for tool in sent.tools]
    assert expected in names
    assert ("task" in names) == bool(named)
