"""A trace is kept as JSON, each message once, and comes back as it was."""

import json

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg_evals.trace import Kind, Request, Role, Trace, TracedCall, TracedMessage, TracedTurn

_texts = st.text(max_size=8)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=4,
)
_calls = st.builds(TracedCall, _texts, _texts, st.dictionaries(_texts, _values, max_size=2))
_roles = st.sampled_from(list[Role](["system", "user", "assistant", "tool"]))
_kinds = st.sampled_from(list[Kind](["agent", "subagent", "harness"]))
_said = st.builds(
    TracedMessage,
    _roles,
    _texts,
    st.lists(_calls, max_size=2).map(tuple),
    _texts,
    _texts,
    st.booleans(),
)
_turns = st.builds(TracedTurn, _texts, _texts, _texts, _texts)


@st.composite
def _requests(draw: st.DrawFn) -> list[Request]:
    """Draw requests that show much the same messages."""
    stock = draw(st.lists(_said, min_size=1, max_size=6))
    return [
        Request(
            number=number,
            turn=draw(st.integers(0, 3)),
            thread=draw(_texts),
            kind=draw(_kinds),
            messages=tuple(draw(st.lists(st.sampled_from(stock), max_size=6))),
            tools=tuple(draw(st.lists(_texts, max_size=2))),
            tokens=draw(st.integers(0)),
            fixed=draw(st.integers(0)),
            answer=draw(st.none() | st.sampled_from(stock) | _said),
            input_tokens=draw(st.integers(0)),
            seconds=draw(st.floats(0, 9)),
            error=draw(_texts),
        )
        for number in range(draw(st.integers(0, 4)))
    ]


@given(_requests(), st.lists(_turns, max_size=3), st.dictionaries(_texts, _texts, max_size=2))
def test_a_trace_comes_back_as_it_was(
    requests: list[Request], turns: list[TracedTurn], files: dict[str, str]
) -> None:
    trace = Trace(requests, turns, files)
    plain = trace.to_plain()
    shown = [m for one in requests for m in one.messages]
    event("messages are shared" if len(shown) > len(plain["messages"]) else "none is shared")

    assert Trace.from_plain(json.loads(json.dumps(plain))) == trace


def _request(
    number: int, messages: list[TracedMessage], *, tokens: int, thread: str = "main"
) -> Request:
    return Request(
        number=number,
        turn=0,
        thread=thread,
        kind="agent",
        messages=tuple(messages),
        tools=(),
        tokens=tokens,
        answer=None,
    )


def test_a_message_is_kept_once_however_many_requests_show_it() -> None:
    talk = [TracedMessage("user", str(number)) for number in range(100)]
    trace = Trace([_request(n, talk[: n + 1], tokens=n) for n in range(100)])

    plain = trace.to_plain()

    assert len(plain["messages"]) == 100
    assert [one["messages"] for one in plain["requests"]] == [[[0, n + 1]] for n in range(100)]


def test_a_compaction_is_where_a_request_is_smaller_than_the_one_before_in_its_thread() -> None:
    sizes = [("a", 10), ("b", 5), ("a", 20), ("b", 4), ("a", 8), ("a", 9)]
    trace = Trace([_request(n, [], tokens=t, thread=who) for n, (who, t) in enumerate(sizes)])

    assert trace.compactions() == [3, 4]
    assert trace.compactions("a") == [4]
