"""The tables of the PostgreSQL archive, setting them up, and what PostgreSQL's errors mean."""

from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict

from thalweg.archive.meta import VERSION, first_secret, is_older, refuse_newer, secret_of
from thalweg.errors import ConfigError, StorageError

_SET_UP = int.from_bytes(b"thalweg")
"""The advisory lock of whoever sets the tables up."""

# No foreign keys: a thread's row goes first when it is deleted, which is what lets its log go.
_TABLES = """
CREATE TABLE archive_meta (name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE archive_thread (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner bytea NOT NULL,
    thread bytea NOT NULL,
    length bigint NOT NULL DEFAULT 0,
    indexed bigint NOT NULL DEFAULT 0,
    passages bigint NOT NULL DEFAULT 0,
    UNIQUE (owner, thread)
) WITH (fillfactor = 50);
CREATE TABLE archive_log (
    thread bigint NOT NULL,
    position bigint NOT NULL,
    uid bytea NOT NULL,
    body text NOT NULL,
    holes text NOT NULL,
    about bytea NOT NULL,
    PRIMARY KEY (thread, position)
);
CREATE INDEX archive_log_uid ON archive_log (thread, uid);
CREATE TABLE archive_turn (
    thread bigint NOT NULL,
    turn bigint NOT NULL,
    body bytea NOT NULL,
    state bytea NOT NULL,
    PRIMARY KEY (thread, turn)
);
CREATE TABLE archive_blob (
    hash bytea PRIMARY KEY,
    data bytea NOT NULL,
    packed integer NOT NULL
);
ALTER TABLE archive_blob ALTER data SET STORAGE EXTERNAL;
CREATE TABLE archive_holding (
    thread bigint NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (thread, hash)
);
CREATE INDEX archive_holding_hash ON archive_holding (hash);
CREATE TABLE archive_handle (
    thread bigint NOT NULL,
    handle text NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    held integer NOT NULL DEFAULT 1,
    PRIMARY KEY (thread, handle)
);
CREATE TABLE archive_passage (
    id bigint PRIMARY KEY,
    position bigint NOT NULL,
    start bigint NOT NULL,
    about bigint NOT NULL,
    speaker bytea NOT NULL,
    text bytea NOT NULL
);
CREATE TABLE archive_words (
    thread bigint NOT NULL,
    block bigint NOT NULL,
    word text COLLATE "C" NOT NULL,
    passages bytea NOT NULL,
    PRIMARY KEY (thread, block, word)
) WITH (fillfactor = 80);

CREATE FUNCTION archive_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE integrity_constraint_violation USING MESSAGE = TG_TABLE_NAME || ' is append-only';
END $$;
CREATE FUNCTION archive_grow() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE part record;
BEGIN
    FOR part IN
        SELECT thread, count(*) AS size, min(position) AS first, max(position) AS last
        FROM added GROUP BY thread
    LOOP
        UPDATE archive_thread SET length = length + part.size
        WHERE id = part.thread AND length = part.first AND part.last = part.first + part.size - 1;
        IF NOT FOUND THEN
            RAISE integrity_constraint_violation
                USING MESSAGE = 'archive_log grows at its end only';
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE FUNCTION archive_last() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM archive_thread WHERE id IN (SELECT DISTINCT thread FROM gone)) THEN
        RAISE integrity_constraint_violation
            USING MESSAGE = TG_TABLE_NAME || ' goes only with its whole thread';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER archive_log_grows AFTER INSERT ON archive_log
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION archive_grow();
CREATE TRIGGER archive_log_stays BEFORE UPDATE OR TRUNCATE ON archive_log
    FOR EACH STATEMENT EXECUTE FUNCTION archive_refuse();
CREATE TRIGGER archive_log_lasts AFTER DELETE ON archive_log
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION archive_last();
CREATE TRIGGER archive_turn_stays BEFORE UPDATE OR TRUNCATE ON archive_turn
    FOR EACH STATEMENT EXECUTE FUNCTION archive_refuse();
CREATE TRIGGER archive_turn_lasts AFTER DELETE ON archive_turn
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION archive_last();
"""


_FORGET_INDEX = """
LOCK TABLE archive_thread, archive_passage, archive_words IN ACCESS EXCLUSIVE MODE;
TRUNCATE archive_passage, archive_words;
UPDATE archive_thread SET indexed = 0, passages = 0;
"""
"""What is indexed is indexed again when it is searched."""


def place_of(url: str) -> str:
    """Name the database at an address, without its password.

    Raises:
        ConfigError: The address cannot be read. What it says is not repeated: where it is
            written wrongly, any part of it may be the password.

    Example:
        >>> place_of("postgresql://ada:hunter2@db.example:5432/notes?sslmode=require")
        'postgresql://ada@db.example:5432/notes'
    """
    try:
        found = conninfo_to_dict(url)
    except psycopg.Error:
        found = {}
    name = {key: str(found.get(key) or "") for key in ("user", "host", "port", "dbname")}
    ports = name["port"].split(",")
    if not found or any("@" in part for part in name.values()) or not _are_numbers(ports):
        kind = f"{urlsplit(url).scheme}://"
        problem = "the address cannot be read"
        mend = (
            "write it as postgresql://user:password@host:port/database, with : / @ as %3A %2F %40"
        )
        raise ConfigError(kind, problem, mend)
    user = f"{name['user']}@" if name["user"] else ""
    port = f":{name['port']}" if name["port"] else ""
    host = "" if name["host"].startswith("/") else name["host"]
    return f"postgresql://{user}{host}{port}/{name['dbname']}"


def _are_numbers(ports: list[str]) -> bool:
    return all(port.isdecimal() or not port for port in ports)


def connect(url: str, place: str, timeout_s: float) -> psycopg.Connection:
    """Open a connection.

    Raises:
        StorageError: The server cannot be reached, or refuses.
    """
    try:
        return psycopg.connect(
            url,
            autocommit=True,
            prepare_threshold=None,  # what stands between may give each transaction another server
            client_encoding="UTF8",
            application_name="thalweg",
            connect_timeout=max(2, round(timeout_s)),
        )
    except psycopg.Error as error:
        problem = f"the server cannot be reached, or refuses ({_first_line(error)})"
        mend = "check the address, and that the server runs"
        raise StorageError(place, problem, mend) from None


def prepare(connection: psycopg.Connection, place: str, secret: bytes | None) -> bytes:
    """Make the tables where they are missing, and return the secret of this archive.

    An index that an older version made is left to the next searches to make anew.

    Raises:
        ConfigError: It was written by a newer version, or has another secret.
        StorageError: It cannot be written.
    """
    try:
        meta = _meta(connection)
        if meta is None or is_older(meta.get("version")):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                meta = _meta(connection) or _set_up(connection, secret)
                if is_older(meta.get("version")):
                    connection.execute(_FORGET_INDEX)
                    renewed = "UPDATE archive_meta SET value = %s WHERE name = 'version'"
                    connection.execute(renewed, (str(VERSION).encode(),))
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
    refuse_newer(place, meta.get("version"))
    return secret_of(place, meta, secret)


def _meta(connection: psycopg.Connection) -> dict[str, bytes] | None:
    """Read what an archive says of itself, or `None` where there is none yet."""
    # Asked of the catalog's rows: `to_regclass` may remember how it was before another
    # process set the tables up.
    there = "SELECT 1 FROM pg_class WHERE relname = 'archive_meta' AND pg_table_is_visible(oid)"
    if connection.execute(there).fetchone() is None:
        return None
    return dict(connection.execute("SELECT name, value FROM archive_meta").fetchall())


def _set_up(connection: psycopg.Connection, secret: bytes | None) -> dict[str, bytes]:
    connection.execute(_TABLES)
    meta = {"version": str(VERSION).encode(), "secret": first_secret(secret)}
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO archive_meta VALUES (%s, %s)", list(meta.items()))
    return meta


_MEANINGS = {
    "53100": ("the disk is full", "free some space and try again"),
    "55P03": ("another process holds it", "try again when it is done"),
    "57014": ("it took longer than the server allows", "try again, or raise statement_timeout"),
    "40P01": ("another process was in the way", "try again"),
    "40001": ("another process was in the way", "try again"),
    "25006": ("it cannot be written", "name a server that is not read-only"),
    "42501": ("this user may not do that", "grant it the archive's tables"),
}
_UNREACHABLE = ("08", "57P")
"""How the codes of errors begin that tell of a connection or a server that ended."""


def as_storage_error(place: str, error: psycopg.Error) -> StorageError:
    """Say what an error of PostgreSQL means to the caller."""
    code = error.sqlstate or ""
    if code in _MEANINGS:
        problem, mend = _MEANINGS[code]
        return StorageError(place, problem, mend)
    if code.startswith(_UNREACHABLE) or (not code and isinstance(error, _BROKEN)):
        return StorageError(place, f"the connection broke ({_first_line(error)})", "try again")
    problem = f"the database failed ({_first_line(error)})"
    return StorageError(place, problem, "look into the server's log and try again")


_BROKEN = (psycopg.OperationalError, psycopg.InterfaceError)


def _first_line(error: psycopg.Error) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
