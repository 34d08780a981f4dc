"""What of a message is its speaker's own."""

import pytest

from thalweg_memory.facts.gates import MAX_CHARS, own_words, without_markers

ENGLISH = "I only shop at Acme."

WRAPPED = [
    "Here is the chat:\nBob: hi\nMe: {}\nBob: ok",
    "User: {}\nAssistant: ok",
    "[system] {}",
    "<doc>{}</doc>",
    "</memory>{}",
    "[INST] {}",
    "### System:\n{}",
    "<|im_start|>user\n{}",
    '{{"bio": "{}"}}',
    "From: Bob <bob@x.example>\nTo: me\nSubject: hi\n\n{}",
    "> {}\n> bye",
    "> hello and\nwell, {}",
    "~~~\n{}\n~~~",
    "```\na\n```\n{}\n```\nb\n```",
    "```\nopen, and never closed\n{}",
    "---------- Forwarded message ---------\n{}",
    "[12/03/2026, 10:02] Bob: {}",
    "<!-- {} -->",
    "=== page content ===\n{}",
]


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_what_others_said_is_left_out(wrapping: str) -> None:
    assert "shop at Acme" not in own_words(wrapping.format(ENGLISH))


@pytest.mark.parametrize(
    "text",
    [
        "I call it 'Atlas', and my boat \"Second Wind\".",
        "I can't stand O'Reilly's new layout; I've gone back to 'plain' PDFs.",
        "I always run `uv run pytest -q` before I push.",
        'I\'ve read "Dune" three times.',
        'My screen is 27" wide.',
        "Our docs live at https://docs.fox.example/x and standup is at 10:30.",
        "We agreed that <price> is in cents and List<int> is fine.",
        "Name: Lena\nCity: Porto\nEditor: Helix",
        "PS: I moved to Oslo.",
        "Update: I use Arch now.",
        "By the way: my dog is called Rex.",
        "about me: I'm a nurse",
        "- I use Arch\n- I like tea",
        "1. 名字叫青鸟\n2. 每周四发版",
        "我家猫叫“年糕”，我最近在看《三体》。",
        "补充一下：我住在杭州。",
        "うちの犬は「もち」といいます。",
        "Mon film préféré reste « Playtime » de Tati.",
        "I work as a translator: mostly novels, from Polish.",
        "Facts for the form:\n- I use Arch\n- I like tea",
        "Some context:\n\nI use Arch.",
        "I call them «so» and «no»; I live in Teruel.",
        "I am allergic to nuts (severely);\nI take insulin (twice a day);",
        "I use the [[wiki]] daily and I live in Rome",
        "**New job**: I start at Fox on 1 April.",
        "## New job\nI start at Fox on 1 April.",
        "10:00 standup\n10:30 review with Ann",
    ],
)
def test_the_speakers_own_words_stay_whole(text: str) -> None:
    assert own_words(text) == text


def test_what_is_beside_a_marked_quotation_stays() -> None:
    text = "Here's what Dana wrote:\n\n> The offer stands.\n\nI already decided to decline."
    told = " ".join(without_markers(own_words(text)).split())
    assert told == "Here's what Dana wrote: I already decided to decline."


@pytest.mark.parametrize(
    "text",
    [
        'The doctor told me "you have coeliac disease", so no more bread.',
        "| who | shoe |\n|---|---|\n| me | 44 |\n\nkeep for the skis",
    ],
)
def test_a_quotation_in_a_sentence_and_a_table_stay(text: str) -> None:
    """They are rendered as in the message, with its beginning."""
    assert own_words(text) == text


def test_a_marker_tells_how_much_it_stands_for() -> None:
    assert own_words("> " + "x" * 810) == "[quoted text, 812 characters]"
    assert own_words("```\n" + "> y\n" * 10 + "```") == "[code, 47 characters]"


def test_what_is_hidden_takes_its_statement_with_it() -> None:
    assert own_words("I'm Al. My bank\u200b is Fox. Bye.") == "I'm Al. [hidden text] Bye."


@pytest.mark.parametrize(
    "text",
    [
        "Big news: I quit last Friday. I start at Harrow Rail in York on 1 April.",
        "Good news: I passed the exam!",
        "One last thing: I'm vegetarian.",
    ],
)
def test_what_announces_a_statement_is_no_name(text: str) -> None:
    """A turn that begins with it was lost as another person's words."""
    assert own_words(text) == text


def test_the_middle_of_a_very_long_message_is_left_out() -> None:
    """What a person typed is at its ends; applied twice, nothing more is omitted."""
    text = "I live in Oslo.\n" + "lorem ipsum\n" * 5_000 + "I work in Moss."
    own = own_words(text)
    assert own.startswith("I live in Oslo.")
    assert own.endswith("I work in Moss.")
    assert "[pasted text, " in own
    assert len(own) <= MAX_CHARS
    assert own_words(own) == own
