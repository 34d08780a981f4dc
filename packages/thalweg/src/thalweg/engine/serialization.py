"""Serialize edits, records and other state of an engine, and parse them.

An engine that is restored from its saved state continues as if it had never stopped: the same
messages, edits and calls produce the same requests, to the byte.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from thalweg.engine.edits import (
    Edit,
    Elide,
    Evict,
    Fold,
    Pin,
    Rewrite,
    Strip,
    Supersede,
    Unpin,
)
from thalweg.engine.entries import parts_from_plain, parts_to_plain
from thalweg.engine.snapshot import (
    EngineSnapshot,
    Record,
)
from thalweg.engine.summaries.summary import summary_to_data

_T = TypeVar("_T")
_TYPES: dict[str, type] = {
    "evict": Evict,
    "elide": Elide,
    "supersede": Supersede,
    "strip": Strip,
    "fold": Fold,
    "pin": Pin,
    "unpin": Unpin,
}
"""The kinds of edits by their names in stored threads, which stay when a class is renamed."""
_NAMES = {kind: name for name, kind in _TYPES.items()}


def edit_to_plain(edit: Edit) -> dict[str, Any]:
    """Return an edit as values that JSON can hold.

    Example:
        >>> pin = Pin(
        ...     reason="asked for",
        ...     turn=1,
        ...     tokens_before=0,
        ...     tokens_after=0,
        ...     position=4,
        ...     quote="never push",
        ... )
        >>> edit_from_plain(edit_to_plain(pin)) == pin
        True
    """
    values = _field_values(edit)
    if "parts" in values:
        values["parts"] = parts_to_plain(values["parts"])
    if values.get("summary"):
        values["summary"] = summary_to_data(values["summary"])
    if pending := values.pop("pending", None):
        values["pending"] = _field_values(pending)
    if forecast := values.pop("forecast"):
        values["forecast"] = _field_values(forecast)
    return {"edit": _NAMES[type(edit)], **values}


def edit_from_plain(plain: Mapping[str, Any]) -> Edit:
    """Parse the output of `edit_to_plain`; fields of a newer version are ignored.

    Raises:
        ValueError: There is no such kind of edit, or it lacks a field.
    """
    try:
        return _parse_edit(plain)
    except _PARSE_ERRORS as error:
        msg = f"not an edit: {type(error).__name__}: {error}"
        raise ValueError(msg) from error


def edits_from_plain(plain: Iterable[Mapping[str, Any]]) -> Iterator[Edit]:
    """Parse edits; those of a newer version, or damaged, are skipped: their messages are shown."""
    for plain_edit in plain:
        with suppress(ValueError):
            yield edit_from_plain(plain_edit)


_PARSE_ERRORS = (KeyError, TypeError, ValueError, AttributeError)
"""Errors of parsing values of another form than was written."""


def _parse_edit(plain: Mapping[str, Any]) -> Edit:
    if "parts" not in plain:
        edit: Edit = _validated(_TYPES[plain["edit"]], plain)
        return edit
    rewrite: Rewrite = _validated(_TYPES[plain["edit"]], {**plain, "parts": ()})
    return replace(rewrite, parts=parts_from_plain(plain["parts"]))


def _validated(kind: type, plain: Mapping[str, Any]) -> Any:  # noqa: ANN401 (of that type)
    """Return a value of a type; JSON is parsed strictly, and has lists for tuples."""
    try:
        text = json.dumps(plain, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which texts may have and JSON may not
        return _adapter(kind).validate_python(plain)
    return _adapter(kind).validate_json(text, strict=True)


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    """Return the validator of a type, which ignores fields that the type does not have."""
    return TypeAdapter(kind)


def from_fields(kind: type[_T], plain: Mapping[str, Any]) -> _T:
    """Return a dataclass from its fields; fields that it does not have are ignored.

    Raises:
        TypeError: A field without a default is missing.
    """
    names: Mapping[str, object] = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in plain.items() if name in names})


def snapshot_to_bytes(snapshot: EngineSnapshot) -> bytes:
    """Return a snapshot, serialized and compressed; `snapshot_from_bytes` parses it.

    Example:
        >>> snapshot_from_bytes(snapshot_to_bytes(EngineSnapshot())) == EngineSnapshot()
        True
    """
    plain = {
        "fold": snapshot.fold and edit_to_plain(snapshot.fold),
        "record": _record_to_plain(snapshot.record),
        "pins": snapshot.pins,
        "rewrites": [edit_to_plain(edit) for edit in snapshot.rewrites],
        "systems": snapshot.systems,
        "used": snapshot.used,
        "waiting": snapshot.waiting,
        "stripped": snapshot.stripped,
    }
    text = json.dumps(plain, separators=(",", ":"), default=_field_values)
    return zlib.compress(text.encode(), COMPRESSION_LEVEL)


COMPRESSION_LEVEL = 4
"""Compression level of a snapshot: three times as fast as the usual 6, and a tenth larger."""


def _field_values(value: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def snapshot_from_bytes(saved: bytes) -> EngineSnapshot:
    """Parse the output of `snapshot_to_bytes`; fields of a newer version are ignored.

    Raises:
        ValueError: It is damaged, or lacks a field.
    """
    try:
        snapshot = _snapshot_from_plain(json.loads(zlib.decompress(saved)))
    except (*_PARSE_ERRORS, zlib.error) as error:
        msg = f"not an engine snapshot: {type(error).__name__}: {error}"
        raise ValueError(msg) from error
    return snapshot


def _snapshot_from_plain(plain: Mapping[str, Any]) -> EngineSnapshot:
    if missing := _SNAPSHOT_FIELDS - plain.keys():
        raise KeyError(*missing)
    fold = edit_from_plain(plain["fold"]) if plain["fold"] else None
    if not isinstance(fold, Fold | None):
        raise TypeError(fold)
    rewrites = (edit for edit in edits_from_plain(plain["rewrites"]) if isinstance(edit, Rewrite))
    snapshot: EngineSnapshot = _validated(EngineSnapshot, {**plain, "fold": None, "rewrites": ()})
    return replace(snapshot, fold=fold, rewrites=tuple(rewrites))


_SNAPSHOT_FIELDS = {"fold", "record", "pins", "rewrites", "systems", "used", "waiting"}
"""Fields that every snapshot has; later ones have defaults."""


def _record_to_plain(record: Record) -> dict[str, Any]:
    spans = [[first, last, summary_to_data(summary)] for first, last, summary in record.summaries]
    return {**_field_values(record), "summaries": spans}
