"""Reaching a PostgreSQL server, its tables brought up to date, and what its errors mean."""

import re
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from thalweg.database.base import RESTART_FIX, SCHEMA_MISMATCH
from thalweg.database.migrations.postgres import bring_up_to_date
from thalweg.errors import ConfigError, StorageError


def place_of(url: str) -> str:
    """Name the database at an address, without its password.

    Raises:
        ConfigError: The address cannot be read. It is not repeated: if it is
            written wrongly, any part of it may be the password.

    Example:
        >>> place_of("postgresql://ada:hunter2@db.example:5432/notes?sslmode=require")
        'postgresql://ada@db.example:5432/notes'
    """
    try:
        conninfo = conninfo_to_dict(url)
    except psycopg.Error:
        conninfo = {}
    parts = {key: str(conninfo.get(key) or "") for key in ("user", "host", "port", "dbname")}
    is_port_valid = all(port.isdecimal() or not port for port in parts["port"].split(","))
    if not conninfo or not is_port_valid or any("@" in part for part in parts.values()):
        scheme = f"{urlsplit(url).scheme}://"
        problem = "the address cannot be parsed"
        fix = "write it as postgresql://user:password@host:port/database, with : / @ as %3A %2F %40"
        raise ConfigError(scheme, problem, fix)
    user = f"{parts['user']}@" if parts["user"] else ""
    port = f":{parts['port']}" if parts["port"] else ""
    host = "" if parts["host"].startswith("/") else parts["host"]
    return f"postgresql://{user}{host}{port}/{parts['dbname']}"


def connection_options(timeout_s: float) -> dict[str, Any]:
    """Return psycopg's options for a connection to the database."""
    return {
        "autocommit": True,
        "prepare_threshold": None,  # a pooler may use another server for each transaction
        "client_encoding": "UTF8",
        "application_name": "thalweg",
        "connect_timeout": max(2, round(timeout_s)),
    }


MIN_SERVER_VERSION = 15
"""The oldest major version that is tested, and the oldest that is accepted."""


def connect(url: str, place: str, timeout_s: float) -> psycopg.Connection:
    """Open a connection.

    Raises:
        ConfigError: The server is older than `MIN_SERVER_VERSION`.
        StorageError: The server cannot be reached, or refuses.
    """
    try:
        connection = psycopg.connect(url, **connection_options(timeout_s))
    except psycopg.Error as error:
        problem = f"the server cannot be reached, or refuses connections ({_first_line(error)})"
        fix = "check the address, and that the server runs"
        raise StorageError(place, problem, fix) from None
    # A pooler need not report a version, which then is 0.
    if 0 < connection.info.server_version < MIN_SERVER_VERSION * 10_000:
        version = connection.info.parameter_status("server_version")
        connection.close()
        problem = (
            f"the server is PostgreSQL {version}, and Thalweg needs {MIN_SERVER_VERSION} or newer"
        )
        raise ConfigError(place, problem, "upgrade the server, or use another one")
    return connection


def prepare_tables(url: str, place: str, timeout_s: float) -> None:
    """Create missing tables, and bring the others up to date.

    Args:
        url: Address of the database.
        place: The address without its password.
        timeout_s: How long to wait for the server.

    Raises:
        ConfigError: They were created by a newer version; or they are missing or older, and this
            role may not create or change them; or the server is older than `MIN_SERVER_VERSION`.
        StorageError: The server cannot be reached, or fails.
    """
    with connect(url, place, timeout_s) as connection:
        try:
            bring_up_to_date(connection, place)
        except psycopg.Error as error:
            raise as_storage_error(place, error) from error


_MEANINGS_BY_CODE = {
    "53100": ("the disk is full", "free some space and try again"),
    "55P03": ("another process has locked it", "try again when it has finished"),
    "57014": ("it took longer than the server allows", "try again, or raise statement_timeout"),
    "40P01": ("another process was in the way", "try again"),
    "40001": ("another process was in the way", "try again"),
    "25006": ("it cannot be written", "name a server that is not read-only"),
    "42501": (
        "this role may not do that",
        "run `thalweg db upgrade --role NAME` as the owner of the tables",
    ),
}
_SCHEMA_MISMATCH_CODES = {"42P01", "42703", "42804", "23502"}
"""No such table or column; a column of another type; one more that must not be null."""
_NO_FUNCTION = "42883"
_OWN_FUNCTION = re.compile(r"\b(?:archive|memory|run|thalweg)_\w+\(")
"""A function that the migrations make. One that is missing and not ours, the server lacks."""
_UNREACHABLE = ("08", "57P")
"""Prefixes of the error codes of a connection or a server that ended."""


def as_storage_error(place: str, error: psycopg.Error) -> StorageError:
    """Convert an error of PostgreSQL to the error that states its meaning for the caller."""
    code = error.sqlstate or ""
    if code in _MEANINGS_BY_CODE:
        problem, fix = _MEANINGS_BY_CODE[code]
        return StorageError(place, problem, fix)
    if code.startswith(_UNREACHABLE) or (not code and isinstance(error, _CONNECTION_ERRORS)):
        return StorageError(place, f"the connection broke ({_first_line(error)})", "try again")
    is_own_missing = code == _NO_FUNCTION and _OWN_FUNCTION.search(_first_line(error)) is not None
    if code in _SCHEMA_MISMATCH_CODES or is_own_missing:
        return StorageError(place, f"{SCHEMA_MISMATCH} ({_first_line(error)})", RESTART_FIX)
    problem = f"the database failed ({_first_line(error)})"
    return StorageError(place, problem, "check the server's log and try again")


_CONNECTION_ERRORS = (psycopg.OperationalError, psycopg.InterfaceError)


def _first_line(error: psycopg.Error) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
