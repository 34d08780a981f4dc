"""A file of settings that is read again when it changes."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Lock

from thalweg.errors import SettingsError
from thalweg_server.settings.loading import SettingsReport, examine, examine_text, find
from thalweg_server.settings.sections.gateway import is_loopback
from thalweg_server.settings.whole import Settings

_FRESH_NS = 2_000_000_000
"""A file changed so lately may change again without another time of change."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was when it was last looked at."""

    stat: tuple[int, int, int] | None
    """Time of change, size, inode; `None` if it was missing."""
    is_settled: bool
    """Whether it had not changed for a while: then the next change has another time."""
    text: bytes | None = None


class SettingsFile:
    """The settings of a file, as it is now. Any thread may ask.

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
        self._seen = _Seen(None, is_settled=False)
        report = self._read_if_changed() or examine(path, environ=self._environ)
        self._current = report.unless_wrong()
        self._problem: SettingsError | None = None
        self._waiting: tuple[str, ...] = ()

    @property
    def current(self) -> Settings:
        """The settings that hold now."""
        return self._current

    @property
    def problem(self) -> SettingsError | None:
        """The reason why the current file has no effect; `None` if it has."""
        return self._problem

    @property
    def waiting(self) -> tuple[str, ...]:
        """Settings that the file changes and only a restart applies: `storage`, `gateway.port`."""
        return self._waiting

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
                new, self._waiting = _keeping(self._current, report.unless_wrong(), self._file)
            except SettingsError as error:
                self._problem = error
                return None
            self._problem = None
            if new == self._current:
                return None
            self._current = new
            return new

    def _read_if_changed(self) -> SettingsReport | None:
        """Read the file, unless it is as it was before.

        A file that was found once is the one: without it, the defaults do not come back.
        """
        self._file = self._file or find(self._path, self._environ)
        before, stat = self._seen, _stat(self._file)
        if before.stat == stat and (stat is None or before.is_settled):
            return None
        try:
            text = Path(self._file).read_bytes()
        except OSError:
            self._seen = _Seen(None, is_settled=False)
            return examine(self._file, environ=self._environ)
        is_settled = stat is not None and time.time_ns() - stat[0] > _FRESH_NS
        self._seen = _Seen(stat, is_settled, text)
        if text == before.text:
            return None
        return examine_text(text, self._file, self._environ)


def _stat(file: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(file).stat() if file else None
    except OSError:
        return None
    return stat and (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _keeping(old: Settings, new: Settings, file: str) -> tuple[Settings, tuple[str, ...]]:
    """Keep settings that a running process cannot change; also return the names of changed ones.

    Raises:
        SettingsError: With the kept settings, the new ones would allow access without a key.

    """
    listening = {"host": old.gateway.host, "port": old.gateway.port}
    gateway = new.gateway.model_copy(update=listening)
    if gateway.is_open and not is_loopback(gateway.host):
        problem = f"this process listens on {gateway.host} until it ends; without a key or oidc"
        fix = "add gateway.keys or gateway.oidc, or restart it"
        raise SettingsError(file, 0, "gateway.host", f"{problem} everyone would have access", fix)
    pairs = (
        ("storage", old.storage, new.storage),
        ("gateway.host", old.gateway.host, new.gateway.host),
        ("gateway.port", old.gateway.port, new.gateway.port),
    )
    waiting = tuple(name for name, was, is_now in pairs if was != is_now)
    return new.model_copy(update={"storage": old.storage, "gateway": gateway}), waiting
