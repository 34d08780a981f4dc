"""`thalweg doctor`: what is here, what is missing, how to mend it."""

import importlib.util
import os
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from thalweg.recordings.sessions import coding_sessions
from thalweg.tokens import exact_counter

LEAST_SQLITE = (3, 35)
"""The first SQLite with everything the archive uses (RETURNING, upserts, FTS5 in most builds)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    seen: str
    mend: str = ""
    """How to mend it; empty when nothing is wrong."""
    needed: bool = True
    """Whether Thalweg cannot work without it."""


def doctor() -> None:
    """Check this installation: token counts, SQLite, the home folder, sessions, extras.

    Exit code 2 when something that is needed is missing.
    """
    findings = [check() for check in _CHECKS]
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    for finding in findings:
        mark = "ok  " if not finding.mend else ("FAIL" if finding.needed else "--  ")
        console.print(f"{mark} {finding.what}: {finding.seen}", soft_wrap=True)
        if finding.mend:
            console.print(f"     {finding.mend}", soft_wrap=True)
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
        with sqlite3.connect(":memory:") as connection:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except sqlite3.OperationalError:
        return Finding(
            "SQLite", f"{version} without FTS5", "use a Python whose SQLite has full-text search"
        )
    return Finding("SQLite", f"{version} with full-text search")


def _home() -> Finding:
    home = Path(os.environ.get("THALWEG_HOME") or ".thalweg")
    nearest = next(folder for folder in (home, *home.resolve().parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        return Finding(
            "home",
            f"{home} cannot be written ({error.strerror})",
            "make it writable, or set THALWEG_HOME to a folder that is",
        )
    return Finding("home", f"{home} {'is' if home.exists() else 'can be made and'} writable")


def _sessions() -> Finding:
    found = coding_sessions(Path.home())
    seen = f"{len(found)} of coding agents in {Path.home()}" if found else "none on this machine"
    return Finding("recorded sessions", seen)


def _langchain() -> Finding:
    if importlib.util.find_spec("langchain_core") is not None:
        return Finding("LangChain messages", "langchain-core is installed", needed=False)
    mend = "optional: pip install 'thalweg[langchain]'"
    return Finding("LangChain messages", "langchain-core is not installed", mend, needed=False)


_CHECKS: tuple[Callable[[], Finding], ...] = (
    _python,
    _tokens,
    _sqlite,
    _home,
    _sessions,
    _langchain,
)
