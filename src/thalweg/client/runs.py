"""Runs: start them, follow them, end them; and a chat, which is all three."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from pydantic import JsonValue

from thalweg.api.events import RunCancelled, RunCompleted, RunFailed, RunInterrupted
from thalweg.api.runs import Run, Runs
from thalweg.client.calls import Call, Caller, path_of
from thalweg.client.problems import error_of
from thalweg.errors import ClientError

if TYPE_CHECKING:  # httpx2 is for who makes a client
    from thalweg.client.streams import RunStream

MemoryMode = Literal["on", "read_only", "incognito", "off"]
IfBusy = Literal["reject", "cancel"]
Blocks = Sequence[dict[str, JsonValue]]
"""A message's content blocks, as LangChain has them."""

_RUNS = "/api/threads/{}/runs"
_RUN = "/api/threads/{}/runs/{}"
_SLACK_S = 30.0


class RunCalls(Caller):
    """What a client does with runs."""

    async def chat(self, text: str, thread: str | None = None, *, model: str | None = None) -> str:
        """Ask something, and give the final answer.

        Args:
            text: What is asked.
            thread: Where; a new thread where it is not given.
            model: A name of `list_models`.

        Raises:
            ThalwegError: The run failed.
            ClientError: It was cancelled, or waits for a person's word (`run.interrupted`).
        """
        async for numbered in self.stream(text, thread, model=model):
            match numbered.event:
                case RunCompleted(text=answer):
                    return answer
                case RunFailed(problem=problem):
                    raise error_of(problem)
                case RunCancelled():
                    raise ClientError(0, "run.cancelled", "the run was cancelled")
                case RunInterrupted():
                    detail = "the agent waits for a person's word; give it with `stream(resume=…)`"
                    raise ClientError(0, "run.interrupted", detail)
        raise ClientError(0, "run.cancelled", "the stream was closed before the run ended")

    def stream(
        self,
        text: str | Blocks | None = None,
        thread: str | None = None,
        *,
        resume: JsonValue = None,
        model: str | None = None,
        memory: MemoryMode = "on",
        place: str | None = None,
        if_busy: IfBusy = "reject",
        run: str | None = None,
    ) -> "RunStream":
        """Ask something, and follow the answer.

        Args:
            text: What is asked.
            thread: Where; a new thread where it is not given. It is made if it is not there.
            resume: In place of a text: a person's word on what the last run waits for.
            model: A name of `list_models`.
            memory: What memory may do in this run.
            place: Where the user is, such as a folder and its project: the agent is told.
            if_busy: What to do where another run of the thread has not ended.
            run: The run's id; made up where it is not given.
        """
        from thalweg.client.streams import RunStream  # noqa: PLC0415 (see its import above)

        thread, run = thread or _new_id(), run or _new_id()
        asked = self._asked(text, resume, model, memory, place, if_busy, run)
        start = Call("POST", path_of(_RUNS + "/stream", thread), body=asked, again=True)
        return RunStream(self._connected, thread, run, start=start)

    def join_stream(self, thread: str, run: str, *, after: int = 0) -> "RunStream":
        """Follow a run that was started elsewhere.

        Args:
            thread: Its thread.
            run: Its id.
            after: The number of the last event that is known already.
        """
        from thalweg.client.streams import RunStream  # noqa: PLC0415 (see its import above)

        return RunStream(self._connected, thread, run, after=after)

    async def list_runs(
        self, thread: str, *, limit: int | None = None, before: str | None = None
    ) -> Runs:
        """List the runs of a thread, the newest first."""
        query = {"limit": limit, "before": before}
        return await self._ask(Call("GET", path_of(_RUNS, thread), query), Runs)

    async def start_run(
        self,
        thread: str,
        text: str | Blocks | None = None,
        *,
        resume: JsonValue = None,
        model: str | None = None,
        memory: MemoryMode = "on",
        place: str | None = None,
        if_busy: IfBusy = "reject",
        run: str | None = None,
    ) -> Run:
        """Ask something, and do not wait for the answer: see `stream` for what can be said."""
        asked = self._asked(text, resume, model, memory, place, if_busy, run or _new_id())
        call = Call("POST", path_of(_RUNS, thread), body=asked, again=True)
        return await self._ask(call, Run)

    async def get_run(self, thread: str, run: str) -> Run:
        """Give what is known of a run."""
        return await self._ask(Call("GET", path_of(_RUN, thread, run)), Run)

    async def wait_run(self, thread: str, run: str, *, timeout_s: float = 60.0) -> Run:
        """Wait until a run has ended, and no longer than told; give it as it is then."""
        call = Call(
            "GET",
            path_of(_RUN + "/wait", thread, run),
            {"timeout": timeout_s},
            wait_s=timeout_s + _SLACK_S,
        )
        return await self._ask(call, Run)

    async def cancel_run(self, thread: str, run: str) -> Run:
        """End a run; its thread stays as the last checkpoint left it."""
        call = Call("POST", path_of(_RUN + "/cancel", thread, run), again=True)
        return await self._ask(call, Run)

    def _asked(
        self,
        text: str | Blocks | None,
        resume: JsonValue,
        model: str | None,
        memory: MemoryMode,
        place: str | None,
        if_busy: IfBusy,
        run: str,
    ) -> dict[str, Any]:
        """Say it as `thalweg.api.runs.NewRun` does; with an id, twice the same is one run."""
        blocks = None if text is None or isinstance(text, str) else list(text)
        return {
            "id": run,
            "message": text if isinstance(text, str) else None,
            "messages": None if blocks is None else [{"role": "user", "content": blocks}],
            "resume": resume,
            "model": model,
            "memory": memory,
            "agent": self._agent,
            "place": place,
            "if_busy": if_busy,
        }


def _new_id() -> str:
    return uuid4().hex
