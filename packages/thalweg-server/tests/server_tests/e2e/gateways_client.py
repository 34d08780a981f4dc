"""A process that follows runs of gateways to their ends, and prints every event it receives.

Requests are read from stdin, a JSON object a line: a conversation of some runs, one after the
other. It prints a JSON object a line: events as they arrive, and the end of each stream.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from thalweg.errors import ClientError, ThalwegError
from thalweg_server.client import AsyncThalwegClient

_PAUSE_S = 0.3


class Follower:
    """Follows conversations."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = urls
        self._clients: dict[tuple[str, ...], AsyncThalwegClient] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, line: str) -> None:
        """Begin a conversation."""
        task = asyncio.create_task(self._talk(json.loads(line)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _talk(self, asked: dict[str, Any]) -> None:
        for run in asked["runs"]:
            try:
                await self._follow(asked, run["run"], run["text"])
            except ThalwegError as error:
                tell(run["run"], error=f"{type(error).__name__}: {error}")
                return

    async def _follow(self, asked: dict[str, Any], run: str, text: str) -> None:
        """Follow a run; `hop` is how many events are taken of one gateway before the other."""
        hop, key, thread = asked["hop"], asked["key"], asked["thread"]
        places = [[url] for url in self._urls] if hop else [list(self._urls)]
        seq, cuts, turn = 0, 0, 0
        while True:
            client = self._client(key, places[turn % len(places)])
            stream = client.join_stream(thread, run, after=seq)
            if not seq:
                stream = client.stream(text, thread, run=run)
            is_ended = True
            try:
                async for numbered in stream:
                    seq = numbered.seq
                    tell(run, seq=seq, event=numbered.event.model_dump(mode="json"))
                    if hop and seq >= hop and not turn:
                        is_ended = numbered.event.type.startswith("run.completed")
                        break
            except ClientError as error:
                if error.status:
                    raise
                is_ended = False  # none answers: one is begun in a moment
                cuts += 1
                await asyncio.sleep(_PAUSE_S)
            await stream.aclose()
            if is_ended:
                tell(run, ended=True, cuts=cuts, hops=turn - cuts)
                return
            turn += 1

    def _client(self, key: str, urls: list[str]) -> AsyncThalwegClient:
        at = (key, *urls)
        if at not in self._clients:
            self._clients[at] = AsyncThalwegClient(urls, key=key)
        return self._clients[at]


def tell(run: str, **told: object) -> None:
    """Print an object about a run."""
    sys.stdout.write(json.dumps({"run": run, **told}) + "\n")
    sys.stdout.flush()


async def main(urls: Sequence[str]) -> None:
    """Follow what is asked for until stdin ends."""
    follower = Follower(urls)
    reader = asyncio.StreamReader(limit=2**24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        follower.take(line.decode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
