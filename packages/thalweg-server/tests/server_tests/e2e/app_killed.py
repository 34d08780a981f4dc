"""A process that performs a run, to be killed in the middle: its home, its step, its message.

It prints `ready` when the run reaches the step at which the process is to be killed.
"""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig

from server_tests.e2e.talkers import settings
from thalweg_server.api.events import MessageDelta, ToolStarted
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app
from thalweg_server.checkpoints.owners import RunSaver

TOOLS = [{"name": "slow", "use": "server_tests.e2e.talkers:once_slow"}]


def ready() -> None:
    """Report the step."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def stop_when_checkpoints_are_deleted() -> None:
    """Never return from the deletion of a completed run's checkpoints."""
    keep_newest = RunSaver.keep_newest

    async def stopped(self: RunSaver, config: RunnableConfig, values: Mapping[str, Any]) -> None:
        await keep_newest(self, config, values)
        ready()
        await asyncio.sleep(60)

    RunSaver.keep_newest = stopped  # type: ignore[method-assign]


async def main(home: Path, step: str, message: str) -> None:
    """Start a run, wait for the step, then sleep in it."""
    if step == "deleted":
        stop_when_checkpoints_are_deleted()
    async with open_app(settings(tools=TOOLS), home=home) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(id="r1", message=message))
        async for one in ada.runs.follow("t1", run.id):
            is_there = isinstance(one.event, MessageDelta if step == "writing" else ToolStarted)
            if is_there:
                break
        ready()
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
