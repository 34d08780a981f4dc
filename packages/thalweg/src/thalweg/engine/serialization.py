"""Serialize edits, records and other state of an engine, and parse them.

An engine that is restored from its saved state continues as if it had never stopped: the same
messages, edits and calls produce the same requests, to the byte.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from thalweg.engine.compaction.skills import LoadedSkill
from thalweg.engine.edits import (
    Edit,
    Elide,
    Evict,
    Fold,
    PendingSummary,
    Pin,
    Rewrite,
    Strip,
    Supersede,
    Unpin,
)
from thalweg.engine.entries import ToolUse, parts_from_plain, parts_to_plain
from thalweg.engine.pricing.savings import Forecast
from thalweg.engine.snapshot import (
    CallOutcome,
    EngineSnapshot,
    FileState,
    Quote,
    Record,
    RemovedResult,
)
from thalweg.engine.summaries.summary import summary_from_data, summary_to_data

_T = TypeVar("_T")
_EDIT_TYPES: dict[str, type[Edit]] = {
    kind.__name__.lower(): kind for kind in (Evict, Elide, Supersede, Strip, Fold, Pin, Unpin)
}


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
    return {"edit": type(edit).__name__.lower(), **values}


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
    values = {name: value for name, value in plain.items() if name != "edit"}
    if "parts" in values:
        values["parts"] = parts_from_plain(values["parts"])
    if values.get("summary"):
        values["summary"] = summary_from_data(values["summary"])
    if values.get("pending"):
        values["pending"] = from_fields(PendingSummary, values["pending"])
    if values.get("forecast"):
        values["forecast"] = from_fields(Forecast, values["forecast"])
    for name in {"kept", "positions"} & values.keys():
        values[name] = tuple(values[name])
    if values.get("rooms"):
        record_tokens, widest_tokens = values["rooms"]
        values["rooms"] = (record_tokens, widest_tokens)
    return from_fields(_EDIT_TYPES[plain["edit"]], values)


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
    if not _conforms(snapshot, EngineSnapshot):
        msg = "not an engine snapshot: a field has a value of another type"
        raise ValueError(msg)
    return snapshot


def _snapshot_from_plain(plain: Mapping[str, Any]) -> EngineSnapshot:
    fold = edit_from_plain(plain["fold"]) if plain["fold"] else None
    return EngineSnapshot(
        fold=fold if isinstance(fold, Fold) else None,
        record=_record_from_plain(plain["record"]),
        pins=_quotes(plain["pins"]),
        rewrites=tuple(_rewrites(plain["rewrites"])),
        systems=plain["systems"],
        used=tuple(plain["used"]),
        waiting=tuple((recorded, from_fields(ToolUse, use)) for recorded, use in plain["waiting"]),
        stripped=tuple(plain.get("stripped", ())),
    )


def _rewrites(plain: Sequence[Mapping[str, Any]]) -> Iterator[Rewrite]:
    for edit in edits_from_plain(plain):
        if isinstance(edit, Rewrite):
            yield edit


def _record_to_plain(record: Record) -> dict[str, Any]:
    spans = [[first, last, summary_to_data(summary)] for first, last, summary in record.summaries]
    return {**_field_values(record), "summaries": spans}


def _record_from_plain(plain: Mapping[str, Any]) -> Record:
    todos = plain["todos"]
    return from_fields(
        Record,
        {
            **plain,
            "requests": _quotes(plain["requests"]),
            "files": {
                path: from_fields(FileState, state) for path, state in plain["files"].items()
            },
            "runs": _outcomes(plain["runs"]),
            "tasks": _outcomes(plain["tasks"]),
            "notes": _quotes(plain["notes"]),
            "todos": from_fields(Quote, todos) if todos else None,
            "names": _quotes(plain["names"]),
            "media": _quotes(plain.get("media", ())),
            "skills": tuple(from_fields(LoadedSkill, skill) for skill in plain.get("skills", ())),
            "results": {
                key: from_fields(RemovedResult, result)
                for key, result in plain.get("results", {}).items()
            },
            "returned": tuple(plain.get("returned", ())),
            "summaries": tuple(
                (first, last, summary_from_data(summary))
                for first, last, summary in plain["summaries"]
            ),
        },
    )


def _quotes(plain: Sequence[Mapping[str, Any]]) -> tuple[Quote, ...]:
    return tuple(from_fields(Quote, quote) for quote in plain)


def _outcomes(plain: Sequence[Mapping[str, Any]]) -> tuple[CallOutcome, ...]:
    return tuple(
        from_fields(CallOutcome, {**outcome, "use": from_fields(ToolUse, outcome["use"])})
        for outcome in plain
    )


def _conforms(value: object, kind: Any) -> bool:  # noqa: ANN401 (any annotation)
    """Return whether a value, with all that it contains, has a type.

    Supports dataclasses, unions, literals, `tuple`, `dict` and classes. An `int` is a `float`.

    Example:
        >>> _conforms((1, "a"), tuple[int, str]), _conforms((1, None), tuple[int, ...])
        (True, False)
    """
    args: tuple[Any, ...] = get_args(kind)
    match get_origin(kind):
        case origin if origin in {Union, UnionType}:
            conforms = any(_conforms(value, option) for option in args)
        case origin if origin is Literal:
            conforms = value in args
        case origin if origin is tuple:
            conforms = isinstance(value, tuple) and _each_conforms(value, args)
        case origin if origin is dict:
            conforms = isinstance(value, dict) and all(
                _each_conforms(pair, args) for pair in value.items()
            )
        case _:
            conforms = isinstance(value, (int, float) if kind is float else kind)
            if conforms and is_dataclass(kind):
                conforms = all(
                    _conforms(getattr(value, name), hint)
                    for name, hint in _field_types(type(value))
                )
    return conforms


def _each_conforms(values: tuple[object, ...], kinds: tuple[Any, ...]) -> bool:
    if kinds[1:] == (...,):
        kinds = kinds[:1] * len(values)
    return len(values) == len(kinds) and all(map(_conforms, values, kinds))


def _field_types(kind: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401 (any dataclass)
    if kind not in _FIELD_TYPES_CACHE:
        _FIELD_TYPES_CACHE[kind] = tuple(get_type_hints(kind).items())
    return _FIELD_TYPES_CACHE[kind]


_FIELD_TYPES_CACHE: dict[Any, tuple[tuple[str, Any], ...]] = {}
"""The fields of dataclasses with their types, as they were looked up."""
