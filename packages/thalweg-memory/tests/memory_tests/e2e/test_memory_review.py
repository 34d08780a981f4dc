"""What waits for a user's review is announced once, and `forget that I …` takes a fact out."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, MemoryStore, Scope, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact
from thalweg_memory.jobs.learner import Learner, Respondent, Worker
from thalweg_memory.middleware.middleware import REVIEW

ADA = Scope("ada")
SETTINGS = MemorySettings(debounce_seconds=0, profile=False)
_TURN = re.compile(r"^§+ (\d+), user[^\n]*\(learn from this\)\n(.*)", re.MULTILINE)
_KNOWN = re.compile(r"^(F\d+): (.*)$", re.MULTILINE)


def learned(messages: Sequence[BaseMessage]) -> str:
    """Propose each turn as a fact; one that begins with `Forget that` as a removal."""
    asked = str(messages[-1].content)
    known = dict(_KNOWN.findall(asked))
    facts = []
    for number, text in _TURN.findall(asked):
        wanted = text.removeprefix("Forget that ").rstrip(".")
        names = [name for name, content in known.items() if "Ghent" in content and "Ghent" in text]
        is_removal = text.startswith("Forget that") and names
        facts.append(
            {
                "turn": int(number),
                "quote": text.replace("claims", "says"),  # which is in no message
                "content": f"The user said: {wanted}",
                "category": "context",
                "confidence": 0.95,
                "relation": "remove" if is_removal else "new",
                "known": names[0] if is_removal else "",
            }
        )
    return json.dumps({"facts": facts})


class Ada:
    """A user with an agent; each has its own middleware, as in a process of its own."""

    def __init__(self, store: MemoryStore) -> None:
        self.memory = Memory(store, ADA, settings=SETTINGS)
        self.requests: list[str] = []
        self.agent: Any = create_agent(
            ScriptedModel(script=self._answer),
            middleware=[MemoryMiddleware(self.memory, learns=False)],
            checkpointer=InMemorySaver(),
        )

    def _answer(self, messages: Sequence[BaseMessage]) -> str:
        self.requests.append("\n".join(str(message.text) for message in messages))
        return "All right."

    def chat(self, text: str, thread: str, mode: str = "on") -> list[Mapping[str, Any]]:
        """Send a message, and learn from it; return what was announced when the run began."""
        config = {"configurable": {"thread_id": thread, "memory": mode}}
        said = {"messages": [HumanMessage(text)]}
        events = [*self.agent.stream(said, config, stream_mode="custom")]
        learner = Learner(
            self.memory.store, Respondent(ScriptedModel(script=learned), len), SETTINGS
        )
        Worker(self.memory.store, learner.learn).run_due()
        return [event for event in events if event["type"] == REVIEW]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with open_memory(":memory:") as store:
        yield store


def waiting(ada: Ada) -> set[Fact]:
    return set(ada.memory.review())


def test_what_waits_for_review_is_announced_once(store: MemoryStore) -> None:
    """Once for all threads, runs and processes, with ids and no word of it."""
    ada = Ada(store)
    assert ada.chat("My landlord claims that I owe a cow.", "t1") == []
    [first] = waiting(ada)

    assert ada.chat("Hello.", "t2", mode="read_only") == []
    (event,) = ada.chat("Hello there.", "t2")
    assert (event["facts"], event["waiting"]) == ([first.id], 1)
    assert "cow" not in json.dumps(event)
    assert ada.chat("Hello again.", "t2") == []
    assert Ada(store).chat("Hello from elsewhere.", "t3") == []

    ada.chat("My butcher claims that I owe a horse.", "t4")
    (second,) = waiting(ada) - {first}
    (event,) = ada.chat("Good evening.", "t5")
    assert (event["facts"], event["waiting"]) == ([second.id], 2)


def test_what_was_decided_on_is_not_announced(store: MemoryStore) -> None:
    ada = Ada(store)
    ada.chat("My landlord claims that I owe a cow.", "t1")
    [fact] = waiting(ada)
    ada.memory.reject(fact.id)
    assert ada.chat("Hello.", "t2") == []


def test_a_fact_that_the_user_asks_to_forget_is_in_no_later_request(store: MemoryStore) -> None:
    """The learner names it; code removes it, `history` states why, and `undo` restores it."""
    ada = Ada(store)
    ada.chat("I work in Ghent.", "t1")
    ada.chat("I play the oboe.", "t1")
    ada.chat("Where do I work?", "t2")
    assert '"I work in Ghent."' in ada.requests[-1]

    ada.chat("Forget that Ghent thing, that was private.", "t3")
    ada.chat("Where do I work, and what do I play?", "t4")
    assert "Ghent" not in ada.requests[-1]
    assert "oboe" in ada.requests[-1]
    assert "Forget" not in str([turn.text for turn in ada.memory.store.turns(ADA, "t3")])
    operation = next(
        one for one in ada.memory.history() if "the user requested it" in str(one.changes)
    )
    ada.memory.undo(operation.id)
    assert any("Ghent" in fact.content for fact in ada.memory.facts())
