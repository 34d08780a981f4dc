"""Callers that wait for one function share a call of it."""

import asyncio
from threading import Event

import pytest

from thalweg_server.app.parts import SharedCall

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_callers_during_a_call_share_the_next_one() -> None:
    """The running one may have read before what they deleted."""
    calls, begun, going_on = 0, Event(), Event()

    def do() -> None:
        nonlocal calls
        calls += 1
        begun.set()
        going_on.wait(20)

    shared = SharedCall(do)
    first = asyncio.create_task(shared())
    assert await asyncio.to_thread(begun.wait, 20)
    later = [asyncio.create_task(shared()) for _ in range(50)]
    await asyncio.sleep(0)
    going_on.set()
    await asyncio.gather(first, *later)
    assert calls == 2
    await shared()
    assert calls == 3


async def test_a_failed_call_is_not_shared() -> None:
    calls = 0

    def do() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError

    shared = SharedCall(do)
    ended = await asyncio.gather(*(shared() for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in ended] == [OSError, type(None), type(None)]
    assert calls == 2
