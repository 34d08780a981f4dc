"""The server's part of `thalweg db forget`."""

import asyncio
from pathlib import Path

from thalweg_server.settings.loading import load_settings
from thalweg_server.settings.sections import Settings


def forget_owner(address: str, owner: str, *, dry_run: bool) -> tuple[str, ...]:
    """Delete an owner at an address; see `thalweg.cli.plugins.OWNERS_GROUP`."""
    is_file = "://" not in address
    if is_file and not Path(address).with_name("runs.db").is_file():
        return ()
    return asyncio.run(_forget(_settings_of(address, is_file=is_file), owner, dry_run=dry_run))


async def _forget(settings: Settings, owner: str, *, dry_run: bool) -> tuple[str, ...]:
    from thalweg_server.app import open_app  # noqa: PLC0415 (seconds)

    async with open_app(settings, role="api") as app:
        deletion = app.tenant(owner).deletion
        return await (deletion.found() if dry_run else deletion.delete())


def _settings_of(address: str, *, is_file: bool) -> Settings:
    """Return the configuration in the usual place if it is of this address, for its files."""
    found = load_settings()
    place = Path(address).parent
    storage = found.storage
    if storage.address is None and is_file and Path(storage.home).resolve() == place.resolve():
        return found
    if storage.address == address:
        return found
    return Settings.from_mapping({"storage": {"home": str(place)} if is_file else {"url": address}})
