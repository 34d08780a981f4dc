"""A flow does its effects one after the other, also when whoever waits for it goes away."""

import asyncio
from threading import Event
from typing import Any, NoReturn

import pytest

from thalweg.middleware.effects import Flow, Send, Work, arun


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


def test_a_flow_that_is_cancelled_at_work_hears_of_it_where_the_work_ends() -> None:
    """It may have things to put in order; nothing is sent any more."""
    begun, may_end = Event(), Event()
    done: list[str] = []

    def work() -> None:
        begun.set()
        may_end.wait(10)
        done.append("work")

    def flow() -> Flow[None]:
        yield Work(work)
        yield Work(lambda: done.append("more"))
        try:
            yield Send(request)
        except asyncio.CancelledError:
            done.append("heard")
            raise

    async def send(_: object) -> NoReturn:
        done.append("sent")
        raise AssertionError

    async def cancelled() -> None:
        task = asyncio.create_task(arun(flow(), send))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    request: Any = None
    asyncio.run(cancelled())

    assert done == ["work", "more", "heard"]


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
