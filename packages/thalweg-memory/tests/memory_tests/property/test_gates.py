"""Laws of what may become a fact."""

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg.redaction.secrets import redact
from thalweg_memory.facts.gates import (
    find_quote,
    judge,
    judge_statement,
    own_words,
    storable,
    visible,
    without_markers,
)
from thalweg_memory.facts.values import Proposal, Statement, Trust

PIECES = (
    *("I like tea", "My boss said: ", "I live in Porto. ", "summarize this", "says ", "this "),
    *("always ", "send ", "don't ", "if ", "the email ", "my password is ", "hunter2"),
    *(
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        " ",
        ", ",
        ": ",
        "? ",
        "! ",
        "$ ",
        "> ",
        '"',
        "'",
        "“",
        "”",
        "「",
        "」",
    ),
    *("```", "`", "---", "{", "}", '{"a": 1', "<b>", "</b>", "</memory>", "| a | b |"),
    *("User: ", "Bob: ", "From: x\n", "10:02", "x@y.example", "ghp_" + "a1B2" * 9),
    *("\u200b", "\u200d", "\ufe0f", "👍", "\U000e0041", "\u202e", "\x1b[31m"),
    *("我喜欢茶", "他说：", "。", "翻译"),
    *("[quoted text, 12 characters]", "[code]", "[…]", "[redacted: key]"),
)
texts = st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=40))
plain_lines = st.lists(
    st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=40).filter(
        str.strip
    ),
    min_size=1,
    max_size=5,
)


@given(texts)
def test_own_words_of_own_words_are_the_same(text: str) -> None:
    once = own_words(text)
    event("something was left out" if once != visible(text) else "all of it")
    assert own_words(once) == once


@given(texts)
def test_own_words_are_never_longer_and_show_everything(text: str) -> None:
    once = own_words(text)
    assert len(once) <= len(text)
    assert visible(once) == once


@given(plain_lines)
def test_of_a_quoted_text_nothing_is_own(lines: list[str]) -> None:
    quoted = "\n".join(f"> {line}" for line in ("he wrote", *lines))
    fenced = "```\n" + "\n".join(lines) + "\n```"
    assert not without_markers(own_words(quoted)).strip()
    assert not without_markers(own_words(fenced)).strip()


@given(texts)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.text(st.characters(categories=["Ll", "Zs", "Po"]), max_size=60))
def test_letters_without_digits_hold_no_secret(text: str) -> None:
    if "pass" not in text and "pin" not in text and "pwd" not in text:
        assert redact(text) == text


@given(texts)
def test_what_is_shown_once_is_shown_the_same_again(text: str) -> None:
    """A turn is kept as it is shown, and shown again when it is judged."""
    assert storable(storable(text)) == storable(text)


def turn(text: str, trust: Trust = Trust.USER, role: str = "user") -> Statement:
    """Make a turn."""
    return Statement(
        "t",
        0,
        "assistant" if role == "assistant" else "user",
        text,
        "2026-03-01T10:00:00Z",
        trust,
        uid="m",
    )


@given(
    before=texts,
    after=texts,
    trust=st.sampled_from(Trust),
    role=st.sampled_from(("user", "assistant")),
    whole=st.booleans(),
)
def test_a_facts_evidence_stands_in_own_words_and_its_trust_is_never_raised(
    before: str, after: str, trust: Trust, role: str, *, whole: bool
) -> None:
    text = f"{before}I live in Porto.{after}"
    said = turn(text, trust, role)
    quote = text if whole else "I live in Porto."
    verdict = judge(Proposal("User lives in Porto", "context", 1.0, "m", quote), [said])
    event(verdict.decision)
    for evidence in verdict.evidence:
        assert not evidence.quote or any(find_quote(evidence.quote, storable(text)))
        assert evidence.trust <= trust
    assert verdict.trust <= trust
    if verdict.kept:
        assert trust >= Trust.IMPORT
        assert role == "user"
    if verdict.decision != "drop":
        assert verdict.evidence


@given(content=texts, quote=texts, said=texts)
def test_whatever_is_proposed_a_verdict_is_given_and_a_kept_fact_is_clean(
    content: str, quote: str, said: str
) -> None:
    proposal = Proposal(content, "context", 1.0, "m", quote, "user", content[:9], quote[:9])
    verdict = judge(proposal, [turn(said)])
    event(verdict.decision)
    if verdict.decision == "drop":
        assert verdict.proposal == proposal
    else:
        kept = verdict.proposal.content
        assert visible(kept) == kept
        assert redact(kept) == kept
        assert len(kept) <= 400


@given(content=texts, least=st.sampled_from(Trust))
def test_what_an_agent_tells_is_never_kept_on_its_own_word(content: str, least: Trust) -> None:
    verdict = judge_statement(content, author="agent", lowest_trust=least)
    assert not verdict.kept
    assert verdict.trust <= max(least, Trust.ASSISTANT)


@given(said=texts, quote=texts)
def test_of_a_kept_fact_only_the_users_own_words_are_told(said: str, quote: str) -> None:
    verdict = judge(Proposal("User banks with Halcyonia", "context", 1.0, "m", quote), [turn(said)])
    event(verdict.decision)
    assert bool(verdict.words) == verdict.kept
    if verdict.kept:
        told = verdict.words.partition('"')[2]
        assert told.endswith('"')
        assert '"' not in told[:-1]
        assert visible(told) == told
        assert "Halcyonia" not in told
