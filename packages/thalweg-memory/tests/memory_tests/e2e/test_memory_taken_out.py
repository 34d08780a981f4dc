"""What a person takes out of memory is in no later request, however it was taken out.

Each way is tested by the next request of a real agent, in a new thread, and `forget` by the bytes
of every file of the store.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, Scope, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Hide, PutFact
from thalweg_memory.jobs.learner import Learner, Respondent, Worker

SAID = "My lucky number is 42, remember."
_TURN = re.compile(r"^§+ (\d+), user", re.MULTILINE)


class Ada:
    """A user with an agent and a memory."""

    def __init__(self, folder: Path, *, storage: str = "database") -> None:
        self.folder = folder
        self.store = open_memory(folder / "memory.db")
        settings = MemorySettings.from_mapping(
            {
                "debounce_seconds": 0,
                "profile": False,
                "storage": storage,
                "storage_path": str(folder / "memory.json"),
            }
        )
        self.memory = Memory(self.store, Scope("local"), settings=settings)
        self.requests: list[str] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.agent: Any = create_agent(
            ScriptedModel(script=self._answer),
            middleware=[MemoryMiddleware(self.memory, learns=False)],
        )

    def _answer(self, messages: Sequence[BaseMessage]) -> str:
        self.requests.append("\n".join(str(message.text) for message in messages))
        return "Noted: 42 it is." if self.requests[-1].endswith(SAID) else "All right."

    def _learned(self, messages: Sequence[BaseMessage]) -> str:
        asked = str(messages[-1].content)
        self.meanwhile()
        turn = _TURN.search(asked)
        if SAID not in asked or turn is None:
            return json.dumps({"facts": []})
        fact = {
            "turn": int(turn[1]),
            "quote": "My lucky number is 42",
            "language": "en",
            "content": "The user's lucky number is 42.",
            "category": "context",
            "confidence": 0.95,
            "subject": "user",
            "attribute": "lucky number",
            "value": "42",
        }
        return json.dumps({"facts": [fact]})

    def chat(self, text: str, thread: str) -> str:
        """Send a message in a thread; return the request that the model received."""
        said = [HumanMessage(text)]
        self.agent.invoke({"messages": said}, {"configurable": {"thread_id": thread}})
        return self.requests[-1]

    def learn(self) -> None:
        """Do the jobs that are due."""
        learner = Learner(
            self.memory.store,
            Respondent(ScriptedModel(script=self._learned), len, name="scripted"),
            self.memory.settings,
        )
        Worker(self.memory.store, learner.learn).run_due()

    def knows(self) -> bool:
        """Ask in a new thread, and look at what the model is sent for it."""
        return "42" in self.chat("What is my lucky number?", f"t{len(self.requests)}")

    def bytes_of(self, text: str) -> int:
        """Count a text in every file of the store."""
        files = [path for path in self.folder.iterdir() if path.is_file()]
        return sum(path.read_bytes().count(text.encode()) for path in files)


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Ada]:
    """A user with a store on disk."""
    one = Ada(tmp_path)
    yield one
    one.store.close()


def delete(ada: Ada) -> None:
    """Delete the fact."""
    ada.memory.delete(ada.memory.facts()[0].id)


def clear(ada: Ada) -> None:
    """Clear the memory."""
    ada.memory.clear()


def edit(ada: Ada) -> None:
    """Reword the fact."""
    ada.memory.edit(ada.memory.facts()[0].id, content="The user's lucky number is 7.")


def forget_by_id(ada: Ada) -> None:
    """Forget the fact."""
    ada.memory.forget(ada.memory.facts()[0].id)


def forget_by_query(ada: Ada) -> None:
    """Forget what has some words."""
    ada.memory.forget(query="lucky number")


def undo(ada: Ada) -> None:
    """Undo what was learned."""
    ada.memory.undo(ada.memory.history()[0].id)


WAYS = [delete, clear, edit, forget_by_id, forget_by_query, undo]


@pytest.mark.parametrize("way", WAYS)
def test_what_is_taken_out_is_in_no_later_request(ada: Ada, way: Callable[[Ada], None]) -> None:
    """It is neither there as a fact, nor as its source turn, nor as the answer that repeats it."""
    ada.chat(SAID, "t0")
    ada.learn()
    assert ada.knows()

    way(ada)

    assert not ada.knows()
    ada.learn()
    assert not ada.knows()


@pytest.mark.parametrize("way", [delete, clear, edit])
def test_undo_brings_facts_and_turns_back(ada: Ada, way: Callable[[Ada], None]) -> None:
    """The undo of the undo takes both out again."""
    ada.chat(SAID, "t0")
    ada.learn()
    way(ada)

    undone = ada.memory.undo(ada.memory.history()[0].id)
    assert ada.knows()
    assert any(item.turn for item in ada.memory.recall("lucky number").items)
    ada.memory.undo(undone.id)

    assert not ada.knows()


@pytest.mark.parametrize("text", ["", '{"facts": []}'], ids=["removed", "emptied"])
def test_a_document_without_the_fact_takes_it_out(tmp_path: Path, text: str) -> None:
    """Whether the file was removed, or the line."""
    ada = Ada(tmp_path, storage="json")
    ada.chat(SAID, "t0")
    ada.learn()
    assert ada.knows()

    document = tmp_path / "memory.json"
    if text:
        document.write_text(text)
    else:
        document.unlink()
    ada.memory.reload()

    assert not ada.knows()
    ada.store.close()


def test_what_waits_to_be_learned_does_not_come_back(ada: Ada) -> None:
    """The job was noted before the clear, and is done after it."""
    ada.chat(SAID, "t0")

    done = ada.memory.clear()
    ada.learn()

    assert done is not None
    assert done.changes == (Hide("cleared by hand", 2),)
    assert ada.memory.facts() == []
    assert not ada.knows()


def test_what_is_being_learned_does_not_come_back(ada: Ada) -> None:
    """The memory is cleared while the model thinks."""
    ada.chat(SAID, "t0")
    ada.meanwhile = ada.memory.clear

    ada.learn()

    assert ada.memory.facts() == []
    assert not ada.knows()


def test_a_run_that_began_before_the_clear_leaves_nothing(ada: Ada) -> None:
    """Its message is captured when it ends, after the clear."""
    begun, cleared = threading.Event(), threading.Event()

    def answer(messages: Sequence[BaseMessage]) -> str:
        del messages
        begun.set()
        cleared.wait(10)
        return "Noted."

    slow: Any = create_agent(
        ScriptedModel(script=answer), middleware=[MemoryMiddleware(ada.memory, learns=False)]
    )
    said: dict[str, Any] = {"messages": [HumanMessage(SAID)]}
    config: RunnableConfig = {"configurable": {"thread_id": "slow"}}
    run = threading.Thread(target=lambda: slow.invoke(said, config))
    ada.memory.remember("The user likes tea.")
    run.start()
    begun.wait(10)
    ada.memory.clear()
    cleared.set()
    run.join()
    ada.learn()

    assert not ada.knows()
    ada.chat("My name is Ada.", "t9")
    assert "Ada" in ada.chat("What is my name?", "t10")


@pytest.mark.parametrize("state", ["active", "deleted", "quarantined", "expired", "superseded"])
def test_forgetting_words_erases_facts_of_every_state(ada: Ada, state: str) -> None:
    """Not a byte remains in the database, its log, or the document."""
    place = "Quillonberg"
    fact = ada.memory.remember(f"The user lives in {place}.")
    if state == "deleted":
        ada.memory.delete(fact.id)
    elif state != "active":
        ada.store.commit(
            ada.memory.scope,
            [PutFact(replace(fact, status=state), "test")],  # type: ignore[arg-type]
            expected=ada.store.version(ada.memory.scope),
            actor="learned:test",
            now="2026-11-01T00:00:00Z",
        )
    assert ada.bytes_of(place)

    receipt = ada.memory.forget(query="quillonberg")

    assert receipt.facts == (fact.id,)
    assert ada.bytes_of(place) == 0
