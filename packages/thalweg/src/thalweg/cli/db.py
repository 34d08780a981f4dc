"""`thalweg db`: tables in PostgreSQL: make, show, grant; forget an owner."""

import os
import sqlite3
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.archive.base import ThreadKey, caller_id
from thalweg.archive.paths import default_place, open_existing
from thalweg.cli.confirmation import confirm
from thalweg.cli.parsing import AS_JSON, CommandGroup, argument
from thalweg.cli.plugins import OWNERS_GROUP, TABLES_GROUP, load_plugins, write_warning
from thalweg.cli.printing import fold, print_lines, print_result
from thalweg.database.erasure import COPIES_ELSEWHERE
from thalweg.database.sqlite_files import has_component_tables
from thalweg.engine.extras import needs_extra
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    import psycopg

    from thalweg.database.migrations.rights import Role

db = CommandGroup(
    "Create the tables in PostgreSQL for a role, show their state; delete all data of an owner."
)
_URL_VARIABLE = "THALWEG_DATABASE_URL"
_URL_OPTION = argument(
    "--url",
    metavar="ADDRESS",
    default="",
    help=f"postgresql://user:password@host:port/database. Default: {_URL_VARIABLE}.",
)
_TIMEOUT_S = 10.0


@db.command(
    "upgrade",
    "Create the tables, or migrate them to this version.",
    _URL_OPTION,
    argument("--role", metavar="NAME", default="", help="Grant this role the rights to serve."),
)
def upgrade(options: Namespace) -> int:
    """Create the tables, or migrate those that exist to this version; twice does no harm.

    Run it as the role that is to own them, before a newer Thalweg serves. The tables of other
    packages that are installed are created, too: a role that serves creates none. With --role it
    is granted to read and write rows, and to make no tables; `db status --role` prints the GRANTs.

    Exit code 2 when the tables of a package could not be created.
    """
    from thalweg.database.migrations import rights  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.postgres import bring_up_to_date  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.schema import HEAD  # noqa: PLC0415 (of one command)

    with _open_connection(options.url) as (connection, place, url):
        if options.role:
            rights.validate_grantee(connection, place, options.role)
        bring_up_to_date(connection, place)
        print_lines([f"Thalweg's tables are at version {HEAD}."])
        warnings: list[str] = []
        for create_tables in load_plugins(
            TABLES_GROUP, lambda _, function: function, warnings.append
        ):
            print_lines(create_tables(url))
        if options.role:
            statements = [*rights.grant_statements(connection, place, options.role)]
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode())
            print_lines(f"{statement};" for statement in statements)
        else:
            next_step = "Let the role that serves use them: thalweg db upgrade --role NAME"
            print_lines([next_step])
    for sentence in warnings:
        write_warning(sentence)
    return 2 if warnings else 0


@db.command(
    "status",
    "Show the state of the tables, and what restricts a role.",
    _URL_OPTION,
    argument(
        "--role", metavar="NAME", default="", help="Print the GRANTs that serving as NAME needs."
    ),
    AS_JSON,
)
def status(options: Namespace) -> int:
    """Show the version of the tables, and whether this role is kept to one owner's rows.

    With --role, only the GRANTs of another role are printed, for `psql`; with --json, as
    `{"grants": […]}`. Nothing is changed.

    Exit code 2 when there is a problem.
    """
    from thalweg.database.migrations import rights  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.postgres import version_of  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.schema import HEAD  # noqa: PLC0415 (of one command)

    with _open_connection(options.url) as (connection, place, _):
        if options.role:
            grants = [*rights.grant_statements(connection, place, options.role)]
            lines = [f"{statement};" for statement in grants]
            print_result(lines, {"grants": grants}, as_json=options.as_json)
            return 0
        version = version_of(connection)
        role = rights.read_role(connection)
        walls = rights.walled_tables(connection)
        (commit_setting,) = connection.execute("SHOW synchronous_commit").fetchone() or ("",)
    assert role is not None  # noqa: S101 (it is connected)
    unwalled = sorted(table for table, has_wall in walls.items() if not has_wall)
    problems = _problems(version, HEAD, role, unwalled)
    if commit_setting == "off":
        problems.append(
            "synchronous_commit is off: a crash of the server loses commits that it confirmed, "
            "and events and messages that clients have seen: set it to on"
        )
    json_value = {
        "place": place,
        "version": version,
        "newest": HEAD,
        "role": role.name,
        "held": role.is_held,
        "makes_tables": role.makes_tables,
        "walled": sorted(walls.keys() - set(unwalled)),
        "bare": unwalled,
        "problems": problems,
    }
    lines = [
        f"{place}",
        f"version {version or 'none'}, newest {HEAD}",
        f"role {role.name}, {'may' if role.makes_tables else 'may not'} create tables",
        f"{len(walls) - len(unwalled)} of {len(walls)} tables of owners have row-level security",
        *(f"FAIL {problem}" for problem in problems),
    ]
    folded = [part for line in lines for part in fold(line)]
    print_result(folded, json_value, as_json=options.as_json)
    return 2 if problems else 0


@db.command(
    "forget",
    "Delete everything that is stored of an owner.",
    argument("owner", metavar="OWNER", help="Whose data."),
    argument(
        "--url",
        metavar="ADDRESS",
        default="",
        help="postgresql://…, or a file. Default: THALWEG_DATABASE_URL, or thalweg.db in the "
        "folder THALWEG_HOME, or in .thalweg here.",
    ),
    argument(
        "--checkpoints",
        metavar="ADDRESS",
        default="",
        help="Delete the owner's threads there, too: the file of a SqliteSaver, or postgresql://… "
        "of a PostgresSaver.",
    ),
    argument("--dry-run", action="store_true", help="Change nothing; show what would be deleted."),
    argument("--yes", action="store_true", help="Do not ask."),
    AS_JSON,
)
def forget(options: Namespace) -> int:
    """Delete everything that is stored of an owner, and erase its bytes; nothing brings it back.

    Threads with their subagents', memory with its history, and with the server installed also
    runs, events, checkpoints, files, documents and usage. A gateway may serve meanwhile; runs of
    the owner are cancelled. After an interruption, run it again: a worker of the server also
    completes the deletion. A checkpointer of your own is reached with --checkpoints only; else the
    ids of its threads are printed, which nothing knows afterwards. Not reached: backups, and logs
    of model providers.

    Exit code 2 when the data of a package could not be deleted.
    """
    owner = options.owner
    address = options.url or os.environ.get(_URL_VARIABLE, "") or str(default_place())
    if "://" not in address and not Path(address).is_file():
        fix = "name it with --url, or its folder with THALWEG_HOME"
        raise ConfigError(address, "there is no such file", fix)
    json_value: dict[str, object] = {"owner": owner, "dry_run": options.dry_run}
    json_value |= {"found": [], "threads": [], "left": []}
    if (options.dry_run or not options.yes) and not _has_current_tables(address):
        print_result(["There is nothing."], json_value, as_json=options.as_json)
        return 0
    warnings: list[str] = []
    plugins = load_plugins(OWNERS_GROUP, lambda _, function: function, warnings.append)
    # By name: the recorder reads the sessions that the server deletes, which ends runs under way
    # and then deletes what they wrote to memory.
    deletions = [*plugins, forget_threads]
    found = [line for one in deletions for line in one(address, owner, dry_run=True)]
    threads = _thread_ids(address, owner)
    if threads:
        where = (
            "deleted, too" if options.checkpoints else "not deleted without --checkpoints ADDRESS"
        )
        kind = "checkpoints in a checkpointer of your own"
        found += [f"{kind}: {where}, of {len(threads):,} threads: {printable(', '.join(threads))}"]
    left: list[str] = []
    if not options.as_json:
        print_lines(part for line in found or ["There is nothing."] for part in fold(line))
    if not options.dry_run:
        question = f"Delete everything of {owner!r}?"
        confirm(question, "to delete it", yes=options.yes, refusal_text="Nothing was deleted.")
        # Twice, as in `delete_thread`: a run in progress may store one until the archive is empty.
        # Threads may have begun since the question.
        threads = sorted({*threads, *_thread_ids(address, owner)})
        checkpoints = partial(_delete_checkpoints, options.checkpoints, threads)
        checkpoints()
        lines = [line for one in deletions for line in one(address, owner, dry_run=False)]
        left = [*dict.fromkeys([*checkpoints(), *lines, COPIES_ELSEWHERE])]
    after = ["Deleted.", *(part for line in left for part in fold(f"Left: {line}"))]
    json_value |= {"found": found, "threads": threads, "left": left}
    print_result([] if options.dry_run else after, json_value, as_json=options.as_json)
    for sentence in warnings:
        write_warning(sentence)
    return 2 if warnings else 0


def _has_current_tables(address: str) -> bool:
    """Return whether a database has tables; it is only read.

    Raises:
        ConfigError: They are older: a preview of a deletion would migrate them.
    """
    from thalweg.database.migrations import postgres, sqlite  # noqa: PLC0415 (of one command)
    from thalweg.database.migrations.schema import HEAD  # noqa: PLC0415 (the same)

    if "://" in address:
        with _open_connection(address) as (connection, place, _):
            versions = [postgres.version_of(connection)]
        if not versions[0]:
            return False
        fix = "run `thalweg db upgrade` first"
    else:
        place, versions = address, []
        fix = "start the agent or the gateway of the file once, which upgrades it"
        uri = f"{Path(address).absolute().as_uri()}?mode=ro"
        with suppress(sqlite3.DatabaseError), closing(sqlite3.connect(uri, uri=True)) as file:
            for component in ("archive", "memory"):
                if sqlite.has_table(file, f"{component}_meta"):
                    versions.append(sqlite.version_of(file, component))
    if older := [version for version in versions if version < HEAD]:
        problem = f"its tables are at version {older[0] or 'none'}, not {HEAD}"
        raise ConfigError(place, problem, fix)
    return True


def forget_threads(address: str, owner: str, *, dry_run: bool) -> list[str]:
    """Delete the threads of an owner in an archive; see `OWNERS_GROUP`."""
    if "://" not in address and not has_component_tables(address, "archive"):
        return []
    with open_existing(address) as archive:
        keys = [ThreadKey(owner, thread) for thread in archive.threads(owner)]
        if dry_run:
            messages = sum(map(archive.length, keys))
            return [f"archive: {len(keys):,} threads, {messages:,} messages"] if keys else []
        for key in keys:
            archive.delete(key)
        archive.prune()
        return [remains] if (remains := archive.erase()) else []


def _thread_ids(address: str, owner: str) -> list[str]:
    """Return the ids of an owner's threads, as a checkpointer has them."""
    if "://" not in address and not has_component_tables(address, "archive"):
        return []
    with open_existing(address) as archive:
        return sorted({caller_id(name) for name in archive.threads(owner)} - {""})


def _delete_checkpoints(address: str, threads: Sequence[str]) -> tuple[str, ...]:
    """Delete the threads from a checkpointer of the user's own; return what may remain."""
    if not address:
        return (f"checkpoints in a checkpointer of your own{_OF_THESE if threads else ''}",)
    from thalweg.cli.thread.checkpoints import opened_checkpoints  # noqa: PLC0415 (LangGraph)
    from thalweg.context.turn.thread_deletion import delete_checkpoints  # noqa: PLC0415 (LangGraph)

    with opened_checkpoints(address) as saver:
        return delete_checkpoints(saver, threads) if saver else ()


_OF_THESE = ", of the threads named above: delete each there (checkpointer.delete_thread)"


@contextmanager
def _open_connection(url_option: str) -> "Iterator[tuple[psycopg.Connection, str, str]]":
    """Connect to the database that an option or the environment names.

    Yields:
        The connection, its place without a password, and its address.
    """
    url = url_option or os.environ.get(_URL_VARIABLE, "")
    if not url:
        fix = f"pass --url postgresql://…, or set {_URL_VARIABLE}"
        raise ConfigError("--url", "no database is named", fix)
    with needs_extra("thalweg db"):
        import psycopg  # noqa: PLC0415 (an extra)

        from thalweg.database.postgres_server import as_storage_error, connect, place_of  # noqa: PLC0415
    place = place_of(url)
    try:
        with connect(url, place, _TIMEOUT_S) as connection:
            yield connection, place, url
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None


def _problems(version: str, newest: str, role: "Role", unwalled: Sequence[str]) -> list[str]:
    """Return the problems with the tables or the role, and how to fix them."""
    problems: list[str] = []
    if version < newest:
        problems.append(f"the tables are at version {version or 'none'}, not {newest}: db upgrade")
    if version > newest:
        problems.append(f"the tables are at version {version}, newer than {newest}: update thalweg")
    if unwalled:
        problems.append(f"no row-level security on these tables: {', '.join(unwalled)}")
    if not role.is_held:
        reason = "is a superuser" if role.is_superuser else "has BYPASSRLS"
        problems.append(
            f"the role {role.name} {reason}: row-level security does not apply to it, and only "
            "Thalweg's own statements separate owners: serve as another role (db upgrade --role)"
        )
    return problems
