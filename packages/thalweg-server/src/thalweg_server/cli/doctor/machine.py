"""Checks of the machine and the installation: Python, SQLite, extras, models, recorder."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from thalweg.cli.home import user_folder
from thalweg.cli.printing import count
from thalweg.engine.extras import EXTRAS, install_line
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ConfigError, ThalwegError
from thalweg_agent.backends.bubblewrap import check_bubblewrap
from thalweg_server.cli.doctor.finding import Finding, State
from thalweg_server.cli.doctor.storage import write_problem
from thalweg_server.models import AvailableModel
from thalweg_server.models.providers import PROVIDERS, key_of

LEAST_SQLITE: Final = (3, 35)
"""The first SQLite with everything the archive uses (RETURNING, upserts, FTS5 in most builds)."""


def installation() -> Iterator[Finding]:
    """Check Python, token counts and SQLite."""
    yield Finding("Python", sys.version.split()[0])
    text, right = "Thalweg keeps the context in the deepest flow of the river. 上下文", 17
    if (counted := exact_counter()(text)) == right:
        yield Finding("token counts", "o200k_base, exact and offline")
    else:
        seen = f"a text of {right} tokens counts as {counted}"
        fix = install_line("--force-reinstall", "bpe-openai")
        yield Finding("token counts", seen, fix, "broken")
    version = sqlite3.sqlite_version
    needed = ".".join(map(str, LEAST_SQLITE))
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        yield Finding("SQLite", version, f"use a Python with SQLite {needed} or newer", "broken")
        return
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except sqlite3.OperationalError:
        fix = "use a Python whose SQLite has full-text search"
        yield Finding("SQLite", f"{version} without FTS5", fix, "broken")
    else:
        yield Finding("SQLite", f"{version} with full-text search")


def extras() -> Iterator[Finding]:
    """Check which extras of the installed packages are installed."""
    packages = {each.name for each in distributions()}
    there = {
        extra: all(map(_is_there, modules))
        for package, extras in EXTRAS.items()
        if package in packages
        for extra, modules in extras.items()
    }
    installed = [extra for extra, is_there in there.items() if is_there]
    if installed:
        yield Finding("extras", ", ".join(installed))
    if len(installed) < len(there):
        names = ", ".join(extra for extra in there if extra not in installed)
        seen = f"{names}; an error names the command when one is needed"
        yield Finding("extras to add", seen, state="off")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a package around it
        return False


def models(offers: tuple[AvailableModel, ...]) -> Iterator[Finding]:
    """Report keys and servers that listen."""
    keys = {one.title: key for one in PROVIDERS if (key := key_of(one))}
    if keys:
        yield Finding("keys", ", ".join(f"{key} ({title})" for title, key in keys.items()))
    else:
        fix = f"export {PROVIDERS[0].keys[0]}=…"
        yield Finding("keys", "no provider's key is set", fix, "off")
    for offer in offers:
        state: State = "ok" if offer.is_ready else "off"
        yield Finding("model found", f"{offer.name}: {offer.what}", offer.missing, state)
    if not offers:
        seen = "no key, no server that listens"
        yield Finding("models", seen, "thalweg chat shows ways to a first answer", "off")


def sandbox() -> Finding:
    """Check whether commands could run confined here."""
    try:
        check_bubblewrap()
    except ConfigError as error:
        return Finding("sandbox", error.problem, error.fix, "off")
    return Finding("sandbox", "bubblewrap confines commands here (sandbox: {use: bubblewrap})")


def recorder(home: Path) -> Iterator[Finding]:
    """Check the sessions of coding agents, and whether they are recorded.

    There are no findings if the package of the recorder is not installed.
    """
    if not _is_there("thalweg_recorder"):
        return
    from thalweg_recorder.installing import (  # noqa: PLC0415 (see above)
        installed_folders,
        pick_agents,
        plan_install,
    )
    from thalweg_recorder.recordings.agents import Machine  # noqa: PLC0415
    from thalweg_recorder.recordings.sessions import coding_sessions  # noqa: PLC0415

    folder, agents = user_folder(), Machine(home)
    found = coding_sessions(agents, profiles=installed_folders(folder))
    none = f"none in {home} (thalweg replay has a sample)"
    yield Finding("sessions", f"{count(len(found), 'session')} in {home}" if found else none)
    for agent in pick_agents(agents):
        name, fix = f"recorder {agent.name}", f"thalweg record on --agent {agent.name}"
        place = agent.settings_folder(agents)
        try:
            changes = plan_install(agents, folder, [agent])
        except (ThalwegError, OSError, ValueError) as error:
            yield Finding(name, f"{error}", fix, "broken")
            continue
        if changes:
            yield Finding(name, f"its sessions are not recorded (settings in {place})", fix, "off")
        elif problem := write_problem(folder.absolute()):
            seen = f"its sessions cannot be recorded in {folder} ({problem})"
            yield Finding(name, seen, "free space, then thalweg record import", "broken")
        else:
            yield Finding(name, f"its sessions are recorded (settings in {place})")
    yield from _queue(folder)


def _queue(folder: Path) -> Iterator[Finding]:
    """Report events of hooks that wait, and those whose log could not be read."""
    queue, log = folder / "queue", folder / "worker.log"
    waiting, failed = (len([*one.glob("*.json")]) for one in (queue, queue / "failed"))
    if waiting:
        seen = f"{count(waiting, 'event')} of hooks wait; the last errors are in {log}"
        yield Finding("recorder queue", seen, "thalweg record import", "off")
    if failed:
        seen = f"{count(failed, 'session')} could not be read; {log} states why"
        fix = f"thalweg record import tries again; or delete {queue / 'failed'}"
        yield Finding("recorder failures", seen, fix, "broken")


def variables() -> Iterator[Finding]:
    """Report Thalweg's own variables; a key or an address with a password is not shown."""
    for name in ("THALWEG_HOME", "THALWEG_CONFIG", "THALWEG_URL", "THALWEG_KEY"):
        if value := os.environ.get(name):
            shown = "set" if name == "THALWEG_KEY" else without_password(value)
            yield Finding(name, shown)


def without_password(address: str) -> str:
    """Return an address without a user and a password.

    Example:
        >>> without_password("https://me:secret@host/v1")
        'https://host/v1'
    """
    scheme, separator, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else address
