"""A flow does its effects one after the other, also when whoever waits for it goes away."""

import asyncio
from threading import Event

import pytest

from thalweg.middleware.effects import Flow, Work, arun


def test_a_flow_that_is_cancelled_goes_on_when_its_work_is_done() -> None:
    """A thread cannot be stopped: what the flow does last must not be done beside it."""
    begun, may_end = Event(), Event()
    done: list[str] = []

    def work() -> None:
        begun.set()
        may_end.wait(10)
        done.append("work")

    def flow() -> Flow[None]:
        try:
            yield Work(work)
        finally:
            done.append("end")

    async def cancelled() -> None:
        task = asyncio.create_task(arun(flow()))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert done == ["work", "end"]


def test_an_error_that_counts_as_false_is_an_error() -> None:
    class Empty(Exception):  # noqa: N818 (it is)
        def __len__(self) -> int:
            return 0

    def work() -> None:
        raise Empty

    def flow() -> Flow[str]:
        try:
            yield Work(work)
        except Empty:
            return "seen"
        return "missed"

    assert asyncio.run(arun(flow())) == "seen"
