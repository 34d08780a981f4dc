"""A file of settings that is read again when it changes."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike, fspath
from pathlib import Path
from threading import Lock

from thalweg.errors import SettingsError
from thalweg.settings.loading import Report, examine, examine_text, find
from thalweg.settings.whole import Settings

_FRESH_NS = 2_000_000_000
"""A file changed so lately may change again without another time of change."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was when it was last looked at."""

    stat: tuple[int, int, int] | None
    """Time of change, size, inode; `None` where it was not there."""
    is_settled: bool
    digest: bytes


class SettingsFile:
    """The settings of a file, as it is now. Any thread may ask.

    A file that cannot be used changes nothing: the settings of before stay, and `problem` says
    why.

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
        self._environ = os.environ if environ is None else environ
        self._file = fspath(find(path, self._environ))
        self._lock = Lock()
        self._seen, report = self._look(None)
        if report is None:
            report = examine(path, environ=self._environ)
        self._current = report.unless_wrong()
        self._problem: SettingsError | None = None
        self._waiting: tuple[str, ...] = ()

    @property
    def current(self) -> Settings:
        """The settings that hold now."""
        return self._current

    @property
    def problem(self) -> SettingsError | None:
        """Why the file as it is now has no effect; `None` where it has."""
        return self._problem

    @property
    def waiting(self) -> tuple[str, ...]:
        """What the file says otherwise and only a restart will bring: `storage`, `gateway.port`."""
        return self._waiting

    def reload_if_changed(self) -> Settings | None:
        """Read the file again if it changed.

        Returns:
            The settings that hold from now on; `None` where none are new.
        """
        with self._lock:
            seen, report = self._look(self._seen)
            self._seen = seen
            if report is None:
                return None
            try:
                new = report.unless_wrong()
            except SettingsError as error:
                self._problem = error
                return None
            self._problem = None
            new, self._waiting = _keeping(self._current, new)
            if new == self._current:
                return None
            self._current = new
            return new

    def _look(self, before: _Seen | None) -> tuple[_Seen, Report | None]:
        """Read the file, unless it is as it was before."""
        stat = _stat(self._file)
        if before is not None and before.is_settled and before.stat == stat:
            return before, None
        if stat is None:
            seen = _Seen(None, is_settled=True, digest=b"")
            return seen, examine(self._file or None, environ=self._environ)
        try:
            text = Path(self._file).read_bytes()
        except OSError:
            return _Seen(stat, is_settled=False, digest=b""), examine(
                self._file, environ=self._environ
            )
        is_settled = time.time_ns() - stat[0] > _FRESH_NS
        seen = _Seen(stat, is_settled, sha256(text).digest())
        if before is not None and before.digest == seen.digest and before.stat is not None:
            return seen, None
        return seen, examine_text(text, self._file, self._environ)


def _stat(file: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(file).stat() if file else None
    except OSError:
        return None
    return stat and (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _keeping(old: Settings, new: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Keep what a running process cannot change, and say what of it was to change."""
    held = {
        "storage": old.storage,
        "gateway": new.gateway.model_copy(
            update={"host": old.gateway.host, "port": old.gateway.port}
        ),
    }
    pairs = (
        ("storage", old.storage, new.storage),
        ("gateway.host", old.gateway.host, new.gateway.host),
        ("gateway.port", old.gateway.port, new.gateway.port),
    )
    waiting = tuple(name for name, was, is_now in pairs if was != is_now)
    return new.model_copy(update=held), waiting
