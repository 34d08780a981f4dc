"""Nothing is lost, and nothing is readable by a stranger."""

import re
from itertools import pairwise

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from core_tests.property.driving import KEY, Drive, Request, drive, quick_count
from core_tests.property.strategies import Scenario, scenarios
from core_tests.property.test_requests import witness
from thalweg.archive import Logged, Span, ThreadKey
from thalweg.archive.handles import make_handle
from thalweg.engine.compaction.structured_summary import absorb
from thalweg.engine.compaction.summary_rendering import fenced, render
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Message, Thinking, ToolCall, message_to_json
from thalweg.engine.snapshot import Record
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import is_blank
from thalweg.errors import HandleError, StorageError

HANDLE = re.compile(r'recall\(handle=\\?"([a-z2-7]{16})(?:#(\d+))?')


@given(scenarios())
def test_i24_the_log_is_never_touched(scenario: Scenario) -> None:
    """After any run the archive returns the thread, message by message, to the byte."""
    driven = drive(scenario)
    driven.log()
    kept = driven.archive.messages(KEY)
    given = scenario.messages[: len(kept)]

    assert len(kept) == len(driven.entries)
    assert [message_to_json(m) for m in kept] == [message_to_json(m) for m in given]
    assert driven.stopped or len(kept) == len(scenario.messages)


def _spans(driven: Drive, request: Request) -> dict[int, list[Span]]:
    """Resolve the handles of a request by the index of the item that shows them."""
    found: dict[int, list[Span]] = {}
    for index, item in enumerate(request.items):
        text = "\n".join((item.message.text, *(c.arguments for c in item.message.calls)))
        for handle, _ in HANDLE.findall(text):
            if handle in driven.archive.handles(KEY):
                found.setdefault(index, []).append(driven.archive.span(KEY, handle))
    return found


def _shown_whole(driven: Drive, request: Request) -> set[int]:
    whole: set[int] = set()
    for item in request.items:
        if item.position < 0:
            continue
        parts = [_bare(p) for p in item.message.parts]
        recorded = driven.entries[item.position].message
        shown = all(_bare(p) in parts for p in recorded.parts)
        late = recorded.role == "tool" and item.message.role == "user"
        told = late and fenced(recorded.text) in item.message.text
        whole |= {item.position} if shown or told else set()
    return whole


def _bare(part: object) -> object:
    if isinstance(part, ToolCall):
        return (part.name, part.arguments, part.extra)
    return part


@given(scenarios())
def test_i25_every_message_is_shown_or_reached_by_a_handle(scenario: Scenario) -> None:
    """Reading the handle returns the original text, to the byte."""
    driven = drive(scenario)
    witness(driven)
    for request in driven.requests[-3:]:
        spans = [s for found in _spans(driven, request).values() for s in found]
        whole = _shown_whole(driven, request)
        for entry in driven.entries[: request.arrived]:
            p = entry.position
            if p in whole or is_blank(entry.message):
                continue
            assert any(s.first <= p <= s.last for s in spans)
            assert driven.archive.messages(KEY, p, p) == [entry.message]


@given(scenarios(), st.integers(1, 3_000))
def test_i25_and_i27_reading_is_bounded_and_reads_on_to_the_end(
    scenario: Scenario, most: int
) -> None:
    """Pieces never exceed the bound, and together they are the text of the original."""
    driven = drive(scenario)
    assume(driven.requests)
    for index, spans in _spans(driven, driven.requests[-1]).items():
        for span in spans:
            event("read")
            handle: str = driven.archive.handle(KEY, span)
            text = as_text(driven.entries[span.first].message)
            if span.first != span.last or index < 0:
                handle, text = _named(handle, span), as_text(driven.entries[span.last].message)
            pieces: list[str] = []
            while sum(map(len, pieces)) < len(text):
                at = sum(map(len, pieces))
                piece = driven.archive.read(KEY, handle, chars=(at, len(text)), max_chars=most)
                assert 0 < len(piece.text) <= most
                pieces.append(piece.text)
                if len(pieces) > 40:
                    break
            assert text.startswith("".join(pieces))
            assert len(driven.archive.read(KEY, handle, max_chars=most).text) <= most


def _named(handle: str, span: Span) -> str:
    return f"{handle}#{span.last}"


class FailingSpans:
    """Names spans until a set number of names was returned, then fails as a full disk does."""

    def __init__(self, driven: Drive, good: int) -> None:
        self.driven = driven
        self.left = good
        self.inner = driven.engine.name_span

    def __call__(self, first: int, last: int) -> str:
        """Name a span, or fail."""
        if self.left <= 0:
            raise StorageError("thalweg.db", "the disk is full", "free some space")
        self.left -= 1
        return self.inner(first, last)


@given(scenarios(), st.integers(0, 6))
def test_i26_and_i32_a_failing_archive_leaves_the_view_as_it_was(
    scenario: Scenario, good: int
) -> None:
    """Content remains inline until its handle is durable; the run continues with the archive."""
    driven = Drive(scenario)
    failing = FailingSpans(driven, good)
    driven.engine.name_span = failing

    def heal(driven: Drive) -> None:
        window, history = driven.engine.window, len(driven.engine.history)
        window.settle()
        before, done = list(window.items), failing.left
        try:
            driven.ask()
            driven.requests.pop() if driven.stopped is None else None
        except StorageError:
            event("failed")
            window.settle()
            if len(driven.engine.history) == history:
                assert window.items == before
            shown = [make_handle(b"x", KEY, s) for s in driven.archive.handles(KEY).values()]
            told = "\n".join(i.message.text for i in window.items if i.position < 0)
            assert all(h in shown for h, _ in HANDLE.findall(told) if h[0] != "a")
            failing.left = 10**9
        assert done >= 0
        driven.stopped = None

    driven.run(heal)
    assert all(r.tokens <= scenario.budget.limit for r in driven.requests)


@given(scenarios())
def test_i26_a_handle_is_shown_only_when_it_is_held(scenario: Scenario) -> None:
    """Every handle the engine wrote names a span of the log that was durable at that time."""
    driven = drive(scenario)
    spoken = "\n".join(
        f"{m.text} {' '.join(c.arguments for c in m.calls)}" for m in scenario.messages
    )
    held = driven.archive.handles(KEY)
    for request in driven.requests:
        for message in request.messages:
            for handle, position in HANDLE.findall(message.text):
                if handle in spoken:
                    continue
                span = held[handle]
                assert span.last < request.arrived
                assert not position or span.first <= int(position) <= span.last


@given(scenarios(hostile=False), st.text(max_size=30), st.binary(min_size=1, max_size=8))
def test_i28_handles_open_nothing_for_strangers(
    scenario: Scenario, guess: str, secret: bytes
) -> None:
    """Another owner, another thread, another secret, a path or a guess: all fail alike."""
    driven = drive(scenario)
    assume(driven.requests)
    driven.log()
    handle = driven.archive.handle(KEY, Span(0, 0))
    for key in (ThreadKey("bob", "t1"), ThreadKey("ada", "t2"), ThreadKey("ada\0t1", "")):
        driven.archive.append(key, [Logged(scenario.messages[0])])
        with pytest.raises(HandleError):
            driven.archive.read(key, handle)
    assume(secret != b"x")
    forged = make_handle(secret, KEY, Span(0, 0))
    odd = (
        "../../etc/passwd",
        "/etc/passwd",
        f"{handle}#99999",
        f"{handle}#-1",
        f" {handle}",
        guess,
    )
    for name in (forged, f"{handle}/../x", handle.upper(), *odd):
        with pytest.raises(HandleError):
            driven.archive.read(KEY, name)


@given(scenarios(), st.lists(st.integers(0, 80), max_size=6))
def test_i29_a_record_is_made_from_originals_however_often_it_is_made(
    scenario: Scenario, cuts: list[int]
) -> None:
    """Folding in many steps remembers what folding at once does: no record of a record."""
    driven = drive(scenario)
    entries = driven.entries
    record = Record()
    bounds = sorted({0, *(c for c in cuts if c < len(entries)), len(entries)})
    for first, last in pairwise(bounds):
        record = absorb(record, entries[first:last])

    assert record == absorb(Record(), entries)


@given(scenarios(), st.sampled_from((300, 600, 1_500)))
def test_i29_the_record_has_a_bound_of_its_own(scenario: Scenario, budget: int) -> None:
    """For any conversation: every line, every request and the goal have to fit it."""
    entries = drive(scenario).entries
    record = absorb(Record(), entries)
    text = render(record, handle="a" * 16, budget=budget, count=quick_count)
    event(f"{quick_count(text) * 4 // budget} quarters")

    assert quick_count(text) <= budget


@given(scenarios())
def test_i29_records_do_not_grow_from_fold_to_fold(scenario: Scenario) -> None:
    """Every record of a run keeps the cap that the budget sets, the tenth like the first.

    It is the wider one: the user's constraints may need it.
    """
    driven = drive(scenario)
    system = sum(e.tokens for e in driven.entries if e.message.role == "system")
    for edit in driven.engine.history:
        if isinstance(edit, Fold):
            cap = scenario.budget.widest_record(min(system, scenario.budget.limit))
            assert quick_count(edit.record) <= max(cap, 300)


@given(scenarios())
def test_i31_what_a_fold_takes_is_in_the_archive_before(scenario: Scenario) -> None:
    """Anyone who wants to see the span first (memory, extraction) finds it there, whole."""
    driven = Drive(scenario)
    named = driven.engine.name_span

    def checked(first: int, last: int) -> str:
        kept = driven.archive.messages(KEY, first, last)
        assert kept == [e.message for e in driven.entries[first : last + 1]]
        return named(first, last)

    driven.engine.name_span = checked
    driven.run()
    folds = [e for e in driven.engine.history if isinstance(e, Fold)]
    assert all(fold.last < driven.logged for fold in folds)


@given(scenarios())
def test_i24_messages_are_never_changed_in_place(scenario: Scenario) -> None:
    """What was received remains equal to what was sent, reasoning and ids included."""
    before = [message_to_json(m) for m in scenario.messages]
    driven = drive(scenario)

    assert [message_to_json(m) for m in scenario.messages] == before
    assert all(e.message is scenario.messages[e.position] for e in driven.entries)
    assert all(isinstance(m, Message) for m in scenario.messages)
    assert all(
        p.signature or p.text for m in scenario.messages for p in m.parts if isinstance(p, Thinking)
    )
