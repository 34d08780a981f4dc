"""A flow performs its effects one after the other, also when its caller is cancelled."""

import asyncio
import traceback
from functools import partial
from threading import Event, current_thread, main_thread
from typing import Any, NoReturn

import pytest

from thalweg.context.turn.effects import (
    Flow,
    Send,
    SyncOrAsync,
    arun,
    arun_in_thread,
    sync_and_async,
)

REQUEST: Any = None


class Blocking:
    """Code of a flow that blocks until it is let go."""

    def __init__(self) -> None:
        self.begun, self.may_end = Event(), Event()
        self.done: list[str] = []

    def __call__(self) -> None:
        """Block."""
        self.begun.set()
        self.may_end.wait(10)
        self.done.append("blocked")

    def cancel(self, flow: Flow[None], *, times: int) -> None:
        """Perform a flow, and cancel it while it blocks."""

        async def send(_: object) -> NoReturn:
            self.done.append("sent")
            raise AssertionError

        async def cancelled() -> None:
            task = asyncio.create_task(arun_in_thread(flow, send))
            await asyncio.to_thread(self.begun.wait, 10)
            for _ in range(times):
                task.cancel()
                await asyncio.sleep(0)
            self.may_end.set()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())


def test_a_cancelled_caller_waits_until_the_thread_has_ended() -> None:
    """A thread cannot be stopped: the last action of the flow must not run in parallel with it."""
    block = Blocking()

    def flow() -> Flow[None]:
        try:
            block()
            yield Send(REQUEST)
        finally:
            block.done.append("end")

    block.cancel(flow(), times=2)

    assert block.done == ["blocked", "end"]


def test_a_flow_that_is_cancelled_while_it_blocks_is_cancelled_at_its_next_effect() -> None:
    """It may have things to put in order; nothing is sent any more."""
    block = Blocking()

    def flow() -> Flow[None]:
        block()
        block.done.append("more")
        try:
            yield Send(REQUEST)
        except asyncio.CancelledError:
            block.done.append("cancelled")
            raise

    block.cancel(flow(), times=1)

    assert block.done == ["blocked", "more", "cancelled"]


def test_code_that_blocks_runs_in_a_thread_and_its_effects_on_the_loop() -> None:
    threads: list[bool] = []

    def flow() -> Flow[str]:
        threads.append(current_thread() is main_thread())
        answer: str = yield Send(REQUEST)
        threads.append(current_thread() is main_thread())
        return answer

    async def send(_: object) -> Any:  # noqa: ANN401 (any answer)
        threads.append(current_thread() is main_thread())
        return "answer"

    assert asyncio.run(arun_in_thread(flow(), send)) == "answer"
    assert asyncio.run(arun(flow(), send)) == "answer"
    assert threads == [False, True, False, True, True, True]


def test_an_error_that_counts_as_false_is_an_error() -> None:
    class Empty(Exception):  # noqa: N818 (it is)
        def __len__(self) -> int:
            return 0

    async def send(_: object) -> NoReturn:
        raise Empty

    def flow() -> Flow[str]:
        try:
            yield Send(REQUEST)
        except Empty:
            return "seen"
        return "missed"

    assert asyncio.run(arun_in_thread(flow(), send)) == "seen"


def test_the_stack_of_an_error_names_the_function_that_raised() -> None:
    def deep() -> None:
        raise KeyError

    def flow() -> Flow[None]:
        deep()
        yield Send(REQUEST)

    with pytest.raises(KeyError) as raised:
        asyncio.run(arun_in_thread(flow()))
    names = [frame.name for frame in traceback.extract_tb(raised.tb)]

    assert names[-2:] == ["flow", "deep"]


def test_a_flow_gets_the_result_or_the_error_of_the_form_that_its_driver_performs() -> None:
    def fail() -> NoReturn:
        raise KeyError

    async def awaited() -> str:
        return "awaited"

    def flow() -> Flow[list[str]]:
        first: str = yield SyncOrAsync(lambda: "blocking", awaited)
        try:
            yield SyncOrAsync(fail, partial(asyncio.to_thread, fail))
        except KeyError:
            return [first, "raised"]
        return [first]

    now, later = sync_and_async(flow)

    assert now() == ["blocking", "raised"]
    assert asyncio.run(later()) == ["awaited", "raised"]
