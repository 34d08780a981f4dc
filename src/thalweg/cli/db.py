"""`thalweg db`: the tables in PostgreSQL: make, show and grant them; move an archive."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from thalweg.cli.printing import AsJson, print_lines, tell
from thalweg.cli.shared_options import command_group
from thalweg.engine.extras import needs_extra
from thalweg.errors import ConfigError

if TYPE_CHECKING:
    import psycopg

    from thalweg.database.migrations.rights import Role

db = command_group(
    name="db",
    help="Create the tables in PostgreSQL, show their state, grant a role access; move an archive.",
)

Url = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="THALWEG_DATABASE_URL",
        metavar="ADDRESS",
        help="postgresql://user:password@host:port/database. Default: THALWEG_DATABASE_URL.",
        show_default=False,
        show_envvar=False,
    ),
]
_TIMEOUT_S = 10.0


@db.command(short_help="Create the tables, or migrate them to this version.")
def upgrade(*, url: Url = "") -> None:
    """Make the tables, or bring those that are there to this version; twice does no harm.

    Run it as the role that is to own them, before a newer Thalweg serves. LangGraph's tables are
    made, too, where it is installed: a role that serves makes none.
    """
    from thalweg.database.migrations.postgres import bring_up_to_date  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.schema import HEAD  # noqa: PLC0415 (of one command)

    with _connected(url) as (connection, place):
        bring_up_to_date(connection, place)
        print_lines([f"Thalweg's tables are at version {HEAD}."])
        print_lines(_of_langgraph(url))
        print_lines(["Now let the role that serves use them: thalweg db grants ROLE --apply"])


def _of_langgraph(url: str) -> Iterator[str]:
    try:
        from thalweg.server.checkpoints.postgres import set_up_checkpoints  # noqa: PLC0415 (LangGraph)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"langgraph", "psycopg_pool"}:
            raise
        return
    if set_up_checkpoints(url):
        yield "LangGraph's checkpoint tables exist, with row-level security."
    else:
        yield (
            "LangGraph's checkpoint tables hold threads of another application, without "
            "row-level security: use a separate database for Thalweg."
        )


@db.command(short_help="Show the state of the tables, and what restricts a role.")
def status(*, url: Url = "", as_json: AsJson = False) -> None:
    """Tell the version of the tables, and whether this role is kept to one owner's rows.

    Exit code 2 when something is to be mended.
    """
    from thalweg.database.migrations import rights  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.postgres import version_of  # noqa: PLC0415 (psycopg is an extra)
    from thalweg.database.migrations.schema import HEAD  # noqa: PLC0415 (of one command)

    with _connected(url) as (connection, place):
        version = version_of(connection)
        role = rights.role(connection)
        walls = rights.walled(connection)
        (commits,) = connection.execute("SHOW synchronous_commit").fetchone() or ("",)
    assert role is not None  # noqa: S101 (it is connected)
    bare = sorted(table for table, has_wall in walls.items() if not has_wall)
    problems = _problems(version, HEAD, role, bare)
    if commits == "off":
        problems.append(
            "synchronous_commit is off: a crash of the server loses commits that it confirmed, "
            "and events and messages that clients have seen: set it to on"
        )
    plain = {
        "place": place,
        "version": version,
        "newest": HEAD,
        "role": role.name,
        "held": role.is_held,
        "makes_tables": role.makes_tables,
        "walled": sorted(walls.keys() - set(bare)),
        "bare": bare,
        "problems": problems,
    }
    lines = [
        f"{place}",
        f"version {version or 'none'}, newest {HEAD}",
        f"role {role.name}, {'may' if role.makes_tables else 'may not'} create tables",
        f"{len(walls) - len(bare)} of {len(walls)} tables of owners have row-level security",
        *(f"FAIL {problem}" for problem in problems),
    ]
    tell(lines, plain, as_json=as_json)
    if problems:
        raise typer.Exit(2)


@db.command(short_help="Move an archive out of a checkpointer's database.")
def move(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The file or postgresql://… that has it.")
    ],
    target: Annotated[
        str, typer.Argument(metavar="TO", help="A new file, or postgresql://… without one.")
    ],
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove it at the old place when the copy is equal.")
    ] = False,
) -> None:
    """Copy an archive to another place, compare both, and with --remove remove the old one.

    An earlier version kept it in the database of a SqliteSaver or PostgresSaver if no archive was
    named. The copy has the same references and identity: name it (archive=TO), and the threads go
    on. Stop the agents meanwhile; after an interruption, run the command again.
    """
    from thalweg.archive.moving import move_archive  # noqa: PLC0415 (of one command)

    moved = move_archive(source, target, removes=remove)
    print_lines([f"{moved.threads:,} threads with {moved.messages:,} messages are in the copy."])
    if remove:
        print_lines([f"The old one was removed; left: {moved.left or 'nothing'}."])
    print_lines(["Name it now: archive=… in the agent, --archive of the commands."])


@db.command(short_help="Print or run the grants that a serving role needs.")
def grants(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="Such as thalweg_app.")],
    *,
    url: Url = "",
    apply: Annotated[bool, typer.Option("--apply", help="Run them as well as print them.")] = False,
) -> None:
    """Print the GRANTs for a role that reads and writes rows, and makes no tables.

    Run it as the owner of the tables, after every `thalweg db upgrade`.
    """
    from thalweg.database.migrations import rights  # noqa: PLC0415 (psycopg is an extra)

    with _connected(url) as (connection, place):
        statements = [*rights.grants(connection, place, role)]
        if apply:
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode())
    print_lines(f"{statement};" for statement in statements)
    if not apply:
        sys.stderr.write("Nothing was changed: pipe it into psql, or pass --apply.\n")


@contextmanager
def _connected(url: str) -> "Iterator[tuple[psycopg.Connection, str]]":
    if not url:
        mend = "pass --url postgresql://…, or set THALWEG_DATABASE_URL"
        raise ConfigError("--url", "no database is named", mend)
    with needs_extra("thalweg db"):
        import psycopg  # noqa: PLC0415 (an extra)

        from thalweg.database.postgres_server import as_storage_error, connect, place_of  # noqa: PLC0415
    place = place_of(url)
    try:
        with connect(url, place, _TIMEOUT_S) as connection:
            yield connection, place
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None


def _problems(version: str, newest: str, role: "Role", bare: Sequence[str]) -> list[str]:
    """Return what is wrong with the tables or the role, and how to fix it."""
    problems: list[str] = []
    if version < newest:
        problems.append(f"the tables are at version {version or 'none'}, not {newest}: db upgrade")
    if version > newest:
        problems.append(f"the tables are at version {version}, newer than {newest}: update thalweg")
    if bare:
        problems.append(f"no row-level security on these tables: {', '.join(bare)}")
    if not role.is_held:
        why = "is a superuser" if role.is_superuser else "has BYPASSRLS"
        problems.append(
            f"the role {role.name} {why}: row-level security does not apply to it, and only "
            "Thalweg's own statements separate owners: serve as another role (db grants)"
        )
    return problems
