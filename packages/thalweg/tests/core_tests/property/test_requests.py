"""Every request is one that every provider takes, for any thread."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from core_tests.property.driving import Drive, Request, drive
from core_tests.property.providers import PROVIDERS
from core_tests.property.strategies import Scenario, scenarios
from core_tests.property.writers import WRITERS
from thalweg.engine.edits import Fold
from thalweg.engine.entries import Entry, Message, Thinking, ToolCall, message_to_json
from thalweg.engine.snapshot import with_returned
from thalweg.engine.tokens import exact_counter
from thalweg.engine.window.window import Window
from thalweg.engine.wires.registry import WIRES


def refusals(driven: Drive) -> list[str]:
    """List what providers would refuse, over all requests of a run."""
    return [
        f"{name}, request {n}: {problem}"
        for n, request in enumerate(driven.requests)
        for name, check in PROVIDERS.items()
        for problem in check(WRITERS[name](request.messages))
    ]


def witness(driven: Drive) -> None:
    """Report the outcome of a run to Hypothesis, so that its statistics show what is exercised."""
    for kind in {type(edit).__name__ for edit in driven.engine.history} or {"no edit"}:
        event(kind)
    if driven.stopped:
        event("window exceeded")


@given(scenarios())
def test_every_request_is_taken_by_every_provider(scenario: Scenario) -> None:
    """Pairs, batches, ids and roles, by each provider's own rules; and the gate agrees."""
    driven = drive(scenario)
    witness(driven)

    assert refusals(driven) == []
    assert [request.problems for request in driven.requests if request.problems] == []


@given(scenarios())
@settings(max_examples=20)
def test_every_request_is_taken_with_exact_counts(scenario: Scenario) -> None:
    """The counter is OpenAI's own; nothing depends on it being additive."""
    driven = drive(scenario, exact_counter())

    assert refusals(driven) == []


@pytest.mark.parametrize("home", ["openai-chat", "openai-responses"])
@given(data=st.data())
@settings(max_examples=25)
def test_every_request_of_a_recorded_thread_is_taken_where_it_came_from(
    home: str, data: st.DataObject
) -> None:
    """Messages that hold their provider's own objects, some shared, mix with edited ones."""
    scenario = data.draw(scenarios(hostile=False, home=home))
    messages, _ = WIRES[home].read(WIRES[home].write(scenario.messages))
    driven = drive(Scenario(tuple(messages), scenario.budget, home, scenario.tariff))
    witness(driven)

    check = PROVIDERS[home]
    assert [p for r in driven.requests for p in check(WIRES[home].write(r.messages))] == []


@given(scenarios())
def test_i1_every_result_has_its_call_and_every_call_one_result(scenario: Scenario) -> None:
    """Counted over the whole request, not only between neighbours."""
    for request in drive(scenario).requests:
        open_calls: list[str] = []
        for message in request.messages:
            if message.role == "tool":
                assert message.answers in open_calls
                open_calls.remove(message.answers)
            open_calls += [call.id for call in message.calls]
        assert open_calls == []


def _batches(request: Request) -> list[tuple[Message, list[Message]]]:
    batches: list[tuple[Message, list[Message]]] = []
    for message in request.messages:
        if message.role == "assistant":
            batches.append((message, []))
        elif message.role == "tool":
            batches[-1][1].append(message)
    return batches


@given(scenarios())
def test_i2_a_parallel_batch_is_shown_or_dropped_as_a_whole(scenario: Scenario) -> None:
    """No call of a message is dropped alone, and its results follow it side by side."""
    driven = drive(scenario)
    calls = {e.position: [c.name for c in e.message.calls] for e in driven.entries}
    for request in driven.requests:
        shown = [i for i in request.items if i.message.role == "assistant"]
        assert all([c.name for c in i.message.calls] == calls[i.position] for i in shown)
        assert all(len(results) == len(m.calls) for m, results in _batches(request))


@given(scenarios())
def test_i3_ids_are_unique_and_portable(scenario: Scenario) -> None:
    """For any ids in a log, no request repeats one or holds one that a provider refuses."""
    for request in drive(scenario).requests:
        ids = [call.id for message in request.messages for call in message.calls]
        assert len(set(ids)) == len(ids)
        assert all(0 < len(i) <= 40 and i.isascii() for i in ids)
        assert all(i.replace("_", "").replace("-", "").isalnum() for i in ids if i.strip("_-"))


@given(scenarios(hostile=True))
def test_i4_a_request_begins_and_ends_with_someone_the_model_answers(scenario: Scenario) -> None:
    """Nothing is empty, the user comes first, the assistant never last."""
    for request in drive(scenario).requests:
        rest = [m for m in request.messages if m.role != "system"]
        assert rest
        assert rest[0].role == "user"
        assert request.messages[-1].role != "assistant"
        assert all(m.role == "tool" or m.text.strip() or len(m.parts) > 1 or m.calls for m in rest)


@given(scenarios())
def test_i5_reasoning_is_whole_or_gone(scenario: Scenario) -> None:
    """What is shown of a message has all its reasoning, to the byte and in front, or none."""
    driven = drive(scenario)
    witness(driven)
    for request in driven.requests:
        for item in request.items:
            now = [p for p in item.message.parts if isinstance(p, Thinking)]
            if item.position < 0:
                assert now == []
                continue
            recorded = driven.entries[item.position].message.parts
            assert now in ([p for p in recorded if isinstance(p, Thinking)], [])
            if now and isinstance(recorded[0], Thinking):
                assert isinstance(item.message.parts[0], Thinking)


@given(scenarios(hostile=False))
def test_i5_a_call_keeps_what_its_provider_signed(scenario: Scenario) -> None:
    """Fields next to a call (a thought signature) survive every edit."""
    signed = tuple(
        Message(m.role, tuple(_signed(p) for p in m.parts), m.answers, m.name, kind=m.kind)
        for m in scenario.messages
    )
    driven = drive(Scenario(signed, scenario.budget, scenario.home))
    for request in driven.requests:
        assert all(call.extra for m in request.messages for call in m.calls)


def _signed(part: object) -> ToolCall:
    if isinstance(part, ToolCall):
        return ToolCall(part.id, part.name, part.arguments, '{"gemini":{"thoughtSignature":"s"}}')
    return part  # type: ignore[return-value] # every other part stays as it is


@given(scenarios())
def test_i7_the_same_thread_gives_the_same_bytes(scenario: Scenario) -> None:
    """Nothing depends on time, order of sets or identity of objects."""
    one, two = drive(scenario), drive(scenario)

    assert [_text(r) for r in one.requests] == [_text(r) for r in two.requests]
    assert one.engine.history == two.engine.history


def _text(request: Request) -> list[str]:
    return [message_to_json(message) for message in request.messages]


@given(scenarios())
def test_i7_the_view_is_a_function_of_the_log_and_the_edits(scenario: Scenario) -> None:
    """A window that receives the whole log first and the edits afterwards shows the same."""
    driven = drive(scenario)
    witness(driven)
    anew = window_of(driven.entries, driven)
    driven.engine.window.settle()

    assert [i.message for i in anew.items] == [i.message for i in driven.engine.window.items]
    assert anew.tokens == driven.engine.window.tokens


def window_of(entries: list[Entry], driven: Drive) -> Window:
    """Lay out a log again, then apply the edits of a run."""
    window = Window(driven.count)
    for entry in entries:
        window.add(entry)
    window.settle()
    for edit in driven.engine.history:
        returned = set(edit.kept) - window.entries.keys() if isinstance(edit, Fold) else set()
        if returned:  # removed content that a later edit shows again
            window.entries |= {
                entry.position: entry for entry in entries if entry.position in returned
            }
            window.entries = dict(sorted(window.entries.items()))
            window.record = with_returned(window.record, returned)
        window.apply([edit])
    return window
