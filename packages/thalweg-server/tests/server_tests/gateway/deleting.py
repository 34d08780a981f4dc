"""A process that deletes a thread, to be killed in the middle: it prints `half` and waits."""

import asyncio
import sys
from pathlib import Path

from server_tests.gateway.worlds import settings
from thalweg_server.app import open_app
from thalweg_server.app.threads import TenantThreads


class HalfDeleted(TenantThreads):
    """Threads whose log and files are never reached by a deletion."""

    def _delete(self, thread: str, *, forget: bool) -> tuple[str, ...]:
        del thread, forget
        sys.stdout.write("half\n")
        sys.stdout.flush()
        return tuple(iter(sys.stdin.readline, ""))


async def main(home: Path) -> None:
    """Delete a thread as far as its archive."""
    async with open_app(settings(home)) as app:
        await HalfDeleted("ada", app.parts).delete("t1")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
