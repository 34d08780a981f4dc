"""The channel of an agent's state with its files, and the deltas written to it.

Each write is a *delta*: `{path: FileData}` for a file, `{path: None}` for a deleted one. In the
input of a run, a text is a file, too. A checkpoint holds the deltas of its step, and occasionally a
snapshot.

Deltas of concurrent steps arrive in an arbitrary order, and in another one when a thread is loaded.
`LiveFiles` therefore stamps each with its place in the order of the changes, and the later one of a
path wins, in any order of arrival.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NotRequired, Self

from langchain.agents.middleware.types import AgentState, PrivateStateAttr
from langgraph.channels import DeltaChannel

from thalweg.errors import ConfigError
from thalweg_agent.backends.concurrency.live_files import LiveFiles, Stamp
from thalweg_agent.backends.protocol import FileData

GONE = "\0gone"
"""Key in a delta with the stamps of the paths that it deletes."""
STAMP = "stamp"
"""Key in a file of a delta with its stamp. State never shows it."""
SNAPSHOT_EVERY = 50
"""Deltas that a loaded thread replays at most."""

Delta = Mapping[str, Any]
"""By path: a file, a text, or `None` for a deleted one."""


class Files(dict[str, FileData]):
    """The files of a state as of its last step, and the changes that the running step makes.

    A copy of any kind is a plain `dict`: only the channel's own value leads to the live files.
    """

    __slots__ = ("live", "stamps")

    def __init__(self, files: Delta, stamps: Mapping[str, Stamp] | None = None) -> None:
        super().__init__({path: data for path, data in files.items() if data is not None})
        self.live: LiveFiles | None = None
        self.stamps: dict[str, Stamp] = dict(stamps or {})

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


def merge_files(left: Mapping[str, FileData] | None, writes: Sequence[Delta]) -> Files:
    """Apply deltas to files; of two with stamps of one step, the later change wins."""
    merged = Files(left or {}, left.stamps if isinstance(left, Files) else None)
    for delta in writes:
        for path, data in delta.items():
            if path == GONE:
                continue
            stamp, kept = _stamp(delta, path), clean(data)
            if stamp is None:
                merged.stamps.pop(path, None)
            elif _is_behind(stamp, merged.stamps.get(path)):
                continue
            else:
                merged.stamps[path] = stamp
            if kept is None:
                merged.pop(path, None)
            else:
                merged[path] = kept
    return merged


def stamped(path: str, data: FileData | None, stamp: Stamp) -> dict[str, Any]:
    """Write one change as a delta with its place in the order of changes."""
    if data is None:
        return {path: None, GONE: {path: list(stamp)}}
    return {path: {**data, STAMP: list(stamp)}}


def stamps_of(delta: Delta) -> dict[str, Stamp]:
    """Return the stamps of a delta; paths without one are omitted."""
    found = {path: _stamp(delta, path) for path in delta if path != GONE}
    return {path: stamp for path, stamp in found.items() if stamp is not None}


def _stamp(delta: Mapping[str, Any], path: str) -> Stamp | None:
    data = delta[path]
    if not isinstance(data, dict | str | None):
        problem = f"{path} is {data!r:.60}, which is not a file"
        raise ConfigError("files", problem, "pass its text as a str")
    stamp = data.get(STAMP) if isinstance(data, dict) else delta.get(GONE, {}).get(path)
    return None if stamp is None else (stamp[0], stamp[1])


def clean(data: Any) -> FileData | None:  # noqa: ANN401 (whatever was written)
    """Return a file of a delta without its stamp; a text becomes a file without times."""
    if isinstance(data, str):
        return FileData(content=data, encoding="utf-8")
    if data is None or STAMP not in data:
        return data
    return {key: value for key, value in data.items() if key != STAMP}  # type: ignore[return-value]


def _is_behind(stamp: Stamp, held: Stamp | None) -> bool:
    return held is not None and held[0] == stamp[0] and stamp[1] < held[1]


class FilesChannel(DeltaChannel[dict[str, FileData]]):
    """Keeps files in a state, and the live files of the run that the state belongs to.

    The live files hang on the channel's value: every task of a step of a run reads the same
    value, and a run that was loaded from a checkpoint has a value, and so live files, of its
    own. Nothing else has to be kept, found or cleared.
    """

    __slots__ = ()

    def __init__(
        self,
        reducer: Callable[[Any, Sequence[Any]], Any] = merge_files,
        typ: Any = None,  # noqa: ANN401 (as LangGraph's)
        *,
        snapshot_frequency: int = SNAPSHOT_EVERY,
    ) -> None:
        super().__init__(reducer, typ, snapshot_frequency=snapshot_frequency)

    def from_checkpoint(self, checkpoint: Any) -> Self:  # noqa: ANN401 (as LangGraph's)
        """Load the files, with no live ones yet."""
        channel = super().from_checkpoint(checkpoint)
        channel._begin(LiveFiles())  # noqa: SLF001 (of the same class)
        return channel

    def replay_writes(self, writes: Sequence[tuple[str, str, Any]]) -> None:
        """Apply the deltas that were made since the snapshot."""
        live = self._live()
        super().replay_writes(writes)
        if live is not None:
            self._begin(live)

    def update(self, values: Sequence[Any]) -> bool:
        """Apply the deltas of a step; the live files go on from there."""
        live = self._live()
        changed = super().update(values)
        if changed and live is not None:
            self._begin(live)
        return changed

    def _live(self) -> LiveFiles | None:
        return self.value.live if isinstance(self.value, Files) else None

    def _begin(self, live: LiveFiles) -> None:
        if not isinstance(self.value, Files):
            self.value = Files(self.value)
        self.value.live = live
        live.settle(self.value)


def merge_notes(left: Mapping[str, Any] | None, right: Mapping[str, Any]) -> dict[str, Any]:
    """Merge by path; `None` clears one."""
    merged = {**(left or {}), **right}
    return {path: note for path, note in merged.items() if note is not None}


class FilesystemState(AgentState[Any]):
    """The state of an agent that has files."""

    files: Annotated[NotRequired[dict[str, FileData]], FilesChannel()]
    """The files as of the last step."""
    files_unseen: NotRequired[Annotated[dict[str, str], PrivateStateAttr, merge_notes]]
    """Who changed a file that this agent has not seen since, by path."""
