"""An agent that has a memory learns in its own process, with its own model."""

import time
from collections.abc import Sequence

from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage

from memory_tests.learning import answer
from thalweg.testing import ScriptedModel
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from thalweg_memory.middleware.middleware import MemoryMiddleware


def script(messages: Sequence[BaseMessage]) -> str:
    """Answer as an agent; as a learner where one is asked."""
    is_learner = "long-term memory" in str(messages[0].content)
    return answer(messages) if is_learner else "Noted."


def test_what_was_said_in_a_run_is_learned_in_the_background() -> None:
    """Without anything else to set up; the run does not wait for it."""
    settings = {"debounce_seconds": 0, "profile": False}
    with open_memory(":memory:") as store:
        memory = MemoryMiddleware(store, owner="ada", settings=settings)
        agent = create_agent(ScriptedModel(script=script), middleware=[memory])
        agent.invoke(
            {"messages": [HumanMessage("I keep the key in drawer 7.")]},
            {"configurable": {"thread_id": "t"}},
        )
        patience = time.monotonic() + 20
        while not (facts := store.facts(Scope("ada"))) and time.monotonic() < patience:
            time.sleep(0.01)

    assert [fact.content for fact in facts] == ["The user keeps the key in drawer 7."]
    assert facts[0].written_by.startswith("learned:")


def test_where_it_is_not_to_learn_the_turns_wait_for_a_worker_elsewhere() -> None:
    """They are kept, and noted."""
    with open_memory(":memory:") as store:
        memory = MemoryMiddleware(
            store, owner="ada", settings={"debounce_seconds": 0}, learns=False
        )
        agent = create_agent(ScriptedModel(script=script), middleware=[memory])
        agent.invoke(
            {"messages": [HumanMessage("I keep the key in drawer 7.")]},
            {"configurable": {"thread_id": "t"}},
        )
        time.sleep(0.05)

        assert store.facts(Scope("ada")) == []
        assert store.next_due() is not None
