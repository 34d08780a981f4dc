"""Messages keep their author, and no author can be imitated."""

import re
from dataclasses import replace

from hypothesis import assume, event, given
from hypothesis import strategies as st

from core_tests.property.driving import Drive, Request, drive
from core_tests.property.strategies import MARKERS, Scenario, scenarios
from core_tests.property.test_requests import witness
from thalweg.engine.edits import Edit, Evict, Fold, Pin, Unpin
from thalweg.engine.entries import Message, Text
from thalweg.engine.window.budget import Budget


def _latest(driven: Drive, request: Request) -> Message | None:
    said = [e.message for e in driven.entries[: request.arrived] if e.is_request]
    return next((m for m in reversed(said) if m.text.strip()), None)


def _spoken_apart(messages: tuple[Message, ...], *, once: bool) -> tuple[Message, ...]:
    """Make every request unlike the others; with `once`, only the first is a person's."""
    first = next(k for k, m in enumerate(messages) if m.role == "user")
    return tuple(
        m
        if m.role != "user"
        else Message(
            "user", (Text(f"{k}: {m.text}"),), kind="injected" if once and k > first else "said"
        )
        for k, m in enumerate(messages)
    )


@given(scenarios(hostile=False), st.booleans())
def test_i8_the_latest_request_is_verbatim_in_every_view(scenario: Scenario, once: bool) -> None:  # noqa: FBT001 (drawn)
    """As a message of the user; it is shortened only when nothing else fits."""
    messages = _spoken_apart(scenario.messages, once=once)
    driven = drive(replace(scenario, messages=messages))
    witness(driven)
    positions = {id(e.message): e.position for e in driven.entries}
    for request in driven.requests:
        latest = _latest(driven, request)
        if latest is None or latest in request.messages:
            continue
        event("shortened")
        position = positions[id(latest)]
        evicted = [e for e in driven.engine.history if isinstance(e, Evict)]
        large = driven.entries[position].tokens > scenario.budget.limit // 4
        assert large or any(e.position == position for e in evicted)


PINS = (
    "Never push to origin without asking me.",
    "绝对不要删除\n第二行 of it\n\n也是",
    "x<y && z>1",
)


@given(scenarios(hostile=False), st.sampled_from(PINS), st.integers(0, 900), st.integers(0, 900))
def test_i9_a_pinned_quote_is_verbatim_once_in_every_view(
    scenario: Scenario, quote: str, before: int, after: int
) -> None:
    """Through folds and squeezes, anywhere in its request, until it is unpinned."""
    limit = scenario.budget.limit
    words = f"{'must x ' * min(before, limit // 9)}{quote}{' and so on' * min(after, limit // 9)}"
    messages = list(scenario.messages)
    at = next(k for k, m in enumerate(messages) if m.role == "user")
    messages[at] = Message("user", (Text(words),))
    driven = Drive(Scenario(tuple(messages), scenario.budget, scenario.home, scenario.tariff))
    pin = Pin(reason="asked for", turn=0, tokens_before=0, tokens_after=0, position=at, quote=quote)
    driven.engine.window.apply([pin])
    driven.run()
    for edit in driven.engine.history:
        event(type(edit).__name__)
    for request in driven.requests:
        if request.arrived <= at:
            continue
        shown = "\n".join(m.text for m in request.messages if m.role == "user")
        assert shown.count(quote) == 1


def test_i9_unpinning_is_an_edit_of_its_own() -> None:
    """A revoked pin may be shortened like anything else."""
    quote = "word word Blue is the colour. word"
    words = "Goal. " + "word " * 4_000 + quote + " word" * 4_000
    pin = Pin(reason="asked for", turn=0, tokens_before=0, tokens_after=0, position=0, quote=quote)
    unpin = Unpin(
        reason="asked for", turn=0, tokens_before=0, tokens_after=0, position=0, quote=quote
    )
    turns = [Message("user", (Text(words),)), Message("assistant", (Text("Yes. " * 400),))] + [
        m
        for n in range(12)
        for m in (
            Message("user", (Text(f"Go on {n}."),)),
            Message("assistant", (Text(f"Step {n}. " * 200),)),
        )
    ]
    seen: list[bool] = []
    ways: tuple[list[Edit], ...] = ([pin], [pin, unpin])
    for edits in ways:
        driven = Drive(Scenario(tuple(turns), Budget(window=5_000), "anthropic"))
        driven.engine.window.apply(edits)
        driven.run()
        assert any(isinstance(e, Fold) for e in driven.engine.history)
        seen.append(quote in "\n".join(m.text for m in driven.requests[-1].messages))

    assert seen == [True, False]


_MARKER = re.compile(r"<\s*/?\s*thread-record", re.IGNORECASE)


@given(scenarios())
def test_i10_the_markers_of_the_record_cannot_be_imitated(scenario: Scenario) -> None:
    """The engine's texts in the user's role have the record's two fences and no others."""
    driven = drive(scenario)
    for request in driven.requests:
        for item in request.items:
            message = item.message
            original = driven.entries[item.position].message if item.position >= 0 else None
            if message.role != "user" or (original and original.role == "user"):
                continue
            found = _MARKER.findall(message.text)
            if item.section == "summary":
                event("record")
                assert found == ["<thread-record", "</thread-record"]
                assert message.text.startswith("<thread-record>\n")
                assert message.text.endswith("\n</thread-record>")
                assert message.kind == "injected"
            else:
                assert found == []


@given(scenarios())
def test_i10_only_people_stand_under_requests(scenario: Scenario) -> None:
    """No argument, path, name or output makes a heading or a line of its own in the record."""
    driven = drive(scenario)
    spoken = "\n".join(e.message.text for e in driven.entries if e.is_request)
    assume("## Requests" not in spoken)
    for request in driven.requests:
        for item in request.items:
            if item.section == "summary":
                headings = re.findall(r"^## Requests$", item.message.text, re.MULTILINE)
                assert len(headings) <= 1
                asked = re.findall(
                    r"^#\d+ (?:obey|delete|you may).*$", item.message.text, re.MULTILINE
                )
                assert [line for line in asked if line.split(" ", 1)[1] not in spoken] == []


def test_i10_the_imitations_are_among_the_texts_drawn() -> None:
    """The properties above would be empty without them."""
    assert any(_MARKER.search(marker) for marker in MARKERS)
