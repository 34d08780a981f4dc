"""Installing the recorder in coding agents, and taking it out again to the byte."""

import base64
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from thalweg.database.private_files import make_private_folder, open_private
from thalweg.errors import ConfigError
from thalweg_recorder import hook
from thalweg_recorder.hosts import HOSTS, CodingAgent, Configuration, HostCommands

MANIFEST = "installed.json"
"""In the recorder's folder: the earlier content of each configuration file, and what we wrote."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change of one configuration file; `None` if there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        lines = unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            str(self.path),
            str(self.path) if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def pick_hosts(home: Path, names: Sequence[str] = ()) -> list[CodingAgent]:
    """Pick hosts by name; without names, those that are used in a home folder.

    Raises:
        ConfigError: There is no host of a name.
    """
    by_name = {host.name: host for host in HOSTS}
    for name in names:
        if name not in by_name:
            raise ConfigError("--agent", f"there is no agent {name!r}", f"use {', '.join(by_name)}")
    if names:
        return [by_name[name] for name in dict.fromkeys(names)]
    return [host for host in HOSTS if (home / host.folder).is_dir()]


def commands_for(folder: Path) -> HostCommands:
    """Name what agents run, with this interpreter and this recorder's folder."""
    return HostCommands(
        hook=(sys.executable, "-I", "-S", hook.__file__, str(folder)),
        server=(sys.executable, "-m", "thalweg", "mcp", "--archive", str(folder / "thalweg.db")),
    )


def plan_install(home: Path, folder: Path, hosts: Sequence[CodingAgent]) -> list[FileChange]:
    """Plan the changes of an installation. Installed again, it changes nothing, or newer entries.

    Raises:
        ConfigError: A configuration cannot be parsed in its format.
        OSError: Likewise.
    """
    commands = commands_for(folder)
    return _planned(home, folder, hosts, lambda one, text: one.add(text or "", commands))


def plan_uninstall(home: Path, folder: Path, hosts: Sequence[CodingAgent]) -> list[FileChange]:
    """Plan the removal of the recorder: a file that was not changed since is restored.

    From one that was changed since, our part is removed and nothing else.

    Raises:
        ConfigError: A configuration cannot be parsed in its format.
        OSError: Likewise.
    """
    return _planned(home, folder, hosts, lambda _, text: text)


def _planned(
    home: Path,
    folder: Path,
    hosts: Sequence[CodingAgent],
    after: Callable[[Configuration, str | None], str | None],
) -> list[FileChange]:
    """Plan the new content of files, each made of its content without us."""
    manifest, changes = _manifest(folder), list[FileChange]()
    for host in hosts:
        for one in host.files:
            # A link to where a user keeps configurations stays a link.
            path = (home / one.path).resolve()
            text = _read(path)
            original = _restored(text, one, manifest.get(str(path)))
            changes.append(FileChange(path, text, after(one, original)))
    return [change for change in changes if change.before != change.after]


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
        known = manifest.pop(str(change.path), None)
        if installs:
            # Written first: after a crash between the two, the file is still as it was before.
            keeps = known is not None and known["written"] == _digest(change.before)
            before = known["before"] if keeps and known is not None else _encoded(change.before)
            manifest[str(change.path)] = {"before": before, "written": _digest(change.after)}
            _write(folder / MANIFEST, json.dumps(manifest, indent=1))
        if change.after is None:
            change.path.unlink()
        else:
            _write(change.path, change.after)
        if not installs:
            _write(folder / MANIFEST, json.dumps(manifest, indent=1))


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
    except FileNotFoundError:
        return None


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all, with the mode that it has."""
    make_private_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb", opener=open_private) as file:
            file.write(text.encode("utf-8", "surrogateescape"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(path.stat().st_mode & 0o7777)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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
