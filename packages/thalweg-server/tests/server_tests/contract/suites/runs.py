"""What every journal of runs promises."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any

import pytest

from thalweg.database.jobs import NEVER_MS, Job, JobSql
from thalweg.errors import BusyError, ClaimLostError, NoSuchRunError, RunExistsError
from thalweg_server.runs.base import ENDED, Claim, Draft, Event, RunKey
from thalweg_server.runs.journal import Journal

Journals = Callable[[], AbstractAsyncContextManager[Journal]]
KEY = RunKey("ada", "t1", "r1")
END = Draft("run.completed", "{}")
PATIENCE_S = 20.0


def word(text: str, message: str = "m") -> Draft:
    """Make a delta."""
    return Draft("message.delta", json.dumps({"message": message, "text": text}), joins=message)


def mark(number: int) -> Draft:
    """Return an event that is not joined with others."""
    return Draft("notice", json.dumps({"kind": str(number)}))


def said(events: Sequence[Event]) -> str:
    """Return the joined text of deltas."""
    return "".join(json.loads(event.data).get("text", "") for event in events)


async def begun(journal: Journal, key: RunKey = KEY) -> Claim:
    """Create a run and claim it."""
    await journal.create(key, "{}")
    claim = await journal.claim(key)
    assert claim is not None
    return claim


async def claim_expired(journal: Journal) -> Job:
    """Claim a job whose lease expired, as soon as the server has run for longer than a lease."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if (job := await journal.claim_job("living")) is not None:
                return job
            await asyncio.sleep(0.1)


async def read_all(journal: Journal, key: RunKey = KEY, after: int = 0) -> list[Event]:
    """Follow a run to its end."""
    async with asyncio.timeout(PATIENCE_S):
        return [event async for event in journal.follow(key, after)]


@pytest.mark.anyio
class JournalContract:
    """The promises of a journal, as tests.

    Subclass it and define a fixture `journals`: each call opens one more journal on the same fresh
    and empty data, as another process would.
    """

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio, as every journal does."""
        return "asyncio"

    async def test_a_run_is_what_was_asked(self, journals: Journals) -> None:
        """It is queued, has no events, and is the same for every process."""
        asked = json.dumps({"message": "half an emoji \ud83d, 你好"})
        odd = json.dumps({"message": "你好 \ud83d"}, ensure_ascii=False)
        async with journals() as journal, journals() as other:
            run = await journal.create(KEY, asked)
            strange = await journal.create(RunKey("ada", "t2", "r2"), odd)

            assert (run.key, run.status, run.request, run.last_seq) == (KEY, "queued", asked, 0)
            assert json.loads(strange.request) == json.loads(odd)
            assert await other.get(KEY) == run
            assert await other.read(KEY) == []

    async def test_a_run_belongs_to_its_owner_and_thread(self, journals: Journals) -> None:
        """No other owner or thread finds it, follows it, or is blocked by it."""
        async with journals() as journal:
            await begun(journal)
            for stranger in (RunKey("bob", "t1", "r1"), RunKey("ada", "t2", "r1")):
                assert await journal.get(stranger) is None
                assert await journal.claim(stranger) is None
                assert not await journal.ask_cancel(stranger)
                assert await journal.read(stranger) == []
                with pytest.raises(NoSuchRunError):
                    await read_all(journal, stranger)
            assert await journal.list("bob") == []
            await begun(journal, RunKey("bob", "t1", "r1"))

    async def test_a_thread_has_one_run_at_a_time(self, journals: Journals) -> None:
        """The second is refused until the first has ended; the error contains the first's id."""
        second = RunKey("ada", "t1", "r2")
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            with pytest.raises(BusyError) as busy:
                await other.create(second, "{}")
            await journal.finish(claim, "interrupted", [END])

            assert (busy.value.thread, busy.value.run) == ("t1", "r1")
            assert (await other.create(second, "{}")).status == "queued"

    async def test_of_many_who_begin_at_once_one_does(self, journals: Journals) -> None:
        """However close they are."""
        async with journals() as journal, journals() as other:
            keys = [RunKey("ada", "t1", f"r{number}") for number in range(8)]
            both = [journal, other] * 4
            made = await asyncio.gather(
                *(one.create(key, "{}") for one, key in zip(both, keys, strict=True)),
                return_exceptions=True,
            )

            assert sum(isinstance(one, BusyError) for one in made) == 7
            assert len(await journal.list("ada")) == 1

    async def test_an_id_is_given_once(self, journals: Journals) -> None:
        """Even where the first run has ended, and in another thread."""
        async with journals() as journal:
            claim = await begun(journal)
            await journal.finish(claim, "completed", [END])
            for thread in ("t1", "t2"):
                with pytest.raises(RunExistsError):
                    await journal.create(RunKey("ada", thread, "r1"), "{}")

    async def test_runs_are_listed_newest_first_and_page_by_page(self, journals: Journals) -> None:
        """Of a thread, or of all."""
        async with journals() as journal:
            for number in range(6):
                claim = await begun(journal, RunKey("ada", f"t{number % 2}", f"r{number}"))
                await journal.finish(claim, "completed", [])
            first = await journal.list("ada", limit=4)
            rest = await journal.list("ada", limit=4, before=first[-1].key.run)
            of_thread = await journal.list("ada", "t1")

            assert [run.key.run for run in [*first, *rest]] == [f"r{n}" for n in range(5, -1, -1)]
            assert [run.key.run for run in of_thread] == ["r5", "r3", "r1"]

    async def test_a_run_has_begun_once_it_was_claimed(self, journals: Journals) -> None:
        """Also after its end, and in whatever order; a delayed one has not, nor is it due."""
        async with journals() as journal:
            await journal.create(KEY._replace(run="later"), "{}", due_ms=NEVER_MS - 1)
            for number in range(60):
                new = KEY._replace(run=f"r{number}")
                await journal.create(new, "{}", if_busy="enqueue")
            claim = await journal.claim(KEY)
            assert claim is not None
            assert set(await journal.begun("ada", "t1")) == {"r1"}
            await journal.finish(claim, "completed", [END])

            assert set(await journal.begun("ada", "t1")) == {"r1"}
            assert list(await journal.begun("bob", "t1")) == []
            due = await journal.unended("ada", "t1", 0)
            assert len(due) == 59
            assert len(await journal.unended("ada", "t1")) == 60

    async def test_events_are_numbered_from_one(self, journals: Journals) -> None:
        """And read from any number on."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            assert await journal.append(claim, [mark(1), mark(2)]) == 2
            assert await journal.append(claim, [mark(3)]) == 3
            await journal.finish(claim, "completed", [END])
            events = await other.read(KEY)
            run = await other.get(KEY)

            assert [event.seq for event in events] == [1, 2, 3, 4]
            assert [event.seq for event in await other.read(KEY, 1, 2)] == [2, 3]
            assert run is not None
            assert (run.status, run.last_seq, run.attempt) == ("completed", 4, 1)
            assert run.started is not None
            assert run.ended is not None

    async def test_deltas_that_wait_together_become_one(self, journals: Journals) -> None:
        """Nothing of their text is lost, and nothing else is joined."""
        async with journals() as journal:
            claim = await begun(journal)
            drafts = [word("a"), word("b"), word("c", "n"), mark(1), word("d"), word("\ud83d")]
            last = await journal.append(claim, drafts)
            events = await journal.read(KEY)

            assert last == len(events) == 4
            assert [said([event]) for event in events] == ["ab", "c", "", "d\ud83d"]

    async def test_many_who_append_at_once_are_all_written(self, journals: Journals) -> None:
        """Each run in its own order."""
        async with journals() as journal:
            claims = [await begun(journal, RunKey("ada", f"t{n}", f"r{n}")) for n in range(20)]

            async def speak(claim: Claim) -> None:
                for number in range(10):
                    await journal.append(claim, [mark(number)])
                await journal.finish(claim, "completed", [END])

            await asyncio.gather(*map(speak, claims))
            for claim in claims:
                events = await read_all(journal, claim.key)
                assert [event.seq for event in events] == list(range(1, 12))
                kinds = [json.loads(event.data).get("kind") for event in events[:-1]]
                assert kinds == [str(number) for number in range(10)]

    async def test_a_later_claim_ends_an_earlier_one(self, journals: Journals) -> None:
        """Who lost it writes nothing, neither an event nor an end."""
        async with journals() as journal, journals() as other:
            first = await begun(journal)
            await journal.append(first, [mark(1)])
            second = await other.claim(KEY)
            assert second is not None
            assert second.attempt == first.attempt + 1
            for _ in range(2):
                with pytest.raises(ClaimLostError):
                    await journal.append(first, [mark(2)])
            with pytest.raises(ClaimLostError):
                await journal.finish(first, "failed", [END])
            with pytest.raises(ClaimLostError):
                async with journal.hold(first):
                    pass
            assert not await journal.release(first)
            assert await other.append(second, [mark(3)]) == 2
            async with other.hold(second):
                pass

    async def test_who_has_ended_stays_ended(self, journals: Journals) -> None:
        """It is neither claimed nor written to, nor ended again."""
        async with journals() as journal:
            claim = await begun(journal)
            await journal.finish(claim, "failed", [END], error='{"title": "x"}')
            assert await journal.claim(KEY) is None
            assert not await journal.ask_cancel(KEY)
            with pytest.raises(ClaimLostError):
                await journal.append(claim, [mark(1)])
            with pytest.raises(ClaimLostError):
                await journal.finish(claim, "completed", [END])
            run = await journal.get(KEY)

            assert run is not None
            assert (run.status, run.error, run.last_seq) == ("failed", '{"title": "x"}', 1)

    async def test_a_claim_that_is_given_back_is_taken_by_another(self, journals: Journals) -> None:
        """And is counted as released."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            assert await journal.release(claim)
            again = await other.claim(KEY)
            run = await other.get(KEY)

            assert again is not None
            assert run is not None
            assert (run.attempt, run.releases, run.status) == (2, 1, "running")

    async def test_each_job_is_claimed_once(self, journals: Journals) -> None:
        """By any process, for any owner, the higher priority first; a renewed one is kept."""
        keys = [RunKey(owner, f"t{n}", f"r{n}") for owner in ("ada", "bob") for n in range(4)]
        async with journals() as journal, journals() as other:
            for number, key in enumerate(keys):
                await journal.create(key, "{}", priority=number // 7)
            first = await other.claim_job("first")
            taken = await asyncio.gather(
                *(one.claim_job(str(n)) for n, one in enumerate([journal, other] * 5))
            )
            jobs = [job for job in taken if job is not None]

            assert first is not None
            assert RunKey.of_job(first.key) == keys[-1]
            assert {RunKey.of_job(job.key) for job in jobs} == {*keys[:-1]}
            assert len(jobs) == 7
            assert {job.attempt for job in jobs} == {1}
            await journal.renew_jobs("first", [first.id])
            assert await other.claim_job("second") is None

    async def test_an_expired_job_is_claimed_again(self, journals: Journals) -> None:
        """The former holder can neither finish nor return it."""
        async with journals() as journal, journals() as other:
            await journal.create(KEY, "{}")
            lost = await journal.claim_job("dead", lease_s=-1)
            assert lost is not None
            again = await claim_expired(other)
            await journal.finish_job(lost)

            assert (again.id, again.attempt) == (lost.id, 2)
            claim = await other.claim(KEY)
            assert claim is not None
            assert await other.release(claim, lost)
            assert await journal.claim_job("third") is None
            await other.finish_job(again)
            await journal.submit_missing_jobs()
            third = await journal.claim_job("third")
            assert third is not None
            assert (third.key, third.attempt) == (KEY.job, 1)

    async def test_followers_see_events_as_they_come(self, journals: Journals) -> None:
        """From any number on, in the same process and in another, up to the end."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            await journal.append(claim, [mark(1), mark(2)])
            readers = [
                asyncio.create_task(read_all(at, KEY, after))
                for at in (journal, other)
                for after in (0, 1, 2)
            ]
            for number in range(3, 30):
                await journal.append(claim, [mark(number)])
                await asyncio.sleep(0.002)
            await journal.finish(claim, "completed", [END])
            for reader, after in zip(readers, [0, 1, 2] * 2, strict=True):
                assert [event.seq for event in await reader] == list(range(after + 1, 31))

    async def test_a_slow_follower_misses_nothing(self, journals: Journals) -> None:
        """And blocks no other: it reads from the journal what memory no longer has."""
        async with journals() as journal:
            claim = await begun(journal)
            seen: list[int] = []
            may_go_on = asyncio.Event()

            async def read() -> None:
                async for event in journal.follow(KEY):
                    seen.append(event.seq)
                    if event.seq == 1:
                        await may_go_on.wait()

            reader = asyncio.create_task(read())
            await journal.append(claim, [mark(1)])
            for first in range(0, 3_000, 100):
                await journal.append(claim, [mark(first + n) for n in range(100)])
            await journal.finish(claim, "completed", [END])
            may_go_on.set()
            async with asyncio.timeout(PATIENCE_S):
                await reader

            assert seen == list(range(1, 3_003))

    async def test_a_follower_stays_while_the_run_moves(self, journals: Journals) -> None:
        """From one process to another and back."""
        async with journals() as journal, journals() as other, journals() as third:
            await journal.create(KEY, "{}")
            readers = [asyncio.create_task(read_all(at)) for at in (journal, other, third, journal)]
            claims = []
            for at in (journal, other) * 3:
                claim = await at.claim(KEY)
                assert claim is not None
                claims.append(claim)
                for number in range(10):
                    await at.append(claim, [mark(number)])
            await other.finish(claims[-1], "completed", [END])
            for reader in readers:
                assert [event.seq for event in await reader] == list(range(1, 62))

    async def test_the_wish_for_an_end_reaches_who_performs(self, journals: Journals) -> None:
        """From another process, and where it was there before."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            waiting = asyncio.create_task(journal.called_off(claim))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            assert await other.ask_cancel(KEY)
            async with asyncio.timeout(PATIENCE_S):
                assert await waiting
                assert await journal.called_off(claim)

    async def test_who_lost_a_claim_is_told(self, journals: Journals) -> None:
        """Without writing anything."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            waiting = asyncio.create_task(journal.called_off(claim))
            await asyncio.sleep(0.05)
            await other.claim(KEY)
            async with asyncio.timeout(PATIENCE_S):
                assert not await waiting

    async def test_deleting_a_thread_deletes_its_runs_alone(self, journals: Journals) -> None:
        """Unless one of them has not ended."""
        other = RunKey("ada", "t2", "r2")
        async with journals() as journal:
            claim = await begun(journal)
            await begun(journal, other)
            await journal.append(claim, [mark(1)])
            with pytest.raises(BusyError):
                await journal.delete("ada", "t1")
            await journal.finish(claim, "completed", [END])

            assert await journal.delete("ada", "t1") == 1
            assert await journal.get(KEY) is None
            assert await journal.read(KEY) == []
            assert await journal.get(other) is not None
            with pytest.raises(NoSuchRunError):
                await read_all(journal)

    async def test_what_is_no_json_is_refused_at_the_door(self, journals: Journals) -> None:
        """And what others write at the same moment is written."""
        async with journals() as journal:
            claim = await begun(journal)
            other = await begun(journal, RunKey("ada", "t2", "r2"))
            bad = Draft("notice", '{"kind": "\0"}')
            refused, written = await asyncio.gather(
                journal.append(claim, [bad]),
                journal.append(other, [mark(1)]),
                return_exceptions=True,
            )

            assert isinstance(refused, ValueError)
            assert written == 1

    async def test_every_end_is_an_end(self, journals: Journals) -> None:
        """Of any kind: the follower's loop ends and the thread is free."""
        async with journals() as journal:
            for status in sorted(ENDED):
                key = RunKey("ada", "t1", f"r-{status}")
                claim = await begun(journal, key)
                await journal.finish(claim, status, [])
                assert await read_all(journal, key) == []

    async def test_a_run_waits_behind_those_of_its_thread(self, journals: Journals) -> None:
        """In the order of their creation; any process begins it, one alone, when it is due."""
        second, third, later = (RunKey("ada", "t1", f"r{n}") for n in (2, 3, 4))
        async with journals() as journal, journals() as other:
            for key, due_ms in ((KEY, 0), (later, 2**52), (second, 0), (third, 0)):
                run = await journal.create(key, "{}", if_busy="enqueue", due_ms=due_ms)
                assert run.status == "queued"
            unended = await other.unended("ada", "t1")
            assert [run.key for run in unended] == [KEY, later, second, third]
            for key in (KEY, second, third):
                both = await asyncio.gather(journal.claim_job("v"), other.claim_job("w"))
                (job,) = [job for job in both if job is not None]
                assert RunKey.of_job(job.key) == key
                claim = await other.claim(key)
                assert claim is not None
                assert await journal.claim_job("x") is None
                await other.finish(claim, "completed", [END])
                await other.finish_job(job)
            assert await journal.claim_job("x") is None
            assert (await other.unended_or_newest("ada"))["t1"].key == later  # it has not ended

    async def test_a_run_that_waits_is_ended_without_a_claim(self, journals: Journals) -> None:
        """Another one of its thread may be under way; that one, or one with events, is not."""
        second = RunKey("ada", "t1", "r2")
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            await journal.create(second, "{}", if_busy="enqueue")
            following = asyncio.create_task(read_all(other, second))
            last = Draft("run.cancelled", "{}")
            assert not await other.cancel_queued(KEY, last)
            assert await other.cancel_queued(second, last)

            assert await following == [Event(1, last.type, last.data)]
            assert not await other.cancel_queued(second, last)
            assert (await other.existing(second)).status == "cancelled"
            await journal.append(claim, [Draft("message.started", "{}")])
            assert await journal.release(claim)
            assert not await other.cancel_queued(KEY, last)
            job = await journal.claim_job("v")
            assert job is not None
            assert RunKey.of_job(job.key) == KEY

    async def test_a_run_that_is_due_later_is_not_active(self, journals: Journals) -> None:
        """It waits for its time, and takes no place of other runs."""
        later = round(1_000 * time.time()) + 3_600_000
        async with journals() as journal:
            await journal.create(KEY, "{}", due_ms=later)
            assert await journal.count_active("ada") == 0
            await journal.create(RunKey("ada", "t2", "r2"), "{}")
            assert await journal.count_active("ada") == 1

    async def test_one_run_of_a_thread_is_deleted(self, journals: Journals) -> None:
        """With its events; one that has not ended is not, and the others remain."""
        second = RunKey("ada", "t1", "r2")
        async with journals() as journal:
            claim = await begun(journal)
            with pytest.raises(BusyError):
                await journal.delete("ada", "t1", "r1")
            await journal.finish(claim, "completed", [END])
            claim = await begun(journal, second)
            await journal.finish(claim, "completed", [END])
            assert await journal.delete("ada", "t1", "r1") == 1
            assert await journal.get(KEY) is None
            assert await journal.read(KEY) == []
            assert [event.type for event in await journal.read(second)] == ["run.completed"]

    async def test_packed_events_are_read_as_before(self, journals: Journals) -> None:
        """By any number and limit, also by a process that follows, and are deleted with the run."""
        async with journals() as journal, journals() as other:
            claim = await begun(journal)
            await journal.append(claim, [mark(number) for number in range(1_100)])
            await journal.append(claim, [Draft("notice", json.dumps({"text": "你好 \ud83d"}))])
            await journal.finish(claim, "completed", [END])
            events = [*await journal.read(KEY, 0, 2_000)]
            assert len(events) == 1_102
            size = "SELECT count(*), sum(length(data)) FROM run_events WHERE owner = ?"
            ((rows, before),) = await journal._read("ada", size, ["ada"])  # noqa: SLF001 (rows)
            for _ in range(2):
                await journal.pack(KEY)
                ((packed, after),) = await journal._read("ada", size, ["ada"])  # noqa: SLF001 (rows)

                assert (rows, packed) == (1_102, 2)
                assert after < before / 4
                assert [*await other.read(KEY, 0, 2_000)] == events[:1_000]
                assert [*await other.read(KEY, 996, 3)] == events[996:999]
                assert await read_all(other) == events
                assert await other.read(KEY, 1_102) == []
                assert await read_all(other, after=1_001) == events[1_001:]
                found = await other.read_each({KEY: 1_000}, 50)
                assert [*found[KEY]] == events[1_000:1_050]
            await journal.delete("ada", "t1")
            assert await journal.read(KEY) == []

    async def test_large_events_are_packed_in_several_rows(self, journals: Journals) -> None:
        """A page reads and unpacks one of them."""
        pages: list[int] = []
        async with journals() as journal:
            claim = await begun(journal)
            texts = [json.dumps({"text": str(number) * 400_000}) for number in range(7)]
            await journal.append(claim, [Draft("notice", text) for text in texts])
            await journal.finish(claim, "completed", [END])
            await journal.pack(KEY)
            after, read = 0, list[str]()
            while events := await journal.read(KEY, after, 500):
                pages.append(len(events))
                read += [event.data for event in events]
                after = events[-1].seq
            assert pages == [2, 2, 2, 2]
            assert read == [*texts, END.data]
            found = await journal.read_each({KEY: 3}, 50)
            assert [event.seq for event in found[KEY]] == [4]

    async def test_two_packers_at_once_lose_no_events(
        self, journals: Journals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second one begins after the first row, so that their rows overlap."""
        async with journals() as journal:
            claim = await begun(journal)
            text = "x" * 2_000
            drafts = [Draft("notice", json.dumps({"n": n, "text": text})) for n in range(1_500)]
            await journal.append(claim, drafts)
            await journal.finish(claim, "completed", [END])
            async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as packers:
                change, changed, pending = journal._change, asyncio.Condition(), [(0, 0), (0, 0)]  # noqa: SLF001 (rows)

                others: list[asyncio.Task[None]] = []

                async def pack(mine: int) -> None:
                    try:
                        await journal.pack(KEY)
                    finally:
                        async with changed:
                            pending[mine] = (10_000, 0)
                            changed.notify_all()

                async def in_turn(
                    owner: str, statement: str, values: Sequence[Any], *, before: JobSql
                ) -> Sequence[Any]:
                    """Of two pending changes, first do the one that ends first."""
                    *_, after, last = values
                    if after == 0:
                        rows = await change(owner, statement, values, before=before)
                        others.append(packers.create_task(pack(1)))
                        return rows
                    mine = int(asyncio.current_task() in others)
                    async with changed:
                        pending[mine] = (last, -after)
                        changed.notify_all()
                        await changed.wait_for(
                            lambda: (0, 0) not in pending and pending[mine] == min(pending)
                        )
                        rows = await change(owner, statement, values, before=before)
                        pending[mine] = (0, 0)
                        return rows

                monkeypatch.setattr(journal, "_change", in_turn)
                packers.create_task(pack(0))
            events = await read_all(journal)
            assert [event.seq for event in events] == [*range(1, 1_502)]
            assert [json.loads(event.data)["n"] for event in events[:-1]] == [*range(1_500)]

    async def test_events_with_a_gap_are_not_packed(self, journals: Journals) -> None:
        """A packed row holds consecutive numbers."""
        async with journals() as journal:
            claim = await begun(journal)
            await journal.append(claim, [mark(number) for number in range(5)])
            await journal.finish(claim, "completed", [END])
            gap = "DELETE FROM run_events WHERE owner = ? AND seq = 3 RETURNING 1"
            await journal._change("ada", gap, ["ada"])  # noqa: SLF001 (rows)
            await journal.pack(KEY)
            assert [event.seq for event in await journal.read(KEY)] == [1, 2, 4, 5, 6]

    async def test_events_that_a_killed_process_did_not_pack_are_packed_later(
        self, journals: Journals
    ) -> None:
        """Of runs of a thread that ended long ago, and nothing of others or of a run under way."""
        second, other = RunKey("ada", "t1", "r2"), RunKey("ada", "t2", "r3")
        async with journals() as journal:
            for key in (KEY, other):
                claim = await begun(journal, key)
                await journal.append(claim, [mark(number) for number in range(5)])
                await journal.finish(claim, "completed", [END])
            await journal.append(await begun(journal, second), [mark(0)])
            rows = "SELECT run, count(*) FROM run_events WHERE owner = ? GROUP BY run"
            await journal.pack_missing("ada", "t1")
            found = dict(await journal._read("ada", rows, ["ada"]))  # noqa: SLF001 (rows)
            assert found == {"r1": 6, "r2": 1, "r3": 6}
            await journal.pack_missing("ada", "t1", idle=timedelta(hours=-1))
            found = dict(await journal._read("ada", rows, ["ada"]))  # noqa: SLF001 (rows)
            assert found == {"r1": 1, "r2": 1, "r3": 6}
            assert [event.seq for event in await journal.read(KEY)] == [1, 2, 3, 4, 5, 6]
            plain = "SELECT type FROM run_events WHERE owner = ? AND run = 'r2'"
            ((kind,),) = await journal._read("ada", plain, ["ada"])  # noqa: SLF001 (rows)
            assert kind == mark(0).type
