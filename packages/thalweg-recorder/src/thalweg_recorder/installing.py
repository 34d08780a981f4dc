"""Installing the recorder in coding agents, and taking it out again to the byte."""

import base64
import hashlib
import json
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from thalweg.database.private_files import make_private_folder
from thalweg.errors import ConfigError
from thalweg_recorder import hook
from thalweg_recorder.hosts import Configuration, HostCommands, configurations
from thalweg_recorder.place import write_private
from thalweg_recorder.recordings.agents import AGENTS, AgentPlaces, Machine

MANIFEST = "installed.json"
"""In the recorder's folder: the earlier content of each configuration file, and what we wrote."""


MOVED = "moved"
"""In the recorder's folder: a hook found that its environment is gone, and reported it once."""
_REPORT = (
    "Thalweg no longer records this agent: its environment was moved or deleted. "
    "Run `thalweg record on`, or remove its hooks from the settings."
)
_GUARD = (
    f'[ -x "$1" ] && [ -f "$2" ] && exec "$1" -I -S "$2" "$3"; [ -d "$3" ] '
    f'&& [ ! -e "$3/{MOVED}" ] '
    f"&& : > \"$3/{MOVED}\" && echo '{json.dumps({'systemMessage': _REPORT})}'; exit 0"
)
"""Runs the hook; a hook that is gone is reported once, never as an error at each event."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one configuration file; `None` if there is no file."""

    path: Path
    before: str | None
    after: str | None
    original: str | None = None
    """The content without us, which `thalweg record off` restores."""
    agent: str = ""
    folder: str = ""
    """The folder of the agent's sessions."""

    @property
    def diff(self) -> str:
        """The change as a unified diff; the folder of the sessions if only that changes."""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.path),
            str(self.path) if self.after is not None else "/dev/null",
        )
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        return text or f"{self.path}: sessions in {self.folder}\n"


def pick_agents(machine: Machine, names: Sequence[str] = ()) -> list[AgentPlaces]:
    """Pick agents that have hooks by name; without names, those that are used on a machine.

    Raises:
        ConfigError: There is no such agent.
    """
    by_name = {agent.name: agent for agent in AGENTS if agent.files}
    for name in names:
        if name not in by_name:
            raise ConfigError("--agent", f"there is no agent {name!r}", f"use {', '.join(by_name)}")
    if names:
        return [by_name[name] for name in dict.fromkeys(names)]
    return [agent for agent in by_name.values() if agent.is_used(machine)]


def commands_for(folder: Path) -> HostCommands:
    """Name what agents run, with this interpreter and this recorder's folder."""
    return HostCommands(
        hook=("/bin/sh", "-c", _GUARD, "thalweg", sys.executable, hook.__file__, str(folder)),
        server=(
            *(sys.executable, "-EP", "-m", "thalweg", "record", "mcp"),
            *("--archive", str(folder / "thalweg.db")),
        ),
    )


def plan_install(machine: Machine, folder: Path, agents: Sequence[AgentPlaces]) -> list[FileChange]:
    """Plan the changes of an installation. Installed again, it updates entries and folders.

    Raises:
        ConfigError: A configuration cannot be parsed in its format.
        OSError: Likewise.
    """
    commands = commands_for(folder)
    return _planned(machine, folder, agents, lambda one, text: one.add(text or "", commands))


def plan_uninstall(
    machine: Machine, folder: Path, agents: Sequence[AgentPlaces]
) -> list[FileChange]:
    """Plan the removal of the recorder, from all folders of the agents in which it is installed.

    A file that was not changed since is restored; from one that was, our part is removed.

    Raises:
        ConfigError: A configuration cannot be parsed in its format.
        OSError: Likewise.
    """
    return _planned(machine, folder, agents, lambda _, text: text, everywhere=True)


def _planned(
    machine: Machine,
    folder: Path,
    agents: Sequence[AgentPlaces],
    after: Callable[[Configuration, str | None], str | None],
    *,
    everywhere: bool = False,
) -> list[FileChange]:
    """Plan the new content of files, each made of its content without us."""
    manifest, changes = _manifest(folder), list[FileChange]()
    for agent in agents:
        own = str(machine.places(agent.folders)[0])
        installed = [
            Path(path) for path, known in manifest.items() if known.get("agent") == agent.name
        ]
        for one in configurations(agent, machine):
            # A link to where a user keeps configurations stays a link.
            others = [path for path in installed if everywhere and path.name == one.path.name]
            for path in dict.fromkeys((one.path.resolve(), *others)):
                text = _read(path)
                original = _restored(text, one, manifest.get(str(path)))
                new = after(one, original)
                stays = everywhere or manifest.get(str(path), {}).get("folder") == own
                if not stays or _content(text) != _content(new):
                    changes.append(FileChange(path, text, new, original, agent.name, own))
    return changes


def _content(text: str | None) -> object:
    """Return the values of a configuration in any order, in which agents write them anew."""
    for parse in (json.loads, tomllib.loads):
        try:
            return parse(text or "")
        except ValueError:
            continue
    return text


def apply_changes(folder: Path, changes: Sequence[FileChange], *, installs: bool) -> None:
    """Write changed files, each whole or not at all, and store their earlier content.

    Raises:
        ConfigError: A file was changed since the plan was made; it and those after it are not
            written.
        OSError: A file cannot be written; likewise.
    """
    make_private_folder(folder)
    for change in changes:
        if _read(change.path) != change.before:
            raise ConfigError(str(change.path), "it was changed in the meantime", "try again")
        manifest = {**_manifest(folder)}
        manifest.pop(str(change.path), None)
        if installs:
            # Written first: after a crash between the two, the file is still as it was before.
            written = {"before": _encoded(change.original), "written": _digest(change.after)}
            manifest[str(change.path)] = {**written, "agent": change.agent, "folder": change.folder}
            write_private(folder / MANIFEST, json.dumps(manifest, indent=1))
        if change.after is None:
            change.path.unlink()
        else:
            write_private(change.path, change.after)
        if not installs:
            write_private(folder / MANIFEST, json.dumps(manifest, indent=1))


def _restored(text: str | None, one: Configuration, known: Mapping[str, str] | None) -> str | None:
    """Return the content of a file without us."""
    if text is None:
        return None
    if known is not None and known["written"] == _digest(text):
        return _decoded(known["before"])
    # A file of which nothing is left was ours, except for one that was empty before.
    return one.remove(text) or (None if text else text)


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return None


def installed_folders(folder: Path) -> dict[str, list[Path]]:
    """Return the folders of sessions of the agents in which the recorder is installed, by agent."""
    found: dict[str, list[Path]] = {}
    for known in _manifest(folder).values():
        if known.get("folder"):
            found.setdefault(known["agent"], []).append(Path(known["folder"]))
    return found


def _manifest(folder: Path) -> dict[str, dict[str, str]]:
    """Read the manifest: each file's earlier content (base64, or `none`) and the written one."""
    text = _read(folder / MANIFEST)
    known: dict[str, dict[str, str]] = json.loads(text) if text else {}
    return known


_NO_FILE = "none"


def _encoded(text: str | None) -> str:
    if text is None:
        return _NO_FILE
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()


def _decoded(kept: str) -> str | None:
    return None if kept == _NO_FILE else base64.b64decode(kept).decode("utf-8", "surrogateescape")


def _digest(text: str | None) -> str:
    return hashlib.sha256((text or "").encode("utf-8", "surrogateescape")).hexdigest()
