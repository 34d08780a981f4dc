"""`storage:`: where everything is kept."""

from pydantic import field_validator

from thalweg.engine.sections import SettingsSection, refuse
from thalweg_server.settings.parts import Name, Secret

_SCHEMES = ("postgresql://", "postgres://")


class StorageSettings(SettingsSection):
    """Where threads, memory, runs and files are kept. A running gateway keeps the old ones."""

    url: Secret | None = None
    """A PostgreSQL server, `postgresql://user:password@host/name`, for one machine or many; a
    SQLite file in `home` by default. It may hold a password and is never shown whole."""
    home: Name = ".thalweg"
    """The folder of Thalweg's own files; the variable THALWEG_HOME by default."""
    files: Name = "database"
    """Where files of threads are: in the `database`, or in a folder of this name."""

    @field_validator("url")
    @classmethod
    def _validate_url(cls, url: Secret | None) -> Secret | None:
        if url is not None and not url.get_secret_value().startswith(_SCHEMES):
            fix = "write postgresql://user:password@host/name, or null for SQLite in storage.home"
            refuse("it is not the address of a PostgreSQL server", fix)
        return url

    @property
    def address(self) -> str | None:
        """The PostgreSQL server with its password: to connect, not to show."""
        return None if self.url is None else self.url.get_secret_value()
