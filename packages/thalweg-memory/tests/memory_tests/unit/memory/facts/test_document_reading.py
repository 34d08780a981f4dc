"""What is wrong with a memory document is reported with its place and what to write there."""

import json

import pytest

from thalweg.errors import DocumentError
from thalweg_memory.facts.document import read_document

FACT = {
    "id": "fact-1",
    "content": "User prefers async/await over callbacks",
    "category": "preference",
    "confidence": 0.95,
    "createdAt": "2024-03-15T10:30:00Z",
    "source": "conversation",
}


def problem(text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        read_document(text)
    return str(caught.value)


def wrong(**fields: object) -> str:
    return problem(json.dumps({"facts": [FACT, {**FACT, "id": "fact-2", **fields}]}))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{\n  "facts": [\n    {"content": "x"},\n  ]\n}', "memory.json: line "),
        (
            '{"facts": [{"content": "x"} {"content": "y"}]}',
            "memory.json: line 1 column 29: expecting ',' delimiter; correct it there, or undo",
        ),
        ("{'facts': []}", "line 1 column 2: expecting property name enclosed in double quotes"),
        ('{"facts": ["a\nb"]}', "line 1 column 14: invalid control character"),
        ('{\n  // mine\n  "facts": []}', "line 2 column 3: expecting property name"),
        ("", "line 1 column 1: expecting value"),
        ('{"facts": [', "line 1 column 12: expecting value"),
        ('{"facts": [], "facts": []}', "'facts' is twice the key of one object; keep one of them"),
        ("[" * 100_000, "memory.json: maximum recursion depth exceeded"),
        (f'{{"n": {"9" * 5_000}}}', "memory.json: Exceeds the limit"),
    ],
)
def test_a_slip_of_the_hand_is_named_with_its_line(text: str, told: str) -> None:
    assert told in problem(text)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ([], "memory.json: [] is no object; write keys and values between { and }"),
        ({"fact": []}, "memory.json: 'fact' is an unknown key; did you mean 'facts'?"),
        ({"facts": {}}, "memory.json: facts: {} is no list; write facts between [ and ]"),
        ({"facts": ["I row"]}, "memory.json: facts[0]: 'I row' is no fact; write {"),
        ({"userContext": "x"}, "memory.json: userContext: 'x' is no object"),
        (
            {"userContext": {"workContex": "x"}},
            "memory.json: userContext: 'workContex' is an unknown key; did you mean 'workCon",
        ),
        (
            {"user": {"topOfMind": {"summary": 7}}},
            "memory.json: user.topOfMind: 7 is no text; write it in double quotes",
        ),
        (
            {"history": {"recentMonths": {"summary": "x", "updatedAt": "soon"}}},
            "memory.json: history.recentMonths: 'soon' is no time; write a time such as 2024-",
        ),
        ({"user": {}, "userContext": {}}, "'userContext', too; keep one of them"),
    ],
)
def test_a_place_that_cannot_be_used_is_named(body: object, told: str) -> None:
    assert told in problem(json.dumps(body))


@pytest.mark.parametrize("value", [95, 1.2, -1, "0.9", "high", True, float("nan"), float("inf")])
def test_a_confidence_that_is_none_is_reported(value: object) -> None:
    assert wrong(confidence=value) == (
        f"memory.json: facts[1].confidence: {value!r} is no number from 0 to 1;"
        " write one, such as 0.95, without quotes"
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"content": " "}, ".content: it is missing or empty; write a fact"),
        ({"content": None}, ".content: it is missing or empty; write a fact"),
        ({"createdAt": 1710498600}, ".createdAt: 1710498600 is no text; write it in double"),
        ({"createdAt": "soon"}, ".createdAt: 'soon' is no time; write a time such as"),
        ({"id": 7}, ".id: 7 is no text; write it in double quotes"),
        ({"id": "fact-1"}, ": 'fact-1' is the id of facts[0], too; remove it"),
        ({"source": ["t"]}, ".source: ['t'] is no text"),
    ],
)
def test_a_field_that_cannot_be_used_is_told(fields: dict[str, object], told: str) -> None:
    assert f"memory.json: facts[1]{told}" in wrong(**fields)


def test_a_secret_in_a_document_is_not_read() -> None:
    """Not in a fact, a section or what is kept of a fact's form."""
    secret = "ghp_" + "a1B2" * 9
    body = {
        "facts": [{"content": f"User's token is {secret}"}],
        "userContext": {"workContext": secret},
    }
    read = read_document(json.dumps(body))
    assert read.facts is not None
    assert read.facts[0].content == "User's token is [redacted: GitHub token]"
    assert secret not in repr((read.facts, read.sections))


def test_a_misspelt_field_is_not_passed_over() -> None:
    fact = {"content": "User rows", "confidense": 0.2}
    told = "facts[0]: 'confidense' is an unknown key; did you mean 'confidence'?"
    assert told in problem(json.dumps({"facts": [fact]}))


def test_a_confidence_of_nought_is_nought_and_none_is_not_known() -> None:
    facts = [{**FACT, "id": str(told), "confidence": told} for told in (0, 0.0, None)]
    read = read_document(json.dumps({"facts": facts})).facts
    assert read is not None
    assert [fact.confidence for fact in read] == [0, 0, 0.5]


def test_what_is_not_there_says_nothing_and_what_is_empty_is_empty() -> None:
    assert read_document("{}").facts is None
    assert read_document("{}").sections == ()
    read = read_document('{"facts": [], "userContext": {}}')
    assert read.facts == ()
    assert [section.text for section in read.sections] == ["", "", ""]


def test_the_newer_shape_is_read_with_all_that_it_has() -> None:
    body = {
        "version": "1.0",
        "lastUpdated": "2026-06-24T12:00:00.123456Z",
        "revision": 4,
        "user": {
            "workContext": {"summary": "Backend architect", "updatedAt": "2026-06-24T12:00:00Z"},
            "personalContext": {"summary": "", "updatedAt": ""},
            "topOfMind": {"summary": "A migration", "updatedAt": ""},
            "cognitiveStyle": {"summary": "Asks why first", "updatedAt": ""},
        },
        "history": {"recentMonths": {"summary": "Wrote a scheduler", "updatedAt": ""}},
        "facts": [
            {
                **FACT,
                "category": "correction",
                "sourceError": "npm was suggested",
                "source": {"type": "conversation", "threadId": "thread-9"},
            }
        ],
    }
    read = read_document(json.dumps(body))
    assert read.shape == "deerflow"
    assert [section.text for section in read.sections if section.text] == [
        "Backend architect",
        "A migration",
        "Wrote a scheduler",
    ]
    assert read.facts is not None
    fact = read.facts[0]
    assert (fact.category, fact.source) == ("behavior", "thread-9")
    assert json.loads(fact.extra) == {
        "category": "correction",
        "sourceError": "npm was suggested",
        "source": {"type": "conversation", "threadId": "thread-9"},
    }


def test_a_byte_order_mark_is_passed_over() -> None:
    assert read_document('\ufeff{"facts": []}').facts == ()
