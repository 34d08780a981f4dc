"""The token of a gateway without keys: made at its first start, kept in its data folder.

Everybody on a machine reaches what listens on it. With the token, only who can read the data folder
of the gateway gets in: the user who started it.
"""

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from thalweg.database.private_files import is_open_to_others, open_private
from thalweg.errors import ConfigError

TOKEN_FILE: Final = "token"  # noqa: S105 (a file's name)
_TOKEN: Final = re.compile(r"[!-~]{16,200}")
"""Long enough not to be guessed, and fit for a header."""


@dataclass(frozen=True, slots=True)
class LocalToken:
    """A token, and the path of its file."""

    value: str
    path: Path
    is_new: bool
    """Whether it was made just now: then it is shown once."""


def ensure_token(home: Path) -> LocalToken:
    """Return the token of a data folder; one is created if there is none.

    Raises:
        ConfigError: Other users can read the file, or it is no token.
        OSError: It cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as home:
        ...     first, second = ensure_token(Path(home)), ensure_token(Path(home))
        >>> first.is_new, second.is_new, first.value == second.value
        (True, False, True)
    """
    path = home / TOKEN_FILE
    temporary = path.with_name(f".{TOKEN_FILE}.{secrets.token_hex(4)}")
    made = secrets.token_urlsafe(32)
    if not path.exists():
        try:
            with open(temporary, "w", encoding="ascii", opener=open_private) as file:
                file.write(f"{made}\n")
            os.link(temporary, path)  # whole or not at all, and one of two that start at once
        except FileExistsError:
            pass
        else:
            return LocalToken(made, path, is_new=True)
        finally:
            temporary.unlink(missing_ok=True)
    return LocalToken(_read(path), path, is_new=False)


def find_token(home: Path) -> str | None:
    """Return the token of a data folder; `None` if there is none.

    Raises:
        ConfigError: Other users can read the file, or it is no token.
    """
    path = home / TOKEN_FILE
    return _read(path) if path.is_file() else None


def _read(path: Path) -> str:
    if is_open_to_others(path):
        fix = "delete it: the next start of the gateway makes another one"
        raise ConfigError(str(path), "other users of this machine can read the token", fix)
    token = path.read_text("ascii", errors="replace").strip()
    if not _TOKEN.fullmatch(token):
        raise ConfigError(str(path), "it has no token", "delete it, and start the gateway again")
    return token
