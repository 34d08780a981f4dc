"""A file to settings, with its errors and notices."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path

from thalweg.errors import SettingsError
from thalweg_server.settings.checking import checked, unset_at_once
from thalweg_server.settings.nodes import Node, NodePosition
from thalweg_server.settings.notices import SettingNotice, doubts
from thalweg_server.settings.reading import read
from thalweg_server.settings.shaping import shaped
from thalweg_server.settings.variables import fill
from thalweg_server.settings.whole import Settings

USUAL = "config.yaml"
"""The file that is read when none is named, if it is in the working folder."""
VARIABLE = "THALWEG_CONFIG"
"""The variable that names another one."""
HOME = "THALWEG_HOME"
"""The variable that names the folder of Thalweg's files."""


@dataclass(frozen=True, slots=True)
class SettingsReport:
    """The settings of a file, with its errors and notices."""

    file: str
    """The file, as it was named; empty if there is none."""
    settings: Settings | None
    """Its settings without invalid values; `None` if too many are invalid."""
    problems: tuple[SettingsError, ...]
    """The errors, in the order of the lines."""
    notices: tuple[SettingNotice, ...]
    """Settings that have no effect, are taken as another one, or look like a mistake."""
    root: Node
    """Its values with their positions."""

    def unless_wrong(self) -> Settings:
        """Return the settings.

        Raises:
            SettingsError: Something is wrong; all that is.
        """
        if self.problems or self.settings is None:
            raise SettingsError.of(self.problems)
        return self.settings


def load_settings(
    path: str | PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> Settings:
    """Read the settings.

    Args:
        path: The file. By default the one that THALWEG_CONFIG names, or `config.yaml` in
            the working folder; if there is none, every setting has its default.
        environ: Variables; those of this process by default.

    Raises:
        SettingsError: The file is missing or cannot be used; it names every error of the file.

    Example:
        >>> load_settings(environ={"THALWEG_CONFIG": "nowhere.yaml"})
        Traceback (most recent call last):
        thalweg.errors.SettingsError: nowhere.yaml: THALWEG_CONFIG names a file that is not...
    """
    return examine(path, environ=environ).unless_wrong()


def examine(
    path: str | PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> SettingsReport:
    """Read and validate a file, and report every error.

    Args:
        path: As for `load_settings`.
        environ: As for `load_settings`.
    """
    environ = os.environ if environ is None else environ
    file = find(path, environ)
    if not file:
        return examine_text(b"", "", environ)
    try:
        text = Path(file).read_bytes()
    except OSError as error:
        return _failed(file, _unreadable(file, error, path, environ))
    return examine_text(text, file, environ)


def find(path: str | PathLike[str] | None, environ: Mapping[str, str]) -> str:
    """Return the file that is read; empty if there is none."""
    named = fspath(path) if path is not None else environ.get(VARIABLE, "")
    return named or (USUAL if Path(USUAL).exists() else "")


def examine_text(text: bytes, file: str, environ: Mapping[str, str]) -> SettingsReport:
    """Validate the content of a file."""
    try:
        root, unread = read(text, file)
    except SettingsError as error:
        return _failed(file, error)
    root, unfilled = fill(root, environ)
    shaping = shaped(root)
    root = _at_home(shaping.root, environ)
    settings, wrong = checked(root)
    problems = (*unread, *unfilled, *shaping.problems, *unset_at_once(root), *wrong)
    notices = (*shaping.notices, *doubts(root, settings))
    return SettingsReport(
        file,
        settings,
        tuple(sorted(problems, key=lambda problem: problem.line)),
        tuple(sorted(notices, key=lambda notice: notice.place.line)),
        root,
    )


def _at_home(root: Node, environ: Mapping[str, str]) -> Node:
    """Add the home of the environment if the file names none."""
    home = environ.get(HOME)
    storage = root.keys.get("storage")
    if not home or (storage and ("home" in storage.keys or not isinstance(storage.value, Mapping))):
        return root
    at = NodePosition("", 0, "storage.home")
    return root.put(("storage", "home"), Node(home, at, f"${HOME}", (HOME,)))


def _failed(file: str, error: SettingsError) -> SettingsReport:
    return SettingsReport(file, None, (error,), (), Node({}, NodePosition(file, 1, "")))


def _unreadable(
    file: str, error: OSError, path: str | PathLike[str] | None, environ: Mapping[str, str]
) -> SettingsError:
    if not isinstance(error, FileNotFoundError):
        why = (error.strerror or str(error)).lower()
        return SettingsError(file, 0, "", f"it cannot be read: {why}", "name another file")
    if path is None and environ.get(VARIABLE):
        problem, fix = f"{VARIABLE} names a file that is not there", "mend or unset the variable"
        return SettingsError(file, 0, "", problem, fix)
    fix = "name another file, or write one: thalweg config init"
    return SettingsError(file, 0, "", "the file does not exist", fix)
