"""Small JSON documents of owners, by kind and name, in the database of the threads.

They hold what a client of the gateway stores: metadata of threads, assistants, items of a store.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg.database.base import Database, Rows, decode, encode


@dataclass(frozen=True, slots=True)
class Document:
    """One document. Times are milliseconds since 1970."""

    name: str
    body: Mapping[str, Any]
    created: int
    updated: int


class Documents:
    """The documents of all owners. Calls block; each is atomic.

    Args:
        database: The database of the threads.

    Raises (all methods):
        StorageError: The database failed.
    """

    def __init__(self, database: Database[Rows]) -> None:
        self._database = database

    def get(self, owner: str, kind: str, name: str) -> Document | None:
        """Return one document."""
        with self._database.reading(owner) as rows:
            found = _all(rows, f"{_SELECT} AND name = ?", (encode(owner), kind, encode(name)))
        return found[0] if found else None

    def list(self, owner: str, kind: str) -> Sequence[Document]:
        """Return all documents of a kind, by name."""
        with self._database.reading(owner) as rows:
            return _all(rows, f"{_SELECT} ORDER BY name", (encode(owner), kind))

    def put(self, owner: str, kind: str, name: str, body: Mapping[str, Any], now: int) -> Document:
        """Store a document in place of the one with its name."""
        return self.change(owner, kind, name, lambda _: body, now)

    def change(
        self,
        owner: str,
        kind: str,
        name: str,
        change: Callable[[Mapping[str, Any]], Mapping[str, Any]],
        now: int,
    ) -> Document:
        """Replace a document by what a function makes of it; a missing one is empty.

        Args:
            owner: The owner.
            kind: The kind.
            name: The name.
            change: Returns the new body, which JSON can represent.
            now: The time in milliseconds.
        """
        key = (encode(owner), kind, encode(name))
        with self._database.writing(owner) as rows:
            found = _all(rows, f"{_SELECT} AND name = ?", key)
            body = change(found[0].body if found else {})
            values = (*key, json.dumps(body, ensure_ascii=True).encode(), now, now)
            return _all(rows, _PUT, values)[0]

    def delete(self, owner: str, kind: str, name: str) -> bool:
        """Delete a document; return False if there is none."""
        with self._database.writing(owner) as rows:
            return bool([*rows.rows(_DELETE, (encode(owner), kind, encode(name)))])


_COLUMNS = "name, body, created, updated"
_SELECT = f"SELECT {_COLUMNS} FROM app_document WHERE owner = ? AND kind = ?"  # noqa: S608 (ours)
_PUT = (
    "INSERT INTO app_document (owner, kind, name, body, created, updated)"  # noqa: S608 (ours)
    " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (owner, kind, name)"
    f" DO UPDATE SET body = excluded.body, updated = excluded.updated RETURNING {_COLUMNS}"
)
_DELETE = "DELETE FROM app_document WHERE owner = ? AND kind = ? AND name = ? RETURNING 1"


def _all(rows: Rows, statement: str, values: Sequence[int | bytes | str]) -> list[Document]:
    return [
        Document(decode(bytes(name)), json.loads(bytes(body)), created, updated)
        for name, body, created, updated in rows.rows(statement, values)
    ]
