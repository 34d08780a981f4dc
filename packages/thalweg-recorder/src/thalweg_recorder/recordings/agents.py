"""The coding agents, and where each has its sessions and its configuration: `agents.toml`."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """A home folder, and the environment variables that move folders of agents."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def places(self, texts: Iterable[str]) -> list[Path]:
        """Return the places of a list that exist on a machine like this, each once, in order.

        Example:
            >>> machine = Machine(Path("/home/ann"), {"CODEX_HOME": "/data/codex"})
            >>> [str(place) for place in machine.places(["$CODEX_HOME", "~/.codex", "$OTHER/x"])]
            ['/data/codex', '/home/ann/.codex']
        """
        found = (self._place(text) for text in texts)
        return list(dict.fromkeys(place for place in found if place is not None))

    def _place(self, text: str) -> Path | None:
        first, _, rest = text.partition("/")
        if first == "~":
            return self.home / rest
        name = first.removeprefix("$")
        if value := self.variables.get(name):
            home = self.home / value.removeprefix("~/") if value.startswith("~/") else Path(value)
            return home.absolute() / rest
        return self.home / _XDG[name] / rest if name in _XDG else None


@dataclass(frozen=True, slots=True)
class AgentPlaces:
    """The places of a coding agent, and the entries in its configuration."""

    name: str
    title: str
    folders: Sequence[str]
    sessions: Sequence[str]
    """Patterns of logs below each folder, and variables that name one."""
    subagents: Sequence[str] = ()
    """Patterns of logs of subagents, likewise."""
    settings: Sequence[str] = ()
    """Folders of its configuration; empty for `folders`."""
    files: Sequence[Mapping[str, Any]] = ()
    """Files of its configuration that `thalweg record on` changes."""
    note: str = ""
    """Instructions or information for the user."""

    def settings_folder(self, machine: Machine) -> Path:
        """Return the folder of its configuration."""
        return machine.places(self.settings or self.folders)[0]

    def is_used(self, machine: Machine) -> bool:
        """Return whether the agent has a folder on a machine."""
        return any(map(Path.is_dir, machine.places([*self.settings, *self.folders])))

    def logs(self, folder: Path, machine: Machine, *, subagents: bool) -> Iterator[Path]:
        """Yield the logs below one of its folders."""
        for pattern in (*self.sessions, *(self.subagents if subagents else ())):
            named = machine.variables.get(pattern.removeprefix("$"))
            with suppress(OSError):  # the rest of this folder cannot be listed
                yield from filter(Path.is_file, [folder / named] if named else folder.glob(pattern))


AGENTS = tuple(
    AgentPlaces(**row)
    for row in tomllib.loads(Path(__file__).with_name("agents.toml").read_text("utf-8"))["agents"]
)
"""Every agent whose sessions are found without a path."""
