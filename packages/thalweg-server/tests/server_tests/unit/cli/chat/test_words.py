"""What commands print, and what is typed when there is no model."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from server_tests.e2e.chat_gateway import Gateway, application
from thalweg.errors import ConfigError
from thalweg_server.api.memory import Found, Recall
from thalweg_server.api.threads import Edit, History, HistoryItem, Message, ToolCall, Turn
from thalweg_server.api.usage import ThreadUsage, Usage
from thalweg_server.cli.chat import text
from thalweg_server.cli.chat.approvals import Action
from thalweg_server.cli.chat.commands import COMMANDS, perform
from thalweg_server.cli.chat.lines import PrintedLine
from thalweg_server.cli.chat.setup import choose
from thalweg_server.cli.chat.status import Status, both, status_line
from thalweg_server.client import ThalwegClient
from thalweg_server.models import AvailableModel


def said(position: int, role: str, words: str, **more: object) -> HistoryItem:
    message = Message.model_validate({"role": role, "text": words, **more})
    return HistoryItem(position=position, message=message)


CALL = ToolCall(id="c", name="read", arguments='{"path":\n "/a"}')
STRETCH = History(
    before=3,
    items=(
        said(3, "user", "first"),
        said(4, "assistant", "One."),
        said(5, "user", "second"),
        said(6, "assistant", "I look.", tool_calls=[CALL]),
        said(7, "tool", "a\nb", is_error=True),
        said(8, "assistant", "Two."),
    ),
)


def test_history_is_told_oldest_first() -> None:
    assert text.history(STRETCH) == [
        PrintedLine("note", "… there is more before it"),
        PrintedLine("note", "#3 > first"),
        PrintedLine("answer", "One."),
        PrintedLine("note", "#5 > second"),
        PrintedLine("answer", "I look."),
        PrintedLine("tool", '  read({"path": "/a"})'),
        PrintedLine("failure", "  ✗ a b"),
        PrintedLine("answer", "Two."),
    ]


def test_who_comes_back_sees_the_newest_question_and_its_answer() -> None:
    assert text.last_exchange(STRETCH) == [
        PrintedLine("note", "#5 > second"),
        PrintedLine("answer", "Two."),
    ]
    alone = History(items=(said(0, "user", "hello"),))
    assert text.last_exchange(alone) == [PrintedLine("note", "#0 > hello")]
    assert text.last_exchange(History(items=())) == []


def test_a_turn_says_what_was_decided_and_why() -> None:
    edit = Edit(kind="evict", reason="too large", tokens_before=900, tokens_after=40, position=3)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    turn = Turn(turn=4, at=at, kind="call", tokens=1_000, limit=8_000, edits=(edit,))
    assert text.turn(turn)[0].text.splitlines() == [
        "turn 4, 1,000 of 8,000 tokens",
        "evict  #3  900 → 40  too large",
    ]


def test_memory_is_told_with_its_facts() -> None:
    document = {
        "userContext": {"workContext": {"summary": "Ferries."}, "topOfMind": {"summary": ""}},
        "facts": [{"id": "f1", "category": "preference", "content": "Ada likes maps."}],
    }
    assert text.memory(document) == [
        PrintedLine("note", "workContext: Ferries."),
        PrintedLine("memory", "f1  preference  Ada likes maps."),
    ]
    assert text.memory({"facts": []}) == [PrintedLine("note", "nothing is remembered yet")]


def test_what_memory_would_tell_says_what_it_would_not() -> None:
    found = Found(kind="fact", id="f", content="likes\nmaps", score=0.5, is_told=False)
    lines = text.recall(Recall(query="maps", text="", tokens=0, items=(found,)))
    assert lines == [PrintedLine("memory", "0.50  fact  not told  likes maps")]


def test_a_question_shows_every_argument_whole() -> None:
    action = Action("run", {"command": "a\nb" + "x" * 500}, "Tool execution requires approval: x")
    (line,) = text.question(action)
    assert "x" * 500 in line.text
    assert "requires approval" not in line.text


@pytest.mark.parametrize("width", [10, 30, 60, 200])
def test_the_status_fits_and_says_first_who_answers(width: int) -> None:
    spent = Usage(calls=3, input_tokens=90_000, cached_tokens=80_000, output_tokens=900, cost=0.5)
    line = status_line(Status("small", "chat-1", 12_000, 16_000, before=spent), width)
    assert len(line) <= width
    assert line.startswith("small")
    assert ("$0.50" in line) == (width > 35)


def test_a_cost_that_is_not_known_is_not_guessed() -> None:
    known, unknown = Usage(calls=1, cost=0.25), Usage(calls=1)
    assert both(known, unknown).cost is None
    assert both(known, Usage()).cost == 0.25


@dataclass
class Desk:
    """Where a command is performed."""

    client: ThalwegClient
    status: Status = field(default_factory=lambda: Status(thread="t1", tokens=5))
    is_over: bool = False
    says: bool = False

    def confirm(self, question: str) -> bool:
        """Return the same answer to every question."""
        assert question.endswith("?")
        return self.says

    def turn_to(self, thread: str) -> list[PrintedLine]:
        """Go nowhere."""
        return text.printed(f"to {thread or 'a new one'}")


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("/xyzzy", "/help lists the commands"),
        ("/COMPACT", "1,000 of 15,000"),
        ("/hist 3", ""),
        ("/new", "to a new one"),
        ("/thread", "this is thread t1"),
        ("/memory forget rivers", "nothing was deleted"),
    ],
)
def test_what_is_typed_is_done(typed: str, told: str) -> None:
    with ThalwegClient(application(Gateway())) as client:
        assert told in perform(typed, Desk(client))[0].text


def test_help_names_every_command() -> None:
    with ThalwegClient(application(Gateway())) as client:
        (line,) = perform("/help", Desk(client))
    assert all(f"/{name} " in line.text for name in COMMANDS)


def test_what_cannot_be_done_says_what_can(tmp_path: Path) -> None:
    with ThalwegClient(application(Gateway())) as client:
        for typed in ("/rewind", "/rewind two", "/upload", f"/upload {tmp_path}"):
            with pytest.raises(ConfigError):
                perform(typed, Desk(client))


READY = AvailableModel("ollama:small", "Ollama here")
LACKING = AvailableModel("openai:x", "OpenAI, by a key", missing="pip install x")


def test_of_what_is_there_one_can_be_taken() -> None:
    shown: list[str] = []
    for typed, taken in (("1", "ollama:small"), ("2", ""), ("", ""), ("one", "")):
        answers = {"Which model should answer? (a number; Enter quits) ": typed}
        assert choose([READY, LACKING], shown.append, answers.__getitem__) == taken
    assert any("1  ollama:small" in line for line in shown)
    assert not any("2  openai:x" in line for line in shown)


def test_where_nothing_is_ready_nothing_is_asked() -> None:
    def ask(question: str) -> str:
        raise AssertionError(question)

    assert choose([LACKING], lambda _: None, ask) == ""


@pytest.mark.parametrize(
    ("saved", "said"),
    [
        (0.5, "compaction has saved $0.50"),
        (-0.004, "compaction has cost $0.0040 more than it saved so far"),
        (None, ""),
    ],
)
def test_what_compaction_came_to_is_told_where_somebody_pays(
    saved: float | None, said: str
) -> None:
    spent = Usage(calls=1, cost=1.0)
    usage = ThreadUsage(
        thread="t",
        total=spent,
        callers={"agent": spent},
        sections={},
        window=1,
        limit=1,
        saved=saved,
    )
    [told] = text.usage(usage)
    assert told.text.splitlines()[3:] == ([said] if said else [])
