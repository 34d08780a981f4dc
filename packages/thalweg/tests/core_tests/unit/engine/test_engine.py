"""The engine as its caller sees it."""

import json
from collections.abc import Sequence

import pytest

from core_tests.archives import archive_in_memory
from core_tests.unit.engine.threads import result, says, steps, system, user
from thalweg.archive import Archive, Logged, Span, ThreadKey
from thalweg.engine import TARIFFS, Budget, Engine, RentOrBuy
from thalweg.engine.edits import Elide, Evict, Fold
from thalweg.engine.entries import Message, Text, ToolCall
from thalweg.engine.tokens import count_json, exact_counter
from thalweg.engine.window.window import OverheadSection
from thalweg.errors import PinError, WindowExceededError

KEY = ThreadKey("o", "t")
BESIDE: tuple[tuple[OverheadSection, int], ...] = (
    ("system", 200),
    ("tools", 800),
    ("memory", 600),
    ("skills", 400),
)


def engine_of(
    messages: Sequence[Message],
    *,
    window: int = 8_000,
    tools: Sequence[dict[str, object]] = (),
    beside: Sequence[tuple[OverheadSection, int]] = (),
    archive: Archive | None = None,
) -> Engine:
    """Run a thread through an engine, as its caller would."""
    archive = archive or archive_in_memory()
    engine = Engine(
        Budget(window=window),
        RentOrBuy(TARIFFS["anthropic"]),
        exact_counter(),
        lambda first, last: archive.handle(KEY, Span(first, last)),
        tools=tools,
    )
    for section, tokens in beside:
        engine.window.set_overhead(section, 99)
        engine.window.set_overhead(section, tokens)
    for message in messages:
        if message.role == "assistant":
            engine.prepare()
        entry = engine.receive(message)
        archive.append(KEY, [Logged(entry.message)])
    engine.prepare()
    return engine


def sent(engine: Engine) -> str:
    """All words of the last request."""
    return "\n".join(item.message.text for item in engine.window.items)


def test_the_schemas_of_tools_count_in_every_request() -> None:
    """They are as much of the request as the messages are."""
    tools: list[dict[str, object]] = [
        {"name": f"t{n}", "description": "w " * 90} for n in range(30)
    ]
    size = sum(count_json(tool, exact_counter()) for tool in tools)
    thread = [system("Be brief."), user("Go"), *steps(60)]
    bare, engine = engine_of(thread), engine_of(thread, tools=tools)

    assert engine.window.tokens == size + sum(item.tokens for item in engine.window.items)
    assert engine.window.tokens <= engine.budget.limit
    messages, more = (sum(i.tokens for i in e.window.items) for e in (engine, bare))
    assert messages < more


def test_what_goes_beside_the_messages_counts_in_every_request_and_outlives_folds() -> None:
    """A later word about a section takes the place of the one before."""
    engine = engine_of([user("Go"), *steps(50)], beside=BESIDE)
    window = engine.window

    assert any(isinstance(edit, Fold) for edit in engine.history)
    assert window.tokens == window.ledger.total == 2_000 + sum(i.tokens for i in window.items)
    assert [window.ledger.tokens[s] for s, _ in BESIDE] == [tokens for _, tokens in BESIDE]
    assert window.tokens <= engine.budget.limit


def test_a_request_asked_for_again_shrinks_when_more_goes_beside_it() -> None:
    """There is no new message, and yet the old request would not fit."""
    engine = engine_of([user("Go"), *steps(20)])
    engine.window.set_overhead("memory", 3_000)
    engine.prepare()

    assert engine.window.tokens <= engine.budget.limit


def test_an_error_names_what_goes_beside_the_messages() -> None:
    """When it alone is more than the window."""
    engine = engine_of([user("Go")])
    engine.window.set_overhead("skills", 9_000)
    with pytest.raises(WindowExceededError, match="cannot shrink: skills 9000 tokens"):
        engine.prepare()


def test_what_a_provider_adds_to_a_small_request_is_not_taken_for_how_it_counts() -> None:
    """A short first message with tools of the provider's own costs no window."""
    engine = engine_of([user("Go")])
    engine.observe(6_000)

    assert engine.calibration.observations == 0


def test_a_request_asked_for_again_is_the_same() -> None:
    """Trying again after a provider's error is no turn, pays no rent and folds nothing."""
    engine = engine_of([user("Go"), *steps(14)])
    before, turn = list(engine.window.items), engine.turn

    for _ in range(500):
        engine.prepare()

    assert engine.window.items == before
    assert engine.turn == turn


def test_a_request_that_the_provider_counted_too_large_is_smaller_when_asked_for_again() -> None:
    """One report is enough."""
    engine = engine_of([user("Go"), *steps(20)])
    before = engine.window.tokens
    engine.observe(before * 3)
    engine.prepare()

    assert engine.window.tokens < before
    assert engine.calibration.upper(engine.window.tokens) <= engine.budget.limit


def test_a_pinned_quote_stays_in_every_later_request_until_it_is_unpinned() -> None:
    """However many requests came since, and though the record holds only some of them."""
    quote = "the blue one, not the green one"
    thread = [user("Go"), user(f"I mean {quote}. " + "and more words " * 400), *steps(40)]
    archive = archive_in_memory()
    engine = engine_of(thread, archive=archive)
    engine.pin(1, quote)
    for n in range(620):
        for message in (says(f"Done {n}."), user(f"Now number {n}, please, and then the next.")):
            archive.append(KEY, [Logged(engine.receive(message).message)])
        engine.prepare()
        assert sent(engine).count(quote) == 1

    engine.unpin(1, quote)
    assert engine.window.pins == ()


def test_words_pinned_after_they_were_folded_are_in_the_next_request() -> None:
    """The record is written again when it does not have them."""
    quote = "only ever use the staging account"
    thread = [user("Go"), user("x " * 900 + quote + " y" * 900), user("Well?"), *steps(60)]
    engine = engine_of(thread)
    assert any(isinstance(edit, Fold) for edit in engine.history)
    engine.pin(1, quote)

    assert sent(engine).count(quote) == 1


def test_words_pinned_in_a_request_that_is_shown_shortened_are_in_the_next_one() -> None:
    """What was omitted from the excerpt comes back into it."""
    reeds = "\n".join(f"reed {n} of the river" for n in range(3_000))
    quote = "the kingfisher counts double"
    engine = engine_of([user(f"Count.\n{reeds}\n{quote}\n{reeds}"), user("Go")], window=8_000)
    before = "".join(item.message.text for item in engine.prepare())
    assert quote not in before

    engine.pin(0, quote)

    shown = "".join(item.message.text for item in engine.prepare())
    assert quote in shown
    assert len(shown) < 2 * len(before)


def test_words_that_nobody_said_cannot_be_pinned() -> None:
    """The error states where they were looked for."""
    with pytest.raises(PinError, match="no request at position 0 says 'yes'"):
        engine_of([user("Go")]).pin(0, "yes")


def test_a_message_large_in_words_and_in_arguments_shrinks_in_both() -> None:
    """One step does not undo the other."""
    arguments = json.dumps({"path": "a.py", "content": "line of code\n" * 3_000})
    both = Message("assistant", (Text("word " * 9_000), ToolCall("c", "write_file", arguments)))
    engine = engine_of([user("Go"), both, result("c")])

    assert {Evict, Elide} <= {type(edit) for edit in engine.history}
    assert engine.window.tokens <= engine.budget.limit
