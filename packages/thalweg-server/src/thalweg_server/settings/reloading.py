"""A file of settings that is read again when it changes."""

import logging
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Any

from thalweg.errors import SettingsError
from thalweg_server.settings.loading import SettingsReport, examine, examine_text, find
from thalweg_server.settings.sections import Settings, is_loopback

_AT_START = {
    "storage": ("url", "direct_url", "home", "files"),
    "memory": ("storage", "storage_path"),
    "gateway": ("host", "port", "root_path", "header_timeout_s", "max_runs", "run_time_limit_s"),
}
"""Settings that a process reads at its start alone, by their sections."""
_log = logging.getLogger("thalweg.server.settings")


class SettingsFile:
    """The settings of a file, as it is now; safe for threads.

    With an invalid file the earlier settings are kept, and `problem` is its error.

    Args:
        path: As for `load_settings`.
        environ: As for `load_settings`.

    Raises:
        SettingsError: The file cannot be used; there are no settings of before yet.

    Example:
        >>> SettingsFile(environ={}).current.gateway.host
        '127.0.0.1'
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._path = path
        self._environ = os.environ if environ is None else environ
        self._lock = Lock()
        self._file = ""
        self._text: bytes | None = None
        report = self._read_if_changed() or examine(path, environ=self._environ)
        self._current = report.unless_wrong()
        self._problem: SettingsError | None = None
        self.needs_restart: tuple[str, ...] = ()
        """The settings whose current values in the file have no effect until a restart."""

    @property
    def current(self) -> Settings:
        """The settings that hold now."""
        return self._current

    @property
    def problem(self) -> SettingsError | None:
        """The reason why the current file has no effect; `None` if it has."""
        return self._problem

    def reload_if_changed(self) -> Settings | None:
        """Read the file again if it changed.

        Returns:
            The settings in effect from now on; `None` if none are new.
        """
        with self._lock:
            report = self._read_if_changed()
            if report is None:
                return None
            try:
                new, needs_restart = _keeping(self._current, report.unless_wrong(), self._file)
            except SettingsError as error:
                self._problem = error
                return None
            self._problem, self.needs_restart = None, needs_restart
            if needs_restart:
                _log.warning("%s: a restart applies %s", self._file, ", ".join(needs_restart))
            if new == self._current:
                return None
            self._current = new
            return new

    def _read_if_changed(self) -> SettingsReport | None:
        """Read the file, unless its content is that of before.

        A file that was found once is the one: without it, the defaults do not come back.
        """
        self._file = self._file or find(self._path, self._environ)
        try:
            text = Path(self._file).read_bytes() if self._file else b""
        except OSError:
            self._text = None
            return examine(self._file, environ=self._environ)
        if text == self._text:
            return None
        self._text = text
        return examine_text(text, self._file, self._environ)


def _keeping(old: Settings, new: Settings, file: str) -> tuple[Settings, tuple[str, ...]]:
    """Return new settings with the old ones that a running process cannot change, and their names.

    Raises:
        SettingsError: With the kept settings, the new ones would allow access without a key.
    """
    kept: dict[str, Any] = {}
    names: list[str] = []
    host = old.gateway.host
    for section, fields in _AT_START.items():
        before, after = getattr(old, section), getattr(new, section)
        values = {one: getattr(before, one) for one in fields}
        changed = {one: value for one, value in values.items() if value != getattr(after, one)}
        kept[section] = after.model_copy(update=changed)
        names += [f"{section}.{one}" for one in changed]
    if kept["gateway"].is_open and not is_loopback(host):
        problem = f"this process listens on {host} until it ends; without a key or oidc everyone"
        fix = "add gateway.keys or gateway.oidc, or restart it"
        raise SettingsError(file, 0, 0, "gateway.host", f"{problem} would have access", fix)
    return new.model_copy(update=kept), tuple(names)
