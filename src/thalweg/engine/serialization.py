"""Serialize edits, records and other state of an engine, and parse them.

An engine that is restored from its saved state continues as if it had never stopped: the same
messages, edits and calls produce the same requests, to the byte.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

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
    """Parse the output of `edit_to_plain`.

    Raises:
        KeyError: There is no such kind of edit.
        TypeError: An edit has other fields.
    """
    values = {name: value for name, value in plain.items() if name != "edit"}
    if "parts" in values:
        values["parts"] = parts_from_plain(values["parts"])
    if values.get("summary"):
        values["summary"] = summary_from_data(values["summary"])
    if values.get("pending"):
        values["pending"] = PendingSummary(**values["pending"])
    if values.get("forecast"):
        values["forecast"] = Forecast(**values["forecast"])
    for name in {"kept", "positions"} & values.keys():
        values[name] = tuple(values[name])
    if values.get("rooms"):
        first, second = values["rooms"]
        values["rooms"] = (first, second)
    return _KINDS[plain["edit"]](**values)


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
    """Parse the output of `standing_to_bytes`."""
    plain = json.loads(zlib.decompress(saved))
    fold = edit_from_plain(plain["fold"]) if plain["fold"] else None
    return EngineSnapshot(
        fold=fold if isinstance(fold, Fold) else None,
        record=_record_from_plain(plain["record"]),
        pins=_quotes(plain["pins"]),
        rewrites=tuple(_rewrites(plain["rewrites"])),
        systems=plain["systems"],
        used=tuple(plain["used"]),
        waiting=tuple((recorded, ToolUse(**use)) for recorded, use in plain["waiting"]),
        stripped=tuple(plain.get("stripped", ())),
    )


def _rewrites(plain: Sequence[Mapping[str, Any]]) -> Iterator[Rewrite]:
    for edit in map(edit_from_plain, plain):
        if isinstance(edit, Rewrite):
            yield edit


def _record_to_plain(record: Record) -> dict[str, Any]:
    spans = [[first, last, summary_to_data(s)] for first, last, s in record.summaries]
    return {**_values(record), "summaries": spans}


def _record_from_plain(plain: Mapping[str, Any]) -> Record:
    todos = plain["todos"]
    return Record(
        **{
            **plain,
            "requests": _quotes(plain["requests"]),
            "files": {path: FileState(**state) for path, state in plain["files"].items()},
            "runs": _outcomes(plain["runs"]),
            "tasks": _outcomes(plain["tasks"]),
            "notes": _quotes(plain["notes"]),
            "todos": Quote(**todos) if todos else None,
            "names": _quotes(plain["names"]),
            "skills": tuple(LoadedSkill(**skill) for skill in plain.get("skills", ())),
            "summaries": tuple(
                (first, last, summary_from_data(summary))
                for first, last, summary in plain["summaries"]
            ),
        }
    )


def _quotes(plain: Sequence[Mapping[str, Any]]) -> tuple[Quote, ...]:
    return tuple(Quote(**quote) for quote in plain)


def _outcomes(plain: Sequence[Mapping[str, Any]]) -> tuple[CallOutcome, ...]:
    return tuple(CallOutcome(**{**o, "use": ToolUse(**o["use"])}) for o in plain)
