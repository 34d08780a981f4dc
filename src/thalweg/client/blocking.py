"""The client for programs without an event loop: one line per method, and no logic."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import JsonValue

from thalweg.api.catalogue import Health, Model, Models, Skill, Skills
from thalweg.api.events import Numbered
from thalweg.api.files import Artifacts, Uploads
from thalweg.api.memory import Commit, Commits, Facts, FactView, Forgotten, Recall
from thalweg.api.runs import Run, Runs
from thalweg.api.threads import Context, DeletedThread, Done, History, State, Thread, Threads, Turns
from thalweg.api.usage import OwnerUsage, ThreadUsage
from thalweg.client.aio import AsyncThalwegClient
from thalweg.client.files import File
from thalweg.client.portal import Portal
from thalweg.client.runs import Blocks, IfBusy, MemoryMode
from thalweg.facts.values import Category

if TYPE_CHECKING:  # httpx2 is for who makes a client
    from thalweg.client.places import At
    from thalweg.client.streams import RunStream


class BlockingStream:
    """See `RunStream`: iterate it for `Numbered` events."""

    def __init__(self, portal: Portal, stream: "RunStream") -> None:
        self._call = portal.call
        self._stream = stream

    @property
    def thread(self) -> str:
        """The thread."""
        return self._stream.thread

    @property
    def run(self) -> str:
        """The run."""
        return self._stream.run

    @property
    def seq(self) -> int:
        """The number of the last event that was given."""
        return self._stream.seq

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Generator[Numbered]:
        events = aiter(self._stream)
        try:
            while (numbered := self._call(lambda: anext(events, None))) is not None:
                yield numbered
        finally:
            self._call(events.aclose)

    def close(self) -> None:
        """End the stream; the run goes on."""
        self._call(self._stream.aclose)


class ThalwegClient:
    """`AsyncThalwegClient`, one blocking call at a time.

    It opens with its first call, or with `with`; `close` it, or leave that to the end of the
    program.

    Example:
        ```python
        with ThalwegClient() as client:
            print(client.chat("Which rivers meet here?", "geography"))
            print(client.get_memory()["facts"])
        ```
    """

    def __init__(
        self,
        at: "At" = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        agent: str | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """See `AsyncThalwegClient`."""
        self._client = AsyncThalwegClient(
            at, key=key, owner=owner, agent=agent, timeout_s=timeout_s
        )
        self._portal = Portal(self._client.aclose)
        self._call = self._portal.call

    def __enter__(self) -> Self:
        self._call(self._client.__aenter__)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """See `AsyncThalwegClient.aclose`."""
        self._portal.close()

    def health(self) -> Health:
        """See `AsyncThalwegClient.health`."""
        return self._call(self._client.health)

    def metrics(self) -> str:
        """See `AsyncThalwegClient.metrics`."""
        return self._call(self._client.metrics)

    def list_models(self) -> Models:
        """See `AsyncThalwegClient.list_models`."""
        return self._call(self._client.list_models)

    def get_model(self, name: str) -> Model:
        """See `AsyncThalwegClient.get_model`."""
        return self._call(lambda: self._client.get_model(name))

    def list_skills(self) -> Skills:
        """See `AsyncThalwegClient.list_skills`."""
        return self._call(self._client.list_skills)

    def get_skill(self, name: str) -> Skill:
        """See `AsyncThalwegClient.get_skill`."""
        return self._call(lambda: self._client.get_skill(name))

    def get_usage(self) -> OwnerUsage:
        """See `AsyncThalwegClient.get_usage`."""
        return self._call(self._client.get_usage)

    def get_thread_usage(self, thread: str) -> ThreadUsage:
        """See `AsyncThalwegClient.get_thread_usage`."""
        return self._call(lambda: self._client.get_thread_usage(thread))

    def get_memory(self) -> dict[str, Any]:
        """See `AsyncThalwegClient.get_memory`."""
        return self._call(self._client.get_memory)

    def reload_memory(self) -> dict[str, Any]:
        """See `AsyncThalwegClient.reload_memory`."""
        return self._call(self._client.reload_memory)

    def get_memory_config(self) -> dict[str, Any]:
        """See `AsyncThalwegClient.get_memory_config`."""
        return self._call(self._client.get_memory_config)

    def get_memory_status(self) -> dict[str, Any]:
        """See `AsyncThalwegClient.get_memory_status`."""
        return self._call(self._client.get_memory_status)

    def clear_memory(self) -> Commit | None:
        """See `AsyncThalwegClient.clear_memory`."""
        return self._call(self._client.clear_memory)

    def export_memory(self, *, shape: Literal["seeds", "full"] = "seeds") -> dict[str, Any]:
        """See `AsyncThalwegClient.export_memory`."""
        return self._call(lambda: self._client.export_memory(shape=shape))

    def import_memory(self, document: Mapping[str, Any]) -> Commit | None:
        """See `AsyncThalwegClient.import_memory`."""
        return self._call(lambda: self._client.import_memory(document))

    def list_facts(self, *, status: str | None = None) -> Facts:
        """See `AsyncThalwegClient.list_facts`."""
        return self._call(lambda: self._client.list_facts(status=status))

    def add_fact(
        self, content: str, *, category: Category | None = None, confidence: float = 1.0
    ) -> FactView:
        """See `AsyncThalwegClient.add_fact`."""
        return self._call(
            lambda: self._client.add_fact(content, category=category, confidence=confidence)
        )

    def get_fact(self, fact: str) -> FactView:
        """See `AsyncThalwegClient.get_fact`."""
        return self._call(lambda: self._client.get_fact(fact))

    def edit_fact(
        self,
        fact: str,
        *,
        content: str | None = None,
        category: Category | None = None,
        confidence: float | None = None,
    ) -> FactView:
        """See `AsyncThalwegClient.edit_fact`."""
        return self._call(
            lambda: self._client.edit_fact(
                fact, content=content, category=category, confidence=confidence
            )
        )

    def delete_fact(self, fact: str) -> Commit:
        """See `AsyncThalwegClient.delete_fact`."""
        return self._call(lambda: self._client.delete_fact(fact))

    def review_fact(self, fact: str, *, accept: bool) -> FactView:
        """See `AsyncThalwegClient.review_fact`."""
        return self._call(lambda: self._client.review_fact(fact, accept=accept))

    def search_memory(self, words: str) -> Recall:
        """See `AsyncThalwegClient.search_memory`."""
        return self._call(lambda: self._client.search_memory(words))

    def explain_memory(self, words: str) -> Recall:
        """See `AsyncThalwegClient.explain_memory`."""
        return self._call(lambda: self._client.explain_memory(words))

    def memory_history(self, *, limit: int | None = None) -> Commits:
        """See `AsyncThalwegClient.memory_history`."""
        return self._call(lambda: self._client.memory_history(limit=limit))

    def undo_memory(self, operation: int) -> Commit:
        """See `AsyncThalwegClient.undo_memory`."""
        return self._call(lambda: self._client.undo_memory(operation))

    def forget_memory(
        self,
        *,
        facts: Sequence[str] = (),
        words: str = "",
        threads: Sequence[str] = (),
        everything: bool = False,
    ) -> Forgotten:
        """See `AsyncThalwegClient.forget_memory`."""
        return self._call(
            lambda: self._client.forget_memory(
                facts=facts, words=words, threads=threads, everything=everything
            )
        )

    def set_memory_mode(self, thread: str, mode: MemoryMode) -> MemoryMode:
        """See `AsyncThalwegClient.set_memory_mode`."""
        return self._call(lambda: self._client.set_memory_mode(thread, mode))

    def list_threads(
        self, *, limit: int | None = None, before: str | None = None, words: str | None = None
    ) -> Threads:
        """See `AsyncThalwegClient.list_threads`."""
        return self._call(
            lambda: self._client.list_threads(limit=limit, before=before, words=words)
        )

    def create_thread(self, thread: str | None = None, *, title: str = "") -> Thread:
        """See `AsyncThalwegClient.create_thread`."""
        return self._call(lambda: self._client.create_thread(thread, title=title))

    def get_thread(self, thread: str) -> Thread:
        """See `AsyncThalwegClient.get_thread`."""
        return self._call(lambda: self._client.get_thread(thread))

    def update_thread(self, thread: str, *, title: str) -> Thread:
        """See `AsyncThalwegClient.update_thread`."""
        return self._call(lambda: self._client.update_thread(thread, title=title))

    def delete_thread(
        self, thread: str, *, memory: Literal["forget"] | None = None
    ) -> DeletedThread:
        """See `AsyncThalwegClient.delete_thread`."""
        return self._call(lambda: self._client.delete_thread(thread, memory=memory))

    def get_state(self, thread: str) -> State:
        """See `AsyncThalwegClient.get_state`."""
        return self._call(lambda: self._client.get_state(thread))

    def get_history(
        self,
        thread: str,
        *,
        limit: int | None = None,
        before: int | None = None,
        abandoned: bool | None = None,
    ) -> History:
        """See `AsyncThalwegClient.get_history`."""
        return self._call(
            lambda: self._client.get_history(
                thread, limit=limit, before=before, abandoned=abandoned
            )
        )

    def list_turns(self, thread: str, *, edits_only: bool | None = None) -> Turns:
        """See `AsyncThalwegClient.list_turns`."""
        return self._call(lambda: self._client.list_turns(thread, edits_only=edits_only))

    def get_context(self, thread: str, *, turn: int | None = None) -> Context:
        """See `AsyncThalwegClient.get_context`."""
        return self._call(lambda: self._client.get_context(thread, turn=turn))

    def compact_thread(self, thread: str) -> Done:
        """See `AsyncThalwegClient.compact_thread`."""
        return self._call(lambda: self._client.compact_thread(thread))

    def rewind_thread(self, thread: str, turn: int) -> Done:
        """See `AsyncThalwegClient.rewind_thread`."""
        return self._call(lambda: self._client.rewind_thread(thread, turn))

    def undo_compaction(self, thread: str, *, turn: int | None = None) -> Done:
        """See `AsyncThalwegClient.undo_compaction`."""
        return self._call(lambda: self._client.undo_compaction(thread, turn=turn))

    def branch_thread(
        self, thread: str, branch: str | None = None, *, turn: int | None = None, title: str = ""
    ) -> Thread:
        """See `AsyncThalwegClient.branch_thread`."""
        return self._call(
            lambda: self._client.branch_thread(thread, branch, turn=turn, title=title)
        )

    def pin(self, thread: str, position: int, quote: str) -> Done:
        """See `AsyncThalwegClient.pin`."""
        return self._call(lambda: self._client.pin(thread, position, quote))

    def unpin(self, thread: str, position: int, quote: str) -> Done:
        """See `AsyncThalwegClient.unpin`."""
        return self._call(lambda: self._client.unpin(thread, position, quote))

    def export_thread(self, thread: str) -> str:
        """See `AsyncThalwegClient.export_thread`."""
        return self._call(lambda: self._client.export_thread(thread))

    def chat(self, text: str, thread: str | None = None, *, model: str | None = None) -> str:
        """See `AsyncThalwegClient.chat`."""
        return self._call(lambda: self._client.chat(text, thread, model=model))

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
    ) -> BlockingStream:
        """See `AsyncThalwegClient.stream`."""
        return BlockingStream(
            self._portal,
            self._client.stream(
                text,
                thread,
                resume=resume,
                model=model,
                memory=memory,
                place=place,
                if_busy=if_busy,
                run=run,
            ),
        )

    def join_stream(self, thread: str, run: str, *, after: int = 0) -> BlockingStream:
        """See `AsyncThalwegClient.join_stream`."""
        return BlockingStream(self._portal, self._client.join_stream(thread, run, after=after))

    def list_runs(
        self, thread: str, *, limit: int | None = None, before: str | None = None
    ) -> Runs:
        """See `AsyncThalwegClient.list_runs`."""
        return self._call(lambda: self._client.list_runs(thread, limit=limit, before=before))

    def start_run(
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
        """See `AsyncThalwegClient.start_run`."""
        return self._call(
            lambda: self._client.start_run(
                thread,
                text,
                resume=resume,
                model=model,
                memory=memory,
                place=place,
                if_busy=if_busy,
                run=run,
            )
        )

    def get_run(self, thread: str, run: str) -> Run:
        """See `AsyncThalwegClient.get_run`."""
        return self._call(lambda: self._client.get_run(thread, run))

    def wait_run(self, thread: str, run: str, *, timeout_s: float = 60.0) -> Run:
        """See `AsyncThalwegClient.wait_run`."""
        return self._call(lambda: self._client.wait_run(thread, run, timeout_s=timeout_s))

    def cancel_run(self, thread: str, run: str) -> Run:
        """See `AsyncThalwegClient.cancel_run`."""
        return self._call(lambda: self._client.cancel_run(thread, run))

    def upload_files(self, thread: str, files: Iterable[File]) -> Uploads:
        """See `AsyncThalwegClient.upload_files`."""
        return self._call(lambda: self._client.upload_files(thread, files))

    def upload_file(self, thread: str, file: File) -> Uploads:
        """See `AsyncThalwegClient.upload_file`."""
        return self._call(lambda: self._client.upload_file(thread, file))

    def list_uploads(self, thread: str) -> Uploads:
        """See `AsyncThalwegClient.list_uploads`."""
        return self._call(lambda: self._client.list_uploads(thread))

    def delete_upload(self, thread: str, name: str) -> None:
        """See `AsyncThalwegClient.delete_upload`."""
        return self._call(lambda: self._client.delete_upload(thread, name))

    def list_artifacts(self, thread: str) -> Artifacts:
        """See `AsyncThalwegClient.list_artifacts`."""
        return self._call(lambda: self._client.list_artifacts(thread))

    def download_artifact(
        self, thread: str, path: str, *, first: int | None = None, last: int | None = None
    ) -> bytes:
        """See `AsyncThalwegClient.download_artifact`."""
        return self._call(
            lambda: self._client.download_artifact(thread, path, first=first, last=last)
        )

    def get_artifact(self, thread: str, path: str) -> tuple[bytes, str]:
        """See `AsyncThalwegClient.get_artifact`."""
        return self._call(lambda: self._client.get_artifact(thread, path))
