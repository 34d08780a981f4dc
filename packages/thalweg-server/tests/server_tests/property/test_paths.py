"""Ids of threads in paths: each is one segment, comes back equal, and never names a file."""

import asyncio
from typing import Any

import httpx2
from fastapi import APIRouter, FastAPI
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core_tests.property.test_thread_ids import IDS
from thalweg_server.api.paths import path_of
from thalweg_server.client.in_process import InProcess
from thalweg_server.gateway.access import ThreadId
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.uploads.names import tag

ROUTER = APIRouter(prefix="/api/threads", route_class=GatewayRoute)


@ROUTER.get("/{thread}/turns")
async def turns(thread: ThreadId) -> list[str]:
    """Return the id that a request names."""
    return [thread]


APPLICATION = FastAPI()
APPLICATION.include_router(ROUTER)


def received(path: str) -> Any:  # noqa: ANN401 (JSON)
    """Return the answer to a request of a path."""

    async def ask() -> Any:  # noqa: ANN401 (JSON)
        transport = InProcess(APPLICATION)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return (await http.get(path)).raise_for_status().json()

    return asyncio.run(ask())


@settings(max_examples=50, deadline=None)
@given(IDS)
@example("claude-code:8b1c3f02")
@example("a/turns")
@example("a%2Fb")
@example("..")
@example("?#%")
def test_a_path_names_the_id_that_it_was_made_of(thread: str) -> None:
    assert received(path_of("/api/threads/{}/turns", thread)) == [thread]


@given(st.lists(IDS, min_size=2, max_size=2, unique=True))
@example(["a/b", "a-b"])
@example(["A", "a"])
@example(["../x", "x"])
def test_folders_of_threads_are_apart_and_below_their_owners(threads: list[str]) -> None:
    one, other = map(tag, threads)

    assert one != other
    assert one.casefold() == one
    assert all(set(each) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for each in (one, other))
