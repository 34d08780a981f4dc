"""Threads: make, read, compact and rewind them."""

from typing import Literal

from thalweg_server.api.paths import path_of
from thalweg_server.api.threads import (
    Context,
    DeletedThread,
    Done,
    History,
    State,
    Thread,
    Threads,
    Turns,
)
from thalweg_server.client.caller import Caller
from thalweg_server.client.calls import GatewayRequest

_THREAD = "/api/threads/{}"
_LONG_S = 600.0
"""A model may have to write a summary."""


class ThreadCalls(Caller):
    """Client calls for threads.

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
        return await self._ask(Threads, "GET", "/api/threads", query=query)

    async def create_thread(self, thread: str | None = None, *, title: str = "") -> Thread:
        """Make a thread, with an id of yours or a new one."""
        body = {"id": thread, "title": title}
        return await self._ask(Thread, "POST", "/api/threads", body=body)

    async def get_thread(self, thread: str) -> Thread:
        """Return the metadata of a thread."""
        return await self._ask(Thread, "GET", _THREAD, thread)

    async def update_thread(self, thread: str, *, title: str) -> Thread:
        """Set the title of a thread."""
        body = {"title": title}
        return await self._ask(Thread, "PATCH", _THREAD, thread, body=body, again=True)

    async def delete_thread(
        self, thread: str, *, memory: Literal["forget"] | None = None
    ) -> DeletedThread:
        """Delete a thread; with `memory="forget"` also the facts learned from it, and its bytes.

        Returns:
            What may remain, and where.

        Raises:
            BusyError: A run of it has not ended.
        """
        query = {"memory": memory}
        return await self._ask(DeletedThread, "DELETE", _THREAD, thread, query=query)

    async def get_state(self, thread: str) -> State:
        """Return the state of a thread: todos, files, and pending questions."""
        return await self._ask(State, "GET", _THREAD + "/state", thread)

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
        return await self._ask(History, "GET", _THREAD + "/history", thread, query=query)

    async def list_turns(self, thread: str, *, edits_only: bool | None = None) -> Turns:
        """List the turns of a thread and the events between them, oldest first."""
        query = {"edits_only": edits_only}
        return await self._ask(Turns, "GET", _THREAD + "/turns", thread, query=query)

    async def get_context(
        self,
        thread: str,
        *,
        turn: int | None = None,
        next: bool | None = None,  # noqa: A002 (its name in the API)
    ) -> Context:
        """Return the exact request of a turn; by default the newest request.

        Args:
            thread: The thread.
            turn: Number of the turn, from 1.
            next: Whether to return what the next request begins with instead.
        """
        query = {"turn": turn, "next": next}
        return await self._ask(Context, "GET", _THREAD + "/context", thread, query=query)

    async def compact_thread(self, thread: str) -> Done:
        """Fold what can be folded, now."""
        return await self._ask(Done, "POST", _THREAD + "/compact", thread, wait_s=_LONG_S)

    async def rewind_thread(self, thread: str, turn: int) -> Done:
        """Restore a thread's state at the request of a turn; later messages are kept aside."""
        return await self._ask(Done, "POST", _THREAD + "/rewind", thread, body={"turn": turn})

    async def undo_compaction(self, thread: str, *, turn: int | None = None) -> Done:
        """Undo the compaction of a turn; by default, of the newest one."""
        return await self._ask(Done, "POST", _THREAD + "/undo", thread, query={"turn": turn})

    async def branch_thread(
        self, thread: str, branch: str | None = None, *, turn: int | None = None, title: str = ""
    ) -> Thread:
        """Create a thread from the beginning of another.

        Args:
            thread: The thread to begin with.
            branch: The new thread's id; generated by default.
            turn: The last turn whose request they have in common; by default all of the thread.
            title: The new thread's title.
        """
        body = {"id": branch, "turn": turn, "title": title}
        return await self._ask(Thread, "POST", _THREAD + "/branch", thread, body=body)

    async def pin(self, thread: str, position: int, quote: str) -> Done:
        """Keep words of the user verbatim in every compaction."""
        body = {"position": position, "quote": quote}
        return await self._ask(Done, "POST", _THREAD + "/pin", thread, body=body)

    async def unpin(self, thread: str, position: int, quote: str) -> Done:
        """Unpin words."""
        body = {"position": position, "quote": quote}
        return await self._ask(Done, "POST", _THREAD + "/unpin", thread, body=body)

    async def export_thread(self, thread: str) -> str:
        """Return a thread as JSON lines, as `thalweg thread export` does."""
        call = GatewayRequest("GET", path_of(_THREAD + "/export", thread), wait_s=_LONG_S)
        return (await self._fetch(call)).text
