"""Threads: make, read, compact and rewind them."""

from typing import Literal

from thalweg.client.caller import Caller
from thalweg.client.calls import GatewayRequest, path_of
from thalweg.server.api.threads import (
    Context,
    DeletedThread,
    Done,
    History,
    State,
    Thread,
    Threads,
    Turns,
)

_THREAD = "/api/threads/{}"
_LONG_S = 600.0
"""A model may have to write a summary."""


class ThreadCalls(Caller):
    """What a client does with threads.

    Raises (all that name a thread):
        NoSuchThreadError: There is none with that id.
    """

    async def list_threads(
        self, *, limit: int | None = None, before: str | None = None, words: str | None = None
    ) -> Threads:
        """List threads, the newest first.

        Args:
            limit: How many at most.
            before: `Threads.before` of the page before this one.
            words: Of their titles.
        """
        query = {"limit": limit, "before": before, "q": words}
        return await self._ask(GatewayRequest("GET", "/api/threads", query), Threads)

    async def create_thread(self, thread: str | None = None, *, title: str = "") -> Thread:
        """Make a thread, with an id of yours or a new one."""
        body = {"id": thread, "title": title}
        return await self._ask(GatewayRequest("POST", "/api/threads", body=body), Thread)

    async def get_thread(self, thread: str) -> Thread:
        """Return the metadata of a thread."""
        return await self._ask(GatewayRequest("GET", path_of(_THREAD, thread)), Thread)

    async def update_thread(self, thread: str, *, title: str) -> Thread:
        """Set the title of a thread."""
        call = GatewayRequest("PATCH", path_of(_THREAD, thread), body={"title": title}, again=True)
        return await self._ask(call, Thread)

    async def delete_thread(
        self, thread: str, *, memory: Literal["forget"] | None = None
    ) -> DeletedThread:
        """Delete a thread; with `memory="forget"` also the facts learned from it, and its bytes.

        Returns:
            What may remain, and where.

        Raises:
            BusyError: A run of it has not ended.
        """
        call = GatewayRequest("DELETE", path_of(_THREAD, thread), {"memory": memory})
        return await self._ask(call, DeletedThread)

    async def get_state(self, thread: str) -> State:
        """Return the state of a thread: todos, files, and pending questions."""
        return await self._ask(GatewayRequest("GET", path_of(_THREAD + "/state", thread)), State)

    async def get_history(
        self,
        thread: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        abandoned: bool | None = None,
    ) -> History:
        """Return a page of a thread's complete messages.

        Args:
            thread: The thread.
            limit: How many at most.
            before: `History.before` of the page after this one.
            abandoned: Whether to include messages abandoned by rewinds.
        """
        query = {"limit": limit, "before": before, "abandoned": abandoned}
        return await self._ask(
            GatewayRequest("GET", path_of(_THREAD + "/history", thread), query), History
        )

    async def list_turns(self, thread: str, *, edits_only: bool | None = None) -> Turns:
        """List the turns of a thread with what was decided before each, oldest first."""
        query = {"edits_only": edits_only}
        return await self._ask(
            GatewayRequest("GET", path_of(_THREAD + "/turns", thread), query), Turns
        )

    async def get_context(self, thread: str, *, turn: int | None = None) -> Context:
        """Return the exact request of a turn; the newest by default."""
        call = GatewayRequest("GET", path_of(_THREAD + "/context", thread), {"turn": turn})
        return await self._ask(call, Context)

    async def compact_thread(self, thread: str) -> Done:
        """Fold what can be folded, now."""
        call = GatewayRequest("POST", path_of(_THREAD + "/compact", thread), wait_s=_LONG_S)
        return await self._ask(call, Done)

    async def rewind_thread(self, thread: str, turn: int) -> Done:
        """Restore a thread's state after a turn; later messages are kept aside."""
        call = GatewayRequest("POST", path_of(_THREAD + "/rewind", thread), body={"turn": turn})
        return await self._ask(call, Done)

    async def undo_compaction(self, thread: str, *, turn: int | None = None) -> Done:
        """Take back the compaction of a turn; the newest where none is named."""
        call = GatewayRequest("POST", path_of(_THREAD + "/undo", thread), {"turn": turn})
        return await self._ask(call, Done)

    async def branch_thread(
        self, thread: str, branch: str | None = None, *, turn: int | None = None, title: str = ""
    ) -> Thread:
        """Create a thread from the beginning of another.

        Args:
            thread: The thread to begin with.
            branch: The new thread's id; generated by default.
            turn: The last turn they have in common; the newest by default.
            title: The new thread's title.
        """
        body = {"id": branch, "turn": turn, "title": title}
        call = GatewayRequest("POST", path_of(_THREAD + "/branch", thread), body=body)
        return await self._ask(call, Thread)

    async def pin(self, thread: str, position: int, quote: str) -> Done:
        """Keep words of the user verbatim in every compaction."""
        body = {"position": position, "quote": quote}
        return await self._ask(
            GatewayRequest("POST", path_of(_THREAD + "/pin", thread), body=body), Done
        )

    async def unpin(self, thread: str, position: int, quote: str) -> Done:
        """Unpin words."""
        body = {"position": position, "quote": quote}
        return await self._ask(
            GatewayRequest("POST", path_of(_THREAD + "/unpin", thread), body=body), Done
        )

    async def export_thread(self, thread: str) -> str:
        """Return a thread as JSON lines, as `thalweg thread export` does."""
        call = GatewayRequest("GET", path_of(_THREAD + "/export", thread), wait_s=_LONG_S)
        return (await (await self._connected()).fetch(call)).text
