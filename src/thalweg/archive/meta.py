"""What an archive says of itself: the format of its tables, and the secret of its handles."""

import secrets
from collections.abc import Mapping

from thalweg.errors import ConfigError

VERSION = 2
"""Since 2, the index lists the shapes of answers. What `words_of` gives is part of the format:
an index is only taken apart by the words that it was made of."""

OTHER_TABLES = "its tables are not those that this process knows: another version changed them"
RESTART = "restart this process with the newest version that uses the database"


def is_older(found: bytes | int | None) -> bool:
    """Tell whether the index of an archive is another than ours, and is to be made anew."""
    return found is not None and int(found) < VERSION


def refuse_newer(place: str, found: bytes | int | None) -> None:
    """Look at the format of an archive, before anything is written to it.

    Args:
        place: The archive, as it is named to the user.
        found: Its format; `None` if it says none.

    Raises:
        ConfigError: A newer version wrote it: it is not ours to read or change.
    """
    version = VERSION if found is None else int(found)
    if version > VERSION:
        problem = f"it has archive format {version}, this version reads {VERSION}"
        raise ConfigError(place, problem, "update thalweg")


def first_secret(given: bytes | None) -> bytes:
    """Choose the secret of an archive that has none yet."""
    return secrets.token_bytes(32) if given is None else given


def secret_of(place: str, meta: Mapping[str, bytes], given: bytes | None) -> bytes:
    """Read the secret of an archive.

    Raises:
        ConfigError: It is not the one that was given.
    """
    kept = bytes(meta["secret"])
    if given is not None and given != kept:
        problem = "it was made with another secret"
        raise ConfigError(place, problem, "open it with that one, or with none")
    return kept
