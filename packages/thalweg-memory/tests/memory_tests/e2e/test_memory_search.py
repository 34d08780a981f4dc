"""What `search` and `explain` show is what an agent receives: one function makes all three."""

from collections.abc import Iterator, Sequence

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage

from thalweg.testing import ScriptedModel
from thalweg_memory import Memory, MemoryMiddleware, Scope, open_memory
from thalweg_memory.facts.recall.ranking import RecallItem
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import ProfileSection, RecalledPart, Statement, Trust

SAID = (
    "I rowed on the Elbe with Ben last Sunday.",
    "The green tea from Fujian is finished.",
    "My sister's dog Rex had an operation.",
)
FACTS = (
    "User prefers green tea",
    "User is allergic to nuts",
    "User has a rowing boat",
    "用户喜欢喝茶",
)
ASKED = ("Which tea do I like?", "hello", "我喜欢喝什么?", "How is Rex, and did Ben row?")


@pytest.fixture(params=[2_000, 60], ids=["roomy", "tight"])
def memory(request: pytest.FixtureRequest) -> Iterator[Memory]:
    settings = MemorySettings(max_injection_tokens=request.param)
    with open_memory(":memory:") as store:
        memory = Memory(store, Scope("ada"), settings=settings)
        for content in FACTS:
            memory.remember(content)
        memory.write_profile("topOfMind", "The regatta in May")
        turns = [
            Statement("earlier", 0, "user", text, f"2026-03-0{day}T10:00:00Z", Trust.USER, uid=text)
            for day, text in enumerate(SAID, start=1)
        ]
        store.capture(memory.scope, "earlier", turns)
        yield memory


def key(one: RecallItem | ProfileSection | RecalledPart) -> str:
    match one:
        case RecalledPart():
            return one.fact or one.uid or one.section
        case ProfileSection():
            return one.name
        case RecallItem(fact=None, turn=turn):
            return turn.uid if turn is not None else ""
        case _:
            return one.fact.id if one.fact is not None else ""


@pytest.mark.parametrize("asked", ASKED)
def test_search_explain_and_the_agent_agree(memory: Memory, asked: str) -> None:
    found, explained = memory.search(asked), memory.explain(asked)
    requests: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        requests.append("\n".join(str(message.content) for message in messages))
        return "Hello!"

    with MemoryMiddleware(memory, learns=False) as middleware:
        agent = create_agent(ScriptedModel(script=script), middleware=[middleware])
        agent.invoke({"messages": [HumanMessage(asked)]}, {"configurable": {"thread_id": "t"}})

    (told,) = memory.shown_facts("t")
    given = [key(one) for one in told.weighed if one.fate == "told"]
    shown = [*map(key, found.profile.sections), *map(key, found.items)]
    assert given == shown
    assert (explained.text, explained.items) == (found.text, found.items)
    assert found.tokens <= told.tokens <= memory.settings.max_injection_tokens
    lines = [line for line in found.text.splitlines() if any(said in line for said in SAID + FACTS)]
    assert all(line in requests[0] for line in lines)
