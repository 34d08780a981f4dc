"""LangGraph's store over the documents of one owner: what a graph and the API's `/store` share.

Search compares fields; there is no index of meanings, so `query` is ignored.
"""

import asyncio
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from thalweg_server.app.documents import Document, Documents

KIND = "store"
_OPERATORS = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


class DocumentStore(BaseStore):
    """The store of one owner.

    Args:
        documents: The documents of all owners.
        owner: The owner.
    """

    def __init__(self, documents: Documents, owner: str) -> None:
        self._documents = documents
        self._owner = owner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform operations in order; see `BaseStore.batch`."""
        return [self._perform(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform operations in order, in a thread; see `BaseStore.abatch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _perform(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self._documents.get(self._owner, KIND, _name(op.namespace, op.key))
                return None if found is None else _item(found)
            case PutOp():
                name = _name(op.namespace, op.key)
                if op.value is None:
                    self._documents.delete(self._owner, KIND, name)
                else:
                    now = time.time_ns() // 1_000_000
                    self._documents.put(self._owner, KIND, name, op.value, now)
                return None
            case SearchOp():
                found_ = [
                    one
                    for one in self._items()
                    if one.namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
                    and _matches(one.value, op.filter or {})
                ]
                found_.sort(key=lambda one: one.updated_at, reverse=True)
                return found_[op.offset : op.offset + op.limit]
            case ListNamespacesOp():
                return self._namespaces(op)

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        every = {
            one.namespace[: op.max_depth]
            for one in self._items()
            if all(_has(one.namespace, condition) for condition in conditions)
        }
        return sorted(every)[op.offset : op.offset + op.limit]

    def _items(self) -> list[SearchItem]:
        items: list[SearchItem] = []
        for one in self._documents.list(self._owner, KIND):
            item = _item(one)
            items.append(
                SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at)
            )
        return items


def _name(namespace: Sequence[str], key: str) -> str:
    return json.dumps([list(namespace), key])


def _item(found: Document) -> Item:
    namespace, key = json.loads(found.name)
    return Item(
        value=dict(found.body),
        key=key,
        namespace=tuple(namespace),
        created_at=datetime.fromtimestamp(found.created / 1000, UTC),
        updated_at=datetime.fromtimestamp(found.updated / 1000, UTC),
    )


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether an item has the fields of a filter, which may name operators."""
    for key, condition in wanted.items():
        there = value.get(key)
        tests = condition if isinstance(condition, dict) else {"$eq": condition}
        if not tests.keys() <= _OPERATORS.keys():
            tests = {"$eq": condition}
        try:
            if not all(_OPERATORS[name](there, other) for name, other in tests.items()):
                return False
        except TypeError:  # values that have no order
            return False
    return True


def _has(namespace: Sequence[str], condition: MatchCondition) -> bool:
    """Return whether a namespace begins or ends with a path, in which `*` is any label."""
    path, length = condition.path, len(condition.path)
    if len(namespace) < length:
        return False
    part = namespace[:length] if condition.match_type == "prefix" else namespace[-length:]
    return all(want in ("*", has) for want, has in zip(path, part, strict=True))
