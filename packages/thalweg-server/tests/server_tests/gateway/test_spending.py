"""Spending is counted when it is spent: also that of cancelled runs, and over all gateways."""

import time
from pathlib import Path
from typing import Any

import httpx2

from server_tests.gateway.worlds import settings
from server_tests.serving import Served, gateway
from thalweg_server.settings import Settings


def limited(home: Path, **limits: object) -> Settings:
    return settings(home, limits=limits)


def cut_off(served: Served, thread: str) -> httpx2.Response:
    """Cancel a run before or after the first words of its answer."""
    api = f"{served.url}/api/threads/{thread}"
    started = httpx2.post(f"{api}/runs", json={"id": thread, "message": "hi", "model": "slow"})
    if started.status_code == 202:
        with httpx2.stream("GET", f"{api}/runs/{thread}/stream", timeout=30) as response:
            next(one for one in httpx2.EventSource(response) if one.event == "message.delta")
        httpx2.post(f"{api}/runs/{thread}/cancel")
        httpx2.get(f"{api}/runs/{thread}/wait?timeout=20", timeout=30)
    return started


def usage(served: Served) -> dict[str, Any]:
    found: dict[str, Any] = httpx2.get(f"{served.url}/api/usage").json()["total"]
    return found


def test_a_cancelled_call_costs_its_request_in_every_gateway_and_after_a_restart(
    tmp_path: Path,
) -> None:
    with gateway(limited(tmp_path, tokens_per_day=4_000)) as served:
        assert cut_off(served, "one").status_code == 202
        first = usage(served)
        assert first["calls"] == 1
        assert first["input_tokens"] > 1_000
        assert first["output_tokens"] > 0
    most = first["input_tokens"] + first["output_tokens"]
    with gateway(limited(tmp_path, tokens_per_day=most)) as served:
        refused = cut_off(served, "two")

    assert refused.status_code == 429
    assert refused.json()["code"] == "limit.tokens"


def test_the_usage_that_a_provider_reports_replaces_the_count(tmp_path: Path) -> None:
    """The model reports 13 tokens for each call, for any request."""
    with gateway(limited(tmp_path, tokens_per_day=26)) as served:
        for name, status in (("one", 202), ("two", 202), ("three", 429)):
            api = f"{served.url}/api/threads/{name}/runs"
            assert httpx2.post(api, json={"id": name, "message": "hi"}).status_code == status
            if status == 202:
                httpx2.get(f"{api}/{name}/wait?timeout=20", timeout=30)


def test_a_call_that_was_sent_and_not_answered_is_counted_while_it_is_under_way(
    tmp_path: Path,
) -> None:
    with gateway(limited(tmp_path, tokens_per_day=1_000)) as served:
        api = f"{served.url}/api/threads/one/runs"
        httpx2.post(api, json={"id": "r", "message": "hi", "model": "slow"})
        deadline = time.monotonic() + 20
        while not usage(served)["calls"] and time.monotonic() < deadline:
            time.sleep(0.05)
        other = httpx2.post(f"{served.url}/api/threads/other/runs", json={"message": "hi"})
        httpx2.post(f"{api}/r/cancel")

    assert other.status_code == 429
