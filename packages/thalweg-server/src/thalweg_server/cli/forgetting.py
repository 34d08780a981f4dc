"""The server's part of `thalweg db forget`."""

import asyncio
import os
import sys
from pathlib import Path

from thalweg.cli.home import user_folder
from thalweg.database.erasure import erase_file
from thalweg_server.settings.loading import find, load_settings
from thalweg_server.settings.sections import Settings


def forget_owner(address: str, owner: str, *, dry_run: bool) -> tuple[str, ...]:
    """Delete an owner at an address; see `thalweg.cli.plugins.OWNERS_GROUP`."""
    is_file = "://" not in address
    if is_file:
        archive = Path(address)
        if archive.name != "thalweg.db" or not archive.with_name("runs.db").is_file():
            return ()
    configured = _settings_of(address, is_file=is_file)
    storage = {"home": str(Path(address).parent)} if is_file else {"url": address}
    settings = configured or Settings.from_mapping({"storage": storage})
    lines = asyncio.run(_forget(settings, owner, dry_run=dry_run))
    if dry_run:
        return lines
    if is_file:  # files of any size, which a deletion over HTTP does not rewrite
        runs = Path(address).with_name("runs.db")
        files = (Path(address).name, runs.name)  # the first one is the archive's to erase
        remains = erase_file(runs, sys.maxsize)
        lines = (*(line for line in lines if not line.startswith(files)), remains)
    left = [] if configured else [_NOT_CONFIGURED]
    left += [str(path) for path in _chats() if path.is_file()]
    return tuple(filter(None, (*lines, *left)))


_NOT_CONFIGURED = (
    "files and memory documents in other folders: no config.yaml of this address was found; name "
    "it with THALWEG_CONFIG"
)


def _chats() -> list[Path]:
    """Return the files of `thalweg chat`, which are of no owner."""
    return [user_folder() / "chat_history", user_folder() / "chat.log"]


async def _forget(settings: Settings, owner: str, *, dry_run: bool) -> tuple[str, ...]:
    from thalweg_server.app import open_app  # noqa: PLC0415 (seconds)

    async with open_app(settings, role="api") as app:
        deletion = app.tenant(owner).deletion
        return await (deletion.found() if dry_run else deletion.delete())


def _settings_of(address: str, *, is_file: bool) -> Settings | None:
    """Return the configuration in the usual place if it is of this address, for its files."""
    if not find(None, os.environ):
        return None
    found = load_settings()
    place = Path(address).parent
    storage = found.storage
    if storage.address is None and is_file and Path(storage.home).resolve() == place.resolve():
        return found
    return found if storage.address == address else None
