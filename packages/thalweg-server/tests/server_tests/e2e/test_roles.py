"""Processes that accept runs, processes that perform them, and several of one address."""

import asyncio
import json
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core_tests import forking
from server_tests.e2e.gateways_world import SERVED
from thalweg_server.app.metrics import Metrics, make_metrics_folder, share_metrics
from thalweg_server.gateway.serving import address_of, bound

PATIENCE_S = 90.0
MODEL = {"name": "ticking", "use": "core_tests.ticking:TickingModel", "window": 32_000}
SETTINGS = {"models": [{**MODEL, "rate": 100, "ticks": 3}], "memory": {"enabled": False}}


@contextmanager
def started(folder: Path, *options: object) -> Iterator[forking.Forked]:
    """Run `thalweg serve` without a token."""
    (config := folder / "config.yaml").write_text(json.dumps(SETTINGS))  # JSON is YAML
    with (folder / "log").open("ab") as log:
        process = forking.start(
            "thalweg",
            *("serve", "--config", config, "--no-token", *options),
            stdout=log,
            stderr=log,
            cwd=folder,
            env={**os.environ, "THALWEG_HOME": str(folder / "home")},
            imports=SERVED,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def call(url: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send a request until it is answered."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            method = "GET" if body is None else "POST"
            answer = httpx2.request(method, url + path, json=body, timeout=20, trust_env=False)
            answer.raise_for_status()
            return dict(answer.json())
        except httpx2.HTTPError:
            assert time.monotonic() < until
            time.sleep(0.1)


def ended(url: str, run: dict[str, Any]) -> dict[str, Any]:
    """Wait for a run to end."""
    until = time.monotonic() + PATIENCE_S
    while (found := call(url, f"/api/threads/t/runs/{run['id']}"))["ended"] is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    return found


def children(process: forking.Forked) -> list[int]:
    """Return the ids of the processes that a process has forked."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(child) for child in listed]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_api_accepts_what_a_worker_performs(tmp_path: Path) -> None:
    """Without a worker a run waits, and a second message of its thread after it."""
    with bound("127.0.0.1", 0) as free:
        url, port = address_of(free), free.getsockname()[1]
    with started(tmp_path, "--port", port, "--role", "api", "--workers", 2) as api:
        first = call(url, "/api/threads/t/runs", {"message": "one"})
        second = call(url, "/api/threads/t/runs", {"message": "two"})
        (crashed, kept) = children(api)
        os.kill(crashed, signal.SIGKILL)
        time.sleep(1)
        assert call(url, f"/api/threads/t/runs/{first['id']}")["status"] == "queued"

        (audit := tmp_path / "home" / "audit.jsonl").unlink()
        with started(tmp_path, "--role", "worker") as worker:
            runs = [ended(url, run) for run in (first, second)]
            assert [run["status"] for run in runs] == ["completed"] * 2
            assert runs[0]["ended"] <= runs[1]["started"]
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(60) == 0
        assert audit.is_file()  # it deletes by age

        until = time.monotonic() + PATIENCE_S
        while len(now := children(api)) < 2:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert kept in now
        assert crashed not in now
        for _ in range(8):  # whichever process answers, and with what the crashed one counted
            text = httpx2.get(f"{url}/metrics", trust_env=False).text
            assert re.findall(r'requests_total{operation="start_run".* (.*)', text) == ["2.0"]
        folder = tmp_path / "home" / f"metrics-{port}"  # a replacement continues the files
        assert {one.stem.rsplit("_")[-1] for one in folder.iterdir()} == {"0", "1"}
        shutil.rmtree(folder)
        api.send_signal(signal.SIGTERM)
        assert api.wait(60) == 0


def test_without_a_folder_each_process_counts_for_itself(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "metrics"
    make_metrics_folder(folder)
    share_metrics(folder, 0)

    assert Metrics.folder is None
    assert "thalweg_runs_total" in asyncio.run(Metrics().text(0, 0)).decode()
