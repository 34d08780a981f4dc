"""Slots are shared: no owner holds all of them, and owners take turns."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.uploads.converting import FairSlots


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20),
)
def test_never_too_many_and_none_waits_for_ever(slots: int, asked: list[tuple[str, bool]]) -> None:
    """Some that wait are cancelled; all others are served, within the bounds."""

    async def all_of_them() -> None:
        fair, held = FairSlots(slots), list[str]()

        async def one(owner: str) -> None:
            async with fair.one(owner):
                held.append(owner)
                try:
                    assert len(held) <= slots
                    assert held.count(owner) <= max(1, slots - 1)
                    await asyncio.sleep(0)
                    await asyncio.sleep(0)
                finally:
                    held.remove(owner)

        tasks = [asyncio.create_task(one(owner)) for owner, _ in asked]
        await asyncio.sleep(0)
        for task, (_, is_cancelled) in zip(tasks, asked, strict=True):
            if is_cancelled:
                task.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            assert task.cancelled() or task.exception() is None
        async with asyncio.timeout(5), fair.one("z"):
            pass

    asyncio.run(all_of_them())


def test_an_owner_with_many_documents_does_not_hold_up_another() -> None:
    served: list[str] = []

    async def flood() -> None:
        fair = FairSlots(2)

        async def one(owner: str) -> None:
            async with fair.one(owner):
                served.append(owner)
                await asyncio.sleep(0.001)

        many = [asyncio.create_task(one("many")) for _ in range(20)]
        await asyncio.sleep(0)
        await one("few")
        await asyncio.gather(*many)

    asyncio.run(flood())
    assert served.index("few") <= 1
