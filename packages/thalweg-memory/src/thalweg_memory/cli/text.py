"""Memory as text for people, on a terminal or in a pipe, and as plain values that JSON can hold.

Two rules: the content of a fact never acts on a terminal (`printable`); an id is the first word
of its line and whole, so that it can be copied.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from typing import Any, assert_never

from thalweg.cli.printing import count, one_line, table
from thalweg.engine.transcript import printable
from thalweg_memory.facts.recall.ranking import RecallFeatures
from thalweg_memory.facts.recall.rendering import TITLES, PackedItem, Recalled
from thalweg_memory.facts.values import (
    Change,
    Fact,
    Hide,
    Profile,
    PutFact,
    RemoveFact,
    Statement,
    WriteSection,
)
from thalweg_memory.store.records import Operation, Receipt


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


QUOTED_CHARS = 400
"""Most characters of a text on a line."""
_one_line = partial(one_line, max_chars=QUOTED_CHARS)


def render_memory(profile: Profile, facts: Sequence[Fact]) -> Iterator[str]:
    """Yield the profile, then the facts by category, newest last."""
    sections = [section for section in profile.sections if section.text]
    for section in sections:
        yield f"{TITLES[section.name]}:"
        yield f"    {_whole(section.text)}"
    for number, category in enumerate(dict.fromkeys(fact.category for fact in facts)):
        these = [fact for fact in facts if fact.category == category]
        if number or sections:
            yield ""
        yield f"{category} ({len(these)})"
        for fact in these:
            yield from render_fact(fact)


def render_fact(fact: Fact, indent: str = "") -> Iterator[str]:
    """Yield a fact in two lines: its content, and its source."""
    yield from table([(f"{indent}{printable(fact.id)}", _one_line(fact.content))])
    status = f"{fact.status}, " if fact.status != "active" else ""
    kept = ", protected" if fact.protected else ""
    yield f"{indent}    {status}{fact.confidence:.2f}, {_source(fact)}{_dates(fact)}{kept}"


def _source(fact: Fact) -> str:
    by = {"manual": "by hand", "import": "imported", "": "source unknown"}.get(fact.source)
    return by or f"from {_one_line(fact.source)} ({fact.trust.name.lower()})"


def _dates(fact: Fact) -> str:
    since, until = fact.valid_from or fact.created_at, fact.valid_to
    return f", {since[:10]}" + (f" to {until[:10]}" if until else "")


def render_full_fact(fact: Fact) -> Iterator[str]:
    """Yield all of a fact, with its evidence."""
    yield from render_fact(fact)
    yield f"    category: {fact.category}, written by {_one_line(fact.written_by)}"
    if fact.subject or fact.attribute or fact.value:
        parts = (fact.subject, fact.attribute, fact.value)
        yield f"    reads as: {' / '.join(_one_line(part) or '-' for part in parts)}"
    if fact.superseded_by:
        yield f"    superseded by {printable(fact.superseded_by)}"
    for old in fact.supersedes:
        yield f"    supersedes {printable(old)}"
    for alias in fact.aliases:
        yield f"    also: {_one_line(alias)}"
    for evidence in fact.evidence:
        at = f" #{evidence.position}" if evidence.position >= 0 else ""
        where = f"{_one_line(evidence.thread)}{at}, {evidence.said_at[:10]}"
        yield f'    "{_one_line(evidence.quote)}"'
        yield f"        {where}, {evidence.trust.name.lower()}"


def render_recalled(recalled: Recalled) -> Iterator[str]:
    """Yield the items found, best first."""
    for placed in recalled.placed:
        if placed.fate == "shown":
            yield from _render_item(placed)


def render_explained(recalled: Recalled) -> Iterator[str]:
    """Yield for every candidate why it is recalled or is not, best first."""
    for placed in recalled.placed:
        features = placed.ranked.features
        named = {name: getattr(features, name) for name in RecallFeatures.__dataclass_fields__}
        why = ", ".join(f"{name} {value:.2f}" for name, value in named.items() if value)
        yield f"{features.score:6.3f}  {placed.fate}, {placed.tokens} tokens"
        yield f"        {why}"
        yield from _render_item(placed, "        ")
    yield f"{recalled.tokens} tokens in all."


def _render_item(placed: PackedItem, indent: str = "") -> Iterator[str]:
    item = placed.ranked.item
    if item.fact is not None:
        yield from render_fact(item.fact, indent)
    elif item.turn is not None:
        yield from _render_turn(item.turn, item.text, indent)


def _render_turn(turn: Statement, text: str, indent: str) -> Iterator[str]:
    speaker = _one_line(turn.author) or turn.role
    yield f"{indent}{_one_line(turn.thread)} #{turn.seq}, {speaker}, {turn.said_at[:10]}"
    yield f"{indent}    {_whole(text)}"


def render_operations(
    operations: Iterable[Operation], known: Mapping[str, Fact] | None = None
) -> Iterator[str]:
    """List commits with what each did, newest first; see `render_change`."""
    for operation in operations:
        when = operation.at[:16].replace("T", " ")
        yield f"{operation.id:>5}  {when}  {_one_line(operation.actor)}: {_one_line(operation.why)}"
        if not operation.changes:
            yield "         its content was forgotten"
        yield from (f"         {render_change(change, known)}" for change in operation.changes)


def render_change(change: Change, known: Mapping[str, Fact] | None = None) -> str:
    """Describe one change; a removed fact with its content, if it is in `known`."""
    match change:
        case PutFact(fact, why):
            return f"put   {printable(fact.id)}  {_one_line(fact.content)} ({_one_line(why)})"
        case RemoveFact(name, why):
            content = f"  {_one_line(known[name].content)}" if known and name in known else ""
            return f"drop  {printable(name)}{content} ({_one_line(why)})"
        case WriteSection(section, why):
            text = _one_line(section.text) or "nothing"
            return f"write {TITLES[section.name]}: {text} ({_one_line(why)})"
        case Hide(why, turns, is_shown):
            shown = "show" if is_shown else "hide"
            many = count(turns, "turn") if turns else "all turns"
            return f"{shown}  {many} from recall and learning ({_one_line(why)})"
        case _:
            assert_never(change)


def render_receipt(receipt: Receipt, facts: Mapping[str, Fact] | None = None) -> Iterator[str]:
    """Yield the forgotten items, or those that would be; the content of facts that are passed."""
    known = facts or {}
    goes = "Would forget" if receipt.dry_run else "Forgot"
    yield (
        f"{goes} {count(len(receipt.facts), 'fact')}, {count(receipt.turns, 'turn')}, "
        f"{count(receipt.sections, 'section')} of the profile and what "
        f"{count(receipt.operations, 'change')} of the history held."
    )
    for name in receipt.facts:
        content = f"  {_one_line(known[name].content)}" if name in known else ""
        yield f"    {printable(name)}{content}"
    for name in receipt.reopened:
        yield f"{'Would hold' if receipt.dry_run else 'Holds'} again: {printable(name)}"
    if receipt.alike:
        yield f"These stay, and may tell the same: {', '.join(map(printable, receipt.alike))}"
    if receipt.remaining:
        yield "These messages contain it; memory does not delete them:"
        for thread, position in receipt.remaining:
            yield f"    {_one_line(thread)} #{position}"


def _whole(text: str) -> str:
    return " ".join(printable(text).split())
