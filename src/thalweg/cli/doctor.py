"""`thalweg doctor`: what is installed, what is missing, how to fix it."""

import sqlite3
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import typer

from thalweg import archive
from thalweg.cli.home import home_folder
from thalweg.engine.tokens import exact_counter
from thalweg.lab.recordings.sessions import coding_sessions

LEAST_SQLITE = (3, 35)
"""The first SQLite with everything the archive uses (RETURNING, upserts, FTS5 in most builds)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    seen: str
    mend: str = ""
    """How to fix it; empty when nothing is wrong."""
    needed: bool = True
    """Whether Thalweg cannot work without it."""


def doctor() -> None:
    """Check this installation: token counts, SQLite, the home folder, sessions, extras.

    Exit code 2 when something that is needed is missing.
    """
    findings = [check() for check in _CHECKS]
    for finding in findings:
        mark = "ok  " if not finding.mend else ("FAIL" if finding.needed else "--  ")
        typer.echo(f"{mark} {finding.what}: {finding.seen}")
        if finding.mend:
            typer.echo(f"     {finding.mend}")
    if any(finding.mend and finding.needed for finding in findings):
        raise typer.Exit(2)


def _python() -> Finding:
    return Finding("Python", sys.version.split()[0])


def _tokens() -> Finding:
    text = "Thalweg keeps the context in the deepest flow of the river. 上下文"
    counted = exact_counter()(text)
    right = 17
    if counted == right:
        return Finding("token counts", "o200k_base, exact and offline")
    return Finding(
        "token counts",
        f"a known text of {right} tokens counts as {counted}",
        "reinstall bpe-openai: pip install --force-reinstall bpe-openai",
    )


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        needed = ".".join(map(str, LEAST_SQLITE))
        return Finding("SQLite", version, f"use a Python with SQLite {needed} or newer")
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except sqlite3.OperationalError:
        return Finding(
            "SQLite", f"{version} without FTS5", "use a Python whose SQLite has full-text search"
        )
    return Finding("SQLite", f"{version} with full-text search")


def _home() -> Finding:
    home = archive.home().absolute()
    try:
        nearest = next(folder for folder in (home, *home.parents) if folder.exists())
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        return Finding(
            "home",
            f"{home} cannot be written ({error.strerror})",
            "make it a folder that can be, or set THALWEG_HOME to one",
        )
    can = "can be written" if nearest == home else "can be made and written"
    return Finding("home", f"{home} {can}")


def _sessions() -> Finding:
    found = coding_sessions(home_folder())
    none = f"none in {home_folder()} (thalweg replay has a sample)"
    seen = f"{len(found)} of coding agents in {home_folder()}" if found else none
    return Finding("recorded sessions", seen)


_CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _tokens,
    _sqlite,
    _home,
    _sessions,
)
