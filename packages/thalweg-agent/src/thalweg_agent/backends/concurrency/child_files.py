"""A subagent's part in the files of its parent's run."""

from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command

from thalweg_agent.backends.concurrency.file_access import known
from thalweg_agent.backends.concurrency.file_versions import AgentCall, FileClient, sends
from thalweg_agent.backends.concurrency.live_files import LiveFiles, Version
from thalweg_agent.backends.concurrency.resume import UNSEEN, contribute, leave_note
from thalweg_agent.backends.concurrency.run_context import MEMBER, AgentFiles, RunContext, here
from thalweg_agent.backends.concurrency.state_channel import GONE, Files, stamped
from thalweg_agent.backends.protocol import FileData
from thalweg_agent.prompts import prompt


def child_of(*, name: str, call_id: str) -> "RunningSubagent":
    """Return a subagent whose parent is the current agent, in one of its tool calls.

    Args:
        name: The name of the subagent.
        call_id: Id of the tool call; notices to other agents contain both.

    Example:
        >>> with child_of(name="researcher", call_id="call_1") as child:
        ...     config = child.config({"tags": ["mine"]})
        >>> child.update(given={}), child.notices()
        ({}, '')
    """
    return RunningSubagent(here(), name, call_id)


class RunningSubagent:
    """A subagent while it runs, and its results for the parent.

    A graph without the files channel shares nothing; the files that the subagent returns are
    compared with those that it received.
    """

    def __init__(self, at: RunContext | None, name: str, call_id: str) -> None:
        self._at = at
        self._member: AgentFiles | None = None
        self._left: list[str] = []
        if at is not None and at.agent_files is not None:
            live, parent = at.agent_files.live, at.agent_files.author
            known(at, parent, live.ledger)
            label = prompt("files_subagent").render(name=name, call=call_id)
            before = live.awaited.pop(call_id, None)
            self._member = AgentFiles(live, sends(parent, label, call_id, before), at.inside)

    @property
    def is_live(self) -> bool:
        """Whether it shares live files with its parent."""
        return self._member is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._member is None or self._at is None:
            return
        live, author = self._member.live, self._member.author
        if isinstance(error, GraphBubbleUp) and author.of is live.main:
            delta = _delta(live.changes(author), is_stamped=True)
            leave_note(live, author, self._at.configurable, delta)
        self._left += live.ledger.ends(author)

    def config(self, config: RunnableConfig | None = None) -> RunnableConfig:
        """Make the configuration to run the subagent with."""
        given = config or {}
        if self._member is None:
            return given
        return {**given, "configurable": {**given.get("configurable", {}), MEMBER: self._member}}

    def update(
        self,
        files: Mapping[str, FileData] | None = None,
        *,
        given: Mapping[str, FileData] | None = None,
    ) -> dict[str, Any]:
        """Return the update of the parent's state: the changes of the subagent's whole tree.

        Args:
            files: Those of the subagent's last state; `None` if there is none. Its changes there
                outside of any backend are included if no other agent changed the file.
            given: The files that it received.

        Returns:
            The update; empty if it changed nothing.
        """
        direct = _difference(files, given or {}) if files is not None else {}
        if self._member is None or self._at is None:
            return {"files": direct} if direct else {}
        live, author = self._member.live, self._member.author
        with live.lock:
            if isinstance(files, Files) and not author.is_taken_up and live.is_taken_up:
                contribute(live, author, files)
            for path, data in direct.items():
                self._take(live, author, path, data, (given or {}).get(path))
            changed = live.changes(author)
        update: dict[str, Any] = {}
        if changed:
            update["files"] = _delta(changed, is_stamped=isinstance(self._at.channel, Files))
        if unseen := self._unseen():
            update[UNSEEN] = unseen
        return update

    def notices(self) -> str:
        """Return notices of attempted changes over the subagent's own that it has not received."""
        return "".join(f"\n\n{notice}" for notice in self._left)

    def _take(
        self,
        live: LiveFiles,
        author: FileClient,
        path: str,
        data: FileData | None,
        given: FileData | None,
    ) -> None:
        """Take over a change that the subagent made in its state itself."""
        now = live.get(path)
        if now == data or path in live.changes(author):
            return
        if now == given:
            live.put(author, path, data)
            live.ledger.changed(author, AgentCall(), path)
            return
        notice = prompt("files_set_aside").render(who=author.label, path=path)
        self._left.append(notice)
        for other in live.authors(path):
            live.ledger.notify(other, notice, by=author)

    def _unseen(self) -> dict[str, str]:
        """Return, by path, the author of each change that the parent has not seen."""
        at, member = self._at, self._member
        parent = None if member is None else member.author.of
        if at is None or member is None or parent is None or at.read(UNSEEN) is None:
            return {}
        ledger = member.live.ledger
        return {
            path: change.author.label
            for path, change in ledger.by(member.author)
            if ledger.unseen(parent, path) is not None
        }


def _difference(
    files: Mapping[str, FileData], given: Mapping[str, FileData]
) -> dict[str, FileData | None]:
    changed: dict[str, FileData | None] = {
        path: data for path, data in files.items() if given.get(path) != data
    }
    return changed | {path: None for path in given if path not in files}


def _delta(changed: Mapping[str, Version], *, is_stamped: bool) -> dict[str, Any]:
    if not is_stamped:
        return {path: version.data for path, version in changed.items()}
    delta: dict[str, Any] = {}
    gone: dict[str, Any] = {}
    for path, version in changed.items():
        one = stamped(path, version.data, version.stamp)
        gone |= one.pop(GONE, {})
        delta |= one
    return {**delta, GONE: gone} if gone else delta


def with_notices(result: ToolMessage | Command[Any]) -> ToolMessage | Command[Any]:
    """Add to a tool's result what other agents tried over the changes of the one that runs.

    Without any, and outside of an agent, it is the result itself.
    """
    at = here()
    agent_files = None if at is None else at.agent_files
    if agent_files is None or not agent_files.author.unheard:
        return result
    if isinstance(result, ToolMessage):
        return _noting(result, agent_files.live.ledger.take_notices(agent_files.author))
    update = result.update
    match update:
        case {"messages": [*before, ToolMessage() as last], **others}:
            noted = _noting(last, agent_files.live.ledger.take_notices(agent_files.author))
            return replace(result, update={**others, "messages": [*before, noted]})
        case _:
            return result


def _noting(message: ToolMessage, notices: list[str]) -> ToolMessage:
    notes = "".join(f"\n\n{note}" for note in notices)
    if isinstance(message.content, str):
        return message.model_copy(update={"content": message.content + notes})
    block = {"type": "text", "text": notes.strip()}
    return message.model_copy(update={"content": [*message.content, block]})
