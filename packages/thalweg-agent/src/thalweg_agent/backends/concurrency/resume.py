"""Resumption of an interrupted step, perhaps in another process.

LangGraph reruns the tasks of the step that had not ended, and keeps the writes of the others until
the step is done. So before any further file operation, those writes are made visible; so are the
changes of each interrupted subagent, which its parent stored in a note next to the checkpoint of
the step, and those in a subagent's own state, in case no note was written.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

from thalweg.engine.undocumented import REPLAY_KEY, RESUMING_KEY, loop_of
from thalweg_agent.backends.concurrency.file_versions import AgentCall, FileClient
from thalweg_agent.backends.concurrency.live_files import LiveFiles
from thalweg_agent.backends.concurrency.state_channel import Files, clean, stamps_of
from thalweg_agent.backends.protocol import FileData

NOTE = "__thalweg_files"
"""Name of notes among the writes of a step; no channel has it."""
UNSEEN = "files_unseen"
"""Channel that keeps, by path, who changed what its agent has not seen since."""


def is_resumed(configurable: Mapping[str, Any]) -> bool:
    """Return whether a step resumes after an interrupt, and is no rewind."""
    return bool(configurable.get(RESUMING_KEY)) and not configurable.get(REPLAY_KEY)


def take_up(live: LiveFiles, configurable: Mapping[str, Any], call: AgentCall) -> None:
    """Restore the changes that a step had made before it was interrupted."""
    loop = loop_of(configurable)
    if loop is None:
        return
    live.ledger.acts(live.main, call)
    for task, written in _ended(loop):
        _put_back(live, call, task, written)
    for _, channel, note in list(loop.checkpoint_pending_writes):
        if channel == NOTE:
            _read_note(live, note)


def leave_note(
    live: LiveFiles,
    author: FileClient,
    configurable: Mapping[str, Any],
    delta: Any,  # noqa: ANN401 (as it goes to a channel)
) -> None:
    """Store a subagent's changes, since it is interrupted and its parent's step is not done."""
    loop = loop_of(configurable)
    note = {
        "uid": author.uid,
        "label": author.label,
        "files": delta,
        "changed": [path for path, _ in live.ledger.by(author)],
        "unheard": list(author.unheard),
    }
    if loop is not None and (delta or note["changed"] or note["unheard"]):
        loop.put_writes(str(uuid4()), [(NOTE, note)])


def contribute(live: LiveFiles, author: FileClient, files: Files) -> list[str]:
    """Restore a subagent's earlier changes from its own state.

    Returns:
        Paths that another agent has changed since, whose version is kept.
    """
    lost = []
    with live.lock:
        for path, stamp in files.stamps.items():
            if not live.adopt(author, path, files.get(path), stamp):
                lost.append(path)
    return lost


def _ended(loop: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:  # noqa: ANN401 (see loop_of)
    """Yield the file-related writes of the tasks that had ended in the step."""
    for task in list(loop.tasks.values()):
        written: dict[str, Any] = {}
        for channel, value in list(task.writes):
            if channel in {"files", UNSEEN} and isinstance(value, Mapping):
                written[channel] = {**written.get(channel, {}), **value}
        if written:
            yield str(task.id), written


def _put_back(live: LiveFiles, call: AgentCall, task: str, written: Mapping[str, Any]) -> None:
    delta: Mapping[str, FileData | None] = written.get("files", {})
    for path, stamp in stamps_of(delta).items():
        live.adopt(live.main, path, clean(delta[path]), stamp)
    by_others: Mapping[str, str | None] = written.get(UNSEEN, {})
    for path in {*stamps_of(delta), *by_others}:
        if label := by_others.get(path):
            ghost = FileClient(label, of=live.main, ended=True)
            live.ledger.changed(ghost, AgentCall(), path)
        else:
            live.ledger.changed(live.main, AgentCall(call.turn, task), path)


def _read_note(live: LiveFiles, note: Mapping[str, Any]) -> None:
    author = live.awaited.setdefault(
        note["uid"], FileClient(note["label"], of=live.main, uid=note["uid"], ended=True)
    )
    delta: Mapping[str, FileData | None] = note["files"]
    for path, stamp in stamps_of(delta).items():
        live.adopt(author, path, clean(delta[path]), stamp)
    for path in note["changed"]:
        live.ledger.changed(author, AgentCall(), path)
    author.unheard += [notice for notice in note["unheard"] if notice not in author.unheard]
