"""Facts, operations and recalled items as plain values that JSON can hold."""

import json
from dataclasses import asdict, fields
from typing import Any, assert_never

from thalweg_memory.base import Operation
from thalweg_memory.facts.recall.packing import PackedItem, Recalled
from thalweg_memory.facts.recall.ranking import RecallFeatures
from thalweg_memory.facts.values import (
    Change,
    Fact,
    Hide,
    Profile,
    PutFact,
    RemoveFact,
    WriteSection,
)


def plain_fact(fact: Fact) -> dict[str, Any]:
    """Return a fact with all its fields."""
    plain = asdict(fact)
    plain["trust"] = fact.trust.name.lower()
    plain["extra"] = json.loads(fact.extra or "{}")
    for plain_evidence, evidence in zip(plain["evidence"], fact.evidence, strict=True):
        plain_evidence["trust"] = evidence.trust.name.lower()
    return plain


def plain_profile(profile: Profile) -> dict[str, Any]:
    """Return the sections by name."""
    return {
        section.name: {
            "text": section.text,
            "updated_at": section.updated_at,
            "cites": list(section.cites),
        }
        for section in profile.sections
    }


def plain_recalled(recalled: Recalled) -> dict[str, Any]:
    """Return the items considered for recall, and why each was recalled, or was not."""
    return {
        "tokens": recalled.tokens,
        "text": recalled.text,
        "profile": plain_profile(recalled.profile),
        "items": [plain_placed(placed) for placed in recalled.placed],
    }


def plain_placed(placed: PackedItem) -> dict[str, Any]:
    """Return the outcome of one item."""
    item, features = placed.ranked.item, placed.ranked.features
    return {
        "fate": placed.fate,
        "score": round(features.score, 4),
        "tokens": placed.tokens,
        "features": {
            one.name: round(getattr(features, one.name), 4) for one in fields(RecallFeatures)
        },
        "fact": plain_fact(item.fact) if item.fact else None,
        "turn": asdict(item.turn) | {"trust": item.turn.trust.name.lower()} if item.turn else None,
    }


def plain_operation(operation: Operation) -> dict[str, Any]:
    """Return a commit."""
    return {
        "operation": operation.id,
        "at": operation.at,
        "actor": operation.actor,
        "why": operation.why,
        "changes": [plain_change(change) for change in operation.changes],
    }


def plain_change(change: Change) -> dict[str, Any]:
    """Return a change."""
    match change:
        case PutFact(fact, why):
            return {"change": "put", "why": why, "fact": plain_fact(fact)}
        case RemoveFact(name, why):
            return {"change": "drop", "why": why, "fact": {"id": name}}
        case WriteSection(section, why):
            return {"change": "write", "why": why, "section": section.name, "text": section.text}
        case Hide(why, turns, is_shown):
            shown = "show" if is_shown else "hide"
            return {"change": shown, "why": why, "turns": turns}
        case _:
            assert_never(change)
