"""The gateway's own process starts no thread for a LangSmith trace that was not requested."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Literal

import langsmith
import pytest

from thalweg_server.gateway.serving import trace_in_loop


@pytest.fixture
def _in_loop() -> Iterator[None]:
    trace_in_loop()
    yield
    langsmith.set_runtime_overrides()


@pytest.mark.usefixtures("_in_loop")
@pytest.mark.parametrize("enabled", [False, "local"])
def test_a_trace_takes_a_thread_only_where_it_is_kept(enabled: Literal[False, "local"]) -> None:
    @langsmith.traceable
    async def double(number: int) -> int:
        assert threading.current_thread() is threading.main_thread()
        return 2 * number

    async def main() -> int:
        before = threading.active_count()
        assert await double(4) == 8
        return threading.active_count() - before

    client = langsmith.Client("http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
    with langsmith.tracing_context(enabled=enabled, client=client):
        threads = asyncio.run(main())
    assert (threads > 0) is bool(enabled)
