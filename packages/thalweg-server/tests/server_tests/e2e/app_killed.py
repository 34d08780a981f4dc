"""A process that performs a run, to be killed in the middle: its home, its step, its message.

It prints `ready` when the run reaches the step at which the process is to be killed.
"""

import asyncio
import sys
from pathlib import Path

from server_tests.e2e.talkers import settings
from thalweg_server.api.events import MessageDelta, ToolStarted
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app

TOOLS = [{"name": "slow", "use": "server_tests.e2e.talkers:once_slow"}]


async def main(home: Path, step: str, message: str) -> None:
    """Start a run, wait for the step, then sleep in it."""
    async with open_app(settings(tools=TOOLS), home=home) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(id="r1", message=message))
        async for one in ada.runs.follow("t1", run.id):
            is_there = isinstance(one.event, MessageDelta if step == "writing" else ToolStarted)
            if is_there:
                break
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.sleep(60)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
