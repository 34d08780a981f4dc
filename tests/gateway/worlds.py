"""Settings of gateways under test, and what their models say."""

from pathlib import Path
from typing import Any

import httpx2

from thalweg.settings import Settings

ADA, BOB = {"x-api-key": "ada-s-key"}, {"x-api-key": "bob-s-key"}
KEYS = [{"key": "ada-s-key", "owner": "ada"}, {"key": "bob-s-key", "owner": "bob"}]


def settings(home: Path, *, rate: float = 1_000.0, ticks: int = 3, **gateway: Any) -> Settings:  # noqa: ANN401 (as YAML has it)
    """Make settings with a model that speaks at once."""
    model = {"name": "ticking", "use": "tests.ticking:TickingModel", "window": 32_000}
    slow = {**model, "name": "slow", "rate": 20.0, "ticks": 400}
    return Settings.from_mapping(
        {
            "models": [{**model, "rate": rate, "ticks": ticks}, slow],
            "gateway": gateway,
            "storage": {"home": str(home)},
        }
    )


def events(response: httpx2.Response) -> list[tuple[int, str]]:
    """Read a stream: number and type of each event."""
    return [(int(frame.id), frame.event) for frame in httpx2.EventSource(response)]
