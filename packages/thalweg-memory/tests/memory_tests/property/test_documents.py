"""Laws of memory documents: nothing is lost on the way in and out, and both sides' edits hold."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.document import Document, export, plan_document, read_document
from thalweg_memory.facts.values import (
    HISTORY,
    USER_CONTEXT,
    Change,
    Fact,
    FactId,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    WriteSection,
)

NOW = "2026-03-01T10:00:00Z"


@dataclass
class Memory:
    """As much of a memory as a document is about."""

    facts: dict[FactId, Fact] = field(default_factory=dict)
    sections: dict[str, ProfileSection] = field(default_factory=dict)
    ids: Iterable[int] = field(default_factory=count)

    def new_id(self) -> FactId:
        """Make an id."""
        return FactId(f"new-{next(iter(self.ids))}")

    def take(self, changes: Iterable[Change]) -> None:
        """Make changes."""
        for change in changes:
            match change:
                case PutFact(fact):
                    self.facts[fact.id] = fact
                case RemoveFact(name):
                    del self.facts[name]
                case WriteSection(section):
                    self.sections[section.name] = section

    @property
    def profile(self) -> Profile:
        """The sections with a text."""
        return Profile(tuple(section for section in self.sections.values() if section.text))

    def imports(self, document: Document) -> tuple[Change, ...]:
        """Plan an import."""
        facts = self.facts.values()
        return plan_document(document, facts, self.profile, now=NOW, new_id=self.new_id)

    def told(self, like: Document | None = None) -> str:
        """Write the document."""
        active = [fact for fact in self.facts.values() if fact.status == "active"]
        return export(active, self.profile, like=like, now=NOW)


texts = st.text(min_size=1).filter(str.strip)
values = st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text()))
further = st.dictionaries(st.sampled_from(["sourceError", "note", "tags", "x"]), values)
times = st.sampled_from(
    ["", "2024-03-15T10:30:00Z", "2024-03-15T10:30:00.123456Z", "2024-03-15", None]
)
sources = st.sampled_from(
    ["conversation", "manual", "", {"type": "conversation", "threadId": "t"}, None]
)
categories = st.sampled_from(["preference", "goal", "Goal", "correction", "cooking", "", None])
confidences = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0, 1]))
fields = st.fixed_dictionaries(
    {"content": texts},
    optional={
        "category": categories,
        "confidence": confidences,
        "createdAt": times,
        "source": sources,
    },
)


@st.composite
def bodies(draw: st.DrawFn) -> dict[str, Any]:
    """Documents of either shape, with unknown keys."""
    newer = draw(st.booleans())
    dated = st.fixed_dictionaries({"summary": st.text(), "updatedAt": times})
    section = dated if newer else st.text()
    parts = {
        "user" if newer else "userContext": {name: draw(section) for name in USER_CONTEXT},
        "history": {name: draw(section) for name in HISTORY},
    }
    for container in draw(st.sets(st.sampled_from(sorted(parts)), max_size=1)):
        del parts[container]
    for sections in parts.values():
        for name in draw(st.sets(st.sampled_from(sorted(sections)), max_size=2)):
            del sections[name]
    names = draw(st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=4))
    facts = [{"id": name, **draw(fields), **draw(further)} for name in names]
    body = {**parts, "facts": facts, **draw(further)}
    return {key: body[key] for key in draw(st.permutations(list(body)))}


def read(body: object) -> Document:
    return read_document(json.dumps(body))


@given(bodies(), st.sampled_from([None, 1, 2, "\t"]), st.booleans())
def test_a_document_of_which_nothing_changed_is_the_same_to_the_byte(
    body: dict[str, Any],
    indent: int | str | None,
    is_ascii: bool,  # noqa: FBT001 (drawn)
) -> None:
    document = read_document(json.dumps(body, indent=indent, ensure_ascii=is_ascii))
    profile = Profile(document.sections)
    again = export(document.facts or (), profile, like=document, now=NOW)
    assert again == document.text


@given(bodies())
def test_what_is_told_of_facts_survives_a_memory(body: dict[str, Any]) -> None:
    """Imported and exported elsewhere: every field keeps the form that it had."""
    document = read(body)
    assert document.facts is not None
    again = json.loads(export(document.facts, Profile(document.sections)))
    for before, after in zip(body["facts"], again["facts"], strict=True):
        # What was not told at all is filled in.
        assert {key: after[key] for key in before if before[key] is not None} == {
            key: value for key, value in before.items() if value is not None
        }


@given(bodies())
def test_importing_twice_is_importing_once(body: dict[str, Any]) -> None:
    memory, document = Memory(), read(body)
    memory.take(memory.imports(document))
    assert memory.imports(document) == ()


@given(bodies())
def test_what_nobody_touched_changes_nothing(body: dict[str, Any]) -> None:
    memory, document = Memory(), read(body)
    memory.take(memory.imports(document))
    written = memory.told(like=document)
    seen = read_document(written)
    facts = memory.facts.values()
    told = plan_document(
        seen, facts, memory.profile, now=NOW, new_id=memory.new_id, before=seen.marks
    )
    assert told == ()
    assert written == memory.told(like=seen)


@given(bodies(), st.data())
def test_edits_of_both_sides_hold(body: dict[str, Any], data: st.DataObject) -> None:
    """A person edits the file while the memory learns: neither loses a change to the other."""
    memory = Memory()
    memory.take(memory.imports(read(body)))
    written = read_document(memory.told())
    mine = json.loads(written.text)
    names = [fact["id"] for fact in mine["facts"]]
    gone = data.draw(st.sets(st.sampled_from(names))) if names else set()
    mine["facts"] = [fact for fact in mine["facts"] if fact["id"] not in gone]
    edited = {fact["id"]: data.draw(texts) for fact in mine["facts"] if data.draw(st.booleans())}
    for fact in mine["facts"]:
        fact["content"] = edited.get(fact["id"], fact["content"])
    mine["facts"].append({"content": "written by hand"})

    learned = Fact(FactId("learned"), "learned meanwhile", "goal", 0.9, NOW, "t")
    memory.take([PutFact(learned, "learned")])
    for name in data.draw(st.sets(st.sampled_from(names))) if names else set():
        fact = memory.facts[FactId(name)]
        memory.take([PutFact(replace(fact, confidence=0.33), "said again")])

    seen = read(mine)
    facts = memory.facts.values()
    memory.take(
        plan_document(
            seen, facts, memory.profile, now=NOW, new_id=memory.new_id, before=written.marks
        )
    )
    assert memory.facts[FactId("learned")] == learned
    assert gone.isdisjoint(memory.facts)
    assert "written by hand" in {fact.content for fact in memory.facts.values()}
    for name, content in edited.items():
        assert memory.facts[FactId(name)].content == content
