"""Erasing deleted rows from the databases of one application; see `thalweg.database.erasure`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from thalweg.database.erasure import COPIES_ELSEWHERE, POSTGRES_REMAINS, erase_file

_DATABASES: Final = ("thalweg.db", "runs.db")


class Erasure:
    """Erases deleted rows from the databases of one application.

    Args:
        home: The folder of its SQLite files; `None` if everything is in PostgreSQL.
    """

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self._turn = asyncio.Lock()

    async def erase(self) -> tuple[str, ...]:
        """Erase rows deleted so far; one caller at a time.

        Returns:
            What may remain, and where: one line each, without any content.
        """
        if self._home is None:
            return f"PostgreSQL: {POSTGRES_REMAINS}", COPIES_ELSEWHERE
        async with self._turn:
            return (*await asyncio.to_thread(self._erase, self._home), COPIES_ELSEWHERE)

    def _erase(self, home: Path) -> Sequence[str]:
        return [one for name in _DATABASES if (one := erase_file(home / name))]
