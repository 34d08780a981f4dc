"""What a document looks like, and what becomes of one that was edited."""

import json
from dataclasses import replace

from thalweg_memory.facts.document import export, plan_document, read_document
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    Profile,
    ProfileSection,
    PutFact,
    RemoveFact,
    Trust,
    WriteSection,
)

NOW = "2026-03-01T10:00:00Z"
TEA = Fact(
    FactId("fact-1"), "User drinks tea", "preference", 0.95, "2025-02-01T08:00:00Z", "thread-1"
)
ATLAS = Fact(
    FactId("fact-2"), "Atlas uses Python 3.12", "knowledge", 0.9, "2025-02-02T08:00:00Z", "manual"
)
PROFILE = Profile(
    (
        ProfileSection("workContext", "Leads the team behind Atlas", "2025-03-01T00:00:00Z"),
        ProfileSection("recentMonths", "Moved Atlas to Python 3.12"),
    )
)
SEEDS = """{
  "userContext": {
    "workContext": "Leads the team behind Atlas",
    "personalContext": "",
    "topOfMind": ""
  },
  "history": {
    "recentMonths": "Moved Atlas to Python 3.12",
    "earlierContext": "",
    "longTermBackground": ""
  },
  "facts": [
    {
      "id": "fact-1",
      "content": "User drinks tea",
      "category": "preference",
      "confidence": 0.95,
      "createdAt": "2025-02-01T08:00:00Z",
      "source": "thread-1"
    },
    {
      "id": "fact-2",
      "content": "Atlas uses Python 3.12",
      "category": "knowledge",
      "confidence": 0.9,
      "createdAt": "2025-02-02T08:00:00Z",
      "source": "manual"
    }
  ]
}
"""


def new_id() -> FactId:
    return FactId("fact-new")


def test_a_document_has_the_keys_of_the_seeds_and_no_other() -> None:
    assert export([TEA, ATLAS], PROFILE) == SEEDS


def test_the_newer_shape_has_a_version_and_dates() -> None:
    body = json.loads(export([TEA], PROFILE, shape="deerflow", now=NOW))
    assert list(body) == ["version", "lastUpdated", "user", "history", "facts"]
    assert body["lastUpdated"] == NOW
    assert body["user"]["workContext"] == {
        "summary": "Leads the team behind Atlas",
        "updatedAt": "2025-03-01T00:00:00Z",
    }
    assert body["history"]["earlierContext"] == {"summary": "", "updatedAt": ""}


def test_a_document_keeps_its_order_and_what_it_has_beside() -> None:
    body = json.loads(SEEDS)
    body["facts"][1]["tags"] = ["work"]
    body["facts"].reverse()
    before = read_document(json.dumps({"note": "mine", **body}, indent=4))
    assert before.facts is not None
    tea = replace(TEA, content="User drinks green tea")
    text = export([tea, before.facts[0]], PROFILE, like=before)
    after = json.loads(text)
    assert list(after) == ["note", "userContext", "history", "facts"]
    assert after["facts"][0]["tags"] == ["work"]
    assert after["facts"][1]["content"] == "User drinks green tea"
    assert text.startswith('{\n    "note"')


def test_a_half_of_a_pair_is_written_so_that_it_can_be_read() -> None:
    broken = replace(TEA, content="broken \ud83d half")
    text = export([broken], PROFILE)
    assert read_document(text.encode().decode()).facts == (
        replace(broken, trust=Trust.IMPORT, written_by="import"),
    )


def imported(text: str, *facts: Fact) -> tuple[Change, ...]:
    return plan_document(read_document(text), facts, Profile(), now=NOW, new_id=new_id)


def test_an_import_is_trusted_as_one() -> None:
    changes = imported('{"facts": [{"content": "User sails"}]}')
    assert changes == (
        PutFact(
            Fact(
                FactId("fact-new"),
                "User sails",
                "context",
                0.5,
                NOW,
                "import",
                trust=Trust.IMPORT,
                valid_from=NOW,
                observed_at=NOW,
                written_by="import",
            ),
            "imported",
        ),
    )


def test_an_import_edits_what_has_its_id_and_leaves_the_rest() -> None:
    (change,) = imported(SEEDS.replace("drinks tea", "drinks coffee"), TEA, ATLAS)[:1]
    assert isinstance(change, PutFact)
    assert (change.fact.id, change.fact.content) == (TEA.id, "User drinks coffee")
    assert change.fact.trust == Trust.IMPORT


def test_an_import_does_not_bring_back_what_was_superseded() -> None:
    stale = replace(TEA, status="superseded", superseded_by=FactId("fact-9"))
    text = export([replace(TEA, content="User drinks milk")], Profile())
    assert imported(text, stale) == ()


def test_what_is_known_word_for_word_is_not_added_again() -> None:
    assert imported('{"facts": [{"content": " user DRINKS  tea"}]}', TEA) == ()


def by_hand(text: str, *facts: Fact) -> tuple[Change, ...]:
    before = read_document(SEEDS).marks
    seen = read_document(text)
    return plan_document(seen, facts, PROFILE, now=NOW, new_id=new_id, before=before)


def test_a_fact_edited_by_hand_is_the_users_word() -> None:
    quote = Evidence("thread-1", "u1", "I drink tea", NOW, Trust.ASSISTANT)
    old = replace(TEA, evidence=(quote,), trust=Trust.ASSISTANT, subject="user", value="tea")
    (change,) = by_hand(SEEDS.replace("drinks tea", "drinks coffee"), old, ATLAS)
    assert isinstance(change, PutFact)
    edited = change.fact
    assert (edited.content, edited.trust, edited.written_by) == (
        "User drinks coffee",
        Trust.USER,
        "user",
    )
    assert (edited.evidence, edited.subject, edited.value) == ((), "", "")


def test_another_confidence_leaves_a_fact_its_evidence() -> None:
    quote = Evidence("thread-1", "u1", "I drink tea", NOW, Trust.USER)
    old = replace(TEA, evidence=(quote,))
    changes = by_hand(SEEDS.replace("0.95", "0"), old, ATLAS)
    assert changes == (PutFact(replace(old, confidence=0.0), "edited by hand"),)


def test_what_is_taken_out_by_hand_goes_and_what_came_meanwhile_stays() -> None:
    body = json.loads(SEEDS)
    del body["facts"][0]
    learned = replace(ATLAS, id=FactId("fact-3"), content="Atlas ships in May")
    changes = by_hand(json.dumps(body), TEA, ATLAS, learned)
    assert changes == (RemoveFact(TEA.id, "removed by hand"),)


def test_a_document_that_lost_its_facts_loses_no_fact() -> None:
    body = json.loads(SEEDS)
    del body["facts"]
    assert by_hand(json.dumps(body), TEA, ATLAS) == ()


def test_a_section_edited_by_hand_cites_no_fact() -> None:
    changes = by_hand(SEEDS.replace("Leads the team", "Left the team"), TEA, ATLAS)
    section = ProfileSection("workContext", "Left the team behind Atlas", NOW)
    assert changes == (WriteSection(section, "edited by hand"),)


def test_a_section_taken_out_by_hand_is_emptied() -> None:
    body = json.loads(SEEDS)
    del body["history"]["recentMonths"]
    changes = by_hand(json.dumps(body), TEA, ATLAS)
    assert changes == (WriteSection(ProfileSection("recentMonths", "", NOW), "edited by hand"),)


def test_what_was_superseded_meanwhile_is_left_so() -> None:
    """The file still has it as it was written: no one touched it."""
    stale = replace(TEA, status="superseded")
    assert by_hand(SEEDS, stale, ATLAS) == ()
