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
from thalweg.engine.snapshot import CallOutcome, EngineSnapshot, FileState, Quote, Record
from thalweg.engine.summaries.summary import summary_from_data, summary_to_data

_T = TypeVar("_T")
_KINDS: dict[str, type[Edit]] = {
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
    values = _values(edit)
    if "parts" in values:
        values["parts"] = parts_to_plain(values["parts"])
    if values.get("summary"):
        values["summary"] = summary_to_data(values["summary"])
    if pending := values.pop("pending", None):
        values["pending"] = _values(pending)
    if forecast := values.pop("forecast"):
        values["forecast"] = _values(forecast)
    return {"edit": type(edit).__name__.lower(), **values}


def edit_from_plain(plain: Mapping[str, Any]) -> Edit:
    """Parse the output of `edit_to_plain`; fields of a newer version are ignored.

    Raises:
        ValueError: There is no such kind of edit, or it lacks a field.
    """
    try:
        return _edit(plain)
    except _UNREADABLE as error:
        msg = f"not an edit: {type(error).__name__}: {error}"
        raise ValueError(msg) from error


def edits_from_plain(plain: Iterable[Mapping[str, Any]]) -> Iterator[Edit]:
    """Parse edits; those of a newer version, or damaged, are skipped: their messages are shown."""
    for one in plain:
        with suppress(ValueError):
            yield edit_from_plain(one)


_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)
"""Errors of parsing values of another form than was written."""


def _edit(plain: Mapping[str, Any]) -> Edit:
    values = {name: value for name, value in plain.items() if name != "edit"}
    if "parts" in values:
        values["parts"] = parts_from_plain(values["parts"])
    if values.get("summary"):
        values["summary"] = summary_from_data(values["summary"])
    if values.get("pending"):
        values["pending"] = made_of(PendingSummary, values["pending"])
    if values.get("forecast"):
        values["forecast"] = made_of(Forecast, values["forecast"])
    for name in {"kept", "positions"} & values.keys():
        values[name] = tuple(values[name])
    if values.get("rooms"):
        first, second = values["rooms"]
        values["rooms"] = (first, second)
    return made_of(_KINDS[plain["edit"]], values)


def made_of(kind: type[_T], plain: Mapping[str, Any]) -> _T:
    """Return a dataclass from its fields; fields that it does not have are ignored.

    Raises:
        TypeError: A field without a default is missing.
    """
    names: Mapping[str, object] = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{name: value for name, value in plain.items() if name in names})


def standing_to_bytes(standing: EngineSnapshot) -> bytes:
    """Return a snapshot, serialized and compressed; `standing_from_bytes` parses it.

    Example:
        >>> standing_from_bytes(standing_to_bytes(EngineSnapshot())) == EngineSnapshot()
        True
    """
    plain = {
        "fold": standing.fold and edit_to_plain(standing.fold),
        "record": _record_to_plain(standing.record),
        "pins": standing.pins,
        "rewrites": [edit_to_plain(edit) for edit in standing.rewrites],
        "systems": standing.systems,
        "used": standing.used,
        "waiting": standing.waiting,
        "stripped": standing.stripped,
    }
    text = json.dumps(plain, separators=(",", ":"), default=_values)
    return zlib.compress(text.encode(), LEVEL)


LEVEL = 4
"""Compression level of a snapshot: three times as fast as the usual 6, and a tenth larger."""


def _values(value: Any) -> dict[str, Any]:  # noqa: ANN401 (any dataclass)
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def standing_from_bytes(saved: bytes) -> EngineSnapshot:
    """Parse the output of `standing_to_bytes`; fields of a newer version are ignored.

    Raises:
        ValueError: It is damaged, or lacks a field.
    """
    try:
        standing = _standing(json.loads(zlib.decompress(saved)))
    except (*_UNREADABLE, zlib.error) as error:
        msg = f"not an engine snapshot: {type(error).__name__}: {error}"
        raise ValueError(msg) from error
    if not _conforms(standing, EngineSnapshot):
        msg = "not an engine snapshot: a field has a value of another type"
        raise ValueError(msg)
    return standing


def _standing(plain: Mapping[str, Any]) -> EngineSnapshot:
    fold = edit_from_plain(plain["fold"]) if plain["fold"] else None
    return EngineSnapshot(
        fold=fold if isinstance(fold, Fold) else None,
        record=_record_from_plain(plain["record"]),
        pins=_quotes(plain["pins"]),
        rewrites=tuple(_rewrites(plain["rewrites"])),
        systems=plain["systems"],
        used=tuple(plain["used"]),
        waiting=tuple((recorded, made_of(ToolUse, use)) for recorded, use in plain["waiting"]),
        stripped=tuple(plain.get("stripped", ())),
    )


def _rewrites(plain: Sequence[Mapping[str, Any]]) -> Iterator[Rewrite]:
    for edit in edits_from_plain(plain):
        if isinstance(edit, Rewrite):
            yield edit


def _record_to_plain(record: Record) -> dict[str, Any]:
    spans = [[first, last, summary_to_data(s)] for first, last, s in record.summaries]
    return {**_values(record), "summaries": spans}


def _record_from_plain(plain: Mapping[str, Any]) -> Record:
    todos = plain["todos"]
    return made_of(
        Record,
        {
            **plain,
            "requests": _quotes(plain["requests"]),
            "files": {path: made_of(FileState, state) for path, state in plain["files"].items()},
            "runs": _outcomes(plain["runs"]),
            "tasks": _outcomes(plain["tasks"]),
            "notes": _quotes(plain["notes"]),
            "todos": made_of(Quote, todos) if todos else None,
            "names": _quotes(plain["names"]),
            "media": _quotes(plain.get("media", ())),
            "skills": tuple(made_of(LoadedSkill, skill) for skill in plain.get("skills", ())),
            "summaries": tuple(
                (first, last, summary_from_data(summary))
                for first, last, summary in plain["summaries"]
            ),
        },
    )


def _quotes(plain: Sequence[Mapping[str, Any]]) -> tuple[Quote, ...]:
    return tuple(made_of(Quote, quote) for quote in plain)


def _outcomes(plain: Sequence[Mapping[str, Any]]) -> tuple[CallOutcome, ...]:
    return tuple(made_of(CallOutcome, {**o, "use": made_of(ToolUse, o["use"])}) for o in plain)


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
            fits = any(_conforms(value, one) for one in args)
        case origin if origin is Literal:
            fits = value in args
        case origin if origin is tuple:
            fits = isinstance(value, tuple) and _each_conforms(value, args)
        case origin if origin is dict:
            fits = isinstance(value, dict) and all(
                _each_conforms(pair, args) for pair in value.items()
            )
        case _:
            fits = isinstance(value, (int, float) if kind is float else kind)
            if fits and is_dataclass(kind):
                fits = all(
                    _conforms(getattr(value, name), hint) for name, hint in _hints(type(value))
                )
    return fits


def _each_conforms(values: tuple[object, ...], kinds: tuple[Any, ...]) -> bool:
    if kinds[1:] == (...,):
        kinds = kinds[:1] * len(values)
    return len(values) == len(kinds) and all(map(_conforms, values, kinds))


def _hints(kind: Any) -> tuple[tuple[str, Any], ...]:  # noqa: ANN401 (any dataclass)
    if kind not in _KNOWN:
        _KNOWN[kind] = tuple(get_type_hints(kind).items())
    return _KNOWN[kind]


_KNOWN: dict[Any, tuple[tuple[str, Any], ...]] = {}
"""The fields of dataclasses with their types, as they were looked up."""
