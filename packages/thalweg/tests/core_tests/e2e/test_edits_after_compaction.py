"""Messages that are edited or removed in the state of an agent after a compaction."""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg import ContextMiddleware, ContextPolicy
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.journal import page_at, read_pages
from thalweg.archive.threads.thread_history import history
from thalweg.engine.edits import Fold
from thalweg.testing import ScriptedModel

REQUEST = "use the tool"
MARKER = re.compile(r"\bm\d+m\b")  # a reference may have such letters within


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest) -> Iterator[BaseCheckpointSaver[str]]:
    """A checkpointer that serializes the state."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


class Chat:
    """An agent with a tool, compacted in the run of its newest request, which is kept."""

    def __init__(self, saver: BaseCheckpointSaver[str], request: str = REQUEST) -> None:
        self.archive: Archive = open_archive(":memory:")
        self.saver = saver
        self.sent: list[BaseMessage] = []
        self.numbers = 0

        self.thread: RunnableConfig = {"configurable": {"thread_id": "t"}}
        self.restart()
        for _ in range(6):
            self.run(self.text("request"))
        self.run(self.text(request))

    def restart(self) -> None:
        """Create the agent, as a new process does."""

        @tool
        def look() -> str:
            """Look."""
            return self.text("cell " * 500)

        def answer(messages: Sequence[BaseMessage]) -> AIMessage:
            self.sent = list(messages)
            if messages[-1].type == "human" and REQUEST in str(messages[-1].content):
                call = {"id": f"c{self.numbers}", "name": "look", "args": {"half": "\udc80"}}
                return AIMessage(self.text("I look"), tool_calls=[call])
            return AIMessage(self.text("word " * 200 if messages[-1].type == "human" else ""))

        middleware = ContextMiddleware(
            ContextPolicy(window=2_500, summarize=False), archive=self.archive
        )
        self.agent = create_agent(
            ScriptedModel(script=answer), [look], checkpointer=self.saver, middleware=[middleware]
        )

    def text(self, words: str) -> str:
        """Return words after a new marker."""
        self.numbers += 1
        return f"m{self.numbers}m {words}"

    def run(self, words: str, uid: str | None = None) -> None:
        """Send a message of the user."""
        self.agent.invoke({"messages": [HumanMessage(words, id=uid)]}, self.thread)

    @property
    def state(self) -> list[AnyMessage]:
        """The messages of the state."""
        messages: list[AnyMessage] = self.agent.get_state(self.thread).values["messages"]
        return messages

    def check(self) -> None:
        """Check that the thread is the state, each message once, and that nothing else is sent."""
        story = [MARKER.findall(str(message.content))[0] for message in self.state]
        there = [one.message.text for one in history(self.archive, ThreadKey("local", "t"))]
        newest = len(there) if len(there) == len(story) else len(story) - 1
        assert [MARKER.findall(text)[0] for text in there] == story[:newest]
        sent = [marker for m in self.sent for marker in MARKER.findall(str(m.content))]
        assert set(sent) <= set(story)
        assert story[-2] in sent


def folds(chat: Chat) -> list[Fold]:
    """Return the compactions of a thread, oldest first."""
    pages = read_pages(chat.archive, ThreadKey("local", "t")).values()
    return [edit for page in pages for edit in page.edits if isinstance(edit, Fold)]


def edited(chat: Chat, message: AnyMessage) -> None:
    """Replace a message by other words with its id, and go on."""
    if message.type == "human":
        chat.run(chat.text("other words"), message.id)
        return
    other = message.model_copy(update={"content": chat.text("other words")})
    chat.agent.update_state(chat.thread, {"messages": [other]})
    chat.run(chat.text("go on"))


def removed(chat: Chat, message: AnyMessage) -> None:
    """Remove a message, and go on."""
    chat.agent.update_state(chat.thread, {"messages": [RemoveMessage(id=str(message.id))]})
    chat.run(chat.text("go on"))


def resent(chat: Chat, message: AnyMessage) -> None:
    """Remove a message and all later ones, and send other words instead."""
    state = chat.state
    gone = state[state.index(message) :]
    removals = [RemoveMessage(id=str(one.id)) for one in gone]
    chat.agent.update_state(chat.thread, {"messages": removals})
    chat.run(chat.text("other words"))


@pytest.mark.parametrize("change", [edited, removed, resent])
@pytest.mark.parametrize("position", [0, 1, 6, -4, -3, -2, -1])
def test_a_message_of_a_compacted_thread_can_be_changed(
    saver: BaseCheckpointSaver[str], change: Callable[[Chat, AnyMessage], None], position: int
) -> None:
    """The thread continues, also from its archive, with the change and all else."""
    chat = Chat(saver)
    made = folds(chat)[-1]
    assert max(made.kept) > made.last, "the compaction keeps the newest request"

    change(chat, chat.state[position])
    chat.check()
    for _ in range(2):
        chat.restart()
        chat.run(chat.text("go on"))
        chat.check()


def test_an_edit_of_a_kept_message_leaves_the_compaction_as_it_is(
    saver: BaseCheckpointSaver[str],
) -> None:
    """Its summary is sent again, to the byte."""
    chat = Chat(saver)
    newest = next(m for m in reversed(chat.state) if m.type == "human")

    edited(chat, newest)

    assert any(str(m.content) == folds(chat)[-1].record for m in chat.sent)
    assert not page_at(chat.archive, ThreadKey("local", "t"))[1].note


def test_an_edit_of_a_compacted_message_is_explained(saver: BaseCheckpointSaver[str]) -> None:
    """The turn names the message for which the context was rebuilt."""
    chat = Chat(saver)

    edited(chat, chat.state[2])

    pages = read_pages(chat.archive, ThreadKey("local", "t")).values()
    (note,) = [page.note for page in pages if page.note]
    assert "changed or removed since (#2" in note


@pytest.mark.parametrize(
    "odd", ["\ud83d", "\ud83d\ude00", "caf\udce9", "\x00", "\ufeff", "\U0001f600"]
)
def test_a_text_that_a_checkpointer_changes_was_not_edited(
    saver: BaseCheckpointSaver[str], odd: str
) -> None:
    """Every message is in the log once, as it was first received."""
    chat = Chat(saver, f"{REQUEST} {odd}")
    for _ in range(2):
        chat.run(chat.text(f"go on {odd}"))
        chat.check()
        chat.restart()

    log = chat.archive.messages(ThreadKey("local", "t"))
    uids = [message.uid for message in log]
    assert len(set(uids)) == len(uids)
    first = odd.replace("\ud83d\ude00", "\U0001f600")
    assert any(message.text.endswith(f"{REQUEST} {first}") for message in log)
