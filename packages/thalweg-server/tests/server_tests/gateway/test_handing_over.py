"""A gateway that is stopped, and the one that comes after it."""

from pathlib import Path

import httpx2

from server_tests.gateway.worlds import settings
from server_tests.serving import gateway


def test_when_a_gateway_goes_its_runs_are_gone_on_with_by_the_next(tmp_path: Path) -> None:
    url = "/api/threads/moved/runs"
    with gateway(settings(tmp_path)) as first:
        body = {"id": "r", "message": "hi", "model": "slow"}
        with httpx2.stream("POST", f"{first.url}{url}/stream", json=body, timeout=30) as response:
            frames = iter(httpx2.EventSource(response))
            while next(frames).event != "message.delta":
                pass
            first.end()
            rest = [frame.event for frame in frames]
    assert not {kind for kind in rest if kind.startswith("run.")}
    with gateway(settings(tmp_path)) as second:
        with httpx2.stream("GET", f"{second.url}{url}/r/stream", timeout=60) as response:
            frames = iter(httpx2.EventSource(response))
            while next(frames).event != "run.resumed":
                pass
        assert httpx2.post(f"{second.url}{url}/r/cancel").status_code == 200
