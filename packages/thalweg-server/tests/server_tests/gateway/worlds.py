"""Settings of gateways under test, and the output of their models."""

from pathlib import Path
from typing import Any

import httpx2

from thalweg_server.settings import Settings

ADA, BOB = {"Authorization": "Bearer ada-s-key"}, {"Authorization": "Bearer bob-s-key"}
KEYS = [{"key": "ada-s-key", "owner": "ada"}, {"key": "bob-s-key", "owner": "bob"}]


def settings(home: Path, *, rate: float = 1_000.0, ticks: int = 3, **gateway: Any) -> Settings:  # noqa: ANN401 (as YAML has it)
    """Make settings with a model that answers at once."""
    model = {"name": "ticking", "use": "core_tests.ticking:TickingModel", "window": 32_000}
    slow = {**model, "name": "slow", "rate": 20.0, "ticks": 400}
    return Settings.from_mapping(
        {
            "models": [{**model, "rate": rate, "ticks": ticks}, slow],
            "gateway": gateway,
            "memory": {"debounce_seconds": 300},  # it does not learn while it is looked at
            "storage": {"home": str(home)},
        }
    )


def events(response: httpx2.Response) -> list[tuple[int, str]]:
    """Read a stream: number and type of each event."""
    return [(int(frame.id), frame.event) for frame in httpx2.EventSource(response)]


def furnish(url: str, key: dict[str, str], thread: str = "t1") -> dict[str, str]:
    """Make a thread with a run, a file and a fact; return possible parameters of paths."""
    with httpx2.Client(base_url=url, headers=key, timeout=30) as http:
        http.post("/api/threads", json={"id": thread, "title": "Plans"}).raise_for_status()
        run = http.post(f"/api/threads/{thread}/runs", json={"id": "r1", "message": "hi"})
        http.get(f"/api/threads/{thread}/runs/r1/wait?timeout=30").raise_for_status()
        files = {"files": ("notes.md", b"# Notes\n\nWords.\n")}
        sent = http.post(f"/api/threads/{thread}/uploads", files=files).raise_for_status().json()
        said = f"Ada keeps notes in {thread}."
        fact = http.post("/api/memory/facts", json={"content": said}).raise_for_status().json()
        history = http.get("/api/memory/history").raise_for_status().json()["items"]
    return {
        "thread": thread,
        "run": run.json()["id"],
        "name": sent["items"][0]["name"],
        "path": sent["items"][0]["path"].lstrip("/"),
        "fact": fact["id"],
        "operation": str(history[0]["operation"]),
    }
