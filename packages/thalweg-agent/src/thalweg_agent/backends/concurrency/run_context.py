"""Where code of an agent runs: in which step of which graph, and for which author of files."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from langgraph.config import get_config

from thalweg.engine.undocumented import READ_KEY, SEND_KEY, TASK_KEY
from thalweg_agent.backends.concurrency.file_versions import AgentCall, FileClient
from thalweg_agent.backends.concurrency.live_files import LiveFiles
from thalweg_agent.backends.concurrency.resume import contribute, is_resumed, take_up
from thalweg_agent.backends.concurrency.state_channel import Files, stamped
from thalweg_agent.backends.protocol import FileData
from thalweg_agent.prompts import prompt

MEMBER = "__thalweg_files"
"""Key of the configuration under which a subagent finds the objects shared with its parent."""


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """An agent's part in the files of a run."""

    live: LiveFiles
    author: FileClient
    inside: tuple[str, ...] = ()
    """The steps in which a subagent runs: a graph that runs elsewhere is another's."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """A step of a graph that keeps files."""

    configurable: Mapping[str, Any]
    channel: Mapping[str, FileData] | None
    """The files in the graph's own channel as of its last step; `None` if it has none."""
    agent_files: AgentFiles | None
    """`None` in a graph whose channel is not ours: its files are those of its channel alone."""

    @property
    def call(self) -> AgentCall:
        """Which call of which turn this is."""
        step = self.configurable.get(_NAMESPACE, "")
        task = str(self.configurable.get(TASK_KEY, step))
        return AgentCall((self._graph, self.configurable.get(_STEP)), task)

    @property
    def inside(self) -> tuple[str, ...]:
        """The steps of graphs in which this code runs, this one included."""
        return _steps(self.configurable.get(_NAMESPACE, ""))

    @property
    def _graph(self) -> tuple[str, ...]:
        return self.inside[:-1]

    def read(self, channel: str) -> Any:  # noqa: ANN401 (any channel)
        """Read a channel as of the last step; `None` if the graph has no such channel."""
        return _read(self.configurable, channel)

    def send(self, channel: str, value: object) -> None:
        """Write to a channel, as this step's own."""
        self.configurable[SEND_KEY]([(channel, value)])

    def files(self) -> Mapping[str, FileData]:
        """Return the files as they are now."""
        return self.channel or {} if self.agent_files is None else self.agent_files.live.files()

    def get_file(self, path: str) -> FileData | None:
        """Look at one file."""
        return (
            (self.channel or {}).get(path)
            if self.agent_files is None
            else self.agent_files.live.get(path)
        )

    def held(self) -> AbstractContextManager[object]:
        """Keep others from changing files, from a look at one to the change that is made of it."""
        return nullcontext() if self.agent_files is None else self.agent_files.live.lock

    def put_file(self, path: str, data: FileData | None) -> None:
        """Change one file, or delete it with `None`."""
        change: dict[str, Any] = {path: data}
        if self.agent_files is not None:
            stamp = self.agent_files.live.put(self.agent_files.author, path, data)
            if isinstance(self.channel, Files):
                change = stamped(path, data, stamp)
        if self.channel is not None:
            self.send("files", change)


_NAMESPACE = "checkpoint_ns"
_STEP = "__thalweg_step"


def here() -> RunContext | None:
    """Find out where this code runs; `None` outside of any step of a graph."""
    try:
        config = get_config()
    except RuntimeError:
        return None
    configurable: dict[str, Any] = dict(config.get("configurable", {}))
    if READ_KEY not in configurable:
        return None
    configurable[_STEP] = config.get("metadata", {}).get("langgraph_step")
    channel = _read(configurable, "files")
    member = configurable.get(MEMBER)
    graph = _steps(configurable.get(_NAMESPACE, ""))[:-1]
    if isinstance(member, AgentFiles) and member.inside == graph:
        at = RunContext(configurable, channel, member)
        if is_resumed(configurable) and isinstance(channel, Files):
            _go_on(member, channel)
        return at
    live = channel.live if isinstance(channel, Files) else None
    at = RunContext(configurable, channel, AgentFiles(live, live.main) if live else None)
    if live is not None and is_resumed(configurable):
        with live.lock:
            if not live.is_taken_up:
                live.is_taken_up = True
                take_up(live, configurable, at.call)
    return at


def _go_on(member: AgentFiles, channel: Files) -> None:
    author = member.author
    with member.live.lock:
        if author.is_taken_up:
            return
        author.is_taken_up = True
        for path in contribute(member.live, author, channel):
            notice = prompt("files_set_aside").render(who=author.label, path=path)
            author.unheard.append(notice)
            for other in member.live.authors(path):
                member.live.ledger.notify(other, notice, by=author)


def _read(configurable: Mapping[str, Any], channel: str) -> Any:  # noqa: ANN401 (any channel)
    read: Callable[[str, bool], Any] = configurable[READ_KEY]
    try:
        found = read(channel, False)  # noqa: FBT003 (LangGraph's signature)
        if channel == "files" and not (isinstance(found, Files) and found.live):
            found = read(channel, True)  # noqa: FBT003 (with what this task wrote itself)
    except KeyError:
        return None
    return {} if found is None else found


def _steps(namespace: str) -> tuple[str, ...]:
    """Name the steps of a checkpoint's namespace; a number only counts graphs of one step."""
    parts: Sequence[str] = namespace.split("|")
    return tuple(part for part in parts if part and not part.isdigit())
