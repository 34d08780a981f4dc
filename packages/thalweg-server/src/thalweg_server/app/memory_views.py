"""Memory as the API shows it: facts, commits, and recalled facts with the reasons."""

import json
from collections import Counter
from dataclasses import asdict, fields

from thalweg_memory import Operation, Recalled, Receipt
from thalweg_memory.facts.recall.ranking import RecallFeatures
from thalweg_memory.facts.recall.rendering import PackedItem
from thalweg_memory.facts.values import Change, Fact, Hide, PutFact, RemoveFact, WriteSection
from thalweg_server.api.memory import Commit, FactView, Forgotten, Found, Recall


def fact_view(fact: Fact) -> FactView:
    """Return a fact with DeerFlow's keys, its source and the time since when it is valid."""
    more = {
        "trust": fact.trust.name.lower(),
        "evidence": [
            {**asdict(evidence), "trust": evidence.trust.name.lower()} for evidence in fact.evidence
        ],
        "aliases": list(fact.aliases),
        "language": fact.language,
        "validFrom": fact.valid_from,
        "validTo": fact.valid_to,
        "observedAt": fact.observed_at,
        "supersededBy": str(fact.superseded_by),
        "supersedes": list(fact.supersedes),
        "writtenBy": fact.written_by,
        "protected": fact.protected,
        "isVerified": not fact.claim,
    }
    return FactView.model_validate(
        {
            "id": fact.id,
            "content": fact.content,
            "category": fact.category,
            "confidence": fact.confidence,
            "createdAt": fact.created_at,
            "source": fact.source,
            "status": fact.status,
            **more,
        }
    )


def commit_view(operation: Operation) -> Commit:
    """Show a commit in one line."""
    kinds = Counter(map(_kind, operation.changes))
    summary = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return Commit(
        operation=operation.id,
        at=operation.at,
        actor=operation.actor,
        kind=operation.why,
        summary=summary or "forgotten",
    )


def _kind(change: Change) -> str:
    match change:
        case PutFact(fact):
            return fact.status
        case RemoveFact():
            return "dropped"
        case WriteSection():
            return "section"
        case Hide():
            return "turns shown again" if change.is_shown else "turns hidden"


def recall_view(query: str, recalled: Recalled) -> Recall:
    """Return the facts that are recalled for some words, and the reasons."""
    return Recall(
        query=query,
        text=recalled.text,
        tokens=recalled.tokens,
        items=tuple(map(_found, recalled.placed)),
    )


def _found(placed: PackedItem) -> Found:
    item, features = placed.ranked.item, placed.ranked.features
    detail: dict[str, object] = {
        "features": {
            one.name: round(getattr(features, one.name), 4) for one in fields(RecallFeatures)
        },
        "tokens": placed.tokens,
    }
    if item.turn is not None:
        detail |= {"thread": item.turn.thread, "said_at": item.turn.said_at}
    return Found.model_validate(
        {
            "kind": "fact" if item.fact is not None else "turn",
            "id": item.fact.id if item.fact is not None else f"{item.number}",
            "content": item.text,
            "score": round(features.score, 4),
            "is_told": placed.fate == "shown",
            "why": placed.fate,
            "detail": detail,
        }
    )


def forgotten_view(receipt: Receipt) -> Forgotten:
    """Return the API's view of a deletion, with the places where its words may still be."""
    detail = {
        "ids": list(receipt.facts),
        "sections": receipt.sections,
        "operations": receipt.operations,
        "reopened": list(receipt.reopened),
        "remaining": [
            {"thread": thread, "position": position} for thread, position in receipt.remaining
        ],
        "left": list(receipt.left),
    }
    return Forgotten(facts=len(receipt.facts), turns=receipt.turns, detail=detail)


def whole(text: str, facts: list[Fact]) -> dict[str, object]:
    """Return a complete document: evidence with its facts, and facts that are no longer valid."""
    document: dict[str, object] = json.loads(text)
    shown = [fact_view(fact).model_dump(mode="json") for fact in facts]
    holding = [fact for fact in shown if fact["status"] == "active"]
    others = [fact for fact in shown if fact["status"] != "active"]
    return {**document, "facts": holding, "notHolding": others}
