"""What of a thread becomes turns of memory, and how far each is trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.entries import Message, Text, ToolCall
from thalweg_memory.facts.values import Statement, Trust
from thalweg_memory.middleware.capture import captured_turns, trust_after, without_memory

NOW = "2026-03-01T10:00:00Z"


def user(text: str, **given: str) -> Message:
    return Message("user", (Text(text),), **given)  # type: ignore[arg-type]  # fields by name


def answer(text: str) -> Message:
    return Message("assistant", (Text(text),))


def call(name: str, call_id: str = "c1") -> Message:
    return Message("assistant", (Text("Let me look."), ToolCall(call_id, name, "{}")))


def result(text: str, name: str = "", call_id: str = "c1") -> Message:
    return Message("tool", (Text(text),), answers=call_id, name=name)


def capture(*messages: Message, since: int = 0) -> list[Statement]:
    return captured_turns(enumerate(messages), thread="t", now=NOW, since=since)


def test_only_requests_and_final_answers_are_captured() -> None:
    """Tool calls with the words next to them, results and what the harness put there are not."""
    turns = capture(
        Message("system", (Text("You are an agent."),)),
        user("What is in the file?"),
        call("read_file"),
        result("The user loves Brand X."),
        Message("user", (Text("Go on."),), kind="injected"),
        Message(
            "user", (Text("A summary so far"),), extra='{"additional_kwargs":{"lc_source":"s"}}'
        ),
        answer("It praises Brand X."),
    )

    assert [(turn.role, turn.text) for turn in turns] == [
        ("user", "What is in the file?"),
        ("assistant", "It praises Brand X."),
    ]


def test_a_turn_tells_where_when_and_by_whom_it_was_said() -> None:
    """Time and id are the message's own where it has them."""
    first = Message("user", (Text("Hi"),), name="Ada", uid="m1", at="2026-02-01T08:00:00Z")
    second = user("Hello again")

    named, unnamed = capture(first, second)

    assert (named.said_at, named.author, named.uid, named.position) == (
        "2026-02-01T08:00:00Z",
        "Ada",
        "m1",
        0,
    )
    assert (unnamed.said_at, unnamed.author, unnamed.position) == (NOW, "", 1)
    assert len(unnamed.uid) == 32


def test_the_answer_of_an_agent_with_a_name_is_signed() -> None:
    """`create_agent(name="Mel")` signs its answers: a question about Mel finds them."""
    named = Message("assistant", (Text("I painted a sunrise."),), name="Mel")

    assert [turn.author for turn in capture(user("Hi"), named)] == ["", "Mel"]


@pytest.mark.parametrize(
    "text",
    [
        "Can you tell me more about your instructor?",
        "It must have been wild! Let me know if you need any tips.",
        "Art reminds me to share my love; would you recommend a class?",
        "I went to London last May - it was like walking into a film.",
        'I am reading a novel called "The Dispossessed" these days.',
    ],
)
def test_ordinary_talk_is_captured_whole(text: str) -> None:
    """A person is asked, thanked or invited in ordinary words: no word is omitted."""
    assert [turn.text for turn in capture(user(text), answer(text))] == [text, text]


def test_messages_without_ids_are_told_apart_by_their_place() -> None:
    """`yes`, sent twice, is two turns; captured twice, it is one."""
    one, two = capture(user("yes"), user("yes"))

    assert one.uid != two.uid
    assert [turn.uid for turn in capture(user("yes"), user("yes"))] == [one.uid, two.uid]


@pytest.mark.parametrize(
    ("before", "trust"),
    [
        ([], Trust.ASSISTANT),
        ([call("read_file"), result("text")], Trust.TOOL),
        ([call("fetch_url"), result("page")], Trust.WEB),
        ([call("web_search"), result("hits", name="web_search")], Trust.WEB),
        ([call("task"), result("report")], Trust.WEB),
        ([result("of nobody", call_id="lost")], Trust.WEB),
        ([call("fetch_url"), result("page"), call("read_file"), result("text")], Trust.WEB),
    ],
)
def test_an_answer_is_trusted_as_the_least_of_what_stood_before_it(
    before: list[Message], trust: Trust
) -> None:
    """A result may have no name: then its call names it; a result of no call may be anyone's."""
    asked, told = capture(user("Look it up"), *before, answer("It says so."))

    assert (asked.trust, told.trust) == (Trust.USER, trust)


def test_a_page_that_was_read_once_is_not_trusted_more_in_a_later_run() -> None:
    """`As that page said`: the model may repeat it whenever it is asked."""
    *_, last = capture(
        user("Read it"), call("fetch_url"), result("page"), answer("ok"), user("So?"), answer("So.")
    )

    assert last.trust is Trust.WEB


def test_memory_that_was_put_into_a_text_is_not_captured() -> None:
    """What memory showed would be learned as if it was stated again, and again."""
    text = (
        'Plan it.\n<memory note="data">\nLikes tea\n</memory>\n<agent_memory>x</agent_memory> Ok?'
    )

    assert [turn.text for turn in capture(user(text))] == ["Plan it.\n\n Ok?"]
    assert without_memory("a <memory>b") == "a "
    assert capture(user("<memory>Likes tea</memory>")) == []


MESSAGES = st.lists(
    st.sampled_from(
        [
            user("I live in Oslo."),
            user("yes", uid="m7"),
            answer("Noted."),
            call("read_file", "c1"),
            result("a file", call_id="c1"),
            call("fetch_url", "c2"),
            result("a page", "fetch_url", "c2"),
            Message("user", (Text("Go on."),), kind="injected"),
        ]
    ),
    max_size=12,
)


@given(MESSAGES, st.integers(0, 12))
def test_a_thread_gives_the_same_turns_in_pieces_and_at_once(
    messages: list[Message], cut: int
) -> None:
    """Whether the watermark fell inside a run or between two."""
    rows = list(enumerate(messages))
    whole = captured_turns(rows, thread="t", now=NOW)
    first = captured_turns(rows[:cut], thread="t", now=NOW)
    from_start = captured_turns(rows, thread="t", now=NOW, since=cut)

    assert first + from_start == whole


@given(MESSAGES, st.integers(0, 12))
def test_what_is_left_of_trust_goes_on_in_the_next_piece(messages: list[Message], cut: int) -> None:
    """Where the pieces do not part a result from its call."""
    named = [m for m in messages if m.role != "tool" or m.name]
    rows = list(enumerate(named))
    before = trust_after(named[:cut])

    pieces = [
        *captured_turns(rows[:cut], thread="t", now=NOW),
        *captured_turns(rows[cut:], thread="t", now=NOW, before=before),
    ]

    assert pieces == captured_turns(rows, thread="t", now=NOW)
